//! Split, SplitV and Unpack: one tensor cut along an axis.

use smallvec::SmallVec;
use tfvk_device::{Error, Result, Shape};

use super::mover::{Mover, Moving, Place, Program, Step};
use super::view::{Axes, Move, View};
use crate::{Inputs, OpKernel, OpKernelConstruction, Output};

/// Pieces of `input` (whose shape is `whole`) of these sizes along `axis`; `drop` removes the axis (of size 1).
fn cut(input: usize, whole: &Shape, axis: usize, sizes: &[i64], drop: bool) -> Program {
    let mut program = Program { outputs: SmallVec::new(), temp: None, steps: SmallVec::new() };
    let view = View::dense(whole);
    let mut at = 0;
    for (i, &size) in sizes.iter().enumerate() {
        let mut piece = whole.clone();
        piece[axis] = size;
        let mut src = view.clone();
        src.offset += at * view.strides[axis];
        let mv = Move::new(&piece, src, View::dense(&piece));
        at += size;
        if drop {
            piece.remove(axis);
        }
        if sizes.len() == 1 {
            program.outputs.push(Output::Alias { input, shape: piece });
        } else {
            program.outputs.push(Output::Shape(piece));
            program.steps.push(Step::Move(Place::Input(input), Place::Output(i), mv));
        }
    }
    program
}

fn axis_of(shape: &Shape, axis: i64, name: &str) -> Result<usize> {
    let r = shape.rank();
    shape
        .axis(axis)
        .ok_or_else(|| Error::invalid_argument(format!("{name}: -input rank(-{r}) <= {name} < input rank ({r}), but got {axis}")))
}

struct Split;

/// The kernel of Split.
pub fn split(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Split)))
}

impl Mover for Split {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(1)?;
        let axis = axis_of(x, inputs.host_int(0)?, "split_dim")?;
        let n = inputs.num_outputs() as i64;
        if n == 0 || x[axis] % n != 0 {
            return Err(Error::invalid_argument(format!(
                "Number of ways to split should evenly divide the split dimension, but got split_dim {axis} (size = {}) and num_split {n}",
                x[axis]
            )));
        }
        let sizes: Axes = SmallVec::from_elem(x[axis] / n, n as usize);
        Ok(cut(1, x, axis, &sizes, false))
    }
}

struct SplitV;

/// The kernel of SplitV.
pub fn split_v(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(SplitV)))
}

impl Mover for SplitV {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let axis = axis_of(x, inputs.host_int(2)?, "split_dim")?;
        let mut sizes = inputs.host_ints(1)?;
        if sizes.len() != inputs.num_outputs() {
            return Err(Error::invalid_argument(format!(
                "size_splits: expected {} elements, got {}",
                inputs.num_outputs(),
                sizes.len()
            )));
        }
        let given = sizes.iter().filter(|&&s| s != -1).fold(0i64, |n, &s| n.saturating_add(s));
        let open: SmallVec<[usize; 2]> = (0..sizes.len()).filter(|&i| sizes[i] == -1).collect();
        match open.as_slice() {
            [] => {}
            &[one] => sizes[one] = x[axis].saturating_sub(given),
            _ => return Err(Error::invalid_argument("size_splits: there can only be one -1 in the input.")),
        }
        if sizes.iter().any(|&s| s < 0) || sizes.iter().fold(0i64, |n, &s| n.saturating_add(s)) != x[axis] {
            return Err(Error::invalid_argument(format!(
                "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than the \
                 size of the input along split_dim if not fully specified. Got: {given} for a dimension of {}",
                x[axis]
            )));
        }
        Ok(cut(0, x, axis, &sizes, false))
    }
}

struct Unpack {
    axis: i64,
}

/// The kernel of Unpack.
pub fn unpack(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Unpack { axis: node.i64("axis")? })))
}

impl Mover for Unpack {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let axis = axis_of(x, self.axis, "axis")?;
        if x[axis] != inputs.num_outputs() as i64 {
            return Err(Error::invalid_argument(format!(
                "Input shape axis {axis} must equal {}, got shape {x}",
                inputs.num_outputs()
            )));
        }
        let sizes: Axes = SmallVec::from_elem(1, inputs.num_outputs());
        Ok(cut(0, x, axis, &sizes, true))
    }
}
