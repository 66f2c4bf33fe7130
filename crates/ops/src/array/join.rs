//! ConcatV2, Concat and Pack: many tensors side by side in one.

use smallvec::SmallVec;
use tfvk_device::{Error, Result};

use super::mover::{Mover, Moving, Program};
use super::view::{Axes, Move, View};
use crate::{Inputs, OpKernel, OpKernelConstruction};

/// ConcatV2, or the older Concat whose axis comes first.
struct Concat {
    axis_first: bool,
}

/// The kernel of ConcatV2.
pub fn concat_v2(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Concat { axis_first: false })))
}

/// The kernel of Concat.
pub fn concat(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Concat { axis_first: true })))
}

impl Mover for Concat {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let n = inputs.len().saturating_sub(1);
        let (axis_at, first) = if self.axis_first { (0, 1) } else { (n, 0) };
        let axis = inputs.host_int(axis_at)?;
        let head = inputs.shape(first)?;
        let Some(axis) = head.axis(axis) else {
            return Err(Error::invalid_argument(format!(
                "axis: expected an axis in the range [{}, {}), got {axis}",
                -(head.rank() as i64),
                head.rank()
            )));
        };
        let mut shape = head.clone();
        shape[axis] = 0;
        for i in first..first + n {
            let s = inputs.shape(i)?;
            let fits = s.rank() == head.rank() && s.iter().zip(head.iter()).enumerate().all(|(k, (a, b))| k == axis || a == b);
            if !fits {
                return Err(Error::invalid_argument(format!(
                    "Dimension {axis} apart, all inputs should have one shape: input 0 has {head}, input {} has {s}",
                    i - first
                )));
            }
            shape[axis] += s[axis];
        }
        if n == 1 {
            return Ok(Program::alias(first, shape));
        }
        let mut at: Axes = SmallVec::from_elem(0, shape.rank());
        let mut program = Program::new(shape.clone());
        for i in first..first + n {
            let s = inputs.shape(i)?;
            program = program.moving(i, Move::new(s, View::dense(s), View::dense(&shape).starting_at(&at)));
            at[axis] += s[axis];
        }
        Ok(program)
    }
}

struct Pack {
    axis: i64,
}

/// The kernel of Pack.
pub fn pack(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Pack { axis: node.i64("axis")? })))
}

impl Mover for Pack {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let head = inputs.shape(0)?;
        let mut shape = head.clone();
        shape.insert(0, inputs.len() as i64);
        let Some(axis) = shape.axis(self.axis) else {
            let r = shape.rank();
            return Err(Error::invalid_argument(format!("axis = {} not in [-{r}, {r})", self.axis)));
        };
        shape.remove(0);
        shape.insert(axis, inputs.len() as i64);
        if inputs.len() == 1 {
            return Ok(Program::alias(0, shape));
        }
        let whole = View::dense(&shape);
        let step = whole.strides[axis];
        let mut piece = whole;
        piece.strides.remove(axis);
        let mut program = Program::new(shape);
        for i in 0..inputs.len() {
            let s = inputs.shape(i)?;
            if s != head {
                return Err(Error::invalid_argument(format!(
                    "Shapes of all inputs must match: values[0] has {head}, values[{i}] {s}"
                )));
            }
            program = program.moving(i, Move::new(s, View::dense(s), piece.clone()));
            piece.offset += step;
        }
        Ok(program)
    }
}
