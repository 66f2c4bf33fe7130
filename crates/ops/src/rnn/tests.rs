//! Gradients of recurrent networks against central differences of the forward op, in f64.

use tfvk_device::{DType, Shape};

use crate::local::{Attr, Local, Node, Value};
use crate::test_device::local;

const TIME: i64 = 3;
const BATCH: i64 = 2;
const INPUT: i64 = 3;
const UNITS: i64 = 2;

fn node(op: &str, mode: &str, directions: usize) -> Node {
    let direction = if directions == 2 { "bidirectional" } else { "unidirectional" };
    Node::new(op)
        .dtype("T", DType::F64)
        .attr("rnn_mode", Attr::String(mode.into()))
        .attr("input_mode", Attr::String("linear_input".into()))
        .attr("direction", Attr::String(direction.into()))
        .attr("dropout", Attr::Float(0.0))
        .attr("seed", Attr::Int(0))
        .attr("seed2", Attr::Int(0))
        .attr("num_proj", Attr::Int(0))
        .attr("is_training", Attr::Bool(true))
        .attr("time_major", Attr::Bool(false))
}

fn upload(local: &Local, shape: &Shape, v: &[f64]) -> Value {
    let bytes: Vec<u8> = v.iter().flat_map(|v| v.to_le_bytes()).collect();
    local.upload(DType::F64, shape.clone(), &bytes).unwrap()
}

fn read(local: &Local, v: &Value) -> Vec<f64> {
    local.read(v).unwrap().chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Numbers without a pattern, of either sign.
fn numbers(n: i64, seed: i64) -> Vec<f64> {
    (0..n).map(|i| ((i * 7 + seed * 13) as f64 * 0.7).sin() * 0.8).collect()
}

/// The inputs input, input_h, input_c, params: their shapes and values.
fn given(mode: &str, directions: i64, layers: i64) -> Vec<(Shape, Vec<f64>)> {
    let gates = match mode {
        "lstm" => 4,
        "gru" => 3,
        _ => 1,
    };
    let first = INPUT + UNITS + 2;
    let rest = directions * UNITS + UNITS + 2;
    let params = directions * gates * UNITS * (first + (layers - 1) * rest);
    let c = if mode == "lstm" { Shape::from([BATCH, layers * directions, UNITS]) } else { Shape::scalar() };
    let shapes = [Shape::from([BATCH, TIME, INPUT]), Shape::from([BATCH, layers * directions, UNITS]), c, Shape::from([params])];
    shapes.into_iter().enumerate().map(|(i, s)| (s.clone(), numbers(s.num_elements(), i as i64))).collect()
}

fn check(local: &Local, mode: &str, directions: i64, layers: i64, lengths: [i32; 2]) {
    let values = given(mode, directions, layers);
    let lengths = Value::host::<i32>([2], &lengths).unwrap();
    let forward = local.prepare(&node("CudnnRNNV3", mode, directions as usize)).unwrap();
    let run = |values: &[(Shape, Vec<f64>)]| {
        let mut inputs: Vec<Value> = values.iter().map(|(s, v)| upload(local, s, v)).collect();
        inputs.push(lengths.clone());
        (local.execute(&forward, &inputs).unwrap(), inputs)
    };
    // The loss: outputs and last states, each times a number of its own.
    let n = |i: usize, outputs: &[Value]| outputs[i].tensor().num_elements();
    let loss = |outputs: &[Value]| -> f64 {
        let one = |i: usize| read(local, &outputs[i]).iter().zip(numbers(n(i, outputs), 9)).map(|(v, k)| v * k).sum::<f64>();
        one(0) + one(1) + if mode == "lstm" { one(2) } else { 0.0 }
    };
    let (outputs, mut inputs) = run(&values);
    inputs.extend_from_slice(&outputs[..3]);
    for o in &outputs[..3] {
        inputs.push(upload(local, &o.tensor().shape, &numbers(o.tensor().num_elements(), 9)));
    }
    inputs.extend_from_slice(&outputs[3..]);
    let gradients = local.run(&node("CudnnRNNBackpropV3", mode, directions as usize), &inputs).unwrap();

    let step = 1e-6;
    for (i, gradient) in gradients.iter().enumerate() {
        if i == 2 && mode != "lstm" {
            continue;
        }
        let gradient = read(local, gradient);
        // Every fifth element, and the last.
        for k in (0..gradient.len()).filter(|k| k % 5 == 0 || k + 1 == gradient.len()) {
            let moved = |by: f64| {
                let mut values = values.clone();
                values[i].1[k] += by;
                loss(&run(&values).0)
            };
            let expected = (moved(step) - moved(-step)) / (2.0 * step);
            let got = gradient[k];
            assert!((got - expected).abs() < 1e-7, "{mode} {directions} {layers}: input {i}, element {k}: {got} {expected}");
        }
    }
}

#[test]
fn gradients_are_differences() {
    let Some(local) = local() else { return };
    if !local.device().adapter().features.f64 {
        return;
    }
    for mode in ["lstm", "gru", "rnn_tanh"] {
        check(&local, mode, 1, 1, [3, 3]);
        check(&local, mode, 2, 2, [3, 3]);
        check(&local, mode, 2, 2, [1, 2]);
    }
}
