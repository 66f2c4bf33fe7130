//! The scatter ops: updates combined into rows of a tensor or variable that indices name. Of several updates that set one
//! row the last counts, as on TensorFlow's CPU. Indices that are out of range are left out.

use smallvec::smallvec;
use tfvk_device::{DType, Error, Result, Shape, Tensor};

use super::segment::{Apply, Combine, Recipe, Rows, Scale, keys, reduce, sorted};
use crate::array::{copy_all, fill};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

/// Where the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// A new tensor of zeros: `indices, updates, shape`.
    Zeros,
    /// A copy of the first input: `tensor, indices, updates`.
    Tensor,
    /// The variable that the first input names: `ref, indices, updates`.
    Variable,
}

struct Scatter {
    target: Target,
    recipe: Recipe,
    /// Indices are tuples (else single numbers into the first axis).
    nd: bool,
}

/// The kernel of every scatter op, by its name.
pub fn scatter(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    use {Apply as A, Combine as C};
    let op = node.op();
    let what = ["Update", "Add", "Sub", "Mul", "Div", "Min", "Max"].into_iter().find(|w| op.ends_with(w)).unwrap_or("Add");
    let (combine, apply) = match what {
        "Update" => (C::Last, A::Set),
        "Sub" => (C::Sum, A::Sub),
        "Mul" => (C::Product, A::Mul),
        "Div" => (C::Product, A::Div),
        "Min" => (C::Min, A::Min),
        "Max" => (C::Max, A::Max),
        _ => (C::Sum, A::Add),
    };
    let target = match op {
        "ScatterNd" => Target::Zeros,
        _ if op.starts_with("Resource") => Target::Variable,
        _ => Target::Tensor,
    };
    let nd = op.contains("Nd") || op.starts_with("Tensor");
    Ok(Box::new(Scatter { target, recipe: Recipe { combine, apply, scale: Scale::None }, nd }))
}

impl Scatter {
    /// Indices and updates among the inputs.
    fn places(&self) -> (usize, usize) {
        if self.target == Target::Zeros { (0, 1) } else { (1, 2) }
    }

    /// The dimensions that an index spans, the number of indices and the elements of a row, for a target of this shape.
    fn split(&self, shape: &Shape, inputs: &Inputs<'_>) -> Result<(Shape, i64, i64)> {
        let (i, u) = self.places();
        let (indices, updates) = (inputs.shape(i)?, inputs.shape(u)?);
        let (lead, depth) = match (self.nd, indices.dims().split_last()) {
            (false, _) => (indices.dims(), 1),
            (true, Some((&depth, lead))) => (lead, depth as usize),
            (true, None) => return Err(Error::invalid_argument("Indices shape must have rank at least one. Found: []")),
        };
        let mismatch = || {
            Error::invalid_argument(format!(
                "Must have updates.shape = indices.shape + params.shape: indices {indices}, updates {updates}, params {shape}"
            ))
        };
        if depth > shape.rank() {
            return Err(mismatch());
        }
        let expected: Shape = lead.iter().chain(&shape[depth..]).copied().collect();
        let scalar = updates.rank() == 0 && !self.nd;
        if *updates != expected && !scalar {
            return Err(mismatch());
        }
        Ok((Shape::new(&shape[..depth]), Shape::new(lead).num_elements(), Shape::new(&shape[depth..]).num_elements()))
    }

    fn apply(&self, ctx: &mut Compute<'_>, out: &Tensor) -> Result<()> {
        let (i, u) = self.places();
        let (dims, n, inner) = self.split(&out.shape, &ctx.inputs())?;
        let (indices, updates) = (ctx.input(i)?, ctx.input(u)?);
        if n == 0 || out.num_elements() == 0 {
            return Ok(());
        }
        let limit = dims.num_elements();
        let found = keys(ctx, &indices, &dims, n, limit)?;
        let found = sorted(ctx, &found, limit)?;
        let scalar = updates.shape.rank() == 0 && !self.nd;
        let rows = Rows { keys: &found.keys, order: Some(&found.order), values: &updates, scalar };
        // The sum of truths is truth.
        let recipe = match (out.dtype, self.recipe.combine) {
            (DType::Bool, Combine::Sum) => Recipe { combine: Combine::Max, apply: Apply::Max, scale: Scale::None },
            _ => self.recipe,
        };
        reduce(ctx, recipe, &rows, out, inner)
    }
}

impl OpKernel for Scatter {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        match self.target {
            Target::Variable => Ok(Outputs::new()),
            Target::Tensor => {
                let shape = inputs.shape(0)?.clone();
                self.split(&shape, inputs)?;
                Ok(smallvec![Output::Shape(shape)])
            }
            Target::Zeros => {
                let shape = Shape::new(&inputs.host_ints(2)?);
                if shape.iter().any(|&d| d < 0) {
                    return Err(Error::invalid_argument(format!("shape: {shape} has a negative dimension")));
                }
                self.split(&shape, inputs)?;
                Ok(smallvec![Output::Shape(shape)])
            }
        }
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let out = match self.target {
            Target::Variable => {
                let variables = ctx.update_variables(&[0], ctx.input(2)?.dtype)?;
                variables.into_iter().next().ok_or_else(|| Error::internal("no variable"))?
            }
            Target::Tensor => {
                let out = ctx.output(0)?;
                copy_all(ctx, &ctx.input(0)?, &out)?;
                out
            }
            Target::Zeros => {
                let out = ctx.output(0)?;
                fill(ctx, &out, None)?;
                out
            }
        };
        self.apply(ctx, &out)
    }
}
