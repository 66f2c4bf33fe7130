//! Chains: text form, and results equal to those of the ops one by one.

use tfvk_device::{DType, Shape};

use super::{interpreted, sample};
use crate::expr::Chain;

#[test]
fn text_round_trips() {
    let text = "inputs float16 float16; AddV2 %0 %1; LeakyRelu 0 [f3e4ccccd]; Cast 1 [tfloat32] [b0]; outputs 2 0";
    let chain: Chain = text.parse().unwrap();
    assert_eq!(chain.to_string(), text);
    assert_eq!(chain.steps.len(), 3);
    for bad in ["", "inputs f32; outputs 0", "inputs float32; Add %x; outputs 0", "inputs float32; Relu %0 [q]; outputs 0"] {
        assert!(bad.parse::<Chain>().is_err(), "{bad}");
    }
    for bad in
        ["inputs float32; Relu %1; outputs 0", "inputs float32; NoSuchOp %0; outputs 0", "inputs float32; AddV2 %0; outputs 0"]
    {
        assert!(bad.parse::<Chain>().unwrap().program().is_err(), "{bad}");
    }
}

#[test]
fn fused_equals_unfused() {
    let shape = Shape::from([500]);
    for d in [DType::F16, DType::BF16, DType::F32] {
        let fused = format!("inputs {d} {d}; Mul %0 %1; Sub 0 %1; Square 1; Tanh 2; outputs 3");
        let fused = fused.parse::<Chain>().unwrap().program().unwrap();
        let inputs = vec![(shape.clone(), sample(d, 500, 1)), (shape.clone(), sample(d, 500, 2))];
        let want = interpreted(&fused, &inputs, &[], &shape).remove(0);
        let step = |text: &str, inputs: &[(Shape, Vec<u8>)]| {
            let p = text.parse::<Chain>().unwrap().program().unwrap();
            (shape.clone(), interpreted(&p, inputs, &[], &shape).remove(0))
        };
        let product = step(&format!("inputs {d} {d}; Mul %0 %1; outputs 0"), &inputs);
        let difference = step(&format!("inputs {d} {d}; Sub %0 %1; outputs 0"), &[product, inputs[1].clone()]);
        let square = step(&format!("inputs {d}; Square %0; outputs 0"), &[difference]);
        let (_, got) = step(&format!("inputs {d}; Tanh %0; outputs 0"), &[square]);
        assert_eq!(got, want, "{d}");
    }
}
