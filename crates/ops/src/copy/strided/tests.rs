//! The strided copy on a device, against the same indices walked on the host.

use tfvk_device::DType;

use super::*;
use crate::local::{Local, Value};
use crate::test_device::local;

/// Copies random bytes and compares every element of the destination, untouched ones too.
fn check(host: &Local, dtype: DType, dims: &[i64], (src_offset, src): (i64, &[i64]), (dst_offset, dst): (i64, &[i64])) {
    let size = dtype.size();
    let reach = |first: i64, strides: &[i64]| first + dims.iter().zip(strides).map(|(n, s)| (n - 1) * s.max(&0)).sum::<i64>() + 1;
    let (ns, nd) = (reach(src_offset, src), reach(dst_offset, dst) + 3);
    let bytes: Vec<u8> = (0..ns as usize * size).map(|i| (i * 131 + i / 251) as u8).collect();
    let mut want = vec![0xa5u8; nd as usize * size];
    let s = host.upload(dtype, [ns], &bytes).unwrap();
    let d = host.upload(dtype, [nd], &want).unwrap();
    let (sv, dv) = (
        View { tensor: s.tensor(), offset: src_offset, strides: src },
        View { tensor: d.tensor(), offset: dst_offset, strides: dst },
    );
    strided_copy(host.device(), host.device().stream(), dims, sv, dv).unwrap();
    for i in 0..dims.iter().product::<i64>() {
        let (mut rest, mut from, mut to) = (i, src_offset, dst_offset);
        for k in (0..dims.len()).rev() {
            from += rest % dims[k] * src[k];
            to += rest % dims[k] * dst[k];
            rest /= dims[k];
        }
        let (from, to) = (from as usize * size, to as usize * size);
        want[to..to + size].copy_from_slice(&bytes[from..from + size]);
    }
    assert!(host.read(&d).unwrap() == want, "{dtype} {dims:?} {src:?} {dst:?}");
}

#[test]
fn copies_of_every_kind() {
    let Some(host) = local() else { return };
    for dtype in [DType::U8, DType::I16, DType::F32, DType::F64, DType::C128] {
        // Contiguous, aligned and not.
        check(&host, dtype, &[3, 5], (0, &[5, 1]), (0, &[5, 1]));
        check(&host, dtype, &[64], (1, &[1]), (3, &[1]));
        // Long enough for a kernel.
        check(&host, dtype, &[300_007], (0, &[1]), (0, &[1]));
        check(&host, dtype, &[300_007], (1, &[1]), (5, &[1]));
        // A slice of rows, wide and narrow.
        check(&host, dtype, &[7, 16], (4, &[48, 1]), (8, &[32, 1]));
        check(&host, dtype, &[5, 3], (1, &[7, 1]), (2, &[4, 1]));
        // Transpositions: square, odd, narrow, batched, inner dimensions kept.
        check(&host, dtype, &[64, 64], (0, &[1, 64]), (0, &[64, 1]));
        check(&host, dtype, &[71, 133], (0, &[1, 71]), (0, &[133, 1]));
        check(&host, dtype, &[50, 3], (0, &[1, 50]), (0, &[3, 1]));
        check(&host, dtype, &[2, 9, 3, 40], (0, &[1080, 1, 9, 27]), (0, &[1080, 120, 40, 1]));
        check(&host, dtype, &[6, 5, 8], (0, &[8, 48, 1]), (0, &[40, 8, 1]));
        // Reversed, broadcast, rank 8 that nothing collapses.
        check(&host, dtype, &[11, 7], (76, &[-7, -1]), (0, &[7, 1]));
        check(&host, dtype, &[4, 5, 6], (0, &[0, 1, 0]), (0, &[30, 6, 1]));
        let reversed: Vec<i64> = (0..8).map(|k| 1 << k).collect();
        let forward: Vec<i64> = (0..8).rev().map(|k| 1 << k).collect();
        check(&host, dtype, &[2; 8], (0, &reversed), (0, &forward));
        check(&host, dtype, &[2; 9], (0, &[1, 2, 4, 8, 16, 32, 64, 128, 256]), (0, &[256, 128, 64, 32, 16, 8, 4, 2, 1]));
    }
}

#[test]
fn permutes() {
    let Some(host) = local() else { return };
    let x = host.upload(DType::I32, [2, 3, 4], &(0..24i32).flat_map(i32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    let y = host.empty(DType::I32, [4, 2, 3]).unwrap();
    permute(host.device(), host.device().stream(), x.tensor(), y.tensor(), &[2, 0, 1]).unwrap();
    let got: Vec<i32> = host.read(&y).unwrap().chunks(4).map(|c| i32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    let want: Vec<i32> = (0..24).map(|i| i % 3 * 4 + i / 3 % 2 * 12 + i / 6).collect();
    assert_eq!(got, want);
}

#[test]
fn bytes_of_any_alignment() {
    let Some(host) = local() else { return };
    let n = 1_000_003i64;
    let bytes: Vec<u8> = (0..n).map(|i| (i * 131 + i / 251) as u8).collect();
    let src = host.upload(DType::U8, [n], &bytes).unwrap();
    for (from, to, count) in [(0, 0, n), (16, 32, n - 64), (1, 1, n - 1), (1, 2, n - 2), (4, 8, n - 8), (7, 3, 5), (0, 9, 0)] {
        let dst = host.upload(DType::U8, [n], &vec![0xa5; n as usize]).unwrap();
        let at = |v: &Value, offset: i64| v.tensor().device_ptr().unwrap().offset(offset as u64);
        let device = host.device();
        copy_bytes(device, device.stream(), at(&dst, to), at(&src, from), count as u64).unwrap();
        let mut want = vec![0xa5; n as usize];
        want[to as usize..(to + count) as usize].copy_from_slice(&bytes[from as usize..(from + count) as usize]);
        assert!(host.read(&dst).unwrap() == want, "{count} bytes from {from} to {to}");
    }
}
