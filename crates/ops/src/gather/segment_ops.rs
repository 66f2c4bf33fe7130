//! The segment ops: rows of `data` combined by segment id. Ids are sorted (Segment*, SparseSegment*) or not (UnsortedSegment*).

use smallvec::smallvec;
use tfvk_device::{DType, Error, Result, Shape, Tensor};

use super::segment::{Apply, Combine, Recipe, Rows, Scale, keys, reduce, sorted};
use crate::array::fill_bits;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

/// The bits of an element that means "no value yet".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    Zero,
    One,
    /// The lowest finite value.
    Lowest,
    /// The highest finite value.
    Highest,
}

impl Empty {
    /// The element, from the lowest byte; zeros follow.
    pub fn bits(self, dtype: DType) -> [u8; 16] {
        use DType::*;
        let top = |bits: u32| u64::MAX >> (64 - bits);
        let value: u64 = match (self, dtype) {
            (Empty::Zero, _) => 0,
            (Empty::One, F32 | C64) => 1f32.to_bits().into(),
            (Empty::One, F64 | C128) => 1f64.to_bits(),
            (Empty::One, F16) => 0x3c00,
            (Empty::One, BF16) => 0x3f80,
            (Empty::One, _) => 1,
            (Empty::Lowest, F32) => f32::MIN.to_bits().into(),
            (Empty::Lowest, F64) => f64::MIN.to_bits(),
            (Empty::Lowest, F16) => 0xfbff,
            (Empty::Lowest, BF16) => 0xff7f,
            (Empty::Lowest, d) if d.is_signed_integer() => 1 << (d.size() * 8 - 1),
            (Empty::Lowest, _) => 0,
            (Empty::Highest, F32) => f32::MAX.to_bits().into(),
            (Empty::Highest, F64) => f64::MAX.to_bits(),
            (Empty::Highest, F16) => 0x7bff,
            (Empty::Highest, BF16) => 0x7f7f,
            (Empty::Highest, Bool) => 1,
            (Empty::Highest, d) if d.is_signed_integer() => top(d.size() as u32 * 8 - 1),
            (Empty::Highest, d) => top((d.size() as u32 * 8).clamp(8, 64)),
        };
        let mut bits = [0; 16];
        bits[..8].copy_from_slice(&value.to_le_bytes());
        bits
    }
}

/// What an op of the family does.
#[derive(Clone, Copy, Debug)]
struct Segment {
    recipe: Recipe,
    empty: Empty,
    /// `data, segment_ids, num_segments` in any order of ids.
    unsorted: bool,
    /// `data, indices, segment_ids`.
    sparse: bool,
    /// The last input says how many segments there are.
    counted: bool,
}

const fn recipe(combine: Combine, apply: Apply, scale: Scale) -> Recipe {
    Recipe { combine, apply, scale }
}

/// The kernel of every segment op, by its name.
pub fn segment(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let op = node.op();
    let unsorted = op.starts_with("Unsorted");
    let sparse = op.starts_with("Sparse");
    let counted = unsorted || op.ends_with("WithNumSegments");
    let what = op.trim_end_matches("WithNumSegments").rsplit("Segment").next().unwrap_or_default();
    use {Apply as A, Combine as C, Scale as S};
    let (recipe, empty) = match what {
        "Sum" => (recipe(C::Sum, A::Set, S::None), Empty::Zero),
        "Mean" => (recipe(C::Sum, A::Set, S::Count), Empty::Zero),
        "SqrtN" => (recipe(C::Sum, A::Set, S::RootOfCount), Empty::Zero),
        "Prod" => (recipe(C::Product, A::Set, S::None), Empty::One),
        // TensorFlow starts from the finite extreme, which shows where all values are infinite or NaN.
        "Max" if unsorted => (recipe(C::Max, A::Max, S::None), Empty::Lowest),
        "Min" if unsorted => (recipe(C::Min, A::Min, S::None), Empty::Highest),
        "Max" => (recipe(C::Max, A::Set, S::None), Empty::Zero),
        "Min" => (recipe(C::Min, A::Set, S::None), Empty::Zero),
        other => return Err(Error::internal(format!("no segment op {other}"))),
    };
    Ok(Box::new(Segment { recipe, empty, unsorted, sparse, counted }))
}

impl Segment {
    /// Where the ids are among the inputs.
    fn ids(&self) -> usize {
        if self.sparse { 2 } else { 1 }
    }

