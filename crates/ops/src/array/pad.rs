//! Pad, PadV2 and MirrorPad: a tensor with a border.

use smallvec::SmallVec;
use tfvk_device::{Error, Result};

use super::mover::{Mover, Moving, Program, Value};
use super::view::{Axes, Move, View};
use crate::{Inputs, OpKernel, OpKernelConstruction};

/// `(before, after)` per axis, from a host input of shape `[rank, 2]`.
pub(super) fn pairs(inputs: &Inputs<'_>, index: usize, rank: usize, name: &str) -> Result<SmallVec<[(i64, i64); 8]>> {
    let flat = inputs.host_ints(index)?;
    let shape = inputs.shape(index)?;
    // A matrix of no rows may come as any empty tensor.
    if flat.len() != 2 * rank || (rank > 0 && shape.dims() != [rank as i64, 2]) {
        return Err(Error::invalid_argument(format!("{name}: expected shape [{rank},2], got {shape}")));
    }
    let pairs: SmallVec<[(i64, i64); 8]> = flat.chunks_exact(2).map(|p| (p[0], p[1])).collect();
    match pairs.iter().find(|(a, b)| *a < 0 || *b < 0) {
        Some((a, b)) => Err(Error::invalid_argument(format!("{name} must be non-negative: {a} {b}"))),
        None => Ok(pairs),
    }
}

struct Pad {
    value: Option<usize>,
}

/// The kernel of Pad.
pub fn pad(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Pad { value: None })))
}

/// The kernel of PadV2, whose border value is input 2.
pub fn pad_v2(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Pad { value: Some(2) })))
}

impl Mover for Pad {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let pads = pairs(inputs, 1, x.rank(), "paddings")?;
        if pads.iter().all(|&p| p == (0, 0)) {
            return Ok(Program::alias(0, x.clone()));
        }
        let shape: Axes = x.iter().zip(&pads).map(|(d, (a, b))| a.saturating_add(*d).saturating_add(*b)).collect();
        let before: Axes = pads.iter().map(|p| p.0).collect();
        let mv = Move::new(x, View::dense(x), View::dense(&shape).starting_at(&before));
        Ok(Program::new(shape.as_slice().into()).fill(self.value.map_or(Value::Zero, Value::Input)).moving(0, mv))
    }
}

/// Where the border of one axis comes from: REFLECT leaves the edge element out (1), SYMMETRIC repeats it (0).
pub(super) fn mirror_offset(node: &dyn OpKernelConstruction) -> Result<i64> {
    match node.string("mode")?.as_str() {
        "REFLECT" => Ok(1),
        "SYMMETRIC" => Ok(0),
        other => Err(Error::invalid_argument(format!("mode: expected REFLECT or SYMMETRIC, got {other}"))),
    }
}

struct MirrorPad {
    offset: i64,
}

/// The kernel of MirrorPad.
pub fn mirror_pad(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(MirrorPad { offset: mirror_offset(node)? })))
}

/// One stretch of an axis: where it starts in the output, where in the input, its length and its direction there.
type Stretch = (i64, i64, i64, i64);

impl Mover for MirrorPad {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let pads = pairs(inputs, 1, x.rank(), "paddings")?;
        let mut axes: SmallVec<[SmallVec<[Stretch; 3]>; 8]> = SmallVec::new();
        for (&d, &(before, after)) in x.iter().zip(&pads) {
            let most = d - self.offset;
            if before > most.max(0) || after > most.max(0) {
                return Err(Error::invalid_argument(format!(
                    "paddings must be no greater than the dimension size: {before}, {after} greater than {most}"
                )));
            }
            let stretches =
                [(0, before - 1 + self.offset, before, -1), (before, 0, d, 1), (before + d, d - 1 - self.offset, after, -1)];
            axes.push(stretches.into_iter().filter(|s| s.2 > 0).collect());
        }
        let shape: Axes = x.iter().zip(&pads).map(|(d, (a, b))| a.saturating_add(*d).saturating_add(*b)).collect();
        let mut program = Program::new(shape.as_slice().into());
        // Every combination of one stretch per axis is one move.
        let combinations: usize = axes.iter().map(SmallVec::len).product();
        for mut c in 0..combinations {
            let (mut to, mut from, mut dims, mut signs) = (Axes::new(), Axes::new(), Axes::new(), Axes::new());
            for axis in &axes {
                let (o, i, n, sign) = axis[c % axis.len()];
                c /= axis.len();
                to.push(o);
                from.push(i);
                dims.push(n);
                signs.push(sign);
            }
            let mut src = View::dense(x).starting_at(&from);
            src.strides.iter_mut().zip(&signs).for_each(|(s, sign)| *s *= sign);
            program = program.moving(0, Move::new(&dims, src, View::dense(&shape).starting_at(&to)));
        }
        Ok(program)
    }
}
