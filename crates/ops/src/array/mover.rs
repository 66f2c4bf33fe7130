//! Ops that only move elements: each says what moves where ([`Program`]), and [`Moving`] carries it out, on the device or in
//! host memory, wherever the host put the tensors. Element types matter by their size alone.

use smallvec::{SmallVec, smallvec};
use tfvk_device::{DType, Error, Memory, Result, Shape, Tensor};

use super::fill::fill;
use super::parts;
use super::view::{Move, View};
use crate::{Compute, Inputs, OpKernel, Output, Outputs, copy};

/// A tensor that a step reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An input.
    Input(usize),
    /// An output.
    Output(usize),
    /// The program's scratch tensor.
    Temp,
}

/// What a fill writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// All bits zero.
    Zero,
    /// The one element of an input.
    Input(usize),
}

/// One step; steps take effect in order.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // Nearly every step is a move.
pub enum Step {
    /// Every element of `0` becomes `1`.
    Fill(Place, Value),
    /// Elements move from `0` to `1`.
    Move(Place, Place, Move),
}

/// What an op does to its tensors.
#[derive(Clone, Debug)]
pub struct Program {
    /// The outputs.
    pub outputs: Outputs,
    /// Shape of the scratch tensor, of the element type of output 0, if one is used.
    pub temp: Option<Shape>,
    /// What is done.
    pub steps: SmallVec<[Step; 2]>,
}

impl Program {
    /// The input under another shape.
    pub fn alias(input: usize, shape: Shape) -> Self {
        Self { outputs: smallvec![Output::Alias { input, shape }], temp: None, steps: SmallVec::new() }
    }

    /// One output of this shape, to which steps are added.
    pub fn new(shape: Shape) -> Self {
        Self { outputs: smallvec![Output::Shape(shape)], temp: None, steps: SmallVec::new() }
    }

    /// The same with a fill of output 0.
    #[must_use]
    pub fn fill(mut self, value: Value) -> Self {
        self.steps.push(Step::Fill(Place::Output(0), value));
        self
    }

    /// The same with a move from an input to output 0.
    #[must_use]
    pub fn moving(mut self, input: usize, mv: Move) -> Self {
        self.steps.push(Step::Move(Place::Input(input), Place::Output(0), mv));
        self
    }

    /// One output that is one move from an input: `shape` filled in row-major order with the walk `view`.
    pub fn gathered(input: usize, shape: &[i64], view: View) -> Self {
        Self::new(Shape::new(shape)).moving(input, Move::new(shape, view, View::dense(shape)))
    }
}

/// An op that only moves elements.
pub trait Mover: Send + Sync {
    /// Validates the inputs and says what happens. Cheap: it is asked twice an execution.
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program>;
}

/// The kernel of a [`Mover`].
pub struct Moving<M>(pub M);

impl<M: Mover> OpKernel for Moving<M> {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        Ok(self.0.program(inputs)?.outputs)
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let program = self.0.program(&ctx.inputs())?;
        let temp = match &program.temp {
            Some(shape) => {
                let dtype = ctx.output(0)?.dtype;
                Some(ctx.temp(dtype, shape.clone())?)
            }
            None => None,
        };
        if one_launch(ctx, &program)? {
            return Ok(());
        }
        for step in &program.steps {
            match step {
                Step::Fill(dst, value) => {
                    let dst = place(ctx, *dst, temp.as_ref())?;
                    let value = match value {
                        Value::Zero => None,
                        Value::Input(i) => Some(ctx.input(*i)?),
                    };
                    fill(ctx, &dst, value.as_ref())?;
                }
                Step::Move(src, dst, mv) => {
                    let (src, dst) = (place(ctx, *src, temp.as_ref())?, place(ctx, *dst, temp.as_ref())?);
                    move_elements(ctx, &src, &dst, mv)?;
                }
            }
        }
        Ok(())
    }
}

