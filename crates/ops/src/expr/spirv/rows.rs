//! Chains in the place of all that `reduce_rows.comp` reads and writes: what each reduction of a row is over, and what is
//! written in the end.
//!
//! The kernel's functions are told by their types: `const` parameters alone are passed by value. The operands are pointers,
//! two words each, in the last member of the kernel's arguments.

use rspirv::dr;
use rspirv::spirv::{Op, Word};
use tfvk_device::{Error, Result};

use super::module::Module;
use super::{Built, body, memory};
use crate::expr::Program;

/// Which element of an operand goes with an element of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowPlace {
    /// The same one.
    Full,
    /// The one at its place in every row.
    Column,
    /// The row's.
    Row,
    /// The only one.
    One,
}

/// What a program of a row gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowInput {
    /// Of the operand with this number.
    Operand(usize, RowPlace),
    /// The result of the reduction with this number, as float32.
    Result(usize),
}

/// A program of a row.
#[derive(Clone, Copy)]
pub struct RowPart<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its operands.
    pub inputs: &'a [RowInput],
    /// The numbers of the operands that its results are written to; none if they are reduced.
    pub outputs: &'a [usize],
}

/// All programs of a launch.
pub struct RowParts<'a> {
    /// One for each reduction, with one float32 result each.
    pub stages: Vec<RowPart<'a>>,
    /// What has as many elements as all rows.
    pub full: Option<RowPart<'a>>,
    /// What has an element a row.
    pub row: Option<RowPart<'a>>,
    /// Elements at a time: one or four.
    pub lanes: usize,
}

/// The kernel with these programs. Errors: the kernel is not made for that.
pub fn graft_rows(kernel: &[u32], parts: &RowParts<'_>) -> Result<Vec<u32>> {
    let wrong = |what: &str| Error::internal(format!("chains cannot be put into a kernel of rows: {what}"));
    let module = dr::load_words(kernel).map_err(|e| wrong(&format!("{e:?}")))?;
    let functions = Functions::of(&module).ok_or_else(|| wrong("its functions are not there"))?;
    let m = Module::with_words(module, 0).ok_or_else(|| wrong("it has no place for operands"))?;
    build(m, parts, &functions).map_err(|e| wrong(&format!("{e:?}")))
}

/// A function: its place and its parameters.
struct Function {
    at: usize,
    params: Vec<Word>,
}

struct Functions {
    fetch: Function,
    fetch4: Function,
    emit: Function,
    emit4: Function,
    emit_row: Function,
}

impl Functions {
    fn of(module: &dr::Module) -> Option<Self> {
        // A letter for each type: result, then parameters.
        let letter = |id: Word| {
            let ty = module.types_global_values.iter().find(|i| i.result_id == Some(id))?;
            Some(match ty.class.opcode {
                Op::TypeVoid => 'n',
                Op::TypeFloat => 'f',
                Op::TypeInt => 'u',
                Op::TypeVector => 'v',
                _ => '?',
            })
        };
        let find = |wanted: &str| {
            let mut found = module.functions.iter().enumerate().filter_map(|(at, f)| {
                let types = f.def.iter().chain(&f.parameters).map(|i| letter(i.result_type?)).collect::<Option<String>>()?;
                let params = f.parameters.iter().filter_map(|p| p.result_id).collect();
                (types == wanted).then_some(Function { at, params })
            });
            let first = found.next()?;
            found.next().is_none().then_some(first)
        };
        Some(Self {
            fetch: find("fuuuuv")?,
            fetch4: find("vuuuuv")?,
            emit: find("nuuuv")?,
            emit4: find("nuuvu")?,
            emit_row: find("nuv")?,
        })
    }
}

/// Where a function is: ids of the row's number, the element's in it and among all, and of the results.
#[derive(Clone, Copy)]
struct At {
    row: Word,
    element: Word,
    all: Word,
    results: Word,
}

