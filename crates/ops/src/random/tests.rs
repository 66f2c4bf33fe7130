//! The streams on a device: against the host's Philox, and against a few values that TensorFlow's CPU gave.

use tfvk_device::DType::{self, F32, I32, I64, U64};

use super::philox::Philox;
use crate::local::{Attr, Local, Node, Value};
use crate::test_device::local;

fn words(local: &Local, value: &Value) -> Vec<u32> {
    local.read(value).unwrap().chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

fn draw(local: &Local, op: &str, dtype: DType, n: i32, place: Philox) -> Vec<u32> {
    let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let inputs = [
        Value::host::<i32>([1], &[n]).unwrap(),
        local.upload(U64, [1], &bytes(&place.key)).unwrap(),
        local.upload(U64, [2], &bytes(&place.counter)).unwrap(),
        Value::host::<i32>(tfvk_device::Shape::scalar(), &[1]).unwrap(),
    ];
    let out = local.run(&Node::new(op).dtype("dtype", dtype).dtype("Tshape", I32), &inputs).unwrap();
    words(local, &out[0])
}

fn place() -> Philox {
    // A counter that carries all the way up within the first few blocks.
    Philox { counter: [u32::MAX - 2, u32::MAX, 7, u32::MAX], key: [0x1234_5678, 0x9abc_def0] }
}

#[test]
fn full_int_is_the_stream_itself() {
    let Some(local) = local() else { return };
    let got = draw(&local, "StatelessRandomUniformFullIntV2", I32, 4 * 700 + 3, place());
    let mut at = place();
    for group in got.chunks(4) {
        assert_eq!(group, &at.block()[..group.len()]);
        at.skip(1);
    }
}

#[test]
fn uniform_has_the_low_23_bits() {
    let Some(local) = local() else { return };
    let got = draw(&local, "StatelessRandomUniformV2", F32, 1001, place());
    let mut at = place();
    for group in got.chunks(4) {
        for (&g, w) in group.iter().zip(at.block()) {
            assert_eq!(f32::from_bits(g), (w & 0x7f_ffff) as f32 / 8_388_608.0);
        }
        at.skip(1);
    }
}

#[test]
fn normal_is_box_muller_to_two_units() {
    let Some(local) = local() else { return };
    let got = draw(&local, "StatelessRandomNormalV2", F32, 40_000, place());
    let mut at = place();
    for group in got.chunks(4) {
        let block = at.block();
        for (pair, w) in group.chunks(2).zip(block.chunks(2)) {
            let [u, v] = [w[0], w[1]].map(|w| f64::from(w & 0x7f_ffff) / 8_388_608.0);
            let radius = f64::from((-2.0 * u.max(f64::from(1.0e-7f32)).ln() as f32).sqrt());
            let angle = f64::from((std::f64::consts::TAU * v) as f32);
            for (&g, want) in pair.iter().zip([angle.sin() * radius, angle.cos() * radius]) {
                let got = f64::from(f32::from_bits(g));
                assert!((got - want).abs() <= 3.0 * 2f64.powi(-24) * want.abs() + 1e-44, "{got} {want}");
            }
        }
        at.skip(1);
    }
}

#[test]
fn a_node_goes_on_where_it_stopped() {
    let Some(local) = local() else { return };
    let node = Node::new("RandomUniform").dtype("dtype", F32).dtype("T", I32);
    let node = node.attr("seed", Attr::Int(11)).attr("seed2", Attr::Int(22));
    let prepared = local.prepare(&node).unwrap();
    let shape = [Value::host::<i32>([1], &[5]).unwrap()];
    let first = words(&local, &local.execute(&prepared, &shape).unwrap()[0]);
    let second = words(&local, &local.execute(&prepared, &shape).unwrap()[0]);
    let mut at = Philox::from_seeds(11, 22);
    assert_eq!(f32::from_bits(first[0]), (at.block()[0] & 0x7f_ffff) as f32 / 8_388_608.0);
    at.skip(5 * 256);
    assert_eq!(f32::from_bits(second[0]), (at.block()[0] & 0x7f_ffff) as f32 / 8_388_608.0);
}

#[test]
fn a_state_is_read_then_moved_on() {
    let Some(local) = local() else { return };
    let state: Vec<u8> = [3i64, 4, 5].iter().flat_map(|v| v.to_le_bytes()).collect();
    let variable = local.upload(I64, [3], &state).unwrap().into_variable();
    let scalar = tfvk_device::Shape::scalar;
    let inputs = [variable.clone(), Value::host::<i32>(scalar(), &[1]).unwrap(), Value::host::<u64>(scalar(), &[2]).unwrap()];
    let before = local.run(&Node::new("RngReadAndSkip"), &inputs).unwrap();
    assert_eq!(local.read(&before[0]).unwrap(), state);
    let after: Vec<u8> = [3i64 + 512, 4, 5].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(local.read(&variable).unwrap(), after);
}
