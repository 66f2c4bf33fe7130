//! Tests of the prelude on a device: conversions between memory and registers, and the elementary functions.

use tfvk_device::{Args, DType, Kernel, Tensor};

use crate::local::{Local, Value};
use crate::test_device::{local, served};

/// The bytes of `y`; `None` where the device lacks its type or that of `x`.
fn launch(host: &Local, kernel: &Kernel, constants: &[u32], x: &Tensor, y: &Value, tail: &[u32], n: usize) -> Option<Vec<u8>> {
    let mut args = Args::new();
    args.read(x).unwrap().write(y.tensor()).unwrap();
    for &v in tail {
        args.u32(v);
    }
    let launched = host.device().stream().launch_linear(kernel, constants, &args, n.div_ceil(64) as u64);
    served(host, &[x.dtype, y.tensor().dtype], launched)?;
    Some(host.read(y).unwrap())
}

/// Every 16-bit pattern, and many of the others, come back as they were (a NaN as a NaN).
#[test]
fn loads_and_stores_keep_every_element() {
    let Some(host) = local() else { return };
    for &dtype in DType::NUMERIC {
        let elements = (0..65536u64 + 3).map(|i| if dtype.size() > 2 { i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i } else { i });
        let elements = elements.map(|i| if dtype == DType::Bool { i & 1 } else { i });
        // A type of 16 bytes takes each number twice.
        let bytes: Vec<u8> =
            elements.flat_map(|i| [i.to_le_bytes(), i.to_le_bytes()].concat()[..dtype.size()].to_vec()).collect();
        let n = bytes.len() / dtype.size();
        let x = host.upload(dtype, [n as i64], &bytes).unwrap();
        let y = host.empty(dtype, [n as i64]).unwrap();
        let kernel = crate::shader::SELFTEST.get(&[dtype.into()]).unwrap();
        let Some(got) = launch(&host, kernel, &[64, 1, 1], x.tensor(), &y, &[n as u32], n) else { continue };
        for (i, (a, b)) in bytes.chunks(dtype.size()).zip(got.chunks(dtype.size())).enumerate() {
            let half_nan = |v: &[u8], infinity: u16| u16::from_le_bytes([v[0], v[1]]) & 0x7fff > infinity;
            let nan = |v: &[u8]| match dtype {
                DType::F16 => half_nan(v, 0x7c00),
                DType::BF16 => half_nan(v, 0x7f80),
                _ => false,
            };
            assert!(a == b || (nan(a) && nan(b)), "{dtype} element {i}: {a:x?} became {b:x?}");
        }
    }
}

/// The value of an f16's (or bf16's) bits, sign aside.
fn half_value(bits: u16, mantissa: u32, bias: i32) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> mantissa), f64::from(bits & ((1 << mantissa) - 1)));
    let scale = 2f64.powi(-(mantissa as i32));
    if exponent == 0 { fraction * scale * 2f64.powi(1 - bias) } else { (1.0 + fraction * scale) * 2f64.powi(exponent - bias) }
}

/// f32 to f16 and bf16 rounds to the nearest, ties to even, for values around every representable one.
#[test]
fn narrowing_rounds_to_nearest_even() {
    let Some(host) = local() else { return };
    for (dtype, mantissa, bias, infinity) in [(DType::F16, 10, 15, 0x7c00u16), (DType::BF16, 7, 127, 0x7f80)] {
        let mut inputs: Vec<f32> = Vec::new();
        // For bf16 every 16th value; subnormal f32 may be flushed by the device.
        for bits in (0..infinity).step_by(if dtype == DType::F16 { 1 } else { 16 }) {
            let (low, high) = (half_value(bits, mantissa, bias), half_value(bits + 1, mantissa, bias));
            let middle = ((low + high) / 2.0) as f32;
            // The middle is positive: its neighbours are those of its bits.
            let neighbour = |by: i32| f32::from_bits(middle.to_bits().wrapping_add_signed(by));
            let around = [low as f32, middle, neighbour(1), neighbour(-1), high as f32];
            inputs.extend(around.into_iter().filter(|v| v.is_normal() || *v == 0.0));
        }
        let bytes: Vec<u8> = inputs.iter().flat_map(|v| v.to_le_bytes()).collect();
        let n = inputs.len();
        let x = host.upload(DType::F32, [n as i64], &bytes).unwrap();
        let y = host.empty(dtype, [n as i64]).unwrap();
        // A sum over rows of one element is a conversion.
        let kernel = crate::shader::REDUCE_ROW.get(&[DType::F32.into(), dtype.into(), "memory".into()]).unwrap();
        let got = launch(&host, kernel, &[1, 64, 1, 0, 0, 0, 0], x.tensor(), &y, &[n as u32, 1, 1, 1, 1], n);
        let Some(got) = got else { continue };
        for (v, got) in inputs.iter().zip(got.chunks(2)) {
            let got = u16::from_le_bytes([got[0], got[1]]);
            let distance = |bits: u16| (half_value(bits, mantissa, bias) - f64::from(*v)).abs();
            // The first value past the range stands for infinity.
            let best = [got.saturating_sub(1), got, got + 1]
                .into_iter()
                .filter(|&b| b <= infinity)
                .min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))));
            assert_eq!(Some(got), best, "{v:e} to {dtype}");
        }
    }
}