fn build(mut m: Module, parts: &RowParts<'_>, f: &Functions) -> Built<Vec<u32>> {
    let lanes = parts.lanes;
    let (fetch, emit) = if lanes == 4 { (&f.fetch4, &f.emit4) } else { (&f.fetch, &f.emit) };
    if let &[row, element, all, stage, results] = &fetch.params[..] {
        let at = At { row, element, all, results };
        m.begin_body(fetch.at)?;
        let (last, others) = parts.stages.split_last().ok_or(dr::Error::FunctionNotFound)?;
        for (number, part) in others.iter().enumerate() {
            let number = m.u32(number as u32);
            let is = m.equal(stage, number)?;
            let otherwise = m.open_if(is)?;
            let value = fetched(&mut m, part, at, lanes)?;
            m.b.ret_value(value)?;
            m.begin(otherwise)?;
        }
        let value = fetched(&mut m, last, at, lanes)?;
        m.end_body(Some(value))?;
    }
    if let Some(part) = &parts.full {
        let (row, element) = (emit.params[0], emit.params[1]);
        let (all, results) = if lanes == 4 { (emit.params[3], emit.params[2]) } else { (emit.params[2], emit.params[3]) };
        m.begin_body(emit.at)?;
        let values = values(&mut m, part, At { row, element, all, results }, lanes)?;
        store(&mut m, part, all, &values)?;
        m.end_body(None)?;
    }
    if let Some(part) = &parts.row {
        let (row, results) = (f.emit_row.params[0], f.emit_row.params[1]);
        m.begin_body(f.emit_row.at)?;
        let values = values(&mut m, part, At { row, element: row, all: row, results }, 1)?;
        store(&mut m, part, row, &values)?;
        m.end_body(None)?;
    }
    Ok(m.refinish())
}

fn fetched(m: &mut Module, part: &RowPart<'_>, at: At, lanes: usize) -> Built<Word> {
    let results = values(m, part, at, lanes)?;
    let parts: Vec<Word> = results.iter().flatten().map(|v| v[0]).collect();
    if let [one] = parts[..] {
        return Ok(one);
    }
    let vector = m.b.type_vector(m.types.f32, lanes as u32);
    m.b.composite_construct(vector, None, parts)
}

fn store(m: &mut Module, part: &RowPart<'_>, at: Word, values: &[Vec<[Word; 2]>]) -> Built<()> {
    let outputs = part.program.outputs().iter().zip(part.outputs).zip(values);
    outputs.into_iter().try_for_each(|((out, &number), v)| memory::store(m, number as u32, out.dtype, at, v))
}

/// For each result of a program, each lane's parts.
fn values(m: &mut Module, part: &RowPart<'_>, at: At, lanes: usize) -> Built<Vec<Vec<[Word; 2]>>> {
    let program = part.program;
    let mut operands: Vec<Vec<[Word; 2]>> = Vec::new();
    for (i, (&dtype, input)) in program.inputs().iter().zip(part.inputs).enumerate() {
        operands.push(match *input {
            _ if !program.reads(i) => vec![[0, 0]; lanes],
            RowInput::Result(number) => {
                let v = m.b.composite_extract(m.types.f32, None, at.results, [number as u32])?;
                vec![[v, v]; lanes]
            }
            RowInput::Operand(number, place) => {
                let (index, width) = match place {
                    RowPlace::Full => (at.all, lanes),
                    RowPlace::Column => (at.element, lanes),
                    RowPlace::Row => (at.row, 1),
                    RowPlace::One => (m.u32(0), 1),
                };
                let words = memory::load(m, number as u32, dtype, index, width)?;
                let loaded = (0..width).map(|lane| memory::decode(m, dtype, &words, lane)).collect::<Built<Vec<_>>>()?;
                if width == lanes { loaded } else { vec![loaded[0]; lanes] }
            }
        });
    }
    let mut results = vec![Vec::new(); program.outputs().len()];
    for lane in 0..lanes {
        let inputs: Vec<[Word; 2]> = operands.iter().map(|o| o[lane]).collect();
        let values = body::evaluate(m, program, &inputs, &[])?;
        for (r, out) in results.iter_mut().zip(program.outputs()) {
            r.push([values[out.re as usize], values[out.im as usize]]);
        }
    }
    Ok(results)
}
