//! Runs a [`Program`] over tensors: plan, compiled variant, arguments, launches.

use tfvk_device::{Args, DType, Error, Memory, Result, Shape, Stream, Tensor};

use super::graph::Ty;
use super::plan::{Access, Item, MAX_ELEMENTS, Piece, Variant, plan};
use super::spirv::{Layout, words_of};
use super::{Program, eval, interpret, storage};

/// Threads a workgroup: what every device has.
const WORKGROUP: u32 = 128;

/// Computes `outputs` (all of one shape, of the program's types) from `inputs`, which broadcast to that shape.
///
/// Outputs are in device memory, or all tensors in host memory (then it is interpreted). An input of one element may be in
/// host memory all the same; its value is read now. An output may be the very memory of an input of the same shape and
/// size of element, but must not overlap one otherwise. `scalars` are the program's launch-time scalars in order.
pub fn launch(stream: &Stream, program: &Program, inputs: &[Tensor], scalars: &[f64], outputs: &[Tensor]) -> Result<()> {
    let Some(shape) = check(program, inputs, scalars, outputs)? else { return Ok(()) };
    let bits: Vec<u64> = program.scalars().iter().zip(scalars).map(|(&d, &v)| eval::bits_of_f64(Ty::of(d), v)).collect();
    if outputs.iter().all(|o| matches!(o.memory(), Memory::Host(_))) {
        return interpret::run(program, inputs, &bits, &mut outputs.to_vec());
    }
    let items: Vec<Item<'_>> = inputs.iter().enumerate().map(|(i, t)| item(t, program.reads(i))).collect();
    let results: Vec<Item<'_>> = outputs.iter().map(|t| item(t, true)).collect();
    let plan = plan(&shape, &items, &results, program.cost(), MAX_ELEMENTS)?;
    let kernel = program.modules.get(program, &plan.variant)?;
    for piece in &plan.pieces {
        let args = arguments(program, &plan.variant, piece, inputs, &bits, outputs)?;
        let groups = piece.threads.div_ceil(u64::from(WORKGROUP));
        stream.launch_linear(&kernel, &[WORKGROUP, 1, 1], &args, groups)?;
    }
    Ok(())
}

fn item(t: &Tensor, used: bool) -> Item<'_> {
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

fn arguments(
    program: &Program,
    variant: &Variant,
    piece: &Piece,
    inputs: &[Tensor],
    scalars: &[u64],
    outputs: &[Tensor],
) -> Result<Args> {
    let layout = Layout::new(program, variant);
    let mut args = Args::new();
    let rest = |t: &Tensor, start: i64| -> Result<_> {
        let skip = start as u64 * t.dtype.size() as u64;
        Ok((t.device_ptr()?.offset(skip), t.bytes() - skip))
    };
    for ((t, pointer), &start) in inputs.iter().zip(&layout.inputs).zip(&piece.inputs) {
        if pointer.is_some() {
            let (ptr, bytes) = rest(t, start)?;
            args.read_ptr(ptr, bytes)?;
        }
    }
    for t in outputs {
        let (ptr, bytes) = rest(t, piece.output)?;
        args.write_ptr(ptr, bytes)?;
    }
    for (&d, &bits) in program.scalars().iter().zip(scalars) {
        args.bytes(&bits.to_le_bytes()[..words_of(d) * 4]);
    }
    for (t, access) in inputs.iter().zip(&variant.access) {
        if *access == Access::Host {
            args.bytes(&by_value(t)?);
        }
    }
    for &w in &piece.words {
        args.u32(w);
    }
    Ok(args)
}

/// The first element of a tensor in host memory, as the words that the shader decodes.
fn by_value(t: &Tensor) -> Result<Vec<u8>> {
    let bytes = t.with(DType::U8, [t.bytes() as i64].into());
    let mut element = bytes.host::<u8>()?.get(..t.dtype.size()).unwrap_or_default().to_vec();
    element.resize(words_of(t.dtype) * 4, 0);
    Ok(element)
}

/// The one number of a host tensor of any real type. For callers that need a value on the host.
pub fn host_number(t: &Tensor) -> Result<f64> {
    let bytes = t.with(DType::U8, [t.bytes() as i64].into());
    let bits = storage::load(t.dtype, bytes.host::<u8>()?, 0, 0);
    Ok(eval::f64_of_bits(Ty::of(t.dtype), bits))
}
