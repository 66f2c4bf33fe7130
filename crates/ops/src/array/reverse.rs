//! Reverse, ReverseV2 and Roll: the same elements along the same axes, in another order.

use smallvec::SmallVec;
use tfvk_device::{Error, Result, Shape};

use super::mover::{Mover, Moving, Program};
use super::view::{Axes, Move, View};
use crate::{Inputs, OpKernel, OpKernelConstruction};

fn reversed(x: &Shape, axes: impl Iterator<Item = usize>) -> Program {
    let mut view = View::dense(x);
    let mut any = false;
    for a in axes {
        if x[a] > 1 {
            any = true;
            view.offset += (x[a] - 1) * view.strides[a];
            view.strides[a] = -view.strides[a];
        }
    }
    if any { Program::gathered(0, x, view) } else { Program::alias(0, x.clone()) }
}

struct Reverse;

/// The kernel of Reverse, whose axes are a vector of bool.
pub fn reverse(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Reverse)))
}

impl Mover for Reverse {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let dims = inputs.get(1)?;
        let flags = dims.with(tfvk_device::DType::U8, dims.shape.clone());
        let flags = flags.host::<u8>()?;
        if flags.len() != x.rank() {
            return Err(Error::invalid_argument(format!("'dims' must have {} elements, got {}", x.rank(), flags.len())));
        }
        Ok(reversed(x, (0..x.rank()).filter(|&i| flags[i] != 0)))
    }
}

struct ReverseV2;

/// The kernel of ReverseV2.
pub fn reverse_v2(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(ReverseV2)))
}

impl Mover for ReverseV2 {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let mut axes: SmallVec<[usize; 8]> = SmallVec::new();
        for (i, axis) in inputs.host_ints(1)?.into_iter().enumerate() {
            let Some(a) = x.axis(axis) else {
                return Err(Error::invalid_argument(format!("'axis'[{i}] = {axis} is out of valid range [0, {})", x.rank())));
            };
            if axes.contains(&a) {
                return Err(Error::invalid_argument(format!("axis {a} specified more than once.")));
            }
            axes.push(a);
        }
        Ok(reversed(x, axes.into_iter()))
    }
}

struct Roll;

/// The kernel of Roll.
pub fn roll(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Roll)))
}

impl Mover for Roll {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let (shift, axis) = (inputs.host_ints(1)?, inputs.host_ints(2)?);
        if x.rank() < 1 {
            return Err(Error::invalid_argument("input must be 1-D or higher"));
        }
        if shift.len() != axis.len() {
            return Err(Error::invalid_argument(format!(
                "shift and axis must have the same size; got {} and {}",
                shift.len(),
                axis.len()
            )));
        }
        let mut by: Axes = SmallVec::from_elem(0, x.rank());
        for (&s, &a) in shift.iter().zip(&axis) {
            let Some(i) = x.axis(a) else {
                return Err(Error::invalid_argument(format!("axis {a} is out of range")));
            };
            if x[i] > 0 {
                // Reduced first: the sum of two shifts may not fit.
                by[i] = (by[i] + s.rem_euclid(x[i])) % x[i];
            }
        }
        if by.iter().all(|&s| s == 0) {
            return Ok(Program::alias(0, x.clone()));
        }
        // Each rolled axis is two stretches; every combination is one move.
        let rolled: SmallVec<[usize; 8]> = (0..x.rank()).filter(|&i| by[i] != 0).collect();
        let mut program = Program::new(x.clone());
        for c in 0..1usize << rolled.len() {
            let mut from: Axes = SmallVec::from_elem(0, x.rank());
            let mut to = from.clone();
            let mut dims = Axes::from_slice(x);
            for (bit, &i) in rolled.iter().enumerate() {
                if c >> bit & 1 == 0 {
                    (to[i], dims[i]) = (by[i], x[i] - by[i]);
                } else {
                    (from[i], dims[i]) = (x[i] - by[i], by[i]);
                }
            }
            program = program.moving(0, Move::new(&dims, View::dense(x).starting_at(&from), View::dense(x).starting_at(&to)));
        }
        Ok(program)
    }
}
