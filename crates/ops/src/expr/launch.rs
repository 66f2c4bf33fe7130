//! Runs a [`Program`] over tensors: plan, compiled variant, launch.

use smallvec::SmallVec;
use tfvk_device::{DType, Error, Memory, Result, Shape, Stream, Tensor};

use super::graph::Ty;
use super::plan::{Access, Item, MAX_ELEMENTS, Variant, plan};
use super::ready::{Memo, Passed, Ready};
use super::spirv::words_of;
use super::{Program, eval, interpret, lacking, storage};

/// Computes `outputs` (all of one shape, of the program's types) from `inputs`, which broadcast to that shape.
///
/// Outputs are in device memory, or all tensors in host memory (then it is interpreted). An input of one element may be in
/// host memory all the same; its value is read now. An output may be the very memory of an input of the same shape and
/// size of element, but must not overlap one otherwise. `scalars` are the program's launch-time scalars in order.
pub fn launch(stream: &Stream, program: &Program, inputs: &[Tensor], scalars: &[f64], outputs: &[Tensor]) -> Result<()> {
    let Some(shape) = check(program, inputs, scalars, outputs)? else { return Ok(()) };
    let bits = bits(program, scalars);
    if outputs.iter().all(|o| matches!(o.memory(), Memory::Host(_))) {
        return interpret::run(program, inputs, &bits, &mut outputs.to_vec());
    }
    if let Some(what) = lacking::lacking(program, &stream.adapter().features) {
        lacking::tell(stream, what, program);
        return lacking::run(stream, program, inputs, &bits, outputs, &shape);
    }
    prepare(program, &shape, inputs, &bits, outputs)?.run(stream, inputs, outputs)
}

/// As [`launch`] without scalars; what it worked out is kept in `memo`, which is for this program alone.
pub(crate) fn launch_again(memo: &Memo, stream: &Stream, program: &Program, inputs: &[Tensor], outputs: &[Tensor]) -> Result<()> {
    if memo.run(stream, inputs, outputs)? {
        return Ok(());
    }
    let on_host = outputs.iter().all(|o| matches!(o.memory(), Memory::Host(_)));
    if on_host || lacking::lacking(program, &stream.adapter().features).is_some() {
        return launch(stream, program, inputs, &[], outputs);
    }
    match ready(program, inputs, &[], outputs)? {
        Some(ready) => memo.keep(ready, stream, inputs, outputs),
        None => Ok(()),
    }
}

/// As [`launch`], but for outputs in device memory, and without the launch: `None` if there is nothing to compute.
pub(super) fn ready(program: &Program, inputs: &[Tensor], scalars: &[f64], outputs: &[Tensor]) -> Result<Option<Ready>> {
    let Some(shape) = check(program, inputs, scalars, outputs)? else { return Ok(None) };
    prepare(program, &shape, inputs, &bits(program, scalars), outputs).map(Some)
}

fn bits(program: &Program, scalars: &[f64]) -> Vec<u64> {
    program.scalars().iter().zip(scalars).map(|(&d, &v)| eval::bits_of_f64(Ty::of(d), v)).collect()
}

fn prepare(program: &Program, shape: &Shape, inputs: &[Tensor], scalars: &[u64], outputs: &[Tensor]) -> Result<Ready> {
    let items: Vec<Item<'_>> = inputs.iter().enumerate().map(|(i, t)| item(t, program.reads(i))).collect();
    let results: Vec<Item<'_>> = outputs.iter().map(|t| item(t, true)).collect();
    let plan = plan(shape, &items, &results, program.cost(), MAX_ELEMENTS)?;
    let kernel = program.modules.get(program, &plan.variant)?;
    let mut words = SmallVec::new();
    for (&d, &bits) in program.scalars().iter().zip(scalars) {
        words.extend_from_slice(&bits.to_le_bytes()[..words_of(d) * 4]);
    }
    Ok(Ready { kernel, passed: passed(&plan.variant), pieces: plan.pieces, scalars: words })
}

/// How a variant gets its operands.
pub(super) fn passed(variant: &Variant) -> SmallVec<[Passed; 4]> {
    let of = |access: &Access| match access {
        Access::Host => Passed::Value,
        a if a.is_pointer() => Passed::Pointer,
        _ => Passed::Not,
    };
    variant.access.iter().map(of).collect()
}

pub(super) fn item(t: &Tensor, used: bool) -> Item<'_> {
    let address = match t.memory() {
        Memory::Device(p) => Some(p.0),
        Memory::Host(_) => None,
    };
    Item { dtype: t.dtype, shape: &t.shape, address, used }
}

/// The outputs' shape; `None` if there is nothing to compute.
fn check(program: &Program, inputs: &[Tensor], scalars: &[f64], outputs: &[Tensor]) -> Result<Option<Shape>> {
    let wrong = |what: &str, expected: &dyn std::fmt::Debug, got: &dyn std::fmt::Debug| {
        Error::internal(format!("{}: {what}: expected {expected:?}, got {got:?}", program.name()))
    };
    let types = |tensors: &[Tensor]| tensors.iter().map(|t| t.dtype).collect::<Vec<DType>>();
    if !inputs.iter().map(|t| t.dtype).eq(program.inputs().iter().copied()) {
        return Err(wrong("input types", &program.inputs(), &types(inputs)));
    }
    if !outputs.iter().map(|t| t.dtype).eq(program.outputs().iter().map(|o| o.dtype)) {
        return Err(wrong("output types", &program.outputs(), &types(outputs)));
    }
    if scalars.len() != program.scalars().len() {
        return Err(wrong("number of scalars", &program.scalars().len(), &scalars.len()));
    }
    let Some(first) = outputs.first() else { return Ok(None) };
    if let Some(other) = outputs.iter().find(|o| o.shape != first.shape) {
        return Err(wrong("output shapes", &first.shape, &other.shape));
    }
    Ok((first.num_elements() > 0).then(|| first.shape.clone()))
}

/// The one number of a host tensor of any real type. For callers that need a value on the host.
pub fn host_number(t: &Tensor) -> Result<f64> {
    let bytes = t.with(DType::U8, [t.bytes() as i64].into());
    let bits = storage::load(t.dtype, bytes.host::<u8>()?, 0, 0);
    Ok(eval::f64_of_bits(Ty::of(t.dtype), bits))
}
