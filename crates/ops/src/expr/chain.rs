//! Several element-wise ops as one program: what a graph pass fuses. The result of each op is rounded to its type, so a
//! chain's results equal those of the ops one by one, to the last bit.
//!
//! As text (a string attribute): steps separated by `;`, operands `%0` (of the chain) or `0` (result of step 0), types and
//! attributes in the order of the op's declaration.
//!
//! ```text
//! inputs float32 float32; AddV2 %0 %1; LeakyRelu 0 [f3e4ccccd]; outputs 1
//! ```
//!
//! A chain with variables (`$0`) reads and assigns them among its steps: `variables float32; inputs float32; read $0;
//! Sub 0 %0; assign $0 1; outputs`. One with reductions gives them axes (`@0`, a tensor) and whether these stay as dimensions
//! of size 1: `Mean 0 @0 [b1]`. Such are no programs, but can be made of some: `elementwise/plan.rs`.

use std::collections::HashMap;
use std::sync::OnceLock;

use tfvk_device::{DType, Error, Result};

use super::declare::AttrValue;
use super::{Expression, Program, Value};
use crate::{Body, KernelDef, registry};

/// What a step works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// An operand of the chain.
    Input(usize),
    /// The (first) result of an earlier step.
    Step(usize),
    /// A variable, of the steps [`READ`] and [`ASSIGN`] only.
    Variable(usize),
    /// The axes of a reduction, its second operand.
    Axes(usize),
}

/// The step `read $0`: the value that a variable has then.
pub const READ: &str = "read";

/// The step `assign $0 1`: gives a variable the result of step 1, which is also this step's.
pub const ASSIGN: &str = "assign";

/// One op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// TensorFlow's name.
    pub op: String,
    /// The values of the attributes that its expression looks at, in the declaration's order.
    pub attrs: Vec<AttrValue>,
    /// Its operands.
    pub args: Vec<Operand>,
}

/// A chain (in general a graph) of element-wise ops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The element types of the variables.
    pub variables: Vec<DType>,
    /// The element types of the operands.
    pub inputs: Vec<DType>,
    /// The ops in order.
    pub steps: Vec<Step>,
    /// The steps whose results are the chain's.
    pub outputs: Vec<usize>,
}

/// The declarations of an op that are expressions.
pub fn declarations(op: &str) -> &'static [(&'static KernelDef, &'static Expression)] {
    type Table = HashMap<&'static str, Vec<(&'static KernelDef, &'static Expression)>>;
    static TABLE: OnceLock<Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table = Table::new();
        for def in registry::all() {
            if let Body::Expression(e) = &def.body {
                table.entry(def.op).or_default().push((def, e));
            }
        }
        table
    });
    table.get(op).map_or(&[], Vec::as_slice)
}

/// The expression of an op, if it is an element-wise one.
pub fn expression(op: &str) -> Option<&'static Expression> {
    declarations(op).first().map(|(_, e)| *e)
}

impl Chain {
    /// How many tensors of axes it needs.
    pub fn num_axes(&self) -> usize {
        let axes = |a: &Operand| if let Operand::Axes(i) = a { i + 1 } else { 0 };
        self.steps.iter().flat_map(|s| &s.args).map(axes).max().unwrap_or(0)
    }

    /// The chain as one program.
    pub fn program(&self) -> Result<Program> {
        let names: Vec<&str> = self.steps.iter().map(|s| s.op.as_str()).collect();
        Program::build(names.join("+"), &self.inputs, &[], |builder, inputs, _| {
            let mut results: Vec<Value<'_>> = Vec::with_capacity(self.steps.len());
            for step in &self.steps {
                let e = expression(&step.op)
                    .ok_or_else(|| Error::invalid_argument(format!("{} is not an element-wise op of this library", step.op)))?;
                let args = step
                    .args
                    .iter()
                    .map(|a| match a {
                        Operand::Input(i) => inputs.get(*i),
                        Operand::Step(i) => results.get(*i),
                        Operand::Variable(_) | Operand::Axes(_) => None,
                    })
                    .map(|v| v.copied().ok_or_else(|| Error::invalid_argument(format!("{}: an operand does not exist", step.op))))
                    .collect::<Result<Vec<_>>>()?;
                let floats = step.attrs.iter().filter_map(|a| match a {
                    AttrValue::Float(bits) => Some(builder.lit(DType::F32, f64::from(f32::from_bits(*bits)))),
                    _ => None,
                });
                let r = e.apply(&args, &step.attrs, floats.collect()).map_err(|e| e.context(&step.op))?;
                results.push(*r.first().ok_or_else(|| Error::internal(format!("{} has no result", step.op)))?);
            }
            self.outputs
                .iter()
                .map(|&o| results.get(o).copied().ok_or_else(|| Error::invalid_argument(format!("there is no step {o}"))))
                .collect()
        })
    }
}

