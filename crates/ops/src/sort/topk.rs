//! TopK and TopKV2: the largest k of each row, largest first, of equals the first.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Tensor};

use super::radix::sort;
use crate::array::{count, threads};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// Rows up to this width are ranked by counting.
const SHORT: i64 = 4096;

struct TopK {
    /// `None`: input 1.
    k: Option<i64>,
}

/// The kernel of TopK.
pub fn top_k(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(TopK { k: Some(node.i64("k")?) }))
}

/// The kernel of TopKV2.
pub fn top_k_v2(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(TopK { k: None }))
}

impl TopK {
    fn k(&self, inputs: &Inputs<'_>) -> Result<i64> {
        self.k.map_or_else(|| inputs.host_int(1), Ok)
    }
}

impl OpKernel for TopK {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (x, k) = (inputs.shape(0)?, self.k(inputs)?);
        let Some(&width) = x.last() else { return Err(Error::invalid_argument("input must be >= 1-D, got shape []")) };
        if k < 0 || k > width {
            return Err(Error::invalid_argument(format!("input must have at least k columns. Had {width}, needed {k}")));
        }
        let mut shape = x.clone();
        shape.remove(x.rank() - 1);
        shape.push(k);
        Ok(smallvec![Output::Shape(shape.clone()), Output::Shape(shape)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, values, indices) = (ctx.input(0)?, ctx.output(0)?, ctx.output(1)?);
        let k = self.k(&ctx.inputs())?;
        if !matches!(indices.dtype.size(), 4 | 8) {
            return Err(Error::unimplemented(format!("indices of {}", indices.dtype)));
        }
        let width = x.shape.last().copied().unwrap_or(1);
        let rows = count(&values.shape)? / k as u32;
        if width <= SHORT {
            return by_rank(ctx, &x, &values, &indices, rows, width as u32, k as u32);
        }
        (0..i64::from(rows)).try_for_each(|r| {
            let row = x.slice(r * width, [width]);
            by_sort(ctx, &row, &values, &indices, k as u32, (r * k) as u32)
        })
    }
}

fn by_rank(ctx: &Compute<'_>, x: &Tensor, values: &Tensor, indices: &Tensor, rows: u32, width: u32, k: u32) -> Result<()> {
    let threads = threads(ctx);
    let stretches = width.div_ceil(threads);
    let mut args = Args::new();
    args.read(x)?.write(values)?.write(indices)?.u32(rows).u32(width).u32(k).u32(stretches);
    let kernel = shader::TOPK_RANK.get(&[x.dtype.into()])?;
    let groups = u64::from(rows) * u64::from(stretches);
    ctx.stream().launch_linear(kernel, &[threads, 1, 1, indices.dtype.size() as u32], &args, groups)
}

fn by_sort(ctx: &mut Compute<'_>, row: &Tensor, values: &Tensor, indices: &Tensor, k: u32, first: u32) -> Result<()> {
    let n = count(&row.shape)?;
    let wide = row.dtype.size() == 8;
    let keys = ctx.temp(if wide { DType::U64 } else { DType::U32 }, [i64::from(n)])?;
    let threads = threads(ctx);
    let launch = |ctx: &Compute<'_>, phase: &'static str, words: &Tensor, n: u32| -> Result<()> {
        let mut args = Args::new();
        args.read(row)?.write(values)?.write(indices)?.read_write(words)?.u32(n).u32(first);
        let kernel = shader::TOPK_SORT.get(&[row.dtype.into(), phase.into()])?;
        let constants = [threads, 1, 1, indices.dtype.size() as u32];
        ctx.stream().launch_linear(kernel, &constants, &args, n.div_ceil(threads).into())
    };
    launch(ctx, "keys", &keys, n)?;
    let sorted = sort(ctx, &keys, if wide { 64 } else { 32 })?;
    launch(ctx, "emit", &sorted.order, k)
}
