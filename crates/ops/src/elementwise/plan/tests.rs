//! What shapes make of chains, as text.

use super::*;

fn planned(text: &str, inputs: &[&[i64]], variables: &[&[i64]], same: &[usize]) -> Result<Plan> {
    let chain: Chain = text.parse()?;
    let shapes = |list: &[&[i64]]| list.iter().map(|d| Shape::new(d)).collect();
    plan(
        &chain,
        &types(&chain)?,
        &Given { inputs: shapes(inputs), variables: shapes(variables), same: same.to_vec(), axes: Axes::new() },
    )
}

/// Text, reads and writes of each launch.
fn told(plan: &Plan) -> Vec<String> {
    let text = |l: &Launch| l.program.as_ref().map(|p| p.0.to_string()).unwrap_or_default();
    plan.launches.iter().map(|l| format!("{} | {:?} | {:?}", text(l), l.reads, l.writes)).collect()
}

#[test]
fn one_shape_is_one_launch() {
    let text = "inputs float32 float32; AddV2 %0 %1; Square 0; outputs 0 1";
    let plan = planned(text, &[&[2, 3], &[3]], &[], &[]).unwrap();
    assert_eq!(told(&plan), [format!("{text} | [Input(0), Input(1)] | [Output(0), Output(1)]")]);
    assert_eq!(plan.outputs, [Shape::from([2, 3]), Shape::from([2, 3])]);
}

#[test]
fn smaller_results_come_first() {
    let text = "inputs float32 float32; Neg %1; AddV2 %0 0; Exp 0; outputs 1 0 2";
    let plan = planned(text, &[&[2, 3], &[3]], &[], &[]).unwrap();
    assert_eq!(
        told(&plan),
        [
            "inputs float32; Neg %0; Exp 0; outputs 0 1 | [Input(1)] | [Output(1), Output(2)]",
            "inputs float32 float32; AddV2 %0 %1; outputs 0 | [Input(0), Output(1)] | [Output(0)]",
        ]
    );
}

#[test]
fn what_is_costly_is_computed_once() {
    let text = "inputs float32 float32; Exp %1; Neg 0; AddV2 %0 1; outputs 2";
    assert_eq!(planned(text, &[&[64, 3], &[3]], &[], &[]).unwrap().launches.len(), 1);
    let plan = planned(text, &[&[1 << 20, 3], &[3]], &[], &[]).unwrap();
    assert_eq!(plan.temps, [(DType::F32, Shape::from([3]))]);
    assert_eq!(
        told(&plan),
        [
            "inputs float32; Exp %0; Neg 0; outputs 1 | [Input(1)] | [Temp(0)]",
            "inputs float32 float32; AddV2 %0 %1; outputs 0 | [Input(0), Temp(0)] | [Output(0)]",
        ]
    );
}

/// Adam's factor of all variables: small ones together are worth it too.
#[test]
fn what_many_launches_need_is_computed_once() {
    let n = 12;
    let variables = vec!["float32"; n].join(" ");
    let mut text = format!("variables {variables}; inputs float32 float32; Pow %0 %1");
    (0..n).for_each(|i| text += &format!("; read ${i}; Mul 0 {}; assign ${i} {}", 3 * i + 1, 3 * i + 2));
    text += "; outputs";
    let of = |size: i64| {
        let sizes: Vec<[i64; 1]> = (0..n as i64).map(|i| [size + i]).collect();
        let shapes: Vec<&[i64]> = sizes.iter().map(|s| &s[..]).collect();
        planned(&text, &[&[], &[]], &shapes, &(0..n).collect::<Vec<_>>()).unwrap()
    };
    assert_eq!(of(100).launches.len(), n);
    let plan = of(50_000);
    assert_eq!((plan.launches.len(), &plan.temps[..]), (n + 1, &[(DType::F32, Shape::scalar())][..]));
    assert_eq!(told(&plan)[1], "inputs float32 float32; Mul %0 %1; outputs 0 | [Temp(0), Variable(0)] | [Variable(0)]");
}

#[test]
fn variables_are_updated_in_place() {
    let text = "variables float32 float32; inputs float32; read $0; Sub %0 0; AddV2 0 1; assign $0 2; read $0; \
                read $1; Sub 5 4; assign $1 6; outputs";
    let plan = planned(text, &[&[4]], &[&[4], &[4]], &[0, 1]).unwrap();
    assert_eq!(
        told(&plan),
        ["inputs float32 float32 float32; Sub %0 %1; AddV2 %1 0; Sub %2 1; outputs 1 2 \
          | [Input(0), Variable(0), Variable(1)] | [Variable(0), Variable(1)]"]
    );
    // The same variable twice: the second reads what the first has written.
    let plan = planned(text, &[&[4]], &[&[4], &[4]], &[0, 0]).unwrap();
    assert_eq!(
        told(&plan),
        ["inputs float32 float32; Sub %0 %1; AddV2 %1 0; Sub 1 1; outputs 2 | [Input(0), Variable(0)] | [Variable(0)]"]
    );
    let error = planned(text, &[&[2, 4]], &[&[4], &[4]], &[0, 1]).err().map(|e| e.message).unwrap_or_default();
    assert!(error.contains("Cannot update variable with shape [4] using a Tensor with shape [2,4]"), "{error}");
}

#[test]
fn an_old_value_outlives_its_variable() {
    // The scalar variable is written by the first launch; the second reads what it was.
    let text = "variables float32; inputs float32; read $0; Neg 0; assign $0 1; AddV2 %0 0; outputs 3 0";
    let plan = planned(text, &[&[4]], &[&[]], &[0]).unwrap();
    assert_eq!(plan.copies, [(0, 0)]);
    assert_eq!(
        told(&plan),
        [
            "inputs float32; Cast %0 [tfloat32] [b0]; outputs 0 | [Variable(0)] | [Output(1)]",
            "inputs float32; Neg %0; outputs 0 | [Variable(0)] | [Temp(0)]",
            "inputs float32 float32; AddV2 %0 %1; outputs 0 | [Input(0), Variable(0)] | [Output(0)]",
        ]
    );
}

#[test]
fn what_cannot_be_is_refused() {
    for bad in [
        "variables float32; inputs float16; Neg %0; assign $0 0; outputs",
        "variables float32; inputs float32; assign $0 %0; outputs",
        "inputs float32; read $0; outputs 0",
        "inputs float32; Neg %0; outputs 1",
        "inputs float32; Neg 1; Neg 0; outputs 0",
        "variables float32; inputs; Neg $0; outputs 0 7",
    ] {
        assert!(bad.parse::<Chain>().and_then(|c| types(&c)).is_err(), "{bad}");
    }
}
