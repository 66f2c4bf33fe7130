//! What an op's line is written in: [`Value`], one element while its graph is built. Operators and methods add nodes.
//!
//! A value has one of TensorFlow's element types and behaves as TensorFlow's CPU kernels do in that type: narrow integers
//! wrap after each operation, float16 and bfloat16 are computed in float32 and rounded after each operation.

use std::cell::RefCell;
use std::ops;

use tfvk_device::{DType, Error, Result};

use super::eval::bits_of_f64;
use super::graph::{Binary, Graph, Id, Node, Ty, Unary};
use super::{complex, divide, round};

/// Where values are built.
#[derive(Default)]
pub struct Builder {
    graph: RefCell<Graph>,
    error: RefCell<Option<Error>>,
}

impl Builder {
    /// An empty one.
    pub fn new() -> Self {
        Self { graph: RefCell::new(Graph::new()), error: RefCell::new(None) }
    }

    /// The graph, or the first thing that went wrong in building it.
    pub fn finish(self) -> Result<Graph> {
        match self.error.into_inner() {
            Some(e) => Err(e),
            None => Ok(self.graph.into_inner()),
        }
    }

    /// The element of operand `index`.
    pub fn input(&self, index: u16, dtype: DType) -> Value<'_> {
        let ty = Ty::of(dtype);
        let re = self.add(Node::Input { index, part: 0 }, ty);
        let im = if dtype.is_complex() { self.add(Node::Input { index, part: 1 }, ty) } else { re };
        Value { b: self, dtype, re, im }
    }

    /// A number given at launch; real.
    pub fn scalar(&self, slot: u16, dtype: DType) -> Value<'_> {
        self.value(dtype, Node::Scalar { slot })
    }

    /// A constant, rounded to the type; imaginary part 0.
    pub fn lit(&self, dtype: DType, v: f64) -> Value<'_> {
        let ty = Ty::of(dtype);
        let re = self.add(Node::Const(bits_of_f64(ty, v)), ty);
        let im = if dtype.is_complex() { self.add(Node::Const(0), ty) } else { re };
        let x = Value { b: self, dtype, re, im };
        if matches!(dtype, DType::F16 | DType::BF16) { x.rounded() } else { x }
    }

    fn value(&self, dtype: DType, node: Node) -> Value<'_> {
        let id = self.add(node, Ty::of(dtype));
        Value { b: self, dtype, re: id, im: id }
    }

    pub(super) fn add(&self, node: Node, ty: Ty) -> Id {
        self.graph.borrow_mut().add(node, ty)
    }

    fn fail(&self, message: String) {
        self.error.borrow_mut().get_or_insert(Error::unimplemented(message));
    }
}

/// One element of one operand or intermediate result.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    b: &'a Builder,
    dtype: DType,
    re: Id,
    /// The same as `re` unless complex.
    im: Id,
}

impl<'a> Value<'a> {
    /// The element type.
    pub fn dtype(self) -> DType {
        self.dtype
    }

