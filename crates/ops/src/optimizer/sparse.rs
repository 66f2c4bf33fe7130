//! The sparse optimiser updates (ResourceSparseApply*): rows of the variables, named by indices. See `sparse_apply.comp`.

use smallvec::SmallVec;
use tfvk_device::{Args, DType, Error, Kernel, Result, Shape, Tensor};

use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Outputs, shader};

/// One op: where its inputs are. The variables come first.
pub(super) struct Layout {
    op: &'static str,
    /// The shader's variant.
    kind: &'static str,
    variables: usize,
    grad: usize,
    indices: usize,
    scalars: &'static [usize],
    /// The bool attribute that the formula looks at.
    flag: Option<&'static str>,
}

const fn layout(op: &'static str, kind: &'static str, variables: usize, grad: usize, scalars: &'static [usize]) -> Layout {
    Layout { op, kind, variables, grad, indices: grad + 1, scalars, flag: None }
}

impl Layout {
    const fn flag(mut self, name: &'static str) -> Self {
        self.flag = Some(name);
        self
    }
}

const LAYOUTS: &[Layout] = &[
    layout("ResourceSparseApplyAdadelta", "adadelta", 3, 6, &[3, 4, 5]),
    layout("ResourceSparseApplyAdagrad", "adagrad", 2, 3, &[2]).flag("update_slots"),
    layout("ResourceSparseApplyAdagradV2", "adagrad_v2", 2, 4, &[2, 3]).flag("update_slots"),
    layout("ResourceSparseApplyAdagradDA", "adagrad_da", 3, 3, &[5, 6, 7, 8]),
    layout("ResourceSparseApplyCenteredRMSProp", "centered_rms_prop", 4, 8, &[4, 5, 6, 7]),
    layout("ResourceSparseApplyFtrl", "ftrl", 3, 3, &[5, 6, 7, 8]).flag("multiply_linear_by_lr"),
    layout("ResourceSparseApplyFtrlV2", "ftrl_v2", 3, 3, &[5, 6, 7, 8, 9]).flag("multiply_linear_by_lr"),
    layout("ResourceSparseApplyKerasMomentum", "keras_momentum", 2, 3, &[2, 5]).flag("use_nesterov"),
    layout("ResourceSparseApplyMomentum", "momentum", 2, 3, &[2, 5]).flag("use_nesterov"),
    layout("ResourceSparseApplyProximalAdagrad", "proximal_adagrad", 2, 5, &[2, 3, 4]),
    layout("ResourceSparseApplyProximalGradientDescent", "proximal_gradient", 1, 4, &[1, 2, 3]),
    layout("ResourceSparseApplyRMSProp", "rms_prop", 3, 7, &[3, 4, 5, 6]),
];

const THREADS: u32 = 128;

struct SparseApply {
    layout: &'static Layout,
    flag: bool,
    kernel: &'static Kernel,
}

pub(super) fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let layout = LAYOUTS.iter().find(|l| l.op == node.op());
    let layout = layout.ok_or_else(|| Error::internal(format!("no sparse update named {}", node.op())))?;
    let flag = layout.flag.map_or(Ok(false), |name| node.bool(name))?;
    let kernel = shader::SPARSE_APPLY.get(&[layout.kind.into(), node.dtype("T")?.into()])?;
    Ok(Box::new(SparseApply { layout, flag, kernel }))
}

impl OpKernel for SparseApply {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let indices = inputs.shape(self.layout.indices)?;
        if indices.rank() != 1 {
            return Err(Error::invalid_argument(format!("indices must be one-dimensional, got {indices}")));
        }
        for &scalar in self.layout.scalars {
            let shape = inputs.shape(scalar)?;
            if !shape.is_empty() {
                return Err(Error::invalid_argument(format!("input {scalar} is not a scalar: {shape}")));
            }
        }
        let grad = inputs.shape(self.layout.grad)?;
        if grad.first() != indices.first() {
            return Err(Error::invalid_argument(format!(
                "grad must be the same size as indices in the first dimension, got {grad} and {indices}"
            )));
        }
        Ok(Outputs::new())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let layout = self.layout;
        let names: SmallVec<[usize; 4]> = (0..layout.variables).collect();
        let (grad, indices) = (ctx.input(layout.grad)?, ctx.input(layout.indices)?);
        let variables = ctx.update_variables(&names, grad.dtype)?;
        let [rows, count, columns] = sizes(&variables, &grad, &indices)?;
        if count == 0 {
            return Ok(());
        }
        let first = ctx.temp(DType::U32, Shape::from([i64::from(rows)]))?;
        let last = ctx.temp(DType::U32, Shape::from([i64::from(rows)]))?;
        ctx.stream().fill_u32(first.device_ptr()?, first.bytes(), u32::MAX)?;
        ctx.stream().fill_u32(last.device_ptr()?, last.bytes(), 0)?;
        let wide = u32::from(indices.dtype == DType::I64);
        let mut args = Args::new();
        args.read(&indices)?.read_write(&first)?.read_write(&last)?.u32(count).u32(rows).u32(wide);
        let groups = u64::from(count.div_ceil(THREADS));
        ctx.stream().launch_linear(shader::SPARSE_MARK.get(&[])?, &[THREADS, 1, 1], &args, groups)?;

        args.clear();
        for slot in 0..4 {
            match variables.get(slot) {
                Some(v) => args.read_write(v)?,
                None => args.null(),
            };
        }
        args.read(&grad)?.read(&indices)?.read(&first)?.read(&last)?;
        for scalar in 0..5 {
            match layout.scalars.get(scalar) {
                Some(&input) => args.read(&ctx.input(input)?)?,
                None => args.null(),
            };
        }
        args.u32(count).u32(columns).u32(rows).u32(wide | u32::from(self.flag) << 1);
        ctx.stream().launch_linear(self.kernel, &[THREADS, 1, 1], &args, u64::from(count))
    }
}

/// Rows of the variables, rows of the gradient, elements of a row.
fn sizes(variables: &[Tensor], grad: &Tensor, indices: &Tensor) -> Result<[u32; 3]> {
    let Some(var) = variables.first() else { return Err(Error::internal("an update of no variable")) };
    let invalid = |what: String| Err(Error::invalid_argument(what));
    if var.shape.rank() == 0 {
        return invalid("var must be at least 1 dimensional".into());
    }
    if let Some(slot) = variables.iter().find(|v| v.shape != var.shape) {
        return invalid(format!("var and a slot do not have the same shape: {} and {}", var.shape, slot.shape));
    }
    if var.shape.dims().get(1..) != grad.shape.dims().get(1..) {
        return invalid(format!("var and grad must match but in dimension 0, got {} and {}", var.shape, grad.shape));
    }
    let columns = var.shape[1..].iter().product::<i64>();
    if columns == 0 {
        return invalid("Inner dimension should be greater than zero.".into());
    }
    let small = |n: i64| u32::try_from(n).ok().filter(|&n| n < 1 << 30);
    match (small(var.shape[0]), small(indices.num_elements()), small(columns)) {
        (Some(rows), Some(count), Some(columns)) => Ok([rows, count, columns]),
        _ => Err(Error::unimplemented(format!("a sparse update of {} by {}", var.shape, grad.shape))),
    }
}
