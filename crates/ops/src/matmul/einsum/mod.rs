//! Einsum: the equation's labels become strides (`equation.rs`), those one product where possible (`plan.rs`); what is
//! left is a sum or a strided copy.

mod equation;
mod plan;

use tfvk_device::DType::{self, *};
use tfvk_device::{Memory, Result, Shape, Tensor};

use super::epilogue::Epilogue;
use super::product::{Operand, Product};
use crate::copy::{self, strided_copy};
use crate::reduce::{Combine, First, Last, Reducer};
use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, t};
use equation::{Equation, View, Views, dense};

const T: &[DType] = &[F16, BF16, F32, F64, I32, I64, C64, C128];

/// The declaration.
pub const KERNELS: &[KernelDef] = &[KernelDef::kernel("Einsum", &[t("T", T)], Einsum::make)];

struct Einsum {
    equation: Equation,
}

impl Einsum {
    fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Ok(Box::new(Self { equation: Equation::parse(&node.string("equation")?, node.i64("N")? as usize)? }))
    }

    fn views(&self, inputs: &Inputs<'_>) -> Result<Views> {
        self.equation.views(&inputs.all().iter().map(|x| &x.shape).collect::<Vec<_>>())
    }
}

/// A tensor seen through labels.
struct Seen {
    tensor: Tensor,
    view: View,
}

impl Seen {
    /// Copied into the dimensions of `to`, which has the same labels.
    fn copied(&self, ctx: &mut Compute<'_>, to: &View) -> Result<Seen> {
        let tensor = ctx.temp(self.tensor.dtype, shape(to))?;
        copy_view(ctx, self, &tensor, to)?;
        Ok(Seen { tensor, view: to.clone() })
    }

    /// Summed over the labels that `kept` refuses.
    fn summed(self, ctx: &mut Compute<'_>, kept: impl Fn(u32) -> bool) -> Result<Seen> {
        if self.view.iter().all(|d| kept(d.label)) {
            return Ok(self);
        }
        let to = dense(self.view.iter().copied());
        let x = if to == self.view { self } else { self.copied(ctx, &to)? };
        let reduced: Vec<bool> = to.iter().map(|d| !kept(d.label)).collect();
        let view = dense(to.iter().filter(|d| kept(d.label)).copied());
        let tensor = ctx.temp(x.tensor.dtype, shape(&view))?;
        let source = x.tensor.reshaped(shape(&to));
        Reducer::new(Combine::Sum, First::Nothing, Last::Nothing, tensor.dtype)?.run(ctx, &source, &reduced, &tensor)?;
        Ok(Seen { tensor, view })
    }
}

fn shape(view: &View) -> Shape {
    view.iter().map(|d| d.n).collect()
}

/// Copies `from` to where `to` says in `dst`.
fn copy_view(ctx: &Compute<'_>, from: &Seen, dst: &Tensor, to: &View) -> Result<()> {
    let source = |label: u32| from.view.iter().find(|d| d.label == label).map_or(0, |d| d.stride);
    let dims: Vec<i64> = to.iter().map(|d| d.n).collect();
    let src: Vec<i64> = to.iter().map(|d| source(d.label)).collect();
    let out: Vec<i64> = to.iter().map(|d| d.stride).collect();
    let src = copy::View { tensor: &from.tensor, offset: 0, strides: &src };
    strided_copy(ctx.device(), ctx.stream(), &dims, src, copy::View { tensor: dst, offset: 0, strides: &out })
}

impl OpKernel for Einsum {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        Ok(Outputs::from_iter([Output::Shape(self.views(inputs)?.shape)]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let Views { mut inputs, output, shape } = self.views(&ctx.inputs())?;
        let z = ctx.output(0)?;
        let whole = output.iter().map(|d| d.n).product::<i64>() == shape.num_elements();
        let nothing = inputs.iter().flatten().any(|d| d.n == 0);
        if !whole || nothing {
            // A diagonal is set among zeros; a sum over nothing is zero.
            ctx.stream().fill(z.device_ptr()?, z.bytes(), 0)?;
        }
        if nothing {
            return Ok(());
        }
        debug_assert!(matches!(z.memory(), Memory::Device(_)));
        let in_output = |label: u32| output.iter().any(|d| d.label == label);
        let second = inputs.pop().filter(|_| !inputs.is_empty());
        let Some(y) = second else {
            let x = self.single(ctx)?.summed(ctx, in_output)?;
            return copy_view(ctx, &x, &z, &output);
        };
        let x = inputs.swap_remove(0);
        let (has_x, has_y) = (labels(&x), labels(&y));
        let x = Seen { tensor: ctx.input(0)?, view: x }.summed(ctx, |l| in_output(l) || has_y.contains(&l))?;
        let y = Seen { tensor: ctx.input(1)?, view: y }.summed(ctx, |l| in_output(l) || has_x.contains(&l))?;
        product(ctx, x, y, &z, &output, whole)
    }
}

impl Einsum {
    /// The only input.
    fn single(&self, ctx: &mut Compute<'_>) -> Result<Seen> {
        let view = self.views(&ctx.inputs())?.inputs.swap_remove(0);
        Ok(Seen { tensor: ctx.input(0)?, view })
    }
}

fn labels(view: &View) -> Vec<u32> {
    view.iter().map(|d| d.label).collect()
}

fn product(ctx: &mut Compute<'_>, x: Seen, y: Seen, z: &Tensor, output: &View, whole: bool) -> Result<()> {
    if let (Some(p), true) = (plan::plan(&x.view, &y.view, output), whole) {
        return launch(ctx, &p, &x.tensor, &y.tensor, z);
    }
    let [vx, vy, vz] = plan::canonical(&x.view, &y.view, output);
    let x = if vx == x.view { x } else { x.copied(ctx, &vx)? };
    let y = if vy == y.view { y } else { y.copied(ctx, &vy)? };
    let in_place = whole && vz == *output;
    let result = if in_place { z.clone() } else { ctx.temp(z.dtype, shape(&vz))? };
    let p = plan::plan(&x.view, &y.view, &vz)
        .ok_or_else(|| tfvk_device::Error::internal("no product for operands in canonical order"))?;
    launch(ctx, &p, &x.tensor, &y.tensor, &result)?;
    if in_place { Ok(()) } else { copy_view(ctx, &Seen { tensor: result, view: vz }, z, output) }
}

fn launch(ctx: &mut Compute<'_>, p: &plan::Plan, x: &Tensor, y: &Tensor, z: &Tensor) -> Result<()> {
    let (a, b) = if p.swapped { (y, x) } else { (x, y) };
    let operand =
        |t: &Tensor, (along_k, row)| Operand { tensor: t.clone(), along_k, conj: false, row: Some(row), zeros_between: false };
    Product {
        a: operand(a, p.a),
        b: operand(b, p.b),
        c: z.clone(),
        c_row: Some(p.c_row),
        m: p.m,
        n: p.n,
        k: p.k,
        batch: p.batch.clone(),
        epilogue: Epilogue::none(),
    }
    .run(ctx)
}
