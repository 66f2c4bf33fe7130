//! Gather, GatherV2, GatherNd, ResourceGather and ResourceGatherNd: rows picked by index. On the device an index that is
//! out of range gives zeros, as TensorFlow's GPU kernels do; in host memory it is an error.

use smallvec::{SmallVec, smallvec};
use tfvk_device::{Args, DType, Error, Memory, Result, Shape, Tensor};

use crate::array::{threads, unit_word};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// Dimensions that one index may span.
const MAX_DEPTH: usize = 8;
/// Units that an invocation copies.
const UNROLL: u32 = 4;

/// What is gathered, in the kernel's terms (see `gather.comp`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Shape of the output.
    pub shape: Shape,
    outer: i64,
    n: i64,
    /// The dimensions that an index spans.
    dims: SmallVec<[i64; 8]>,
    /// Elements of a row.
    inner: i64,
}

/// A plan for GatherV2 of `params` along `axis`.
pub fn along_axis(params: &Shape, indices: &Shape, axis: i64, batch_dims: i64) -> Result<Plan> {
    let bad = |m: String| Err(Error::invalid_argument(m));
    let batch = if batch_dims < 0 { batch_dims + indices.rank() as i64 } else { batch_dims };
    if !(0..=indices.rank() as i64).contains(&batch) || batch > params.rank() as i64 {
        return bad(format!("batch_dims: {batch_dims} does not fit params {params} and indices {indices}"));
    }
    let batch = batch as usize;
    let Some(axis) = params.axis(axis) else {
        return bad(format!("Expected axis in the range [{}, {}), but got {axis}", -(params.rank() as i64), params.rank()));
    };
    if axis < batch {
        return bad(format!("batch_dims ({batch}) must be less than or equal to axis ({axis})."));
    }
    if params[..batch] != indices[..batch] {
        return bad(format!("params {params} and indices {indices} differ in their {batch} batch dimensions"));
    }
    let product = |d: &[i64]| Shape::new(d).num_elements();
    let shape = params[..axis].iter().chain(&indices[batch..]).chain(&params[axis + 1..]).copied().collect();
    Ok(Plan {
        shape,
        outer: product(&params[batch..axis]),
        n: product(&indices[batch..]),
        dims: smallvec![params[axis]],
        inner: product(&params[axis + 1..]),
    })
}

/// A plan for GatherNd.
pub fn nd(params: &Shape, indices: &Shape) -> Result<Plan> {
    let Some((&depth, lead)) = indices.dims().split_last() else {
        return Err(Error::invalid_argument("indices must be at least a vector"));
    };
    if params.rank() == 0 {
        return Err(Error::invalid_argument("params must be at least a vector"));
    }
    let depth = depth as usize;
    if depth > params.rank() || depth > MAX_DEPTH {
        return Err(Error::invalid_argument(format!(
            "index innermost dimension length must be <= params rank; saw: {depth} vs. {}",
            params.rank()
        )));
    }
    Ok(Plan {
        shape: lead.iter().chain(&params[depth..]).copied().collect(),
        outer: 1,
        n: Shape::new(lead).num_elements(),
        dims: SmallVec::from_slice(&params[..depth]),
        inner: Shape::new(&params[depth..]).num_elements(),
    })
}

/// The widest unit (a power of two of at most 16 bytes) that divides a row of `bytes` and both addresses.
pub(super) fn unit(bytes: u64, a: &Tensor, b: &Tensor) -> Result<u64> {
    let all = bytes | a.device_ptr()?.0 | b.device_ptr()?.0 | 16;
    Ok(1 << all.trailing_zeros())
}

/// `IX` of an index type.
pub(super) fn index_word(dtype: DType) -> Result<&'static str> {
    match dtype {
        DType::I32 => Ok("4"),
        DType::I64 => Ok("8"),
        other => Err(Error::invalid_argument(format!("indices: expected int32 or int64, got {other}"))),
    }
}

fn u31(value: i64, what: &str) -> Result<u32> {
    let small = value <= i64::from(i32::MAX);
    small.then_some(value as u32).ok_or_else(|| Error::unimplemented(format!("{value} {what}, more than 2^31 - 1")))
}

/// Launches a plan.
pub fn launch(ctx: &Compute<'_>, plan: &Plan, params: &Tensor, indices: &Tensor, out: &Tensor) -> Result<()> {
    let row_bytes = plan.inner as u64 * params.dtype.size() as u64;
    if row_bytes == 0 || out.num_elements() == 0 {
        return Ok(());
    }
    let unit = unit(row_bytes, params, out)?;
    let units = u31((row_bytes / unit) as i64, "units in a row")?;
    let rows = u31(plan.shape.num_elements() / plan.inner, "rows")?;
    let slab = plan.dims.iter().product::<i64>();
    u31(params.num_elements() / plan.inner, "rows of params")?;
    let threads = threads(ctx);
    let tile = threads * UNROLL;
    let tile_units = units.min(tile);
    let tile_rows = (tile / tile_units).max(1).min(rows);
    let tiles = units.div_ceil(tile_units);
    let mut args = Args::new();
    args.read(params)?.read(indices)?.write(out)?;
    args.u32(rows).u32(units).u32(tile_rows).u32(tile_units).u32(tiles);
    args.u32(plan.outer as u32).u32(plan.n as u32).u32(slab as u32);
    (0..MAX_DEPTH).for_each(|i| _ = args.i32(plan.dims.get(i).map_or(1, |&d| d as i32)));
    let kernel = shader::GATHER.get(&[unit_word(unit).into(), index_word(indices.dtype)?.into()])?;
    let groups = u64::from(rows.div_ceil(tile_rows)) * u64::from(tiles);
    ctx.stream().launch_linear(kernel, &[threads, 1, 1, plan.dims.len() as u32, UNROLL], &args, groups)
}

