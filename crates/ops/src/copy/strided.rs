//! The strided copy: any permutation, slice, broadcast or reversal of a tensor into any strided place, for every element
//! size. `plan.rs` decides, this file launches. Knows no op.

use tfvk_device::{Args, Device, DevicePtr, Error, Kernel, Result, Stream, Tensor};

use super::plan::{Dim, Plan, Way};
use crate::shader::{self, Shader};

/// One side of a copy: element `i` is at `offset + sum(i[k] * strides[k])`, in elements of the tensor.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Whose memory. Its own shape plays no part, but everything that is touched must lie inside it.
    pub tensor: &'a Tensor,
    /// The element of index 0.
    pub offset: i64,
    /// One stride per dimension; negative to reverse, 0 (in a source) to broadcast.
    pub strides: &'a [i64],
}

/// Copies `dims` elements from `src` to `dst`, any number of dimensions. Both have elements of one size (their types need
/// not be equal: bits are moved). The destination's elements must not overlap each other or the source.
///
/// Errors: a side with another number of strides than dimensions, or of another element size.
pub fn strided_copy(device: &Device, stream: &Stream, dims: &[i64], src: View<'_>, dst: View<'_>) -> Result<()> {
    let size = src.tensor.dtype.size() as u64;
    if src.strides.len() != dims.len() || dst.strides.len() != dims.len() || dst.tensor.dtype.size() as u64 != size {
        return Err(Error::internal(format!(
            "strided copy: {} dimensions of {}, got {} strides of {} and {} of {}",
            dims.len(),
            src.tensor.dtype,
            src.strides.len(),
            src.tensor.dtype,
            dst.strides.len(),
            dst.tensor.dtype
        )));
    }
    if dims.contains(&0) {
        return Ok(());
    }
    let address = |v: &View<'_>| Ok::<_, Error>(v.tensor.device_ptr()?.0.wrapping_add_signed(v.offset * size as i64));
    let all = dims.iter().zip(src.strides).zip(dst.strides).map(|((&n, &src), &dst)| Dim { n, src, dst });
    let mut parts = Vec::new();
    Plan::new(size, all, address(&src)?, address(&dst)?).parts(&mut parts);
    parts.into_iter().try_for_each(|p| copy_part(device, stream, p))
}

/// Copies `bytes` bytes between two places of the device's memory that do not overlap, of any alignment.
///
/// Errors: a place is not inside one allocation of this device.
pub fn copy_bytes(device: &Device, stream: &Stream, dst: DevicePtr, src: DevicePtr, bytes: u64) -> Result<()> {
    if bytes == 0 || dst == src {
        return Ok(());
    }
    let n = i64::try_from(bytes).map_err(|_| Error::invalid_argument(format!("a copy of {bytes} bytes")))?;
    let mut parts = Vec::new();
    // A few odd bytes at the end must not make all elements narrow.
    let (whole, rest) = (n & !15, n & 15);
    for (at, n) in [(0, whole), (whole, rest)] {
        if n > 0 {
            let (src, dst) = (src.offset(at as u64).0, dst.offset(at as u64).0);
            Plan::new(1, [Dim { n, src: 1, dst: 1 }], src, dst).parts(&mut parts);
        }
    }
    parts.into_iter().try_for_each(|p| copy_part(device, stream, p))
}

/// Transposes: dimension `k` of `dst` is dimension `perm[k]` of `src`.
pub fn permute(device: &Device, stream: &Stream, src: &Tensor, dst: &Tensor, perm: &[usize]) -> Result<()> {
    let strides = src.shape.strides();
    let at = |list: &[i64], k: usize| {
        list.get(k).copied().ok_or_else(|| Error::internal(format!("permutation {perm:?} of {}", src.shape)))
    };
    let dims = perm.iter().map(|&k| at(&src.shape, k)).collect::<Result<Vec<i64>>>()?;
    let from = perm.iter().map(|&k| at(&strides, k)).collect::<Result<Vec<i64>>>()?;
    let to = tfvk_device::Shape::new(&dims).strides();
    let src = View { tensor: src, offset: 0, strides: &from };
    strided_copy(device, stream, &dims, src, View { tensor: dst, offset: 0, strides: &to })
}

/// From this many bytes on, a kernel copies a run: drivers' own copies reach a fifth of some devices' bandwidth.
const LONG_RUN: u64 = 256 << 10;
/// The most dimensions that one launch takes.
const MAX_RANK: usize = 8;

