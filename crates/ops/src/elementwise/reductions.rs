//! The reductions that may be steps of a chain: which they are, and what the shapes make of them.

use smallvec::SmallVec;
use tfvk_device::{DType, Error, Result, Shape};

use crate::expr::{AttrValue, Operand, Step};
use crate::reduce::{Combine, First, Last, Reducer, axes};

/// What a reduction does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The operand's shape.
    pub shape: Shape,
    /// Per axis of it, whether it is reduced.
    pub reduced: SmallVec<[bool; 8]>,
}

fn combine(op: &str) -> Option<(Combine, Last)> {
    Some(match op {
        "Sum" => (Combine::Sum, Last::Nothing),
        "Mean" => (Combine::Sum, Last::Mean),
        "Prod" => (Combine::Prod, Last::Nothing),
        "Max" => (Combine::Max, Last::Nothing),
        "Min" => (Combine::Min, Last::Nothing),
        _ => return None,
    })
}

/// Whether an op is a reduction that a chain may have, for this element type.
pub fn reduces(op: &str, dtype: DType) -> bool {
    combine(op).is_some() && dtype.is_float()
}

/// Whether a step is one.
pub fn is_reduction(step: &Step) -> bool {
    combine(&step.op).is_some()
}

/// What reduces in a step. Errors: no such reduction.
pub fn reducer(op: &str, dtype: DType) -> Result<Reducer> {
    let (combine, last) = combine(op).ok_or_else(|| Error::internal(format!("{op} is no reduction")))?;
    Reducer::new(combine, First::Nothing, last, dtype)
}

/// The operand, the number of its axes, and whether they stay. Errors: wrong operands.
pub fn parts(step: &Step) -> Result<(Operand, usize, bool)> {
    match (&step.args[..], &step.attrs[..]) {
        (&[operand @ (Operand::Input(_) | Operand::Step(_)), Operand::Axes(axes)], &[AttrValue::Bool(keep)]) => {
            Ok((operand, axes, keep))
        }
        _ => Err(Error::invalid_argument(format!("{}: expected an operand, axes, and whether they are kept", step.op))),
    }
}

