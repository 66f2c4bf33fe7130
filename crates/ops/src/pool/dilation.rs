//! Dilation2D, Dilation2DBackpropInput and Dilation2DBackpropFilter: grey-scale morphology, NHWC alone.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Shape, Tensor};

use crate::array::count;
use crate::loops;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader, sliding};

const THREADS: u32 = 128;

/// What comes out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Result,
    ImageGradient,
    FilterGradient,
}

struct Dilation {
    wanted: Wanted,
    /// Height and width of each.
    stride: [i64; 2],
    rate: [i64; 2],
    same: bool,
}

/// The kernel of all three.
pub(super) fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let inner = |name: &str| match *node.i64s(name)?.as_slice() {
        [1, y, x, 1] if y > 0 && x > 0 => Ok([y, x]),
        [a, _, _, b] if a != 1 || b != 1 => {
            Err(Error::unimplemented(format!("{name}: only supported across spatial dimensions, got {a} and {b} elsewhere")))
        }
        _ => Err(Error::invalid_argument(format!("{name}: expected four positive numbers, got {:?}", node.i64s(name)?))),
    };
    let same = sliding::is_same(node)?;
    let wanted = match node.op() {
        "Dilation2DBackpropInput" => Wanted::ImageGradient,
        "Dilation2DBackpropFilter" => Wanted::FilterGradient,
        _ => Wanted::Result,
    };
    Ok(Box::new(Dilation { wanted, stride: inner("strides")?, rate: inner("rates")?, same }))
}

/// The numbers of one application.
struct Sizes {
    batch: i64,
    channels: i64,
    size: [i64; 2],
    window: [i64; 2],
    pooled: [i64; 2],
    before: [i64; 2],
}

impl Dilation {
    fn sizes(&self, inputs: &Inputs<'_>) -> Result<Sizes> {
        let (input, filter) = (inputs.shape(0)?, inputs.shape(1)?);
        let &[batch, height, width, channels] = input.dims() else {
            return Err(Error::invalid_argument(format!("input must be 4-dimensional, got {input}")));
        };
        let &[rows, columns, depth] = filter.dims() else {
            return Err(Error::invalid_argument(format!("filter must be 3-dimensional, got {filter}")));
        };
        if depth != channels {
            return Err(Error::invalid_argument(format!("input and filter must have the same depth: {channels} vs {depth}")));
        }
        let (size, window) = ([height, width], [rows, columns]);
        let (mut pooled, mut before) = ([0; 2], [0; 2]);
        for i in 0..2 {
            let (n, s, k) = (size[i], self.stride[i], (window[i] - 1) * self.rate[i] + 1);
            (pooled[i], before[i]) = sliding::places(n, k, s, self.same);
            if pooled[i] < 0 || window[i] == 0 {
                let what = "Computed output size would be negative";
                return Err(Error::invalid_argument(format!(
                    "{what}: {} [input_size: {n}, effective_filter_size: {k}, stride: {s}]",
                    pooled[i]
                )));
            }
        }
        Ok(Sizes { batch, channels, size, window, pooled, before })
    }
}

impl OpKernel for Dilation {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let s = self.sizes(inputs)?;
        let result = Shape::from([s.batch, s.pooled[0], s.pooled[1], s.channels]);
        if self.wanted != Wanted::Result && *inputs.shape(2)? != result {
            let what = format!("out_backprop must have the shape of the result, {result}, got {}", inputs.shape(2)?);
            return Err(Error::invalid_argument(what));
        }
        Ok(smallvec![Output::Shape(match self.wanted {
            Wanted::Result => result,
            Wanted::ImageGradient => inputs.shape(0)?.clone(),
            Wanted::FilterGradient => inputs.shape(1)?.clone(),
        })])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let s = self.sizes(&ctx.inputs())?;
        let (x, filter, y) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        count(&x.shape)?;
        let per_thread = |n: u32| u64::from(n.div_ceil(THREADS));
        if self.wanted == Wanted::Result {
            let groups = per_thread(count(&y.shape)?);
            return self.launch(ctx, "forward", &s, [&x, &filter, &y], None, groups);
        }
        let gradient = ctx.input(2)?;
        if gradient.num_elements() == 0 || x.num_elements() == 0 {
            return crate::array::fill_bits(ctx, &y, &[0; 16]);
        }
        loops::check(
            ctx,
            (gradient.num_elements() / s.channels.max(1)) as u64 / u64::from(THREADS) + 16,
            "the gradient of a filter",
        )?;
        let winners = ctx.temp(DType::U32, gradient.shape.clone())?;
        self.launch(ctx, "winner", &s, [&x, &filter, &y], Some(&winners), per_thread(count(&gradient.shape)?))?;
        let (kind, groups) = match self.wanted {
            Wanted::ImageGradient => ("image", per_thread(count(&y.shape)?)),
            _ => ("filter", y.num_elements() as u64),
        };
        self.launch(ctx, kind, &s, [&x, &gradient, &y], Some(&winners), groups)
    }
}

impl Dilation {
    fn launch(
        &self,
        ctx: &Compute<'_>,
        kind: &'static str,
        s: &Sizes,
        [x, weights, y]: [&Tensor; 3],
        winners: Option<&Tensor>,
        groups: u64,
    ) -> Result<()> {
        let mut args = Args::new();
        if x.num_elements() == 0 {
            args.null()
        } else {
            args.read(x)?
        };
        args.read(weights)?.write(y)?;
        match winners {
            Some(w) => args.read_write(w)?,
            None => args.null(),
        };
        args.u32(s.batch as u32).u32(s.channels as u32);
        for v in [s.size, s.pooled, s.window, self.stride, self.rate, s.before].iter().flatten() {
            args.u32(*v as u32);
        }
        let kernel = shader::DILATION.get(&[y.dtype.into(), DType::U32.into(), kind.into()])?;
        ctx.stream().launch_linear(kernel, &[THREADS, 1, 1], &args, groups)
    }
}
