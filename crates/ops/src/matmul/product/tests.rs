//! Products on a device, against sums on the host in double.

use smallvec::SmallVec;
use tfvk_device::DType;

use super::super::choice::{Choice, Tile};
use crate::local::{Attr, Local, Node, Value};
use crate::test_device::{local, served};

/// Small integers, exact in every type, so that every result must be exact too.
fn data(n: i64, seed: i64) -> Vec<i64> {
    (0..n).map(|i| (i * 7 + seed + i / 5) % 7 - 3).collect()
}

fn bytes(dtype: DType, v: &[i64]) -> Vec<u8> {
    v.iter()
        .flat_map(|&x| -> SmallVec<[u8; 16]> {
            let f = x as f32;
            match dtype {
                DType::F32 => f.to_le_bytes().into_iter().collect(),
                DType::F64 => f64::from(f).to_le_bytes().into_iter().collect(),
                DType::BF16 => f.to_bits().to_le_bytes()[2..].iter().copied().collect(),
                DType::F16 => half(f).to_le_bytes().into_iter().collect(),
                DType::I32 => (x as i32).to_le_bytes().into_iter().collect(),
                DType::I64 => x.to_le_bytes().into_iter().collect(),
                // The imaginary part is another small number.
                DType::C64 => f.to_le_bytes().into_iter().chain((1.0 - f).to_le_bytes()).collect(),
                other => unreachable!("{other}"),
            }
        })
        .collect()
}

/// An integer of at most 2048 as f16.
fn half(f: f32) -> u16 {
    if f == 0.0 {
        return 0;
    }
    let b = f.to_bits();
    ((b >> 16) & 0x8000) as u16 | ((((b >> 23) & 255) as i32 - 112) << 10) as u16 | ((b >> 13) & 0x3ff) as u16
}

fn check(host: &Local, dtype: DType, (m, n, k): (i64, i64, i64), (ta, tb): (bool, bool)) {
    let (a, b) = (data(m * k, 1), data(k * n, 2));
    let at = |i: i64, p: i64| a[if ta { p * m + i } else { i * k + p } as usize];
    let bt = |p: i64, j: i64| b[if tb { j * k + p } else { p * n + j } as usize];
    let shape = |t: bool, r: i64, c: i64| if t { [c, r] } else { [r, c] };
    let x = host.upload(dtype, shape(ta, m, k), &bytes(dtype, &a)).unwrap();
    let y = host.upload(dtype, shape(tb, k, n), &bytes(dtype, &b)).unwrap();
    let node = Node::new("MatMul").dtype("T", dtype).attr("transpose_a", Attr::Bool(ta)).attr("transpose_b", Attr::Bool(tb));
    let Some(got) = served(host, &[dtype], host.run(&node, &[x, y])) else { return };
    let got = host.read(&got[0]).unwrap();
    let mut want = Vec::new();
    for i in 0..m {
        for j in 0..n {
            want.push((0..k).map(|p| at(i, p) * bt(p, j)).sum::<i64>());
        }
    }
    if dtype == DType::C64 {
        for (c, idx) in got.chunks(8).zip(0..) {
            let (i, j) = (idx / n, idx % n);
            let sum = |f: &dyn Fn(i64, i64) -> i64| (0..k).map(|p| f(at(i, p), bt(p, j))).sum::<i64>() as f32;
            let (re, im) = (sum(&|x, y| x * y - (1 - x) * (1 - y)), sum(&|x, y| x * (1 - y) + (1 - x) * y));
            assert_eq!(c, [re.to_le_bytes(), im.to_le_bytes()].concat(), "{dtype} {m}x{n}x{k} {ta} {tb} at {i},{j}");
        }
        return;
    }
    let want = bytes(dtype, &want);
    let size = dtype.size();
    for i in 0..(m * n) as usize {
        let r = i * size..(i + 1) * size;
        assert_eq!(got[r.clone()], want[r], "{dtype} {m}x{n}x{k} {ta} {tb} at {}", i);
    }
}