/// Carries out a program that only joins inputs into output 0, or cuts one input into the outputs, if it can be done with
/// few launches.
fn one_launch(ctx: &Compute<'_>, program: &Program) -> Result<bool> {
    let ends = |step: &Step| match step {
        Step::Move(Place::Input(i), Place::Output(o), _) => Some((*i, *o)),
        _ => None,
    };
    let Some(all) = program.steps.iter().map(ends).collect::<Option<SmallVec<[_; 8]>>>() else { return Ok(false) };
    if all.len() < 2 {
        return Ok(false);
    }
    let cut = all.iter().all(|e| e.0 == all[0].0);
    if !cut && !all.iter().all(|e| e.1 == all[0].1) {
        return Ok(false);
    }
    let whole = if cut { ctx.input(all[0].0)? } else { ctx.output(all[0].1)? };
    if !parts::on_device(&whole) {
        return Ok(false);
    }
    let mut found = Vec::with_capacity(all.len());
    for (step, (i, o)) in program.steps.iter().zip(&all) {
        let Step::Move(_, _, mv) = step else { return Ok(false) };
        if mv.len() == 0 {
            continue;
        }
        let Some(rows) = parts::Rows::of(mv, cut) else { return Ok(false) };
        found.push((if cut { ctx.output(*o)? } else { ctx.input(*i)? }, rows));
    }
    parts::move_parts(ctx, &whole, &found, cut)
}

fn place(ctx: &Compute<'_>, place: Place, temp: Option<&Tensor>) -> Result<Tensor> {
    match place {
        Place::Input(i) => ctx.input(i),
        Place::Output(i) => ctx.output(i),
        Place::Temp => temp.cloned().ok_or_else(|| Error::internal("a program without a scratch tensor uses it")),
    }
}

/// Moves elements between two tensors of one element size, both on the device or both in host memory.
pub fn move_elements(ctx: &Compute<'_>, src: &Tensor, dst: &Tensor, mv: &Move) -> Result<()> {
    if mv.len() == 0 {
        return Ok(());
    }
    if src.memory() == dst.memory() && mv.src == mv.dst {
        // An output that took its input's memory over.
        return Ok(());
    }
    match (src.memory(), dst.memory()) {
        (Memory::Device(_), Memory::Device(_)) => on_device(ctx, src, dst, mv),
        (Memory::Host(_), Memory::Host(_)) => on_host(src, dst, mv),
        _ => Err(Error::internal("a move between host and device memory")),
    }
}

fn on_device(ctx: &Compute<'_>, src: &Tensor, dst: &Tensor, mv: &Move) -> Result<()> {
    let mv = mv.collapsed();
    let from = copy::View { tensor: src, offset: mv.src.offset, strides: &mv.src.strides };
    let to = copy::View { tensor: dst, offset: mv.dst.offset, strides: &mv.dst.strides };
    copy::strided_copy(ctx.device(), ctx.stream(), &mv.dims, from, to)
}

/// Copies a tensor of the same shape and element size; nothing to do if both are one memory.
pub fn copy_all(ctx: &Compute<'_>, src: &Tensor, dst: &Tensor) -> Result<()> {
    let dense = View::dense(&dst.shape);
    move_elements(ctx, src, dst, &Move::new(&dst.shape, dense.clone(), dense))
}

/// Threads of a workgroup for kernels that are happy with any number.
pub fn threads(ctx: &Compute<'_>) -> u32 {
    ctx.device().adapter().limits.max_invocations.min(256)
}

fn on_host(src: &Tensor, dst: &Tensor, mv: &Move) -> Result<()> {
    macro_rules! by_size {
        ($dtype:ident, $t:ty, $m:expr, $words:expr) => {{
            let words = |t: &Tensor| t.with(DType::$dtype, Shape::from([t.num_elements() * $words]));
            $m.on_host(words(src).host::<$t>()?, words(dst).host_mut::<$t>()?);
        }};
    }
    match dst.dtype.size() {
        1 => by_size!(U8, u8, mv, 1),
        2 => by_size!(U16, u16, mv, 1),
        4 => by_size!(U32, u32, mv, 1),
        8 => by_size!(U64, u64, mv, 1),
        16 => by_size!(U64, u64, mv.halves(), 2),
        _ => return Err(Error::internal(format!("{} elements cannot be moved", dst.dtype))),
    }
    Ok(())
}
