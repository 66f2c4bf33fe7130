//! Programs that need an arithmetic which the device lacks, 64-bit integers or floats: they are computed on the host, from
//! copies. Slow, and it waits for the device; but Keras counts its steps in int64, and no script should end there.

use std::sync::Once;

use tfvk_device::{Features, Memory, Result, Shape, Stream, Tensor};

use super::graph::{Id, Ty};
use super::interpret::{Operand, as_bytes, values};
use super::{Graph, Program};

/// What the program needs and the device does not have.
pub fn lacking(program: &Program, features: &Features) -> Option<&'static str> {
    if features.int64 && features.f64 {
        return None;
    }
    let graph: &Graph = program.graph();
    let computes = |types: &[Ty]| {
        (0..graph.nodes().len() as Id).any(|id| program.is_live(id) && types.contains(&graph.ty(id)))
            // A result is stored in its own type.
            || program.outputs().iter().any(|o| types.contains(&Ty::of(o.dtype)))
    };
    if !features.int64 && computes(&[Ty::I64, Ty::U64]) {
        return Some("64-bit integer arithmetic");
    }
    (!features.f64 && computes(&[Ty::F64])).then_some("64-bit float arithmetic")
}

/// Computes on the host what [`launch`](super::launch) would compute on the device: outputs of shape `shape` in device memory.
pub fn run(
    stream: &Stream,
    program: &Program,
    inputs: &[Tensor],
    scalars: &[u64],
    outputs: &[Tensor],
    shape: &Shape,
) -> Result<()> {
    let operand = |(i, t): (usize, &Tensor)| {
        let bytes = match t.memory() {
            _ if !program.reads(i) => Vec::new(),
            Memory::Device(_) => stream.read(t)?,
            Memory::Host(_) => as_bytes(t).host::<u8>()?.to_vec(),
        };
        Operand::new(t, bytes, shape)
    };
    let operands = inputs.iter().enumerate().map(operand).collect::<Result<Vec<_>>>()?;
    for (output, bytes) in outputs.iter().zip(values(program, &operands, scalars, shape)) {
        stream.upload(output.device_ptr()?, &bytes)?;
    }
    Ok(())
}

/// Tells the user, once.
pub fn tell(stream: &Stream, what: &str, program: &Program) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let device = &stream.adapter().name;
        tfvk_device::log!(
            Warn,
            "{device} lacks {what}: '{}' and what else needs it is computed on the host, slowly",
            program.name()
        );
    });
}
