//! CTCLoss and CTCLossV2: the loss of each sequence, and the gradient of the logits. Labels and lengths are in host memory, so
//! the states of the paths are made here (see `ctc.comp`).

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Shape, Tensor};

use crate::loops;
use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, shader, t};

const HOST: &[&str] = &["labels_indices", "labels_values", "sequence_length"];

/// The declarations.
pub const OPS: &[KernelDef] = &[
    KernelDef::kernel("CTCLoss", &[t("T", &[DType::F32, DType::F64])], Ctc::make).host(HOST),
    KernelDef::kernel("CTCLossV2", &[], Ctc::make).host(HOST),
];

const THREADS: u32 = 128;
/// In a link: the state is the first of its class. The shader has the same.
const FIRST: i32 = 0x4000_0000;

struct Ctc {
    collapse: bool,
    merge: bool,
    ignore_longer: bool,
    /// The blank is the first class (as cuDNN's kernel has it), not the last.
    blank_first: bool,
}

impl Ctc {
    fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Ok(Box::new(Self {
            collapse: node.bool("preprocess_collapse_repeated")?,
            merge: node.bool("ctc_merge_repeated")?,
            ignore_longer: node.bool("ignore_longer_outputs_than_inputs")?,
            blank_first: node.op() == "CTCLossV2",
        }))
    }
}

/// Time steps, sequences, classes.
fn sizes(inputs: &Inputs<'_>) -> Result<[usize; 3]> {
    let shape = inputs.shape(0)?;
    let size = |i: usize| usize::try_from(shape[i]).ok().filter(|&n| n < 1 << 31);
    match (shape.rank() == 3).then(|| Some([size(0)?, size(1)?, size(2)?])) {
        Some(Some(sizes)) => Ok(sizes),
        Some(None) => Err(Error::invalid_argument(format!("inputs: a dimension exceeds max int: {shape}"))),
        None => Err(Error::invalid_argument(format!("inputs is not a 3-Tensor, got {shape}"))),
    }
}

/// The labels of each sequence. Errors: indices out of order or out of bounds.
fn labels(inputs: &Inputs<'_>, batch: usize) -> Result<Vec<Vec<i32>>> {
    let (indices, values) = (inputs.get(1)?.host::<i64>()?, inputs.get(2)?.host::<i32>()?);
    let longest = indices.chunks_exact(2).map(|i| i[1] + 1).max().unwrap_or(0);
    let mut labels = vec![Vec::new(); batch];
    let mut last = [-1, -1];
    for (n, (index, &value)) in indices.chunks_exact(2).zip(values).enumerate() {
        let (b, at) = (index[0], index[1]);
        let bad =
            |what: String| Error::invalid_argument(format!("label SparseTensor is not valid: indices[{n}] = [{b},{at}] {what}"));
        let place = usize::try_from(b).ok().filter(|&b| b < batch && at >= 0);
        let Some(place) = place else {
            return Err(bad(format!("is out of bounds: need 0 <= index < [{batch},{longest}]")));
        };
        if [b, at] < last {
            return Err(bad("is out of order. Many sparse ops require sorted indices.".into()));
        }
        if [b, at] == last {
            return Err(bad("is repeated".into()));
        }
        last = [b, at];
        labels[place].push(value);
    }
    Ok(labels)
}

impl Ctc {
    /// The labels of sequence `b` without its blanks and, if asked for, without repeats. Errors: as TensorFlow's.
    fn targets(&self, b: usize, labels: &[i32], classes: i32, time: i32) -> Result<Vec<i32>> {
        let invalid = |what: String| Err(Error::invalid_argument(what));
        if labels.is_empty() {
            return invalid(format!("Labels length is zero in batch {b}"));
        }
        let is_null = |label: i32| if self.blank_first { label == 0 } else { label >= classes - 1 };
        let mut targets = Vec::new();
        let mut finished = false;
        for (i, &label) in labels.iter().enumerate() {
            if i > 0 && self.collapse && label == labels[i - 1] {
                continue;
            }
            if is_null(label) {
                finished = true;
            } else if finished {
                let what = "Saw a non-null label following a null label";
                return invalid(format!(
                    "{what}, batch: {b} num_classes: {classes} labels: {labels:?} labels seen so far: {targets:?}"
                ));
            } else {
                targets.push(label);
            }
        }
        if targets.iter().any(|&l| l < 0) {
            return invalid(format!("All labels must be nonnegative integers, batch: {b} labels: {targets:?}"));
        }
        if targets.iter().any(|&l| l >= classes) {
            return invalid(format!(
                "No label may be greater than num_classes. num_classes: {classes}, batch: {b} labels: {targets:?}"
            ));
        }
        let required = labels.len();
        if !self.ignore_longer && i64::from(time) < required as i64 {
            let what = format!("Not enough time for target transition sequence (required: {required}, available: {time}) {b}");
            return invalid(format!("{what}. ignore_longer_outputs_than_inputs makes this a loss of zero"));
        }
        Ok(targets)
    }

