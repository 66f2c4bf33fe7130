//! A chain in the place of a kernel's loads: the functions `float fetch(uint)` and `vec4 fetch4(uint)` of a finished module
//! are given new bodies. So a reduction computes its elements while it reads, with the very tree that it has otherwise.
//!
//! The functions are told by their types: `const` parameters alone are passed by value. The operands are the last member of
//! the push constants, an array of words: pointers, then words, as in a shader of its own.

use rspirv::dr;
use rspirv::spirv::{Op, Word};
use tfvk_device::{Error, Result};

use super::module::Module;
use super::{Built, Layout, index, values};
use crate::expr::Program;
use crate::expr::graph::Ty;
use crate::expr::plan::Variant;

/// The kernel with the (one) result of a program, which is computed in float32, in the place of its loads. A variant of four
/// lanes serves `fetch4` alone, one of one lane both. Errors: the kernel is not made for that.
pub fn graft(kernel: &[u32], program: &Program, variant: &Variant) -> Result<Vec<u32>> {
    let wrong = |what: &str| Error::internal(format!("{}: cannot be put into a kernel: {what}", program.name()));
    let module = dr::load_words(kernel).map_err(|e| wrong(&format!("{e:?}")))?;
    if !matches!(program.outputs(), [o] if Ty::of(o.dtype) == Ty::F32 && !o.dtype.is_complex())
        || ![1, 4].contains(&variant.lanes)
    {
        return Err(wrong("one float and one or four lanes are expected"));
    }
    let (Some(one), Some(four)) = (fetcher(&module, 1), fetcher(&module, 4)) else {
        return Err(wrong("it has no functions fetch and fetch4"));
    };
    let layout = Layout::new(program, variant);
    let m = Module::with_words(module, layout.outputs).ok_or_else(|| wrong("it has no place for operands"))?;
    build(m, program, variant, &layout, one, four).map_err(|e| wrong(&format!("{e:?}")))
}

/// A function of the module: its place, its number, its parameter, the type of its result.
#[derive(Clone, Copy)]
struct Fetcher {
    at: usize,
    id: Word,
    index: Word,
    result: Word,
}

fn fetcher(module: &dr::Module, width: u32) -> Option<Fetcher> {
    let defined = |id: Word| module.types_global_values.iter().find(|i| i.result_id == Some(id));
    let is = |id: Word, op: Op| defined(id).is_some_and(|i| i.class.opcode == op);
    let wide = |id: Word| match width {
        1 => is(id, Op::TypeFloat),
        n => defined(id).is_some_and(|i| {
            let vector = [dr::Operand::LiteralBit32(n)];
            i.class.opcode == Op::TypeVector
                && i.operands[1..] == vector
                && i.operands[0].id_ref_any().is_some_and(|e| is(e, Op::TypeFloat))
        }),
    };
    let mut found = module.functions.iter().enumerate().filter_map(|(at, f)| {
        let def = f.def.as_ref()?;
        let (result, id) = (def.result_type?, def.result_id?);
        match &f.parameters[..] {
            [p] if wide(result) && is(p.result_type?, Op::TypeInt) => Some(Fetcher { at, id, index: p.result_id?, result }),
            _ => None,
        }
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn build(mut m: Module, program: &Program, variant: &Variant, layout: &Layout, one: Fetcher, four: Fetcher) -> Built<Vec<u32>> {
    let lanes = usize::from(variant.lanes);
    let own = if lanes == 4 { four } else { one };
    m.begin_body(own.at)?;
    m.load_words(layout)?;
    let places = index::places(&mut m, layout, variant, own.index)?;
    let results = values(&mut m, program, variant, layout, &places, lanes)?;
    let parts: Vec<Word> = results.iter().flatten().map(|v| v[0]).collect();
    let result = match parts[..] {
        [part] => part,
        _ => m.b.composite_construct(own.result, None, parts)?,
    };
    m.end_body(Some(result))?;
    if lanes == 1 {
        m.begin_body(four.at)?;
        let width = m.u32(4);
        let first = m.mul(four.index, width)?;
        let mut parts = Vec::new();
        for lane in 0..4 {
            let lane = m.u32(lane);
            let at = m.add(first, lane)?;
            parts.push(m.b.function_call(one.result, None, one.id, [at])?);
        }
        let result = m.b.composite_construct(four.result, None, parts)?;
        m.end_body(Some(result))?;
    }
    Ok(m.refinish())
}
