//! Slice, StridedSlice, its gradient, and the assignments into a slice.

use smallvec::SmallVec;
use tfvk_device::{Error, Result, Shape};

use super::broadcast::shape_input;
use super::mover::{Mover, Moving, Place, Program, Step, Value, move_elements};
use super::slice_spec::{Masks, from_inputs};
use super::view::{Axes, Move, View};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

struct Slice;

/// The kernel of Slice.
pub fn slice(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Slice)))
}

impl Mover for Slice {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let (begin, size) = (inputs.host_ints(1)?, inputs.host_ints(2)?);
        if begin.len() != x.rank() || size.len() != x.rank() {
            return Err(Error::invalid_argument(format!(
                "begin and size must have one element per dimension of input {x}; got {} and {}",
                begin.len(),
                size.len()
            )));
        }
        let mut dims = Axes::new();
        for (i, (&b, &s)) in begin.iter().zip(&size).enumerate() {
            let n = if s == -1 { x[i] - b } else { s };
            if b < 0 || b > x[i] || n < 0 || b + n > x[i] {
                return Err(Error::invalid_argument(format!(
                    "Expected begin[{i}] in [0, {}] and size[{i}] in [-1, {}], but got begin {b} and size {s}",
                    x[i],
                    x[i] - b
                )));
            }
            dims.push(n);
        }
        if dims.as_slice() == x.dims() {
            return Ok(Program::alias(0, x.clone()));
        }
        Ok(Program::gathered(0, &dims, View::dense(x).starting_at(&begin)))
    }
}

struct StridedSlice(Masks);

/// The kernel of StridedSlice.
pub fn strided_slice(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(StridedSlice(Masks::of(node)?))))
}

impl Mover for StridedSlice {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let slice = from_inputs(inputs, 1, x, self.0)?;
        if slice.is_all(x) {
            return Ok(Program::alias(0, slice.shape));
        }
        let mv = Move::new(&slice.dims, slice.view(x), View::dense(&slice.dims));
        Ok(Program::new(slice.shape).moving(0, mv))
    }
}

struct StridedSliceGrad(Masks);

/// The kernel of StridedSliceGrad: zeros of `shape` with `dy` in the slice.
pub fn strided_slice_grad(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(StridedSliceGrad(Masks::of(node)?))))
}

impl Mover for StridedSliceGrad {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let shape = shape_input(inputs, 0, "shape")?;
        let slice = from_inputs(inputs, 1, &shape, self.0)?;
        let dy = inputs.shape(4)?;
        if *dy != slice.shape {
            return Err(Error::invalid_argument(format!("dy: expected shape {}, got {dy}", slice.shape)));
        }
        if slice.is_all(&shape) {
            return Ok(Program::alias(4, shape));
        }
        let mv = Move::new(&slice.dims, View::dense(&slice.dims), slice.view(&shape));
        let whole = slice.dims.as_slice() == shape.dims();
        let program = Program::new(shape);
        Ok(if whole { program } else { program.fill(Value::Zero) }.moving(4, mv))
    }
}

/// The walk of a value that broadcasts to a slice's shape, with one axis per axis of the sliced tensor.
fn value_view(value: &Shape, slice: &super::slice_spec::Slice) -> Result<View> {
    let none = || View { offset: 0, strides: SmallVec::from_elem(0, slice.dims.len()) };
    // TensorFlow looks at no value for an empty slice.
    if slice.dims.contains(&0) {
        return Ok(none());
    }
    let (own, shape) = (value.dims(), slice.shape.dims());
    let ahead = own.len().saturating_sub(shape.len());
    let fits = |i: usize| own[own.len() - 1 - i] == 1 || own[own.len() - 1 - i] == shape[shape.len() - 1 - i];
    if own[..ahead].iter().any(|&d| d != 1) || !(0..own.len() - ahead).all(fits) {
        return Err(Error::invalid_argument(format!("value: expected shape {}, got {value}", slice.shape)));
    }
    // Dropped and new axes have length 1: the others correspond in their order.
    let mut long = (0..shape.len()).rev().filter(|&axis| shape[axis] != 1);
    let steps = value.strides();
    let mut view = none();
    for (stride, _) in view.strides.iter_mut().zip(&slice.dims).rev().filter(|(_, dim)| **dim != 1) {
        let axis = long.next().and_then(|axis| (axis + own.len()).checked_sub(shape.len()));
        *stride = axis.filter(|&axis| own[axis] != 1).map_or(0, |axis| steps[axis]);
    }
    Ok(view)
}

struct TensorStridedSliceUpdate(Masks);

/// The kernel of TensorStridedSliceUpdate: `input` with `value` in the slice.
pub fn tensor_strided_slice_update(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(TensorStridedSliceUpdate(Masks::of(node)?))))
}

impl Mover for TensorStridedSliceUpdate {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let slice = from_inputs(inputs, 1, x, self.0)?;
        let value = value_view(inputs.shape(4)?, &slice)?;
        let mut program = Program::new(x.clone());
        let all = Move::new(x, View::dense(x), View::dense(x));
        program.steps.push(Step::Move(Place::Input(0), Place::Output(0), all));
        Ok(program.moving(4, Move::new(&slice.dims, value, slice.view(x))))
    }
}

/// Assignment into a slice of a variable, by reference or resource.
struct StridedSliceAssign {
    masks: Masks,
    outputs: usize,
}

/// The kernel of ResourceStridedSliceAssign.
pub fn resource_strided_slice_assign(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(StridedSliceAssign { masks: Masks::of(node)?, outputs: 0 }))
}

impl OpKernel for StridedSliceAssign {
    fn outputs(&self, _: &Inputs<'_>) -> Result<Outputs> {
        Ok((0..self.outputs).map(|_| Output::Dynamic).collect())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let variables = ctx.update_variables(&[0], ctx.input(4)?.dtype)?;
        let variable = variables.first().ok_or_else(|| Error::internal("no variable"))?;
        let inputs = ctx.inputs();
        let slice = from_inputs(&inputs, 1, &variable.shape, self.masks)?;
        let value = inputs.get(4)?;
        let view = value_view(&value.shape, &slice)?;
        move_elements(ctx, value, variable, &Move::new(&slice.dims, view, slice.view(&variable.shape)))
    }
}