fn ulps(got: f64, want: f64, digits: i32, least: f64) -> f64 {
    if got == want || (got.is_nan() && want.is_nan()) {
        return 0.0;
    }
    let unit = 2f64.powi(want.abs().max(least).log2().floor() as i32 - digits);
    if unit.is_finite() { (got - want).abs() / unit } else { f64::INFINITY }
}

fn arguments(function: usize) -> Vec<f64> {
    let mut x =
        vec![0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-30, 88.0, -87.0, 0.34, 0.3400001, 2.0, 3.0];
    let (low, high) = [(-80.0, 80.0), (0.0, 10.0), (-0.99, 10.0), (-5.0, 5.0), (-11.0, 11.0), (-4.5, 4.5)][function];
    x.extend((0..20000).map(|i| low + (high - low) * f64::from(i) / 20000.0));
    x.extend((-100..100).map(|i| 2f64.powi(i) * 1.1));
    x.extend((1..100).flat_map(|i| [1.0 + f64::from(i) * 1e-5, f64::from(i) * -1e-6]));
    x.into_iter().map(|v| f64::from(v as f32)).collect()
}

/// The functions are within a few units in the last place of the host's, over their whole range.
#[test]
fn functions_are_exact_to_a_few_ulps() {
    let Some(host) = local() else { return };
    let reference: [fn(f64) -> f64; 5] = [f64::exp, f64::ln, f64::ln_1p, f64::exp_m1, f64::tanh];
    for (f, reference) in reference.iter().enumerate() {
        let x = arguments(f);
        let n = x.len();
        for (dtype, digits, least, allowed) in
            [(DType::F32, 23, f64::from(f32::MIN_POSITIVE), 3.5), (DType::F64, 52, f64::MIN_POSITIVE, 4.0)]
        {
            let bytes: Vec<u8> = x
                .iter()
                .flat_map(|&v| if dtype == DType::F32 { (v as f32).to_le_bytes().to_vec() } else { v.to_le_bytes().to_vec() })
                .collect();
            let input = host.upload(dtype, [n as i64], &bytes).unwrap();
            let y = host.empty(dtype, [n as i64]).unwrap();
            let kernel = crate::shader::SELFTEST_MATH.get(&[dtype.into()]).unwrap();
            let out = launch(&host, kernel, &[64, 1, 1, f as u32], input.tensor(), &y, &[n as u32], n);
            let Some(out) = out else { continue };
            for (&v, got) in x.iter().zip(out.chunks(dtype.size())) {
                let (got, want) = match dtype {
                    // An f32 overflows where the exact result is past its range.
                    DType::F32 => (f64::from(f32::from_le_bytes(got.try_into().unwrap())), reference(v)),
                    _ => (f64::from_le_bytes(got.try_into().unwrap()), reference(v)),
                };
                let want = if dtype == DType::F32 && want.abs() > f64::from(f32::MAX) { f64::from(want as f32) } else { want };
                let error = ulps(got, want, digits, least);
                assert!(error <= allowed, "function {f}, {dtype}: f({v:e}) = {got:e}, not {want:e}: {error} ulps");
            }
        }
    }
}

/// erf against values from the definition's series, summed in another order and precision.
#[test]
fn erf_is_exact() {
    let Some(host) = local() else { return };
    let known = [
        (0.0, 0.0),
        (0.1, 0.112_462_916_018_284_9),
        (0.5, 0.520_499_877_813_046_5),
        (1.0, 0.842_700_792_949_714_9),
        (-1.5, -0.966_105_146_475_310_7),
        (2.0, 0.995_322_265_018_952_7),
        (2.5, 0.999_593_047_982_555),
        (3.0, 0.999_977_909_503_001_4),
        (3.5, 0.999_999_256_901_627_7),
        (5.0, 0.999_999_999_998_462_6),
        (f64::INFINITY, 1.0),
    ];
    for (dtype, allowed) in [(DType::F64, 1e-15), (DType::F32, 1.5e-7)] {
        let encode = |v: f64| if dtype == DType::F64 { v.to_le_bytes().to_vec() } else { (v as f32).to_le_bytes().to_vec() };
        let bytes: Vec<u8> = known.iter().flat_map(|k| encode(k.0)).collect();
        let x = host.upload(dtype, [known.len() as i64], &bytes).unwrap();
        let y = host.empty(dtype, [known.len() as i64]).unwrap();
        let kernel = crate::shader::SELFTEST_MATH.get(&[dtype.into()]).unwrap();
        let out = launch(&host, kernel, &[64, 1, 1, 5], x.tensor(), &y, &[known.len() as u32], known.len());
        let Some(out) = out else { continue };
        for (k, got) in known.iter().zip(out.chunks(dtype.size())) {
            let got = match dtype {
                DType::F64 => f64::from_le_bytes(got.try_into().unwrap()),
                _ => f64::from(f32::from_le_bytes(got.try_into().unwrap())),
            };
            assert!((got - k.1).abs() <= allowed, "erf({}) of {dtype} = {got}, not {}", k.0, k.1);
        }
    }
}