    fn validate(&self, inputs: &Inputs<'_>) -> Result<()> {
        let (data, ids) = (inputs.shape(0)?, inputs.shape(self.ids())?);
        if self.unsorted {
            if data.rank() < ids.rank() || data[..ids.rank()] != ids[..] {
                return Err(Error::invalid_argument(format!(
                    "data.shape = {data} does not start with segment_ids.shape = {ids}"
                )));
            }
            return Ok(());
        }
        if ids.rank() != 1 || data.rank() < 1 {
            return Err(Error::invalid_argument(format!(
                "segment_ids should be a vector, data at least one; got {ids} and {data}"
            )));
        }
        let positions = if self.sparse { inputs.shape(1)? } else { &Shape::from([data[0]]) };
        if positions.dims() != ids.dims() {
            return Err(Error::invalid_argument(format!(
                "segment_ids should be the same size as {}: {ids} and {positions}",
                if self.sparse { "indices" } else { "dimension 0 of input" }
            )));
        }
        Ok(())
    }

    /// The shape of the output for this many segments.
    fn shape(&self, data: &Shape, ids: &Shape, segments: i64) -> Shape {
        let lead = if self.unsorted { ids.rank() } else { 1 };
        std::iter::once(segments).chain(data[lead..].iter().copied()).collect()
    }

    /// The number of segments: what the last input says, or the last id plus one, for which the device is waited for.
    fn segments(&self, ctx: &Compute<'_>) -> Result<i64> {
        let ids = ctx.input(self.ids())?;
        if self.counted {
            let inputs = ctx.inputs();
            return inputs.host_int(inputs.len() - 1);
        }
        let n = ids.num_elements();
        if n == 0 {
            return Ok(0);
        }
        let last = ctx.stream().read(&ids.slice(n - 1, [1]))?;
        let last = match *last.as_slice() {
            [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => return Err(Error::internal("segment_ids are neither int32 nor int64")),
        };
        if last < 0 {
            return Err(Error::invalid_argument("segment ids must be >= 0"));
        }
        Ok(last + 1)
    }

    fn reduce(&self, ctx: &mut Compute<'_>, out: &Tensor) -> Result<()> {
        let (data, ids) = (ctx.input(0)?, ctx.input(self.ids())?);
        fill_bits(ctx, out, &self.empty.bits(out.dtype))?;
        let limit = out.shape.first().copied().unwrap_or(1);
        let inner = Shape::new(&out.shape[1..]).num_elements();
        let n = ids.num_elements();
        let found = keys(ctx, &ids, &[limit], n, limit)?;
        if self.unsorted {
            let found = sorted(ctx, &found, limit)?;
            let rows = Rows { keys: &found.keys, order: Some(&found.order), values: &data, scalar: false };
            return reduce(ctx, self.recipe, &rows, out, inner);
        }
        let order = if self.sparse {
            let indices = ctx.input(1)?;
            let rows = data.shape[0];
            Some(keys(ctx, &indices, &[rows], n, i64::from(i32::MAX))?)
        } else {
            None
        };
        reduce(ctx, self.recipe, &Rows { keys: &found, order: order.as_ref(), values: &data, scalar: false }, out, inner)
    }
}

impl OpKernel for Segment {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        self.validate(inputs)?;
        if !self.counted {
            return Ok(smallvec![Output::Dynamic]);
        }
        let segments = inputs.host_int(inputs.len() - 1)?;
        if segments < 0 {
            return Err(Error::invalid_argument(format!("num_segments: expected a value >= 0, got {segments}")));
        }
        Ok(smallvec![Output::Shape(self.shape(inputs.shape(0)?, inputs.shape(self.ids())?, segments))])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let out = if self.counted {
            ctx.output(0)?
        } else {
            let segments = self.segments(ctx)?;
            let shape = self.shape(&ctx.input(0)?.shape, &ctx.input(self.ids())?.shape, segments);
            ctx.allocate_output(0, &shape)?
        };
        if out.num_elements() == 0 { Ok(()) } else { self.reduce(ctx, &out) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes() {
        let le = |e: Empty, d| u64::from_le_bytes(e.bits(d)[..8].try_into().unwrap());
        assert_eq!(le(Empty::Lowest, DType::I8), 0x80);
        assert_eq!(le(Empty::Highest, DType::I16), 0x7fff);
        assert_eq!(le(Empty::Highest, DType::U64), u64::MAX);
        assert_eq!(le(Empty::Lowest, DType::I64), 1 << 63);
        assert_eq!(le(Empty::Lowest, DType::U32), 0);
        assert_eq!(le(Empty::One, DType::BF16), 0x3f80);
    }
}
