//! Writing one element's bits everywhere, on the device or in host memory.

use smallvec::SmallVec;
use tfvk_device::{Args, DType, Error, Memory, Result, Shape, Tensor};

use super::mover::{move_elements, threads};
use super::view::{Move, View};
use crate::{Compute, shader};

/// Makes every element of `dst` the one element of `value` (on the device or in host memory), or zero bits.
pub fn fill(ctx: &Compute<'_>, dst: &Tensor, value: Option<&Tensor>) -> Result<()> {
    if let Some(value) = value.filter(|v| v.num_elements() != 1) {
        return Err(Error::invalid_argument(format!("the value to fill with must be a scalar, got shape {}", value.shape)));
    }
    if dst.num_elements() == 0 {
        return Ok(());
    }
    match (dst.memory(), value) {
        (Memory::Host(_), Some(v)) => move_elements(ctx, v, dst, &everywhere(dst.num_elements())),
        (Memory::Host(_), None) => {
            let mut bytes = dst.with(DType::U8, Shape::from([dst.bytes() as i64]));
            bytes.host_mut::<u8>()?.fill(0);
            Ok(())
        }
        (Memory::Device(ptr), None) => ctx.stream().fill(ptr, dst.bytes(), 0),
        (Memory::Device(_), Some(v)) => on_device(ctx, dst, v),
    }
}

fn everywhere(n: i64) -> Move {
    Move::new(&[n], View { offset: 0, strides: SmallVec::from_elem(0, 1) }, View::dense(&[n]))
}

fn on_device(ctx: &Compute<'_>, dst: &Tensor, value: &Tensor) -> Result<()> {
    match value.memory() {
        // An odd address: the strided copy takes it.
        Memory::Device(_) if dst.device_ptr()?.0 % 16 != 0 => move_elements(ctx, value, dst, &everywhere(dst.num_elements())),
        Memory::Device(_) => launch(ctx, dst, Some(value), &[0; 16]),
        Memory::Host(_) => {
            let bytes = value.with(DType::U8, Shape::from([dst.dtype.size() as i64]));
            let mut bits = [0u8; 16];
            bits.iter_mut().zip(bytes.host::<u8>()?).for_each(|(a, b)| *a = *b);
            launch(ctx, dst, None, &bits)
        }
    }
}

/// Makes every element of `dst`, on the device, the one whose bytes `bits` starts with.
pub fn fill_bits(ctx: &Compute<'_>, dst: &Tensor, bits: &[u8; 16]) -> Result<()> {
    if dst.num_elements() == 0 {
        return Ok(());
    }
    if *bits == [0; 16] {
        return ctx.stream().fill(dst.device_ptr()?, dst.bytes(), 0);
    }
    launch(ctx, dst, None, bits)
}

fn launch(ctx: &Compute<'_>, dst: &Tensor, value: Option<&Tensor>, bits: &[u8; 16]) -> Result<()> {
    let ptr = dst.device_ptr()?;
    if ptr.0 % 16 != 0 {
        return Err(Error::internal(format!("a fill of a {} at {:#x}, not a multiple of 16", dst.dtype, ptr.0)));
    }
    let words = u32::try_from(dst.bytes() / 16).map_err(|_| Error::invalid_argument(format!("{} is too large", dst.shape)))?;
    let mut args = Args::new();
    match value {
        Some(v) => _ = args.read(v)?,
        None => _ = args.null(),
    }
    args.write(dst)?.u32(words).u32((dst.bytes() % 16 / dst.dtype.size() as u64) as u32).bytes(bits);
    let kernel = shader::FILL.get(&[size_word(dst.dtype)?.into()])?;
    let threads = threads(ctx);
    ctx.stream().launch_linear(kernel, &[threads, 1, 1], &args, (u64::from(words) + 1).div_ceil(threads.into()))
}

/// An element size as the shaders spell it.
pub fn size_word(dtype: DType) -> Result<&'static str> {
    match dtype.size() {
        0 => Err(Error::internal(format!("{dtype} elements cannot be moved"))),
        size => Ok(unit_word(size as u64)),
    }
}

/// A unit of 1, 2, 4, 8 or 16 bytes as the shaders spell it.
pub fn unit_word(unit: u64) -> &'static str {
    match unit {
        1 => "1",
        2 => "2",
        4 => "4",
        8 => "8",
        _ => "16",
    }
}