#[test]
fn every_type_size_and_transposition() {
    let Some(host) = local() else { return };
    let ways = [(false, false), (false, true), (true, false), (true, true)];
    for t in ways {
        for size in [(1, 1, 1), (4, 8, 16), (33, 65, 17), (5, 3, 40), (36, 68, 32), (70, 9, 3)] {
            check(&host, DType::F32, size, t);
        }
    }
    for t in ways {
        check(&host, DType::F32, (1, 131, 67), t);
        check(&host, DType::F32, (132, 1, 68), t);
    }
    check(&host, DType::BF16, (1, 136, 64), (false, false));
    check(&host, DType::F64, (131, 1, 65), (false, false));
    // Sizes that matrix units take, where there are any: both of their tiles, incomplete ones, steps of K cut short.
    for (dtype, t) in [DType::F16, DType::BF16].into_iter().flat_map(|d| ways.map(|t| (d, t))) {
        check(&host, dtype, (136, 264, 40), t);
    }
    if host.device().adapter().features.coopmat_khr.is_some() {
        check(&host, DType::F16, (2056, 2312, 40), (false, false));
        check(&host, DType::BF16, (2056, 2312, 40), (true, true));
        // Rows that are no whole eights are copied first.
        for (t, size) in ways.into_iter().flat_map(|t| [(1058, 2066, 38), (1051, 2067, 39), (2050, 2314, 38)].map(|s| (t, s))) {
            check(&host, DType::BF16, size, t);
        }
    }
    // A pipeline takes the software device half a second, so the other types share what is left.
    let types = [DType::F16, DType::BF16, DType::F64, DType::I32, DType::I64, DType::C64];
    for (dtype, t) in types.into_iter().zip(ways.into_iter().cycle()) {
        check(&host, dtype, (33, 65, 17), t);
        check(&host, dtype, (36, 68, 32), t);
        check(&host, dtype, (3, 4, 0), (false, false));
    }
}

/// Every tile and split gives the same, not only the one that this device would be given.
#[test]
fn every_tile_and_split() {
    let Some(host) = local() else { return };
    let limits = host.device().adapter().limits;
    for tile in [Tile::T128, Tile::T64, Tile::T32] {
        if limits.max_invocations < tile.threads() || limits.shared_memory < 34_000 {
            continue;
        }
        for dtype in [DType::F32, DType::BF16] {
            for k_part in [16, 48, 1024] {
                let (m, n, k) = (131, 141, 70);
                let (a, b) = (data(m * k, 3), data(k * n, 4));
                let want: Vec<i64> =
                    (0..m * n).map(|i| (0..k).map(|p| a[(i / n * k + p) as usize] * b[(p * n + i % n) as usize]).sum()).collect();
                let x = host.upload(dtype, [m, k], &bytes(dtype, &a)).unwrap();
                let y = host.upload(dtype, [k, n], &bytes(dtype, &b)).unwrap();
                let z = run(&host, &x, &y, (m, n, k), Choice { tile, k_part });
                assert!(host.read(&z).unwrap() == bytes(dtype, &want), "{dtype} {tile:?} {k_part}");
            }
        }
    }
}

/// A kernel that the device has nothing for is replaced by one for any device.
#[test]
fn what_the_driver_refuses_is_computed_all_the_same() {
    let Some(host) = local() else { return };
    let (m, n, k) = (40, 48, 64);
    let (a, b) = (data(m * k, 3), data(k * n, 4));
    let want: Vec<i64> =
        (0..m * n).map(|i| (0..k).map(|p| a[(i / n * k + p) as usize] * b[(p * n + i % n) as usize]).sum()).collect();
    let x = host.upload(DType::F16, [m, k], &bytes(DType::F16, &a)).unwrap();
    let y = host.upload(DType::F16, [k, n], &bytes(DType::F16, &b)).unwrap();
    let choice = Choice { tile: Tile::Matrix256, k_part: k as u64 };
    for _ in 0..2 {
        let z = launch(&host, &x, &y, (m, n, k), choice, |p, ctx, choice| p.launch_first(ctx, choice));
        assert!(host.read(&z).unwrap() == bytes(DType::F16, &want));
    }
}

fn run(host: &Local, x: &Value, y: &Value, size: (i64, i64, i64), choice: Choice) -> Value {
    launch(host, x, y, size, choice, |p, ctx, choice| p.run_as(ctx, Some(choice)))
}

