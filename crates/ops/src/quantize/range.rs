//! QuantizeAndDequantizeV2, V3, V4 and V4's gradient: values at the levels of an integer type whose range covers theirs, one
//! range for all or one for each index of an axis.

use std::sync::Arc;

use tfvk_device::{DType, Error, Result, Shape, Tensor};

use crate::expr::{Program, Value, launch};
use crate::reduce::reducer::{Combine, First, Last, Reducer};
use crate::variable::shared_with;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

/// Which axis has ranges of its own; `None`: one range for all.
fn axis(node: &dyn OpKernelConstruction) -> Result<Option<usize>> {
    match node.i64("axis")? {
        -1 => Ok(None),
        n => usize::try_from(n).map(Some).map_err(|_| Error::invalid_argument(format!("axis: expected -1 or more, got {n}"))),
    }
}

/// The input seen as [before, channels, after] and a range as [channels, 1]; or as it is and a scalar.
struct Views {
    input: Shape,
    range: Shape,
    /// The range's own shape.
    own: Shape,
}

impl Views {
    fn new(x: &Shape, axis: Option<usize>) -> Result<Self> {
        let Some(axis) = axis else {
            let flat = Shape::from([x.num_elements()]);
            return Ok(Self { input: flat, range: Shape::scalar(), own: Shape::scalar() });
        };
        let n = *x.get(axis).ok_or_else(|| {
            Error::invalid_argument(format!("axis: expected less than {}, the dimensions of the input, got {axis}", x.rank()))
        })?;
        let (before, after) = (x[..axis].iter().product::<i64>(), x[axis + 1..].iter().product::<i64>());
        Ok(Self { input: Shape::from([before, n, after]), range: Shape::from([n, 1]), own: Shape::from([n]) })
    }

    fn check(&self, inputs: &Inputs<'_>, first: usize) -> Result<()> {
        for (name, i) in [("input_min", first), ("input_max", first + 1)] {
            if inputs.shape(i)?.num_elements() != self.own.num_elements() {
                let what = format!("{name}: expected shape {}, got {}", self.own, inputs.shape(i)?);
                return Err(Error::invalid_argument(what));
            }
        }
        Ok(())
    }
}

/// Inputs input, input_min, input_max (, num_bits).
pub struct Quantize {
    dtype: DType,
    axis: Option<usize>,
    signed: bool,
    narrow: bool,
    range_given: bool,
    half_up: bool,
    /// `None`: input 3 says.
    bits: Option<i64>,
    least: Reducer,
    largest: Reducer,
}

impl Quantize {
    fn make(node: &dyn OpKernelConstruction, bits: Option<i64>, half_up: bool) -> Result<Box<dyn OpKernel>> {
        let dtype = node.dtype("T")?;
        let reducer = |c| Reducer::new(c, First::Nothing, Last::Nothing, dtype);
        Ok(Box::new(Self {
            dtype,
            axis: axis(node)?,
            signed: node.bool("signed_input")?,
            narrow: node.bool("narrow_range")?,
            range_given: node.bool("range_given")?,
            half_up,
            bits,
            least: reducer(Combine::Min)?,
            largest: reducer(Combine::Max)?,
        }))
    }

    /// QuantizeAndDequantizeV2, QuantizeAndDequantizeV4.
    pub fn v2(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        let half_up = match node.string("round_mode")?.as_str() {
            "HALF_UP" => true,
            "HALF_TO_EVEN" => false,
            other => {
                return Err(Error::invalid_argument(format!("round_mode: expected HALF_UP or HALF_TO_EVEN, got {other}")));
            }
        };
        Self::make(node, Some(node.i64("num_bits")?), half_up)
    }

