//! BroadcastTo, Tile and Fill: one element in many places.

use smallvec::SmallVec;
use tfvk_device::{Error, Result, Shape};

use super::mover::{Mover, Moving, Program, Value};
use super::view::{Axes, Move, View};
use crate::{Inputs, OpKernel, OpKernelConstruction};

/// A shape that a host input spells out; no dimension is negative.
pub(super) fn shape_input(inputs: &Inputs<'_>, index: usize, name: &str) -> Result<Shape> {
    let dims = inputs.host_ints(index)?;
    if inputs.shape(index)?.rank() > 1 {
        return Err(Error::invalid_argument(format!("{name} must be a vector, got shape {}", inputs.shape(index)?)));
    }
    if let Some(d) = dims.iter().find(|d| **d < 0) {
        return Err(Error::invalid_argument(format!("{name}: Dimension {d} must be >= 0")));
    }
    let shape = Shape::new(&dims);
    if shape.num_elements() == i64::MAX {
        return Err(Error::invalid_argument(format!("{name}: {shape} has too many elements")));
    }
    Ok(shape)
}

struct BroadcastTo;

/// The kernel of BroadcastTo.
pub fn broadcast_to(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(BroadcastTo)))
}

impl Mover for BroadcastTo {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let shape = shape_input(inputs, 1, "shape")?;
        let lead = shape.rank().checked_sub(x.rank());
        let fits = |lead: usize| x.iter().zip(&shape[lead..]).all(|(a, b)| a == b || *a == 1);
        let Some(lead) = lead.filter(|&l| fits(l)) else {
            return Err(Error::invalid_argument(format!("Incompatible shapes: {x} vs. {shape}")));
        };
        if x.num_elements() == shape.num_elements() {
            return Ok(Program::alias(0, shape));
        }
        let mut strides: Axes = SmallVec::from_elem(0, lead);
        strides.extend(View::dense(x).strides.iter().zip(x.iter()).map(|(&s, &d)| if d == 1 { 0 } else { s }));
        Ok(Program::gathered(0, &shape, View { offset: 0, strides }))
    }
}

struct Tile;

/// The kernel of Tile.
pub fn tile(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Tile)))
}

impl Mover for Tile {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let multiples = inputs.host_ints(1)?;
        if multiples.len() != x.rank() {
            return Err(Error::invalid_argument(format!(
                "Expected multiples argument to be a vector of length {} but got length {}",
                x.rank(),
                multiples.len()
            )));
        }
        if let Some((i, m)) = multiples.iter().enumerate().find(|(_, m)| **m < 0) {
            return Err(Error::invalid_argument(format!("Expected multiples[{i}] >= 0, but got {m}")));
        }
        let shape: Shape = x.iter().zip(&multiples).map(|(d, m)| d.saturating_mul(*m)).collect();
        if multiples.iter().all(|&m| m == 1) {
            return Ok(Program::alias(0, shape));
        }
        let dense = View::dense(x).strides;
        let (mut dims, mut strides) = (Axes::new(), Axes::new());
        for i in 0..x.rank() {
            dims.extend([multiples[i], x[i]]);
            strides.extend([0, dense[i]]);
        }
        let mv = Move::new(&dims, View { offset: 0, strides }, View::dense(&dims));
        Ok(Program::new(shape).moving(0, mv))
    }
}

struct Fill;

/// The kernel of Fill.
pub fn fill(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Fill)))
}

impl Mover for Fill {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let shape = shape_input(inputs, 0, "dims")?;
        let value = inputs.shape(1)?;
        if value.num_elements() != 1 {
            return Err(Error::invalid_argument(format!("value must be a scalar, got shape {value}")));
        }
        Ok(Program::new(shape).fill(Value::Input(1)))
    }
}

struct Empty {
    /// Whether the output is zeroed.
    init: bool,
}

/// The kernel of Empty.
pub fn empty(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Empty { init: node.bool("init")? })))
}

impl Mover for Empty {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let program = Program::new(shape_input(inputs, 0, "shape")?);
        Ok(if self.init { program.fill(Value::Zero) } else { program })
    }
}

struct Copy {
    share: bool,
}

/// The kernel of Snapshot: the input's memory.
pub fn snapshot(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Copy { share: true })))
}

/// The kernel of DeepCopy: memory of its own.
pub fn deep_copy(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Copy { share: false })))
}

impl Mover for Copy {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        Ok(if self.share { Program::alias(0, x.clone()) } else { Program::gathered(0, x, View::dense(x)) })
    }
}