/// The reduction of an operand of a shape, and the result's shape. Errors: TensorFlow's, about the axes.
pub fn reduction(shape: &Shape, axes: &[i64], keep: bool) -> Result<(Reduction, Shape)> {
    let reduced = axes::reduced(shape, axes)?;
    let result = axes::output_shape(shape, &reduced, keep);
    Ok((Reduction { shape: shape.clone(), reduced }, result))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elementwise::FUSED_OP;
    use crate::local::{Attr, Local, Node, Value};
    use crate::test_device::local;

    const TYPES: [DType; 4] = [DType::F32, DType::F16, DType::BF16, DType::F64];

    /// Values around 1 of both signs, none of which is rounded by the conversion to 16 bits alone.
    fn made(host: &Local, dtype: DType, shape: &[i64], seed: u64) -> Value {
        let n: i64 = shape.iter().product();
        let mut state = seed;
        let values = (0..n).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as i64 % 255 - 127) as f32 / 64.0
        });
        let bytes: Vec<u8> = values.flat_map(|v| v.to_le_bytes()).collect();
        let value = host.upload(DType::F32, Shape::new(shape), &bytes).unwrap();
        let cast = Node::new("Cast").dtype("SrcT", DType::F32).dtype("DstT", dtype).attr("Truncate", Attr::Bool(false));
        host.run(&cast, &[value]).unwrap().remove(0)
    }

    fn node(program: &str, inputs: &[DType], outputs: &[DType], axes: i64) -> Node {
        let node = Node::new(FUSED_OP).attr("program", Attr::String(format!("1; {program}"))).attr("A", Attr::Int(axes));
        node.attr("Tin", Attr::Types(inputs.to_vec())).attr("Tout", Attr::Types(outputs.to_vec()))
    }

    /// One reduction of a chain against the same in two nodes, to the last bit.
    fn agree(host: &Local, dtype: DType, shapes: [&[i64]; 3], axes: &[i32], op: &str, keep: bool) {
        let chain = format!("inputs {dtype} {dtype} {dtype}; SquaredDifference %0 %1; Mul 0 %2; Tanh 1");
        let inputs: Vec<Value> = shapes.iter().zip(1..).map(|(s, i)| made(host, dtype, s, i)).collect();
        let whole = host.run(&node(&format!("{chain}; outputs 2"), &[dtype; 3], &[dtype], 0), &inputs).unwrap().remove(0);
        let axes = Value::host([axes.len() as i64], axes).unwrap();
        let alone = Node::new(op).dtype("T", dtype).dtype("Tidx", DType::I32).attr("keep_dims", Attr::Bool(keep));
        let want = host.run(&alone, &[whole, axes.clone()]).unwrap().remove(0);
        let text = format!("{chain}; {op} 2 @0 [b{}]; outputs 3", u8::from(keep));
        let got = host.run(&node(&text, &[dtype; 3], &[dtype], 1), &[&inputs[..], &[axes]].concat()).unwrap().remove(0);
        assert_eq!(got.tensor().shape, want.tensor().shape);
        assert!(host.read(&got).unwrap() == host.read(&want).unwrap(), "{text} of {shapes:?}");
    }

    #[test]
    fn a_reduced_chain_has_the_same_bits() {
        let Some(host) = local() else { return };
        let f64 = host.device().adapter().features.f64;
        for dtype in TYPES.into_iter().filter(|d| *d != DType::F64 || f64) {
            for (op, keep) in [("Sum", false), ("Mean", true), ("Max", false), ("Min", true), ("Prod", false)] {
                agree(&host, dtype, [&[6, 64], &[6, 1], &[64]], &[-1], op, keep);
            }
            // Rows that are no whole vectors, columns, inner axes, everything, a scalar, nothing.
            for (shapes, axes) in [
                ([&[5, 7][..], &[7], &[5, 1]], &[1][..]),
                ([&[33, 8], &[8], &[33, 1]], &[0]),
                ([&[33, 7], &[], &[33, 1]], &[0]),
                ([&[3, 4, 5, 8], &[4, 1, 8], &[5, 1]], &[1]),
                ([&[3, 4, 5, 8], &[3, 1, 1, 1], &[1]], &[0, 2]),
                ([&[301], &[301], &[]], &[0]),
                ([&[1, 1], &[1], &[]], &[0, 1]),
                ([&[4, 8], &[4, 8], &[8]], &[]),
                ([&[0, 8], &[1, 8], &[8]], &[0]),
                ([&[3, 0], &[3, 1], &[]], &[1]),
                // Split in two passes.
                ([&[40000], &[1], &[40000]], &[0]),
                ([&[9000, 8], &[9000, 1], &[8]], &[0]),
            ] {
                agree(&host, dtype, shapes, axes, "Sum", axes.len() == 1);
            }
        }
    }

    /// A normalisation of x + b over some axes, in one node and op by op.
    fn normalised(host: &Local, shapes: [&[i64]; 2], axes: &[i32], to: DType) {
        let d = DType::F32;
        let axes = Value::host([axes.len() as i64], axes).unwrap();
        let inputs = [made(host, d, shapes[0], 1), made(host, d, shapes[1], 2), made(host, d, &[], 3)];
        let with = |v: &[&Value]| v.iter().map(|v| (*v).clone()).chain([axes.clone()]).collect::<Vec<_>>();
        let text = format!(
            "inputs {d} {d} {d}; AddV2 %0 %1; Mean 0 @0 [b1]; SquaredDifference 0 1; Sum 2 @0 [b1]; AddV2 3 %2; Tanh 4; Sub 0 1; \
             Mul 6 5; Cast 7 [t{to}] [b0]; Neg 1; outputs 8 0 3 9 5 1"
        );
        let got = host.run(&node(&text, &[d; 3], &[to, d, d, d, d, d], 1), &with(&[&inputs[0], &inputs[1], &inputs[2]])).unwrap();
        let one = |text: &str, v: &[&Value], to: DType| {
            let n = node(&format!("inputs{}; {text}", " float32".repeat(v.len())), &vec![d; v.len()], &[to], 0);
            host.run(&n, &v.iter().map(|v| (*v).clone()).collect::<Vec<_>>()).unwrap().remove(0)
        };
        let reduced = |op: &str, v: &Value| {
            let n = Node::new(op).dtype("T", d).dtype("Tidx", DType::I32).attr("keep_dims", Attr::Bool(true));
            host.run(&n, &with(&[v])).unwrap().remove(0)
        };
        let x = one("AddV2 %0 %1; outputs 0", &[&inputs[0], &inputs[1]], d);
        let m = reduced("Mean", &x);
        let v = reduced("Sum", &one("SquaredDifference %0 %1; outputs 0", &[&x, &m], d));
        let t = one("AddV2 %0 %1; Tanh 0; outputs 1", &[&v, &inputs[2]], d);
        let y = one(&format!("Sub %0 %1; Mul 0 %2; Cast 1 [t{to}] [b0]; outputs 2"), &[&x, &m, &t], to);
        let n = one("Neg %0; outputs 0", &[&m], d);
        for (i, (got, want)) in got.iter().zip([&y, &x, &v, &n, &t, &m]).enumerate() {
            assert!(host.read(got).unwrap() == host.read(want).unwrap(), "result {i} of {shapes:?}");
        }
    }

    #[test]
    fn a_normalisation_is_one_node() {
        let Some(host) = local() else { return };
        normalised(&host, [&[50, 36], &[36]], &[-1], DType::BF16);
        normalised(&host, [&[50, 7], &[50, 1]], &[1], DType::F16);
        normalised(&host, [&[3, 5, 768], &[768]], &[2], DType::F32);
        normalised(&host, [&[3, 4, 6, 8], &[6, 8]], &[2, 3], DType::F32);
        normalised(&host, [&[1, 64], &[1]], &[-1], DType::F32);
        normalised(&host, [&[64], &[]], &[0], DType::F32);
        // Not by rows.
        normalised(&host, [&[5, 6, 8], &[6, 1]], &[1], DType::F32);
        normalised(&host, [&[5, 6, 8], &[5, 1, 8]], &[2], DType::F32);
        normalised(&host, [&[1, 63], &[63]], &[-1], DType::F32);
        normalised(&host, [&[0, 8], &[8]], &[-1], DType::F32);
    }

    /// More operands than push constants have room for.
    #[test]
    fn many_results_of_rows() {
        let Some(host) = local() else { return };
        let d = DType::F32;
        let negated: String = (1..18).map(|i| format!("; Neg {i}")).collect();
        let outputs: String = (1..19).map(|i| format!(" {i}")).collect();
        let text = format!("inputs {d}; Mean %0 @0 [b1]; Sub %0 0{negated}; outputs{outputs}");
        let inputs = [made(&host, d, &[9, 12], 1), Value::host([1], &[1i32]).unwrap()];
        let got = host.run(&node(&text, &[d], &[d; 18], 1), &inputs).unwrap();
        let got: Vec<Vec<u8>> = got.iter().map(|v| host.read(v).unwrap()).collect();
        let n = Node::new("Mean").dtype("T", d).dtype("Tidx", DType::I32).attr("keep_dims", Attr::Bool(true));
        let mean = host.run(&n, &inputs).unwrap().remove(0);
        let less = node("inputs float32 float32; Sub %0 %1; outputs 0", &[d; 2], &[d], 0);
        assert!(got[0] == host.read(&host.run(&less, &[inputs[0].clone(), mean]).unwrap()[0]).unwrap());
        for pair in got.windows(2) {
            let opposite = |(a, b): (&[u8], &[u8])| a[..3] == b[..3] && a[3] ^ b[3] == 0x80;
            assert!(pair[0].chunks(4).zip(pair[1].chunks(4)).all(opposite));
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let Some(host) = local() else { return };
        let d = DType::F32;
        let x = made(&host, d, &[2, 3], 1);
        let error = |text: &str, axes: &[i32]| {
            let axes = Value::host([axes.len() as i64], axes).unwrap();
            host.run(&node(text, &[d], &[d], 1), &[x.clone(), axes]).err().map(|e| e.message).unwrap_or_default()
        };
        assert!(error("inputs float32; Sum %0 @0 [b0]; outputs 0", &[2]).contains("Invalid reduction dimension (2"));
        assert!(error("inputs float32; Sum %0 @1 [b0]; outputs 0", &[0]).contains("A: the program"));
        assert!(error("inputs float32; Sum %0 [b0]; outputs 0", &[0]).contains("expected an operand, axes"));
        assert!(error("inputs float32; Sum %0 @0; outputs 0", &[0]).contains("expected an operand, axes"));
    }
}
