//! A launch of a [`Program`] that is planned and compiled, and what it was planned for. A node is run many times on the same
//! shapes: [`Memo`] keeps what its last execution worked out. Knows neither shapes' rules nor SPIR-V.

use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tfvk_device::{Args, DType, Kernel, Memory, Result, Shape, Stream, Tensor};

use super::plan::Piece;
use super::spirv::words_of;

/// Threads a workgroup: what every device has.
const WORKGROUP: u32 = 128;

/// What a plan depends on of a tensor.
#[derive(Debug, PartialEq, Eq)]
struct Operand {
    dtype: DType,
    shape: Shape,
    /// The address modulo 16 (no load or store is wider); `None` in host memory.
    alignment: Option<u8>,
}

impl Operand {
    fn of(t: &Tensor) -> Self {
        Self { dtype: t.dtype, shape: t.shape.clone(), alignment: alignment(t) }
    }

    fn fits(&self, t: &Tensor) -> bool {
        self.dtype == t.dtype && self.alignment == alignment(t) && self.shape == t.shape
    }
}

fn alignment(t: &Tensor) -> Option<u8> {
    match t.memory() {
        Memory::Device(p) => Some((p.0 % 16) as u8),
        Memory::Host(_) => None,
    }
}

/// How the kernel gets an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// Not at all.
    Not,
    /// By its address.
    Pointer,
    /// By its one value, which is in host memory.
    Value,
}

/// A launch that is planned and compiled.
pub(super) struct Ready {
    pub kernel: Arc<Kernel>,
    pub pieces: SmallVec<[Piece; 1]>,
    /// Per input.
    pub passed: SmallVec<[Passed; 4]>,
    /// The launch-time scalars as the shader reads them.
    pub scalars: SmallVec<[u8; 16]>,
}

impl Ready {
    /// Launches it on tensors like those that it was planned for.
    pub fn run(&self, stream: &Stream, inputs: &[Tensor], outputs: &[Tensor]) -> Result<()> {
        for piece in &self.pieces {
            let args = self.arguments(piece, inputs, outputs)?;
            let groups = piece.threads.div_ceil(u64::from(WORKGROUP));
            stream.launch_linear(&self.kernel, &[WORKGROUP, 1, 1], &args, groups)?;
        }
        Ok(())
    }

    fn arguments(&self, piece: &Piece, inputs: &[Tensor], outputs: &[Tensor]) -> Result<Args> {
        let mut args = Args::new();
        self.append(piece, inputs, outputs, &mut args)?;
        Ok(args)
    }

    /// Appends the arguments of a piece.
    pub(super) fn append(&self, piece: &Piece, inputs: &[Tensor], outputs: &[Tensor], args: &mut Args) -> Result<()> {
        let rest = |t: &Tensor, start: i64| -> Result<_> {
            let skip = start as u64 * t.dtype.size() as u64;
            Ok((t.device_ptr()?.offset(skip), t.bytes() - skip))
        };
        for ((t, passed), &start) in inputs.iter().zip(&self.passed).zip(&piece.inputs) {
            if *passed == Passed::Pointer {
                let (ptr, bytes) = rest(t, start)?;
                args.read_ptr(ptr, bytes)?;
            }
        }
        for t in outputs {
            let (ptr, bytes) = rest(t, piece.output)?;
            args.write_ptr(ptr, bytes)?;
        }
        args.bytes(&self.scalars);
        for (t, _) in inputs.iter().zip(&self.passed).filter(|(_, p)| **p == Passed::Value) {
            args.bytes(&by_value(t)?);
        }
        for &w in &piece.words {
            args.u32(w);
        }
        Ok(())
    }
}

/// The first element of a tensor in host memory, as the words that the shader decodes.
fn by_value(t: &Tensor) -> Result<SmallVec<[u8; 16]>> {
    let bytes = t.with(DType::U8, [t.bytes() as i64].into());
    let mut element = SmallVec::from_slice(bytes.host::<u8>()?.get(..t.dtype.size()).unwrap_or_default());
    element.resize(words_of(t.dtype) * 4, 0);
    Ok(element)
}

/// The last execution of a node.
#[derive(Default)]
pub(crate) struct Memo(Mutex<Option<Arc<Kept>>>);

pub(super) struct Kept {
    inputs: SmallVec<[Operand; 4]>,
    outputs: SmallVec<[Operand; 1]>,
    pub ready: Ready,
}

impl Memo {
    fn last(&self) -> Option<Arc<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The outputs' shape, if the inputs are like the last.
    pub(super) fn shape(&self, inputs: &[Tensor]) -> Option<Shape> {
        let last = self.last().filter(|l| fit(&l.inputs, inputs))?;
        last.outputs.first().map(|o| o.shape.clone())
    }

    /// Runs the last launch again, if these tensors are like the last; whether they are.
    pub(super) fn run(&self, stream: &Stream, inputs: &[Tensor], outputs: &[Tensor]) -> Result<bool> {
        let last = self.last().filter(|l| fit(&l.inputs, inputs) && fit(&l.outputs, outputs));
        last.map_or(Ok(false), |l| l.ready.run(stream, inputs, outputs).map(|()| true))
    }

    /// The last [`Ready`] for inputs like these, or a new one.
    pub(super) fn ready(&self, inputs: &[Tensor], make: impl FnOnce() -> Result<Option<Ready>>) -> Result<Option<Arc<Kept>>> {
        if let Some(last) = self.last().filter(|l| fit(&l.inputs, inputs)) {
            return Ok(Some(last));
        }
        let Some(ready) = make()? else { return Ok(None) };
        let kept = Arc::new(Kept { inputs: inputs.iter().map(Operand::of).collect(), outputs: SmallVec::new(), ready });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept.clone());
        Ok(Some(kept))
    }

    /// Runs a launch, and keeps it for tensors like these.
    pub(super) fn keep(&self, ready: Ready, stream: &Stream, inputs: &[Tensor], outputs: &[Tensor]) -> Result<()> {
        ready.run(stream, inputs, outputs)?;
        let operands = |tensors: &[Tensor]| tensors.iter().map(Operand::of).collect::<SmallVec<[Operand; 4]>>();
        let kept = Kept { inputs: operands(inputs), outputs: outputs.iter().map(Operand::of).collect(), ready };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(kept));
        Ok(())
    }
}

fn fit(operands: &[Operand], tensors: &[Tensor]) -> bool {
    operands.len() == tensors.len() && operands.iter().zip(tensors).all(|(o, t)| o.fits(t))
}
