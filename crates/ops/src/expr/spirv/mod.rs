//! From a [`Program`] and a [`Variant`] to a SPIR-V compute shader.
//!
//! One thread computes `lanes` elements. Operands and results are reached through buffer device addresses in the
//! push-constant block: `{ pointers (inputs that are read, then outputs), words }`, where the words are the launch-time
//! scalars, operands given by value, then the plan's index words. A block of more than 128 bytes is itself behind a pointer.

mod body;
mod graft;
mod index;
mod memory;
mod module;
mod rows;

use rspirv::spirv;
use tfvk_device::{DType, Error, Result};

use self::module::Module;
use super::plan::{Access, Variant};
use super::{Program, graph::Ty};
pub use graft::graft;
pub use rows::{RowInput, RowPart, RowParts, RowPlace, graft_rows};

/// More argument bytes than this travel behind a pointer.
pub const PUSH_BYTES: usize = 128;

/// Words that a launch-time value of this type takes.
pub fn words_of(dtype: DType) -> usize {
    (dtype.size() / 4).max(1)
}

/// Where everything is in the argument block.
pub(super) struct Layout {
    /// The pointer numbers of the inputs that have one.
    pub inputs: Vec<Option<u32>>,
    /// The number of the first output's pointer; the others follow.
    pub outputs: u32,
    /// Number of pointers.
    pub num_pointers: u32,
    /// The first word of each launch-time scalar.
    pub scalars: Vec<u32>,
    /// The first word of each input given by value.
    pub by_value: Vec<Option<u32>>,
    /// The first word of the index arithmetic.
    pub index: u32,
    /// Number of words.
    pub num_words: u32,
}

impl Layout {
    pub(super) fn new(program: &Program, variant: &Variant) -> Self {
        let (mut inputs, mut by_value, mut scalars) = (Vec::new(), Vec::new(), Vec::new());
        let (mut outputs, mut word) = (0, 0);
        for &d in program.scalars() {
            scalars.push(word);
            word += words_of(d) as u32;
        }
        for (&d, access) in program.inputs().iter().zip(&variant.access) {
            let has_pointer = access.is_pointer();
            inputs.push(has_pointer.then_some(outputs));
            outputs += u32::from(has_pointer);
            by_value.push((*access == Access::Host).then_some(word));
            word += if *access == Access::Host { words_of(d) as u32 } else { 0 };
        }
        let num_pointers = outputs + program.outputs().len() as u32;
        let num_words = word + index::words(variant);
        Self { inputs, outputs, num_pointers, scalars, by_value, index: word, num_words }
    }

    /// Bytes of the block.
    pub(super) fn bytes(&self) -> usize {
        self.num_pointers as usize * 8 + self.num_words as usize * 4
    }
}

/// The words of the shader.
pub fn generate(program: &Program, variant: &Variant) -> Result<Vec<u32>> {
    build(program, variant).map_err(|e| Error::internal(format!("{}: cannot build its shader: {e:?}", program.name())))
}

type Built<T> = std::result::Result<T, rspirv::dr::Error>;

fn build(program: &Program, variant: &Variant) -> Built<Vec<u32>> {
    let layout = Layout::new(program, variant);
    let lanes = usize::from(variant.lanes);
    let mut m = Module::new(&layout)?;
    let vectors = m.word(layout.index)?;
    let id = m.thread()?;
    let in_range = m.less(id, vectors)?;
    let done = m.open_if(in_range)?;
    let places = index::places(&mut m, &layout, variant, id)?;
    element(&mut m, program, variant, &layout, &places, lanes)?;
    m.close_if(done)?;
    if variant.rank == 0 && lanes > 1 {
        let tail = m.word(layout.index + 1)?;
        let in_tail = m.less(id, tail)?;
        let done = m.open_if(in_tail)?;
        let at = index::tail(&mut m, vectors, lanes as u32, id)?;
        let places = index::same(&mut m, variant, at);
        element(&mut m, program, variant, &layout, &places, 1)?;
        m.close_if(done)?;
    }
    m.finish()
}

/// Loads `lanes` elements of every operand, evaluates the program for each, stores the results.
fn element(
    m: &mut Module,
    program: &Program,
    variant: &Variant,
    layout: &Layout,
    places: &index::Places,
    lanes: usize,
) -> Built<()> {
    let results = values(m, program, variant, layout, places, lanes)?;
    for ((p, out), r) in (layout.outputs..).zip(program.outputs()).zip(&results) {
        memory::store(m, p, out.dtype, places.output, r)?;
    }
    Ok(())
}

/// Loads `lanes` elements of every operand and evaluates the program for each: for each result, each lane's parts.
fn values(
    m: &mut Module,
    program: &Program,
    variant: &Variant,
    layout: &Layout,
    places: &index::Places,
    lanes: usize,
) -> Built<Vec<Vec<[spirv::Word; 2]>>> {
    let mut operands = Vec::new();
    for (i, &dtype) in program.inputs().iter().enumerate() {
        operands.push(match (variant.access[i], layout.inputs[i], layout.by_value[i]) {
            (Access::Host, _, Some(word)) => {
                let words = (0..words_of(dtype) as u32).map(|w| m.word(word + w)).collect::<Built<Vec<_>>>()?;
                vec![memory::decode(m, dtype, &words, 0)?; lanes]
            }
            (Access::Full | Access::Strided, Some(p), _) => {
                let words = memory::load(m, p, dtype, places.inputs[i], lanes)?;
                (0..lanes).map(|lane| memory::decode(m, dtype, &words, lane)).collect::<Built<Vec<_>>>()?
            }
            (_, Some(p), _) => {
                let words = memory::load(m, p, dtype, places.inputs[i], 1)?;
                vec![memory::decode(m, dtype, &words, 0)?; lanes]
            }
            _ => vec![[0, 0]; lanes],
        });
    }
    let mut scalars = Vec::new();
    for (&dtype, &word) in program.scalars().iter().zip(&layout.scalars) {
        let words = (0..words_of(dtype) as u32).map(|w| m.word(word + w)).collect::<Built<Vec<_>>>()?;
        scalars.push(memory::decode_computed(m, Ty::of(dtype), &words)?);
    }
    let mut results = vec![Vec::new(); program.outputs().len()];
    for lane in 0..lanes {
        let inputs: Vec<[spirv::Word; 2]> = operands.iter().map(|o| o[lane]).collect();
        let values = body::evaluate(m, program, &inputs, &scalars)?;
        for (r, out) in results.iter_mut().zip(program.outputs()) {
            r.push([values[out.re as usize], values[out.im as usize]]);
        }
    }
    Ok(results)
}