impl std::fmt::Display for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.variables.is_empty() {
            write!(f, "variables")?;
            self.variables.iter().try_for_each(|d| write!(f, " {d}"))?;
            write!(f, "; ")?;
        }
        write!(f, "inputs")?;
        for d in &self.inputs {
            write!(f, " {d}")?;
        }
        for s in &self.steps {
            write!(f, "; {}", s.op)?;
            for a in &s.args {
                match a {
                    Operand::Input(i) => write!(f, " %{i}")?,
                    Operand::Step(i) => write!(f, " {i}")?,
                    Operand::Variable(i) => write!(f, " ${i}")?,
                    Operand::Axes(i) => write!(f, " @{i}")?,
                }
            }
            for a in &s.attrs {
                match a {
                    AttrValue::Float(b) => write!(f, " [f{b:08x}]")?,
                    AttrValue::Type(d) => write!(f, " [t{d}]")?,
                    AttrValue::Bool(b) => write!(f, " [b{}]", u8::from(*b))?,
                    AttrValue::Floats(v) => {
                        let words: Vec<String> = v.iter().map(|b| format!("{b:08x}")).collect();
                        write!(f, " [l{}]", words.join(","))?;
                    }
                }
            }
        }
        write!(f, "; outputs")?;
        self.outputs.iter().try_for_each(|o| write!(f, " {o}"))
    }
}

impl std::str::FromStr for Chain {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = |what: &str| Error::invalid_argument(format!("element-wise chain '{text}': cannot read '{what}'"));
        let mut chain = Chain::default();
        for part in text.split(';') {
            let mut words = part.split_whitespace();
            match words.next() {
                Some(what @ ("inputs" | "variables")) => {
                    let types = words.map(|w| dtype(w).ok_or_else(|| bad(w))).collect::<Result<_>>()?;
                    *(if what == "inputs" { &mut chain.inputs } else { &mut chain.variables }) = types;
                }
                Some("outputs") => {
                    chain.outputs = words.map(|w| w.parse().map_err(|_| bad(w))).collect::<Result<_>>()?;
                }
                Some(op) => {
                    let mut step = Step { op: op.into(), attrs: Vec::new(), args: Vec::new() };
                    for w in words {
                        if let Some(a) = w.strip_prefix('[').and_then(|w| w.strip_suffix(']')) {
                            step.attrs.push(attr(a).ok_or_else(|| bad(w))?);
                        } else if let Some(i) = w.strip_prefix('%') {
                            step.args.push(Operand::Input(i.parse().map_err(|_| bad(w))?));
                        } else if let Some(i) = w.strip_prefix('$') {
                            step.args.push(Operand::Variable(i.parse().map_err(|_| bad(w))?));
                        } else if let Some(i) = w.strip_prefix('@') {
                            step.args.push(Operand::Axes(i.parse().map_err(|_| bad(w))?));
                        } else {
                            step.args.push(Operand::Step(w.parse().map_err(|_| bad(w))?));
                        }
                    }
                    chain.steps.push(step);
                }
                None => return Err(bad(part)),
            }
        }
        Ok(chain)
    }
}

fn dtype(name: &str) -> Option<DType> {
    DType::NUMERIC.iter().copied().find(|d| d.name() == name)
}

fn attr(text: &str) -> Option<AttrValue> {
    let rest = text.get(1..)?;
    let hex = |s: &str| u32::from_str_radix(s, 16).ok();
    Some(match text.as_bytes().first()? {
        b'f' => AttrValue::Float(hex(rest)?),
        b't' => AttrValue::Type(dtype(rest)?),
        b'b' => AttrValue::Bool(rest == "1"),
        b'l' => AttrValue::Floats(rest.split(',').filter(|s| !s.is_empty()).map(hex).collect::<Option<_>>()?),
        _ => return None,
    })
}