    /// What the shader gets to know of the sequences, and the most states that one has.
    fn plan(&self, inputs: &Inputs<'_>, [time, batch, classes]: [usize; 3]) -> Result<(Vec<i32>, usize)> {
        let lengths = inputs.get(3)?.host::<i32>()?;
        let labels = labels(inputs, batch)?;
        for (b, &length) in lengths.iter().enumerate() {
            if length < 0 || length as usize > time {
                return Err(Error::invalid_argument(format!("0 <= sequence_length({b}) <= {time}, got {length}")));
            }
        }
        let classes = classes as i32;
        let blank = if self.blank_first { 0 } else { classes - 1 };
        let mut plan = Vec::with_capacity(2 * batch);
        let mut targets = Vec::with_capacity(batch);
        for (b, (labels, &length)) in labels.iter().zip(lengths).enumerate() {
            let these = self.targets(b, labels, classes, length)?;
            let left_out = self.ignore_longer && labels.len() > length as usize;
            plan.extend([2 * these.len() as i32 + 1, if left_out { 0 } else { length }]);
            targets.push(these);
        }
        let most = targets.iter().map(|t| 2 * t.len() + 1).max().unwrap_or(1);
        for sequence in &targets {
            let state = |u: usize| if u % 2 == 1 { sequence.get(u / 2).copied().unwrap_or(blank) } else { blank };
            plan.extend((0..most).map(state));
        }
        for sequence in &targets {
            plan.extend(links(sequence, most));
        }
        Ok((plan, most))
    }
}

/// For each of `most` states, the next of the same class, or 0; the first of its class has [`FIRST`].
fn links(sequence: &[i32], most: usize) -> Vec<i32> {
    let mut links = vec![0; most];
    let mut last = std::collections::HashMap::new();
    for (i, &label) in sequence.iter().enumerate() {
        let u = 2 * i + 1;
        match last.insert(label, u) {
            Some(before) => links[before] |= u as i32,
            None => links[u] = FIRST,
        }
    }
    links
}

impl OpKernel for Ctc {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let [_, batch, _] = sizes(inputs)?;
        let (indices, values, lengths) = (inputs.shape(1)?, inputs.shape(2)?, inputs.shape(3)?);
        let rank = |name: &str, shape: &Shape, rank: usize, what: &str| {
            let wrong = || Error::invalid_argument(format!("{name} is not a {what}, got {shape}"));
            if shape.rank() == rank { Ok(()) } else { Err(wrong()) }
        };
        rank("sequence_length", lengths, 1, "vector")?;
        rank("labels_indices", indices, 2, "matrix")?;
        rank("labels_values", values, 1, "vector")?;
        if lengths[0] != batch as i64 {
            let what = format!("len(sequence_length) != batch_size. len(sequence_length): {} batch_size: {batch}", lengths[0]);
            return Err(Error::invalid_argument(what));
        }
        if indices[0] != values[0] || indices[1] != 2 {
            let what = "labels_indices and labels_values must contain the same number of rows, of two columns, but saw shapes";
            return Err(Error::invalid_argument(format!("{what}: {indices} vs. {values}")));
        }
        if batch == 0 {
            return Err(Error::invalid_argument("batch_size must not be 0"));
        }
        Ok(smallvec![Output::Shape(lengths.clone()), Output::Shape(inputs.shape(0)?.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let [time, batch, classes] = sizes(&ctx.inputs())?;
        let (plan, most) = self.plan(&ctx.inputs(), [time, batch, classes])?;
        loops::check(
            ctx,
            (time * (most.div_ceil(THREADS as usize) + 1)).max(2 * classes.div_ceil(THREADS as usize)) as u64,
            "sequences",
        )?;
        let x = ctx.input(0)?;
        let dtype = x.dtype;
        let states = [batch as i64, time as i64, most as i64];
        let (begun, ended) = (ctx.temp(dtype, states)?, ctx.temp(dtype, states)?);
        let norm = ctx.temp(dtype, [time as i64, batch as i64])?;
        let on_device = ctx.temp(DType::I32, [plan.len() as i64])?;
        let bytes: Vec<u8> = plan.iter().flat_map(|v| v.to_ne_bytes()).collect();
        ctx.stream().upload(on_device.device_ptr()?, &bytes)?;
        let size = if dtype == DType::F64 { 8 } else { 4 };
        let room = ctx.device().adapter().limits.shared_memory as usize / 2 / size;
        let kept = most.next_power_of_two();
        let kept = if kept <= room.min(2048) { kept } else { 1 };
        let blank = if self.blank_first { 0 } else { classes.saturating_sub(1) };
        let launch = |kind: &'static str, groups: usize| -> Result<()> {
            let mut args = Args::new();
            let pointer = |args: &mut Args, t: &Tensor, write: bool| match (t.num_elements(), write) {
                (0, _) => {
                    args.null();
                    Ok(())
                }
                (_, true) => args.read_write(t).map(drop),
                (_, false) => args.read(t).map(drop),
            };
            pointer(&mut args, &x, false)?;
            for t in [&norm, &begun, &ended, &ctx.output(0)?, &ctx.output(1)?] {
                pointer(&mut args, t, true)?;
            }
            args.read(&on_device)?;
            for n in [time, batch, classes, most, blank] {
                args.u32(n as u32);
            }
            args.u32(0);
            args.work((groups * classes.max(most * time) * 20) as u64);
            let constants = [THREADS, 1, 1, u32::from(self.merge), kept as u32];
            ctx.stream().launch_linear(
                shader::CTC.get(&[dtype.into(), DType::I32.into(), kind.into()])?,
                &constants,
                &args,
                groups as u64,
            )
        };
        launch("norm", time * batch)?;
        launch("paths", 2 * batch)?;
        launch("loss", batch)?;
        launch("gradient", time * batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_a_class_are_linked() {
        assert_eq!(links(&[4, 2, 4], 9), [0, FIRST | 5, 0, FIRST, 0, 0, 0, 0, 0]);
    }
}
