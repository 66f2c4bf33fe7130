//! How an element-wise op is declared: one line, `unary("Sqrt", FLOAT, |x| x.sqrt())`, which makes a [`KernelDef`].

use std::fmt;

use tfvk_device::{DType, Error, Result, Shape};

use super::{Program, Value, plan};
use crate::{Body, Inputs, KernelDef, OpKernelConstruction, TypeConstraint};

/// The formula, by the number of operands and whether it looks at attributes.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub enum Formula {
    Unary(for<'a> fn(Value<'a>) -> Value<'a>),
    UnaryAttr(for<'a> fn(Value<'a>, &Attrs<'a>) -> Value<'a>),
    Binary(for<'a> fn(Value<'a>, Value<'a>) -> Value<'a>),
    BinaryAttr(for<'a> fn(Value<'a>, Value<'a>, &Attrs<'a>) -> Value<'a>),
    Ternary(for<'a> fn(Value<'a>, Value<'a>, Value<'a>) -> Value<'a>),
    /// Any number of operands and results.
    General(for<'a> fn(&[Value<'a>], &Attrs<'a>) -> Vec<Value<'a>>),
}

/// What the results' shape is.
#[derive(Clone, Copy)]
pub enum ShapeRule {
    /// What all operands broadcast to.
    Broadcast,
    /// What both operands broadcast to; where they don't and the first attribute (a flag) is false, a scalar.
    BroadcastOrScalar,
    /// The first operand's; all have as many elements.
    Same,
    /// The first operand's, to which the others broadcast.
    First,
    /// As said.
    Custom(fn(&Inputs<'_>) -> Result<Views>),
}

/// The results' shape, and the shapes (of as many elements) under which the operands broadcast to it.
pub struct Views {
    /// The results' shape.
    pub output: Shape,
    /// Per operand.
    pub inputs: Vec<Shape>,
}

/// An attribute that the formula looks at.
#[derive(Clone, Copy)]
pub enum Attr {
    /// A float, passed at launch.
    Float(&'static str),
    /// A type, known when the program is built.
    Type(&'static str),
    /// A flag, known when the program is built.
    Bool(&'static str),
    /// A list of floats, known when the program is built.
    Floats(&'static str),
}

/// An attribute's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum AttrValue {
    /// A float's bits.
    Float(u32),
    Type(DType),
    Bool(bool),
    Floats(Vec<u32>),
}

impl AttrValue {
    /// The same without what is passed at launch.
    pub(super) fn without_number(&self) -> Self {
        if let Self::Float(_) = self { Self::Float(0) } else { self.clone() }
    }

    fn read(attr: Attr, node: &dyn OpKernelConstruction) -> Result<Self> {
        Ok(match attr {
            Attr::Float(n) => Self::Float(node.f32(n)?.to_bits()),
            Attr::Type(n) => Self::Type(node.dtype(n)?),
            Attr::Bool(n) => Self::Bool(node.bool(n)?),
            Attr::Floats(n) => Self::Floats(node.f32s(n)?.iter().map(|v| v.to_bits()).collect()),
        })
    }
}

/// Attributes as a formula sees them, by their place in the declaration.
pub struct Attrs<'a> {
    values: Vec<AttrValue>,
    /// The float attributes in order.
    floats: Vec<Value<'a>>,
}

impl<'a> Attrs<'a> {
    /// The float attribute at `index`, as a value of `like`'s type (real part).
    pub fn float(&self, index: usize, like: Value<'a>) -> Value<'a> {
        let nth = self.values.iter().take(index).filter(|v| matches!(v, AttrValue::Float(_))).count();
        match self.floats.get(nth) {
            Some(v) => v.convert(super::value::part_of(like.dtype())),
            None => like.unsupported("a missing attribute"),
        }
    }

    /// The type attribute at `index`.
    pub fn dtype(&self, index: usize) -> Option<DType> {
        if let Some(AttrValue::Type(d)) = self.values.get(index) { Some(*d) } else { None }
    }

    /// The flag at `index`; false if there is none.
    pub fn flag(&self, index: usize) -> bool {
        matches!(self.values.get(index), Some(AttrValue::Bool(true)))
    }

    /// The list of floats at `index`.
    pub fn list(&self, index: usize) -> Vec<f32> {
        match self.values.get(index) {
            Some(AttrValue::Floats(v)) => v.iter().map(|&b| f32::from_bits(b)).collect(),
            _ => Vec::new(),
        }
    }
}

/// An element-wise op's declaration.
#[derive(Clone, Copy)]
pub struct Expression {
    /// The formula.
    pub formula: Formula,
    /// The attributes that it looks at.
    pub attrs: &'static [Attr],
    /// The results' shape.
    pub shape: ShapeRule,
    /// An integer division by operand 1, which on the host is an error where that is 0 (a device can't tell).
    pub divides: bool,
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Expression")
    }
}

impl Expression {
    /// The values of its attributes on this node.
    pub fn read_attrs(&self, node: &dyn OpKernelConstruction) -> Result<Vec<AttrValue>> {
        self.attrs.iter().map(|&a| AttrValue::read(a, node)).collect()
    }

    /// Its results for these operands. `floats` are the values of its float attributes.
    pub fn apply<'a>(&self, args: &[Value<'a>], values: &[AttrValue], floats: Vec<Value<'a>>) -> Result<Vec<Value<'a>>> {
        let attrs = Attrs { values: values.to_vec(), floats };
        Ok(match (self.formula, args) {
            (Formula::Unary(f), &[x]) => vec![f(x)],
            (Formula::UnaryAttr(f), &[x]) => vec![f(x, &attrs)],
            (Formula::Binary(f), &[x, y]) => vec![f(x, y)],
            (Formula::BinaryAttr(f), &[x, y]) => vec![f(x, y, &attrs)],
            (Formula::Ternary(f), &[x, y, z]) => vec![f(x, y, z)],
            (Formula::General(f), _) => f(args, &attrs),
            _ => return Err(Error::invalid_argument(format!("{} operands do not fit the formula", args.len()))),
        })
    }

    /// The shape of the results, and what the operands are seen as.
    ///
    /// Where shapes don't broadcast and the op's attribute `incompatible_shape_error` is false, the result is a scalar and
    /// no operand is seen as anything.
    pub fn views(&self, inputs: &Inputs<'_>, attrs: &[AttrValue]) -> Result<Views> {
        let first = inputs.shape(0)?;
        let own = || inputs.all().iter().map(|t| t.shape.clone()).collect();
        match self.shape {
            ShapeRule::Broadcast => {
                let output = inputs.all().iter().skip(1).try_fold(first.clone(), |s, t| plan::broadcast(&s, &t.shape))?;
                Ok(Views { output, inputs: own() })
            }
            ShapeRule::Same => match inputs.all().iter().find(|t| t.num_elements() != first.num_elements()) {
                None => Ok(Views { output: first.clone(), inputs: vec![first.clone(); inputs.len()] }),
                Some(t) => Err(Error::invalid_argument(format!(
                    "The two arguments to a cwise op must have same number of elements, got {} and {}",
                    first.num_elements(),
                    t.num_elements()
                ))),
            },
            ShapeRule::BroadcastOrScalar => match plan::broadcast(first, inputs.shape(1)?) {
                Ok(output) => Ok(Views { output, inputs: own() }),
                Err(_) if matches!(attrs, [AttrValue::Bool(false), ..]) => {
                    Ok(Views { output: Shape::scalar(), inputs: Vec::new() })
                }
                Err(e) => Err(e),
            },
            ShapeRule::First => Ok(Views { output: first.clone(), inputs: own() }),
            ShapeRule::Custom(f) => f(inputs),
        }
    }
}

/// The program of an op for operands of these types.
pub fn program(op: &str, e: &Expression, attrs: &[AttrValue], inputs: &[DType]) -> Result<Program> {
    let numbers = attrs.iter().filter(|v| matches!(v, AttrValue::Float(_))).count();
    Program::build(op, inputs, &vec![DType::F32; numbers], |_, args, floats| e.apply(args, attrs, floats.to_vec()))
}

const fn def(op: &'static str, types: &'static [TypeConstraint], formula: Formula, forward: &'static [usize]) -> KernelDef {
    let e = Expression { formula, attrs: &[], shape: ShapeRule::Broadcast, divides: false };
    KernelDef { op, types, host_memory: &[], forward, body: Body::Expression(e) }
}

/// One operand.
pub const fn unary(op: &'static str, types: &'static [TypeConstraint], f: for<'a> fn(Value<'a>) -> Value<'a>) -> KernelDef {
    def(op, types, Formula::Unary(f), &[0])
}

/// One operand and attributes.
pub const fn unary_attr(
    op: &'static str,
    types: &'static [TypeConstraint],
    attrs: &'static [Attr],
    f: for<'a> fn(Value<'a>, &Attrs<'a>) -> Value<'a>,
) -> KernelDef {
    def(op, types, Formula::UnaryAttr(f), &[0]).with_attrs(attrs)
}

/// Two operands that broadcast.
pub const fn binary(
    op: &'static str,
    types: &'static [TypeConstraint],
    f: for<'a> fn(Value<'a>, Value<'a>) -> Value<'a>,
) -> KernelDef {
    def(op, types, Formula::Binary(f), &[0, 1])
}

/// Two operands that broadcast, a bool result.
pub const fn compare(
    op: &'static str,
    types: &'static [TypeConstraint],
    f: for<'a> fn(Value<'a>, Value<'a>) -> Value<'a>,
) -> KernelDef {
    def(op, types, Formula::Binary(f), &[])
}

/// Two operands of one shape: a gradient.
pub const fn grad(
    op: &'static str,
    types: &'static [TypeConstraint],
    f: for<'a> fn(Value<'a>, Value<'a>) -> Value<'a>,
) -> KernelDef {
    def(op, types, Formula::Binary(f), &[0, 1]).shaped(ShapeRule::Same)
}

/// Two operands of one shape, and attributes.
pub const fn grad_attr(
    op: &'static str,
    types: &'static [TypeConstraint],
    attrs: &'static [Attr],
    f: for<'a> fn(Value<'a>, Value<'a>, &Attrs<'a>) -> Value<'a>,
) -> KernelDef {
    def(op, types, Formula::BinaryAttr(f), &[0, 1]).with_attrs(attrs).shaped(ShapeRule::Same)
}

/// Three operands that broadcast.
pub const fn ternary(
    op: &'static str,
    types: &'static [TypeConstraint],
    f: for<'a> fn(Value<'a>, Value<'a>, Value<'a>) -> Value<'a>,
) -> KernelDef {
    def(op, types, Formula::Ternary(f), &[0, 1, 2])
}

/// Any number of operands and results.
pub const fn general(
    op: &'static str,
    types: &'static [TypeConstraint],
    attrs: &'static [Attr],
    f: for<'a> fn(&[Value<'a>], &Attrs<'a>) -> Vec<Value<'a>>,
) -> KernelDef {
    def(op, types, Formula::General(f), &[]).with_attrs(attrs)
}

impl KernelDef {
    const fn with_expression(mut self, attrs: Option<&'static [Attr]>, shape: Option<ShapeRule>, divides: bool) -> Self {
        if let Body::Expression(mut e) = self.body {
            if let Some(a) = attrs {
                e.attrs = a;
            }
            if let Some(s) = shape {
                e.shape = s;
            }
            e.divides |= divides;
            self.body = Body::Expression(e);
        }
        self
    }

    /// An expression that looks at these attributes.
    pub const fn with_attrs(self, attrs: &'static [Attr]) -> Self {
        self.with_expression(Some(attrs), None, false)
    }

    /// An expression whose result has this shape.
    pub const fn shaped(self, shape: ShapeRule) -> Self {
        self.with_expression(None, Some(shape), false)
    }

    /// An expression that divides by its second operand.
    pub const fn divides(self) -> Self {
        self.with_expression(None, None, true)
    }
}
