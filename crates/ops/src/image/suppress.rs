//! NonMaxSuppressionV2 to V4: the boxes of the best scores that do not overlap a better one too much.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Shape, Tensor};

use crate::array::{copy_all, count, fill_bits, threads};
use crate::loops;
use crate::sort::{read_u32, sort};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

struct Suppression {
    /// Input 4 is the least score.
    scored: bool,
    /// Output 1 is how many were selected.
    counted: bool,
    /// Output 0 has its full length, with zeros at the end.
    padded: bool,
}

/// The kernel of all of them.
pub(super) fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let counted = node.op() == "NonMaxSuppressionV4";
    let padded = counted && node.bool("pad_to_max_output_size")?;
    Ok(Box::new(Suppression { scored: node.op() != "NonMaxSuppressionV2", counted, padded }))
}

/// A number in host memory.
fn number(inputs: &Inputs<'_>, index: usize, name: &str) -> Result<f32> {
    match *inputs.get(index)?.host::<f32>()? {
        [x] => Ok(x),
        _ => Err(Error::invalid_argument(format!("{name} must be 0-D, got shape {}", inputs.shape(index)?))),
    }
}

/// How many boxes there are, and how many may be selected.
fn sizes(inputs: &Inputs<'_>) -> Result<[i64; 2]> {
    let (boxes, scores) = (inputs.shape(0)?, inputs.shape(1)?);
    if boxes.rank() != 2 || boxes[1] != 4 {
        return Err(Error::invalid_argument(format!("boxes must be 2-D with 4 columns, got {boxes}")));
    }
    if scores.rank() != 1 || scores[0] != boxes[0] {
        return Err(Error::invalid_argument(format!("scores must be 1-D with {} elements, got {scores}", boxes[0])));
    }
    let overlap = number(inputs, 3, "iou_threshold")?;
    if !(0.0..=1.0).contains(&overlap) {
        return Err(Error::invalid_argument(format!("iou_threshold must be in [0, 1], got {overlap}")));
    }
    match inputs.host_int(2)? {
        most if most >= 0 => Ok([boxes[0], most]),
        most => Err(Error::invalid_argument(format!("output size must be non-negative, got {most}"))),
    }
}

impl OpKernel for Suppression {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let [n, most] = sizes(inputs)?;
        if self.scored {
            number(inputs, 4, "score_threshold")?;
        }
        let mut outputs: Outputs = smallvec![if self.padded {
            Output::Shape(Shape::from([most]))
        } else if n == 0 || most == 0 {
            Output::Shape(Shape::from([0]))
        } else {
            Output::Dynamic
        }];
        if self.counted {
            outputs.push(Output::Shape(Shape::scalar()));
        }
        Ok(outputs)
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let [n, most] = sizes(&ctx.inputs())?;
        let found = if self.counted { ctx.output(1)?.with(DType::U32, Shape::from([1])) } else { ctx.temp(DType::U32, [1])? };
        if self.padded {
            fill_bits(ctx, &ctx.output(0)?, &[0; 16])?;
        }
        if n == 0 || most == 0 {
            return fill_bits(ctx, &found, &[0; 16]);
        }
        let most = most.min(n);
        loops::check(ctx, (most as u64 + 1) * (n as u64).div_ceil(128), "a selection")?;
        let selected = if self.padded { ctx.output(0)? } else { ctx.temp(DType::I32, [most])? };
        self.select(ctx, [n, most], &selected, &found)?;
        if self.padded {
            return Ok(());
        }
        let found = i64::from(read_u32(ctx, &found)?);
        let out = ctx.allocate_output(0, &Shape::from([found]))?;
        if found == 0 { Ok(()) } else { copy_all(ctx, &selected.slice(0, [found]), &out) }
    }
}

impl Suppression {
    fn select(&self, ctx: &mut Compute<'_>, [n, most]: [i64; 2], selected: &Tensor, found: &Tensor) -> Result<()> {
        let (boxes, scores) = (ctx.input(0)?, ctx.input(1)?);
        let overlap = number(&ctx.inputs(), 3, "iou_threshold")?;
        let score = if self.scored { number(&ctx.inputs(), 4, "score_threshold")? } else { f32::MIN };
        let n32 = count(&Shape::from([n]))?;
        let width = threads(ctx);
        let keys = ctx.temp(DType::U32, [n])?;
        let mut args = Args::new();
        args.read(&scores)?.null().null().write(&keys)?.u32(n32).u32(0);
        let kernel = shader::TOPK_SORT.get(&[DType::F32.into(), "keys".into()])?;
        ctx.stream().launch_linear(kernel, &[width, 1, 1, 4], &args, n32.div_ceil(width).into())?;
        let order = sort(ctx, &keys, 32)?.order;
        let (sorted, dropped) = (ctx.temp(DType::F32, [n, 5])?, ctx.temp(DType::U32, [n])?);
        let mut args = Args::new();
        args.read(&boxes)?.read(&scores)?.read(&order)?.read_write(&sorted)?.read_write(&dropped)?;
        args.write(selected)?.write(found)?.u32(n32).u32(most as u32).f32(overlap).f32(score);
        let variant =
            |kind: &'static str| shader::SUPPRESS.get(&[DType::F32.into(), DType::U32.into(), DType::I32.into(), kind.into()]);
        ctx.stream().launch_linear(variant("gather")?, &[width, 1, 1], &args, n32.div_ceil(width).into())?;
        args.work(n as u64 * most as u64 * 20);
        ctx.stream().launch(variant("select")?, &[width, 1, 1], &args, [1, 1, 1])
    }
}
