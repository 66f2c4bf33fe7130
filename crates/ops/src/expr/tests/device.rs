//! Shaders on a device against the interpreter: all ops and types once, and every kind of broadcast on a few.

use tfvk_device::{AdapterKind, DType, Features, Shape};

use super::{interpreted, programs, sample};
use crate::expr::lacking::{lacking, run};
use crate::expr::{Program, broadcast, launch};
use crate::local::{Local, Value};
use crate::test_device::{local, served};

/// Runs on the device; the results' bytes, or `None` where it lacks a type.
fn launched(
    local: &Local,
    program: &Program,
    inputs: &[(Shape, Vec<u8>)],
    scalars: &[f64],
    shape: &Shape,
) -> Option<Vec<Vec<u8>>> {
    let values: Vec<Value> =
        inputs.iter().zip(program.inputs()).map(|((s, b), &d)| local.upload(d, s.clone(), b).unwrap()).collect();
    let outputs: Vec<Value> = program.outputs().iter().map(|o| local.empty(o.dtype, shape.clone()).unwrap()).collect();
    let tensors: Vec<_> = values.iter().map(|v| v.tensor().clone()).collect();
    let targets: Vec<_> = outputs.iter().map(|v| v.tensor().clone()).collect();
    let dtypes: Vec<DType> = program.inputs().iter().copied().chain(program.outputs().iter().map(|o| o.dtype)).collect();
    served(local, &dtypes, launch(local.device().stream(), program, &tensors, scalars, &targets))?;
    Some(outputs.iter().map(|v| local.read(v).unwrap()).collect())
}

/// Where bits differ of which not both are NaN. A GPU's driver may flush subnormal numbers and take 0 for -0 as a maximum:
/// `flushes` lets all of these be one.
fn difference(dtype: DType, got: &[u8], want: &[u8], flushes: bool) -> Option<usize> {
    let parts = if dtype.is_complex() { 2 } else { 1 };
    let size = dtype.size() / parts;
    let zero = |b: &[u8]| match (dtype, b) {
        (DType::F32 | DType::C64, &[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]) & 0x7f80_0000 == 0,
        (DType::F16, &[a, b]) => u16::from_le_bytes([a, b]) & 0x7c00 == 0,
        (DType::BF16, &[a, b]) => u16::from_le_bytes([a, b]) & 0x7f80 == 0,
        _ => false,
    };
    let nan = |b: &[u8]| match (dtype, b) {
        (DType::F32 | DType::C64, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).is_nan(),
        (DType::F64 | DType::C128, b) => b.try_into().is_ok_and(|b| f64::from_le_bytes(b).is_nan()),
        (DType::F16, &[a, b]) => u16::from_le_bytes([a, b]) & 0x7fff > 0x7c00,
        (DType::BF16, &[a, b]) => u16::from_le_bytes([a, b]) & 0x7fff > 0x7f80,
        _ => false,
    };
    let alike = |g: &[u8], w: &[u8]| g == w || (nan(g) && nan(w)) || (flushes && zero(g) && zero(w));
    got.chunks(size).zip(want.chunks(size)).position(|(g, w)| !alike(g, w))
}

fn compare(local: &Local, program: &Program, shapes: &[Shape]) -> Result<(), String> {
    let shape = shapes.iter().skip(1).fold(shapes[0].clone(), |a, b| broadcast(&a, b).unwrap());
    let inputs: Vec<(Shape, Vec<u8>)> = shapes
        .iter()
        .zip(program.inputs())
        .enumerate()
        .map(|(i, (s, &d))| (s.clone(), sample(d, s.num_elements() as usize, 7 + i as u64)))
        .collect();
    let scalars = vec![0.25; program.scalars().len()];
    let bits: Vec<u64> = scalars.iter().map(|&v: &f64| u64::from((v as f32).to_bits())).collect();
    let want = interpreted(program, &inputs, &bits, &shape);
    let Some(got) = launched(local, program, &inputs, &scalars, &shape) else { return Ok(()) };
    let flushes = local.device().adapter().kind != AdapterKind::Software;
    for ((o, g), w) in program.outputs().iter().zip(&got).zip(&want) {
        if let Some(at) = difference(o.dtype, g, w, flushes) {
            let size = o.dtype.size() / if o.dtype.is_complex() { 2 } else { 1 };
            let range = at * size..(at + 1) * size;
            let element = at * size / o.dtype.size();
            let operands: Vec<_> = inputs
                .iter()
                .zip(program.inputs())
                .map(|((_, b), d)| b.get(element * d.size()..(element + 1) * d.size()).map(<[u8]>::to_vec))
                .collect();
            return Err(format!(
                "{} {shapes:?} part {at}: got {:02x?}, expected {:02x?}, operands {operands:02x?}",
                program.name(),
                &g[range.clone()],
                &w[range]
            ));
        }
    }
    Ok(())
}

