//! A program whose elements another kernel fetches one by one, where it would otherwise load them.

use std::sync::Arc;

use smallvec::SmallVec;
use tfvk_device::{Args, Kernel, Result, Shape, Tensor};

use super::Program;
use super::launch::{item, passed};
use super::plan::{Item, MAX_ELEMENTS, plan_lanes};
use super::ready::{Kept, Memo, Ready};

/// Bytes of operands that the kernels have room for (`operands` in `reduce.glsl`).
const OPERANDS: usize = 96;

/// Nodes that a program may have: the kernels have it several times.
const MAX_COST: usize = 128;

/// A kernel with a program in it, and that program's arguments.
pub(crate) struct Fetch(Arc<Kept>);

impl Fetch {
    /// The (one) result of `program`, of shape `shape`, in the place of the loads of the kernel `base`, which reads it `four`
    /// elements at a time or one by one. `None` if that is not possible. `memo` is for this program and this kernel alone.
    pub fn new(
        program: &Program,
        inputs: &[Tensor],
        shape: &Shape,
        base: &'static Kernel,
        four: bool,
        memo: &Memo,
    ) -> Result<Option<Self>> {
        if program.cost() > MAX_COST {
            return Ok(None);
        }
        let make = || -> Result<Option<Ready>> {
            let items: Vec<Item<'_>> = inputs.iter().enumerate().map(|(i, t)| item(t, program.reads(i))).collect();
            let planned = |most| plan_lanes(shape, &items, &[], program.cost(), MAX_ELEMENTS, most);
            let mut plan = planned(if four { 4 } else { 1 })?;
            if plan.variant.lanes == 2 {
                plan = planned(1)?;
            }
            let pointers = plan.variant.access.iter().filter(|a| a.is_pointer()).count();
            let words = plan.pieces.first().map_or(0, |p| p.words.len());
            let room = pointers * 8 + words * 4 <= OPERANDS && program.scalars().is_empty();
            if plan.pieces.len() != 1 || !room || inputs.iter().any(|t| t.device_ptr().is_err()) {
                return Ok(None);
            }
            let kernel = program.modules.graft(program, &plan.variant, base)?;
            Ok(Some(Ready { kernel, passed: passed(&plan.variant), pieces: plan.pieces, scalars: SmallVec::new() }))
        };
        Ok(memo.ready(inputs, make)?.map(Self))
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.0.ready.kernel
    }

    /// Appends the program's arguments.
    pub fn arguments(&self, inputs: &[Tensor], args: &mut Args) -> Result<()> {
        let ready = &self.0.ready;
        ready.pieces.first().map_or(Ok(()), |piece| ready.append(piece, inputs, &[], args))
    }
}