    /// The builder.
    pub fn builder(self) -> &'a Builder {
        self.b
    }

    pub(super) fn ids(self) -> (Id, Id) {
        (self.re, self.im)
    }

    /// Whether it is complex64 or complex128.
    pub fn is_complex(self) -> bool {
        self.dtype.is_complex()
    }

    /// Whether it is float64 or complex128, whose parts have 53 significant bits.
    pub fn is_double(self) -> bool {
        matches!(self.dtype, DType::F64 | DType::C128)
    }

    /// The constant `v` in this value's type.
    pub fn lit(self, v: f64) -> Value<'a> {
        self.b.lit(self.dtype, v)
    }

    /// The constant `v` in type `dtype`.
    pub fn lit_of(self, dtype: DType, v: f64) -> Value<'a> {
        self.b.lit(dtype, v)
    }

    /// The constant of type `dtype` (not complex) with these bits, in the type it is computed in.
    pub fn bits_of(self, dtype: DType, bits: u64) -> Value<'a> {
        self.b.value(dtype, Node::Const(bits))
    }

    /// `f32` here for f32, `f64` for f64: a constant that is exact in either.
    pub fn lits(self, f32: f32, f64: f64) -> Value<'a> {
        self.lit(if self.is_double() { f64 } else { f64::from(f32) })
    }

    /// Marks the graph as not to be had.
    pub fn unsupported(self, what: &str) -> Value<'a> {
        self.b.fail(format!("{what} of {} is not implemented", self.dtype));
        self
    }

    /// A node of this value's type.
    pub(super) fn unary(self, op: Unary) -> Value<'a> {
        self.b.value(self.dtype, Node::Unary(op, self.re))
    }

    /// A node on two parts, without rounding or wrapping; bool for comparisons.
    pub(super) fn raw(self, op: Binary, other: Value<'a>) -> Value<'a> {
        let dtype = if op.compares() { DType::Bool } else { self.dtype };
        if Ty::of(self.dtype) != Ty::of(other.dtype) {
            self.b.fail(format!("{op:?} of {} and {}", self.dtype, other.dtype));
        }
        self.b.value(dtype, Node::Binary(op, self.re, other.re))
    }

    fn arithmetic(self, op: Binary, other: Value<'a>) -> Value<'a> {
        if self.dtype != other.dtype {
            self.b.fail(format!("{op:?} of {} and {}", self.dtype, other.dtype));
        }
        if self.is_complex() {
            return complex::arithmetic(self, op, other);
        }
        self.raw(op, other).rounded()
    }

    /// Brought back into its type's values after an operation in the type that it is computed in.
    pub(super) fn rounded(self) -> Value<'a> {
        match self.dtype {
            DType::F16 => round::to_f16(self.with(DType::F32)).with(DType::F16),
            DType::BF16 => round::to_bf16(self.with(DType::F32)).with(DType::BF16),
            DType::I8 => self.sign_extended(24),
            DType::I16 => self.sign_extended(16),
            DType::U8 => self.raw(Binary::And, self.bits_of(self.dtype, 0xff)),
            DType::U16 => self.raw(Binary::And, self.bits_of(self.dtype, 0xffff)),
            _ => self,
        }
    }

    fn sign_extended(self, by: u64) -> Value<'a> {
        let by = self.bits_of(self.dtype, by);
        self.raw(Binary::Shl, by).raw(Binary::Shr, by)
    }

    /// The same node seen as another type that is computed in the same one.
    pub(super) fn with(self, dtype: DType) -> Value<'a> {
        debug_assert_eq!(Ty::of(self.dtype), Ty::of(dtype));
        Value { dtype, ..self }
    }

    /// float16 and bfloat16 as float32, exactly; others unchanged. What follows is not rounded at each step.
    pub fn wide(self) -> Value<'a> {
        if matches!(self.dtype, DType::F16 | DType::BF16) { self.with(DType::F32) } else { self }
    }

    /// A float32 value rounded to float16 or bfloat16, if that is what `dtype` is.
    pub fn narrowed(self, dtype: DType) -> Value<'a> {
        match dtype {
            DType::F16 | DType::BF16 if self.dtype == DType::F32 => self.with(dtype).rounded(),
            _ => self,
        }
    }

    /// The same bits as another type of the same size (32 or 64 bits).
    pub fn bitcast(self, dtype: DType) -> Value<'a> {
        if Ty::of(dtype) == Ty::of(self.dtype) {
            return self.with(dtype);
        }
        self.b.value(dtype, Node::Bitcast(self.re))
    }

    /// Converted by value, where the result is known to be in range: no saturation, no NaN rule. See [`Value::cast`].
    pub fn convert(self, dtype: DType) -> Value<'a> {
        let (from, to) = (Ty::of(self.dtype), Ty::of(dtype));
        if from == to {
            return self.with(dtype).rounded();
        }
        if to == Ty::Bool {
            return self.raw(Binary::Ne, self.bits_of(self.dtype, 0));
        }
        self.b.value(dtype, Node::Convert(self.re)).rounded()
    }

    /// The real part (the value itself unless complex).
    pub fn re(self) -> Value<'a> {
        Value { dtype: part_of(self.dtype), re: self.re, im: self.re, ..self }
    }

    /// The imaginary part (0 unless complex).
    pub fn im(self) -> Value<'a> {
        if !self.is_complex() {
            return self.lit(0.0);
        }
        Value { dtype: part_of(self.dtype), re: self.im, im: self.im, ..self }
    }

    /// The complex number `self + i im` of two f32 or f64 parts.
    pub fn complex(self, im: Value<'a>) -> Value<'a> {
        let dtype = if self.dtype == DType::F64 { DType::C128 } else { DType::C64 };
        Value { dtype, re: self.re, im: im.re, ..self }
    }

    /// `yes` where this (bool) is true, else `no`.
    pub fn select(self, yes: Value<'a>, no: Value<'a>) -> Value<'a> {
        if yes.dtype != no.dtype {
            self.b.fail(format!("a choice between {} and {}", yes.dtype, no.dtype));
        }
        let pick = |y, n| self.b.add(Node::Select(self.re, y, n), Ty::of(yes.dtype));
        let re = pick(yes.re, no.re);
        let im = if yes.is_complex() { pick(yes.im, no.im) } else { re };
        Value { re, im, ..yes }
    }

    /// `self == other`; false where either is NaN.
    pub fn equal(self, other: Value<'a>) -> Value<'a> {
        if self.is_complex() {
            return self.re().raw(Binary::Eq, other.re()) & self.im().raw(Binary::Eq, other.im());
        }
        self.raw(Binary::Eq, other)
    }

    /// `self != other`; true where either is NaN.
    pub fn not_equal(self, other: Value<'a>) -> Value<'a> {
        if self.is_complex() {
            return self.re().raw(Binary::Ne, other.re()) | self.im().raw(Binary::Ne, other.im());
        }
        self.raw(Binary::Ne, other)
    }

    /// `self < other`; false where either is NaN.
    pub fn lt(self, other: Value<'a>) -> Value<'a> {
        self.raw(Binary::Lt, other)
    }

    /// `self <= other`; false where either is NaN.
    pub fn le(self, other: Value<'a>) -> Value<'a> {
        self.raw(Binary::Le, other)
    }

    /// `self > other`; false where either is NaN.
    pub fn gt(self, other: Value<'a>) -> Value<'a> {
        other.raw(Binary::Lt, self)
    }

    /// `self >= other`; false where either is NaN.
    pub fn ge(self, other: Value<'a>) -> Value<'a> {
        other.raw(Binary::Le, self)
    }

    /// `self == v`, `v` in this type.
    pub fn is(self, v: f64) -> Value<'a> {
        self.equal(self.lit(v))
    }

    /// Whether it is NaN, by its bits: a compiler that assumes there are none can't drop the test.
    pub fn is_nan(self) -> Value<'a> {
        if self.is_complex() {
            return self.re().is_nan() | self.im().is_nan();
        }
        match Ty::of(self.dtype) {
            Ty::F32 => self.magnitude_bits().gt(self.bits_of(DType::U32, 0x7f80_0000)),
            // Without 64-bit integers: NaN is the one value that differs from itself.
            Ty::F64 => self.raw(Binary::Ne, self),
            _ => self.b.lit(DType::Bool, 0.0),
        }
    }

    /// Whether it is plus or minus infinity.
    pub fn is_inf(self) -> Value<'a> {
        match Ty::of(self.dtype) {
            Ty::F32 => self.magnitude_bits().equal(self.bits_of(DType::U32, 0x7f80_0000)),
            Ty::F64 => self.abs().equal(self.lit(f64::INFINITY)),
            _ => self.b.lit(DType::Bool, 0.0),
        }
    }

    /// Whether it is neither NaN nor infinite.
    pub fn is_finite(self) -> Value<'a> {
        match Ty::of(self.dtype) {
            Ty::F32 => self.magnitude_bits().lt(self.bits_of(DType::U32, 0x7f80_0000)),
            Ty::F64 => self.abs().lt(self.lit(f64::INFINITY)),
            _ => self.b.lit(DType::Bool, 1.0),
        }
    }

    fn magnitude_bits(self) -> Value<'a> {
        self.wide().bitcast(DType::U32) & self.bits_of(DType::U32, 0x7fff_ffff)
    }

    /// |x|; of a complex number, its modulus (real).
    pub fn abs(self) -> Value<'a> {
        match self.dtype {
            DType::C64 | DType::C128 => complex::modulus(self),
            d if d.is_float() => self.unary(Unary::Abs),
            d if d.is_signed_integer() => self.lt(self.lit(0.0)).select(-self, self),
            _ => self,
        }
    }

    /// The lesser; NaN where either is NaN. Of equal ones (which matters for zeros) the second, as TensorFlow's CPU vector
    /// kernels choose; of float16 and bfloat16 the first, as its scalar ones do.
    pub fn minimum(self, other: Value<'a>) -> Value<'a> {
        self.extreme(other, self.lt(other), other.lt(self))
    }

    /// The greater, with the same rules.
    pub fn maximum(self, other: Value<'a>) -> Value<'a> {
        self.extreme(other, other.lt(self), self.lt(other))
    }

    fn extreme(self, other: Value<'a>, first: Value<'a>, second: Value<'a>) -> Value<'a> {
        if matches!(self.dtype, DType::F16 | DType::BF16) {
            return (second | other.is_nan()).select(other, self);
        }
        let first = if self.dtype.is_float() { first | self.is_nan() } else { first };
        first.select(self, other)
    }

    /// The largest integer not above.
    pub fn floor(self) -> Value<'a> {
        if self.dtype.is_float() { self.unary(Unary::Floor) } else { self }
    }

    /// The smallest integer not below.
    pub fn ceil(self) -> Value<'a> {
        if self.dtype.is_float() { self.unary(Unary::Ceil) } else { self }
    }

    /// Without its fraction.
    pub fn trunc(self) -> Value<'a> {
        if self.dtype.is_float() { self.unary(Unary::Trunc) } else { self }
    }

    /// The nearest integer, ties to even.
    pub fn round_even(self) -> Value<'a> {
        if self.dtype.is_float() { self.unary(Unary::RoundEven) } else { self }
    }

    /// Its square.
    pub fn square(self) -> Value<'a> {
        self * self
    }

    /// The upper half of the product of two uint32.
    pub fn mul_hi(self, other: Value<'a>) -> Value<'a> {
        self.raw(Binary::MulHi, other)
    }

    /// The element of `table` that `index` (uint32) names; the last one beyond its end.
    pub fn lookup(self, table: &[u32], index: Value<'a>) -> Value<'a> {
        let most = self.bits_of(DType::U32, table.len().saturating_sub(1) as u64);
        let table = self.b.graph.borrow_mut().table(table);
        self.b.value(DType::U32, Node::Lookup { table, index: index.minimum(most).re })
    }

    /// Repeats `body` on variables that start as `init`, while the condition that it returns holds for the variables that
    /// it was given; at most `most` times. The variables' last values.
    pub fn repeat<const N: usize>(
        self,
        most: u32,
        init: [Value<'a>; N],
        body: impl FnOnce([Value<'a>; N]) -> (Value<'a>, [Value<'a>; N]),
    ) -> [Value<'a>; N] {
        let counter = self.bits_of(DType::U32, 0);
        let ids = init.iter().map(|v| v.re).chain([counter.re]).collect();
        let (of, params) = self.b.graph.borrow_mut().open_loop(ids);
        let value = |dtype, id| Value { b: self.b, dtype, re: id, im: id };
        let (go_on, next) = body(std::array::from_fn(|i| value(init[i].dtype, params[i])));
        let count = value(DType::U32, params[N]);
        let cond = go_on & count.lt(self.bits_of(DType::U32, u64::from(most)));
        let next_ids = next.iter().map(|v| v.re).chain([(count + count.bits_of(DType::U32, 1)).re]).collect();
        let results = self.b.graph.borrow_mut().close_loop(of, cond.re, next_ids);
        std::array::from_fn(|i| value(init[i].dtype, results[i]))
    }
}

/// The type of a complex type's parts; others unchanged.
pub fn part_of(dtype: DType) -> DType {
    match dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        other => other,
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident ($a:ident, $b:ident) $body:expr;)*) => {$(
        impl<'a> ops::$trait for Value<'a> {
            type Output = Value<'a>;
            fn $method(self, other: Value<'a>) -> Value<'a> {
                let ($a, $b) = (self, other);
                $body
            }
        }
        impl<'a> ops::$trait<f64> for Value<'a> {
            type Output = Value<'a>;
            fn $method(self, other: f64) -> Value<'a> {
                ops::$trait::$method(self, self.lit(other))
            }
        }
        impl<'a> ops::$trait<Value<'a>> for f64 {
            type Output = Value<'a>;
            fn $method(self, other: Value<'a>) -> Value<'a> {
                ops::$trait::$method(other.lit(self), other)
            }
        }
    )*};
}
operators! {
    Add add (a, b) a.arithmetic(Binary::Add, b);
    Sub sub (a, b) a.arithmetic(Binary::Sub, b);
    Mul mul (a, b) a.arithmetic(Binary::Mul, b);
    Div div (a, b) divide::quotient(a, b);
    BitAnd bitand (a, b) a.raw(Binary::And, b);
    BitOr bitor (a, b) a.raw(Binary::Or, b);
    BitXor bitxor (a, b) a.raw(Binary::Xor, b);
}

/// By a count (of the same type) below the number of bits that the type is computed in.
impl<'a> ops::Shl for Value<'a> {
    type Output = Value<'a>;
    fn shl(self, by: Value<'a>) -> Value<'a> {
        self.raw(Binary::Shl, by).rounded()
    }
}

/// By a count below the number of bits that the type is computed in.
impl<'a> ops::Shl<u32> for Value<'a> {
    type Output = Value<'a>;
    fn shl(self, by: u32) -> Value<'a> {
        self << self.bits_of(self.dtype, u64::from(by))
    }
}

/// By a count (of the same type) below the number of bits; keeps the sign of signed types.
impl<'a> ops::Shr for Value<'a> {
    type Output = Value<'a>;
    fn shr(self, by: Value<'a>) -> Value<'a> {
        self.raw(Binary::Shr, by)
    }
}

/// By a count below the number of bits; keeps the sign of signed types.
impl<'a> ops::Shr<u32> for Value<'a> {
    type Output = Value<'a>;
    fn shr(self, by: u32) -> Value<'a> {
        self >> self.bits_of(self.dtype, u64::from(by))
    }
}

impl<'a> ops::Neg for Value<'a> {
    type Output = Value<'a>;
    fn neg(self) -> Value<'a> {
        if self.is_complex() {
            return (-self.re()).complex(-self.im());
        }
        self.unary(Unary::Neg).rounded()
    }
}

/// Bitwise, or logical for bool.
impl<'a> ops::Not for Value<'a> {
    type Output = Value<'a>;
    fn not(self) -> Value<'a> {
        self.unary(Unary::Not).rounded()
    }
}
