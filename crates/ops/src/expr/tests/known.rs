//! Known values, through the interpreter.

use tfvk_device::{DType, Shape};

use super::interpreted;
use crate::expr::Chain;

fn f32s(op: &str, inputs: &[&[f32]]) -> Vec<f32> {
    let bytes = |v: &[f32]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let out = run(op, DType::F32, &inputs.iter().map(|v| bytes(v)).collect::<Vec<_>>(), inputs[0].len());
    out.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn run(op: &str, dtype: DType, inputs: &[Vec<u8>], n: usize) -> Vec<u8> {
    let shape = Shape::from([n as i64]);
    let types = vec![dtype.name(); inputs.len()].join(" ");
    let args: Vec<String> = (0..inputs.len()).map(|i| format!("%{i}")).collect();
    let (name, attrs) = op.split_once(' ').unwrap_or((op, ""));
    let text = format!("inputs {types}; {name} {} {attrs}; outputs 0", args.join(" "));
    let p = text.parse::<Chain>().unwrap().program().unwrap();
    let inputs: Vec<_> = inputs.iter().map(|b| (shape.clone(), b.clone())).collect();
    interpreted(&p, &inputs, &[], &shape).remove(0)
}

#[track_caller]
fn close(got: &[f32], want: &[f32]) {
    for (g, w) in got.iter().zip(want) {
        let ok = g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= 3e-7 * w.abs();
        assert!(ok, "{got:?} is not {want:?}");
    }
    assert_eq!(got.len(), want.len());
}

#[test]
fn functions() {
    const INF: f32 = f32::INFINITY;
    const NAN: f32 = f32::NAN;
    close(&f32s("Exp", &[&[0.0, 1.0, -INF, INF, 90.0, -104.0, NAN]]), &[1.0, 1f32.exp(), 0.0, INF, INF, 0.0, NAN]);
    close(&f32s("Log", &[&[1.0, 0.0, -1.0, INF, 1e-45]]), &[0.0, -INF, NAN, INF, -103.278_93]);
    close(&f32s("Sin", &[&[0.0, 1e9, -3e38, INF]]), &[0.0, 0.545_843_4, -0.874_904_9, NAN]);
    close(
        &f32s("Pow", &[&[2.0, -2.0, 0.0, -0.0, 1.0, -8.0], &[10.0, 3.0, 0.0, -1.0, NAN, 0.5]]),
        &[1024.0, -8.0, 1.0, -INF, 1.0, NAN],
    );
    close(&f32s("FloorMod", &[&[5.5, -5.5, 1e30, 3.0, INF], &[2.0, 2.0, 7.0, INF, 2.0]]), &[1.5, 0.5, 1.0, 3.0, NAN]);
    close(&f32s("Tanh", &[&[-0.0, 30.0, 1e-20]]), &[-0.0, 1.0, 1e-20]);
    close(&f32s("Erfc", &[&[0.0, 9.0, -10.0, 0.5]]), &[1.0, 4.137_031_7e-37, 2.0, 0.479_500_12]);
    close(&f32s("NextAfter", &[&[1.0, 0.0, -1.0], &[2.0, -1.0, -1.0]]), &[1.000_000_1, -1e-45, -1.0]);
}

/// Exactly representable powers and quotients have no error at all.
#[test]
fn exact_results() {
    let x: Vec<f32> = (1..=12).map(|v| v as f32).collect();
    for y in 0..=6 {
        let want: Vec<f32> = x.iter().map(|v| v.powi(y)).collect();
        assert_eq!(f32s("Pow", &[&x, &[y as f32; 12]]), want);
    }
    let big: Vec<f32> = (1..2000).map(|i| f32::from_bits(0x2000_0000 + i * 500_009)).collect();
    assert!(f32s("RealDiv", &[&big, &big]).iter().all(|&q| q == 1.0));
    assert!(f32s("FloorMod", &[&big, &big]).iter().all(|&q| q == 0.0));
}

/// Quotients and roots at the ends of the range.
#[test]
fn extremes() {
    const INF: f32 = f32::INFINITY;
    let ends = [
        0.0,
        -0.0,
        1e-45,
        3e-39,
        f32::MIN_POSITIVE,
        5e-38,
        1.0,
        -7.0,
        1e37,
        8.5e37,
        2e38,
        f32::MAX,
        -f32::MAX,
        INF,
        -INF,
        f32::NAN,
    ];
    let (a, b): (Vec<f32>, Vec<f32>) = ends.iter().flat_map(|&a| ends.iter().map(move |&b| (a, b))).unzip();
    for ((q, a), b) in f32s("RealDiv", &[&a, &b]).iter().zip(&a).zip(&b) {
        let want = a / b;
        let close = (q - want).abs() <= f32::MIN_POSITIVE && want.abs() < 2.0 * f32::MIN_POSITIVE;
        assert!(q.to_bits() == want.to_bits() || (q.is_nan() && want.is_nan()) || close, "{a:e} / {b:e} is {want:e}, not {q:e}");
    }
    for (s, x) in f32s("Sqrt", &[&ends]).iter().zip(&ends) {
        let want = x.sqrt();
        // Next to a tie the corrected root may be the other neighbour.
        let close = (s - want).abs() <= f32::EPSILON * want && want.is_finite() && want != 0.0;
        assert!(s.to_bits() == want.to_bits() || (s.is_nan() && want.is_nan()) || close, "sqrt({x:e}) is {want:e}, not {s:e}");
    }
}

#[test]
fn integers() {
    let i8s = |v: &[i8]| v.iter().map(|&x| x as u8).collect::<Vec<u8>>();
    let (a, b) = (i8s(&[-128, -128, 127, 5, -5, 7, 100]), i8s(&[-1, 3, -3, -3, 3, 0, 100]));
    assert_eq!(run("FloorDiv", DType::I8, &[a.clone(), b.clone()], 7), i8s(&[-128, -43, -43, -2, -2, -1, 1]));
    assert_eq!(run("FloorMod", DType::I8, &[a.clone(), b.clone()], 7), i8s(&[0, 1, -2, -1, 1, 7, 0]));
    assert_eq!(run("AddV2", DType::I8, &[a.clone(), b], 7), i8s(&[127, -125, 124, 2, -2, 7, -56]));
    assert_eq!(run("PopulationCount", DType::I8, &[a], 7), [1, 1, 7, 2, 7, 3, 3]);
    assert_eq!(run("LeftShift", DType::I8, &[i8s(&[1, 1, 1, -1]), i8s(&[-1, 40, 3, 2])], 4), i8s(&[1, -128, 8, -4]));
}

#[test]
fn casts() {
    let x: Vec<u8> = [f32::NAN, -1.5, 300.0, 70000.0, 3e9, -0.5, 255.9].iter().flat_map(|v: &f32| v.to_le_bytes()).collect();
    assert_eq!(run("Cast [tuint8] [b0]", DType::F32, std::slice::from_ref(&x), 7), [0, 255, 44, 112, 0, 0, 255]);
    assert_eq!(run("Cast [tbool] [b0]", DType::F32, std::slice::from_ref(&x), 7), [1; 7]);
    let words = run("Cast [tint32] [b0]", DType::F32, &[x], 7);
    let words: Vec<i32> = words.chunks(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(words, [i32::MIN, -1, 300, 70000, i32::MIN, 0, 255]);
    let halves: Vec<u8> = [65519f32, 65520.0, 5.97e-8, 2.97e-8, 1.000_488_3].iter().flat_map(|v| v.to_le_bytes()).collect();
    let halves = run("Cast [tfloat16] [b0]", DType::F32, &[halves], 5);
    let halves: Vec<u16> = halves.chunks(2).map(|b| u16::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(halves, [0x7bff, 0x7c00, 1, 0, 0x3c00]);
}