type Launch = fn(&super::Product, &mut crate::Compute<'_>, Choice) -> tfvk_device::Result<()>;

fn launch(host: &Local, x: &Value, y: &Value, (m, n, k): (i64, i64, i64), choice: Choice, how: Launch) -> Value {
    struct Fixed(Choice, (i64, i64, i64), Launch);
    impl crate::OpKernel for Fixed {
        fn outputs(&self, _: &crate::Inputs<'_>) -> tfvk_device::Result<crate::Outputs> {
            Ok(crate::Outputs::from_iter([crate::Output::Shape([self.1.0, self.1.1].into())]))
        }
        fn compute(&self, ctx: &mut crate::Compute<'_>) -> tfvk_device::Result<()> {
            let (m, n, k) = self.1;
            let p = super::Product {
                a: super::Operand::new(&ctx.input(0)?, true),
                b: super::Operand::new(&ctx.input(1)?, false),
                c: ctx.output(0)?,
                c_row: None,
                m: m as u64,
                n: n as u64,
                k: k as u64,
                batch: SmallVec::new(),
                epilogue: super::Epilogue::none(),
            };
            self.2(&p, ctx, self.0)
        }
    }
    let node = Node::new("MatMul").dtype("T", x.tensor().dtype);
    host.run_kernel(&node, Box::new(Fixed(choice, (m, n, k), how)), &[x.clone(), y.clone()]).unwrap().remove(0)
}

/// A batch whose operands are copied for matrix units gives the same as it would without.
#[test]
fn padded_operands() {
    struct Padded(bool, bool);
    const BATCH: i64 = 3;
    const SIZE: (i64, i64, i64) = (5, 11, 13);
    impl crate::OpKernel for Padded {
        fn outputs(&self, _: &crate::Inputs<'_>) -> tfvk_device::Result<crate::Outputs> {
            Ok(crate::Outputs::from_iter([crate::Output::Shape([BATCH, SIZE.0, SIZE.1].into())]))
        }
        fn compute(&self, ctx: &mut crate::Compute<'_>) -> tfvk_device::Result<()> {
            let (m, n, k) = (SIZE.0 as u64, SIZE.1 as u64, SIZE.2 as u64);
            let p = super::Product {
                a: super::Operand::new(&ctx.input(0)?, !self.0),
                b: super::Operand::new(&ctx.input(1)?, self.1),
                c: ctx.output(0)?,
                c_row: None,
                m,
                n,
                k,
                // One B for all.
                batch: [super::Batch { n: BATCH as u64, a: m * k, b: 0, c: m * n }].into_iter().collect(),
                epilogue: super::Epilogue::none(),
            };
            let p = p.in_eights(ctx)?;
            assert!(p.a_in_eights() && p.b_in_eights());
            assert_eq!((p.b.tensor.num_elements() as u64, p.batch[0].b), (p.b_row() * if self.1 { n } else { k }, 0));
            p.launch(ctx, Some(Choice { tile: Tile::T32, k_part: 16 }))
        }
    }
    let Some(host) = local() else { return };
    let (m, n, k) = SIZE;
    let (a, b) = (data(BATCH * m * k, 5), data(k * n, 6));
    for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
        let x = host.upload(DType::BF16, [BATCH * m * k], &bytes(DType::BF16, &a)).unwrap();
        let y = host.upload(DType::BF16, [k * n], &bytes(DType::BF16, &b)).unwrap();
        let node = Node::new("MatMul").dtype("T", DType::BF16);
        let c = host.run_kernel(&node, Box::new(Padded(ta, tb)), &[x, y]).unwrap().remove(0);
        let at = |z: i64, i: i64, p: i64| a[(z * m * k + if ta { p * m + i } else { i * k + p }) as usize];
        let bt = |p: i64, j: i64| b[if tb { j * k + p } else { p * n + j } as usize];
        let each = (0..BATCH * m * n).map(|e| (e / (m * n), e / n % m, e % n));
        let want: Vec<i64> = each.map(|(z, i, j)| (0..k).map(|p| at(z, i, p) * bt(p, j)).sum()).collect();
        assert!(host.read(&c).unwrap() == bytes(DType::BF16, &want), "{ta} {tb}");
    }
}