fn shape(d: &[i64]) -> Shape {
    Shape::new(d)
}

#[test]
fn broadcasts() {
    let Some(local) = local() else { return };
    let cases: &[(&[i64], &[i64])] = &[
        (&[], &[]),
        (&[1], &[1]),
        (&[129], &[129]),
        (&[64], &[]),
        (&[37], &[1]),
        (&[6, 5, 8], &[8]),
        (&[6, 5, 7], &[7]),
        (&[6, 5, 8], &[6, 1, 8]),
        (&[6, 5, 8], &[5, 1]),
        (&[4, 1, 16], &[1, 3, 1]),
        (&[2, 1, 3, 1, 2, 1, 3, 1], &[1, 2, 1, 3, 1, 2, 1, 4]),
        (&[2, 1, 3, 1, 2, 1, 3, 1, 2], &[1, 2, 1, 2, 1, 2, 1, 2, 1]),
        (&[70_000, 3], &[3]),
    ];
    for d in [DType::F32, DType::F16, DType::U8, DType::F64, DType::C128, DType::Bool] {
        let p = Program::build(format!("pair {d}"), &[d, d], &[], |_, x, _| {
            Ok(vec![x[0].equal(x[1]).select(x[1], x[0]), x[0].not_equal(x[1])])
        });
        let p = p.unwrap();
        for (a, b) in cases {
            if a.len() > 8 {
                let failed = std::panic::catch_unwind(|| compare(&local, &p, &[shape(a), shape(b)]));
                // The host, which stands in for a device that lacks a type, knows no such limit.
                let on_host = lacking(&p, &local.device().adapter().features).is_some();
                assert!(failed.is_err() || on_host, "nine dimensions that don't collapse");
                continue;
            }
            compare(&local, &p, &[shape(a), shape(b)]).unwrap();
            compare(&local, &p, &[shape(b), shape(a)]).unwrap();
        }
    }
}

/// A tensor that does not start at a multiple of 16 bytes, and a host scalar.
#[test]
fn unaligned_and_by_value() {
    let Some(local) = local() else { return };
    let p = Program::build("sum", &[DType::F32, DType::F32], &[], |_, x, _| Ok(vec![x[0] + x[1]])).unwrap();
    let data: Vec<u8> = (0..100u32).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let whole = local.upload(DType::F32, [100], &data).unwrap();
    let part = whole.tensor().slice(3, [90]);
    let out = local.empty(DType::F32, [90]).unwrap();
    let two = Value::host::<f32>(Shape::scalar(), &[2.0]).unwrap();
    launch(local.device().stream(), &p, &[part, two.tensor().clone()], &[], &[out.tensor().clone()]).unwrap();
    let got = local.read(&out).unwrap();
    let got: Vec<f32> = got.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(got, (3..93).map(|i| i as f32 + 2.0).collect::<Vec<_>>());
}

/// The host stands in for a device that lacks a program's arithmetic: operands from both memories, a broadcast, in place.
#[test]
fn what_a_device_lacks_is_computed_on_the_host() {
    let Some(local) = local() else { return };
    let p = Program::build("sum", &[DType::I64, DType::I64], &[], |_, x, _| Ok(vec![x[0] + x[1]])).unwrap();
    let (all, none) = (Features { int64: true, f64: true, ..Features::default() }, Features::default());
    assert_eq!((lacking(&p, &all), lacking(&p, &none)), (None, Some("64-bit integer arithmetic")));
    let narrow = Program::build("sum", &[DType::F32, DType::F32], &[], |_, x, _| Ok(vec![x[0] + x[1]])).unwrap();
    assert_eq!(lacking(&narrow, &none), None);

    let bytes: Vec<u8> = (0..6i64).flat_map(|i| (i << 40).to_le_bytes()).collect();
    let x = local.upload(DType::I64, [2, 3], &bytes).unwrap();
    let one = Value::host::<i64>(Shape::scalar(), &[1]).unwrap();
    let (a, b) = (x.tensor().clone(), one.tensor().clone());
    run(local.device().stream(), &p, &[a.clone(), b], &[], &[a], &shape(&[2, 3])).unwrap();
    let want: Vec<u8> = (0..6i64).flat_map(|i| ((i << 40) + 1).to_le_bytes()).collect();
    assert_eq!(local.read(&x).unwrap(), want);
}

/// Every op for every type, results equal to the interpreter's to the last bit.
#[test]
fn all_ops() {
    let Some(local) = local() else { return };
    let mut failures = Vec::new();
    for p in programs() {
        let shapes: Vec<Shape> = p.inputs().iter().map(|_| shape(&[37])).collect();
        if let Err(e) = compare(&local, &p, &shapes) {
            failures.push(e);
        }
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}