fn copy_part(device: &Device, stream: &Stream, plan: Plan) -> Result<()> {
    if plan.dims.len() > MAX_RANK {
        let outer = plan.dims[0];
        for i in 0..outer.n {
            let mut inner = plan.clone();
            inner.dims.remove(0);
            inner.src = inner.src.wrapping_add_signed(i * outer.src * plan.size as i64);
            inner.dst = inner.dst.wrapping_add_signed(i * outer.dst * plan.size as i64);
            copy_part(device, stream, inner)?;
        }
        return Ok(());
    }
    match plan.way() {
        Way::Run if plan.size >= 4 && plan.count() as u64 * plan.size >= LONG_RUN => linear(device, stream, &plan),
        Way::Run => stream.copy(DevicePtr(plan.dst), DevicePtr(plan.src), plan.count() as u64 * plan.size),
        Way::Linear => linear(device, stream, &plan),
        Way::Tiled { axis } => tiled(device, stream, &plan, axis),
    }
}

fn kernel(shader: &'static Shader, size: u64) -> Result<&'static Kernel> {
    let word = match size {
        1 => "1",
        2 => "2",
        4 => "4",
        8 => "8",
        _ => "16",
    };
    shader.get(&[word.into()])
}

/// The two addresses, and where element 0 is from them (a reversed side starts at its end).
fn addresses(args: &mut Args, plan: &Plan) -> Result<()> {
    let (src, src_bytes) = plan.range(true);
    let (dst, dst_bytes) = plan.range(false);
    args.read_ptr(DevicePtr(src), src_bytes)?.write_ptr(DevicePtr(dst), dst_bytes)?;
    args.i32((plan.src.wrapping_sub(src) / plan.size) as i32).i32((plan.dst.wrapping_sub(dst) / plan.size) as i32);
    Ok(())
}

fn table(args: &mut Args, dims: &[Dim], room: usize) {
    let get = |i: usize| dims.get(i).copied().unwrap_or(Dim { n: 1, src: 0, dst: 0 });
    (0..room).for_each(|i| _ = args.u32(get(i).n as u32));
    (0..room).for_each(|i| _ = args.i32(get(i).src as i32));
    (0..room).for_each(|i| _ = args.i32(get(i).dst as i32));
}

fn linear(device: &Device, stream: &Stream, plan: &Plan) -> Result<()> {
    let threads = device.adapter().limits.max_invocations.min(256);
    let count = plan.count() as u32;
    let mut args = Args::new();
    addresses(&mut args, plan)?;
    args.u32(count);
    table(&mut args, &plan.dims, MAX_RANK);
    let kernel = kernel(&shader::COPY_LINEAR, plan.size)?;
    stream.launch_linear(kernel, &[threads, 1, 1, plan.dims.len() as u32], &args, count.div_ceil(threads).into())
}

fn tiled(device: &Device, stream: &Stream, plan: &Plan, axis: usize) -> Result<()> {
    let limits = &device.adapter().limits;
    let threads = limits.max_invocations.min(256);
    // A row of 128 bytes, or what fits.
    let tile = match plan.size {
        // Narrow elements take a 32-bit word each in shared memory.
        1 | 2 if limits.shared_memory >= 64 * 65 * 4 => 64,
        1 | 2 | 4 | 8 => 32,
        _ => 16,
    };
    let (a, b) = (plan.dims[axis], plan.dims[plan.dims.len() - 1]);
    let rest: Vec<Dim> =
        plan.dims[..plan.dims.len() - 1].iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, d)| *d).collect();
    let (tiles_a, tiles_b) = ((a.n as u64).div_ceil(tile), (b.n as u64).div_ceil(tile));
    let groups = tiles_a * tiles_b * rest.iter().map(|d| d.n as u64).product::<u64>();
    let mut args = Args::new();
    addresses(&mut args, plan)?;
    args.u32(a.n as u32).u32(b.n as u32).i32(a.dst as i32).i32(b.src as i32);
    args.u32(tiles_a as u32).u32(tiles_b as u32).u32(groups as u32);
    table(&mut args, &rest, MAX_RANK - 2);
    let constants = [threads, 1, 1, tile as u32, rest.len() as u32];
    stream.launch_linear(kernel(&shader::COPY_TILED, plan.size)?, &constants, &args, groups)
}

#[cfg(test)]
mod tests;