    /// QuantizeAndDequantizeV3.
    pub fn v3(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, None, false)
    }

    /// The least and the largest level.
    fn levels(&self, inputs: &Inputs<'_>) -> Result<[f64; 2]> {
        let bits = self.bits.map_or_else(|| inputs.host_int(3), Ok)?;
        let most = if self.signed { 62 } else { 63 };
        if !(1..most).contains(&bits) {
            return Err(Error::invalid_argument(format!("num_bits: expected 1 to {}, got {bits}", most - 1)));
        }
        Ok(match (self.signed, 1i64 << (bits - 1)) {
            (true, half) => [(i64::from(self.narrow) - half) as f64, (half - 1) as f64],
            (false, half) => [0.0, (2 * half - 1) as f64],
        })
    }

    fn program(&self) -> Result<Arc<Program>> {
        let (half_up, name) = (self.half_up, if self.range_given { "QuantizeGiven" } else { "QuantizeFound" });
        let clamps = self.range_given;
        let types = [self.dtype; 3];
        shared_with(name, half_up, &types, &[self.dtype; 2], move |x, n| vec![at_level(x, n, clamps, half_up)])
    }

    /// The range of the values: as given, or found.
    fn range(&self, ctx: &mut Compute<'_>, v: &Views) -> Result<[Tensor; 2]> {
        if self.range_given {
            return Ok([ctx.input(1)?.reshaped(v.range.clone()), ctx.input(2)?.reshaped(v.range.clone())]);
        }
        let x = ctx.input(0)?.reshaped(v.input.clone());
        let reduced: &[bool] = if self.axis.is_some() { &[true, false, true] } else { &[true] };
        let (low, high) = (ctx.temp(self.dtype, v.own.clone())?, ctx.temp(self.dtype, v.own.clone())?);
        self.least.run(ctx, &x, reduced, &low)?;
        self.largest.run(ctx, &x, reduced, &high)?;
        Ok([low.reshaped(v.range.clone()), high.reshaped(v.range.clone())])
    }
}

/// `x` = value, least, largest; `n` = the levels' ends. The side whose scale is the smaller keeps its end.
fn at_level<'a>(x: &[Value<'a>], n: &[Value<'a>], clamps: bool, half_up: bool) -> Value<'a> {
    let (v, low, high, first, last) = (x[0], x[1], x[2], n[0], n[1]);
    let huge = if v.is_double() { f64::MAX } else { f64::from(f32::MAX) };
    let side = |level: Value<'a>, end: Value<'a>| (level * end).gt(v.lit(0.0)).select(level / end, v.lit(huge));
    let (from_low, from_high) = (side(first, low), side(last, high));
    let by_low = from_low.lt(from_high);
    let scale = by_low.select(from_low, from_high);
    let inverse = by_low.select(low / first, high / last);
    let v = if clamps { v.minimum(by_low.select(last * inverse, high)).maximum(by_low.select(low, first * inverse)) } else { v };
    let scaled = v * scale;
    (if half_up { (scaled + 0.5).floor() } else { scaled.round_even() }) * inverse
}

impl OpKernel for Quantize {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let x = inputs.shape(0)?;
        let views = Views::new(x, self.axis)?;
        if self.range_given {
            views.check(inputs, 1)?;
        }
        self.levels(inputs)?;
        Ok(Outputs::from_iter([Output::Shape(x.clone())]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let x = ctx.input(0)?;
        let views = Views::new(&x.shape, self.axis)?;
        let levels = self.levels(&ctx.inputs())?;
        let [low, high] = self.range(ctx, &views)?;
        let (x, y) = (x.reshaped(views.input.clone()), ctx.output(0)?.reshaped(views.input));
        launch(ctx.stream(), &*self.program()?, &[x, low, high], &levels, &[y])
    }
}

/// Inputs gradients, input, input_min, input_max; outputs input_backprop, and zeros for both ends.
pub struct Gradient {
    dtype: DType,
    axis: Option<usize>,
}

impl Gradient {
    /// QuantizeAndDequantizeV4Grad.
    pub fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Ok(Box::new(Self { dtype: node.dtype("T")?, axis: axis(node)? }))
    }
}

impl OpKernel for Gradient {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (g, x) = (inputs.shape(0)?, inputs.shape(1)?);
        if g != x {
            return Err(Error::invalid_argument(format!("gradient and input must be the same size, got {g} and {x}")));
        }
        Views::new(x, self.axis)?.check(inputs, 2)?;
        let shapes = [x, inputs.shape(2)?, inputs.shape(3)?];
        Ok(shapes.into_iter().cloned().map(Output::Shape).collect())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let views = Views::new(&ctx.input(1)?.shape, self.axis)?;
        let program = shared_with("QuantizeGradient", false, &[self.dtype; 4], &[], |x, _| {
            let inside = x[1].ge(x[2]) & x[1].le(x[3]);
            vec![x[0] * inside.select(x[0].lit(1.0), x[0].lit(0.0))]
        })?;
        let shapes = [&views.input, &views.input, &views.range, &views.range];
        let operands = ctx.inputs().all().iter().zip(shapes).map(|(t, s)| t.reshaped(s.clone())).collect::<Vec<_>>();
        launch(ctx.stream(), &program, &operands, &[], &[ctx.output(0)?.reshaped(views.input)])?;
        for i in [1, 2] {
            let t = ctx.output(i)?;
            ctx.stream().fill(t.device_ptr()?, t.bytes(), 0)?;
        }
        Ok(())
    }
}