/// The rows of `params` that `indices` (one axis, on the device) name, to `out`.
pub fn rows(ctx: &Compute<'_>, params: &Tensor, indices: &Tensor, out: &Tensor) -> Result<()> {
    launch(ctx, &along_axis(&params.shape, &indices.shape, 0, 0)?, params, indices, out)
}

/// The same in host memory.
fn on_host(plan: &Plan, params: &Tensor, indices: &Inputs<'_>, out: &Tensor) -> Result<()> {
    let indices = indices.host_ints(1)?;
    let (bytes, inner) = (plan.inner as usize * params.dtype.size(), plan.inner);
    let flat = |t: &Tensor| t.with(DType::U8, Shape::from([t.bytes() as i64]));
    let (src, mut dst) = (flat(params), flat(out));
    let (src, dst) = (src.host::<u8>()?, dst.host_mut::<u8>()?);
    let slab: i64 = plan.dims.iter().product();
    let depth = plan.dims.len();
    for r in 0..(plan.shape.num_elements() / inner.max(1)) {
        let block = r / plan.n;
        let at = ((block / plan.outer * plan.n + r % plan.n) as usize) * depth;
        let mut row = block * slab;
        let mut within = 0;
        for (k, &d) in plan.dims.iter().enumerate() {
            let i = indices[at + k];
            if !(0..d).contains(&i) {
                return Err(Error::invalid_argument(format!("indices[{r}] = {i} is not in [0, {d})")));
            }
            within = within * d + i;
        }
        row += within;
        let (to, from) = (r as usize * bytes, row as usize * bytes);
        dst[to..to + bytes].copy_from_slice(&src[from..from + bytes]);
    }
    Ok(())
}

/// How an op spells its arguments.
#[derive(Clone, Copy)]
enum Form {
    /// `params, indices`, along axis 0.
    First,
    /// `params, indices, axis`.
    Axis,
    /// `params, indices`, an index a row of `indices`.
    Nd,
}

struct Gather {
    form: Form,
    batch_dims: i64,
    resource: bool,
}

fn make(node: &dyn OpKernelConstruction, form: Form, resource: bool) -> Result<Box<dyn OpKernel>> {
    let batch_dims = if node.has("batch_dims") { node.i64("batch_dims")? } else { 0 };
    if resource && batch_dims < 0 {
        return Err(Error::invalid_argument(format!("batch_dims is negative ({batch_dims})")));
    }
    Ok(Box::new(Gather { form, batch_dims, resource }))
}

/// The kernel of Gather.
pub fn gather(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, Form::First, false)
}

/// The kernel of GatherV2.
pub fn gather_v2(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, Form::Axis, false)
}

/// The kernel of GatherNd.
pub fn gather_nd(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, Form::Nd, false)
}

/// The kernel of ResourceGather.
pub fn resource_gather(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, Form::First, true)
}

/// The kernel of ResourceGatherNd.
pub fn resource_gather_nd(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    make(node, Form::Nd, true)
}

impl Gather {
    fn plan(&self, params: &Shape, inputs: &Inputs<'_>) -> Result<Plan> {
        let indices = inputs.shape(1)?;
        match self.form {
            // The variable's batch dimensions come before the gathered one.
            Form::First => along_axis(params, indices, self.batch_dims, self.batch_dims),
            Form::Axis => along_axis(params, indices, inputs.host_int(2)?, self.batch_dims),
            Form::Nd => nd(params, indices),
        }
    }
}

impl OpKernel for Gather {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        if self.resource {
            return Ok(smallvec![Output::Dynamic]);
        }
        Ok(smallvec![Output::Shape(self.plan(inputs.shape(0)?, inputs)?.shape)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let params = if self.resource { ctx.read_variable(0, ctx.output(0)?.dtype)? } else { ctx.input(0)? };
        let plan = self.plan(&params.shape, &ctx.inputs())?;
        let out = if self.resource { ctx.allocate_output(0, &plan.shape)? } else { ctx.output(0)? };
        match out.memory() {
            Memory::Host(_) => on_host(&plan, &params, &ctx.inputs(), &out),
            Memory::Device(_) => launch(ctx, &plan, &params, &ctx.input(1)?, &out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans() {
        let s = |d: &[i64]| Shape::new(d);
        let p = along_axis(&s(&[2, 3, 4, 5]), &s(&[2, 7]), 2, 1).unwrap();
        assert_eq!(p.shape.dims(), [2, 3, 7, 5]);
        assert_eq!((p.outer, p.n, p.inner), (3, 7, 5));
        assert!(along_axis(&s(&[2, 3]), &s(&[3]), 1, 1).is_err());
        let p = nd(&s(&[2, 3, 4]), &s(&[6, 2])).unwrap();
        assert_eq!((p.shape.dims(), p.dims.as_slice(), p.inner), ([6, 4].as_slice(), [2, 3].as_slice(), 4));
        assert!(nd(&s(&[2]), &s(&[6, 2])).is_err());
    }
}
