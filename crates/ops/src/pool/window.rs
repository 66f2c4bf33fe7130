//! The window arithmetic of pooling: sizes, strides, padding and layout, from attributes or inputs. Pure.

use tfvk_device::{Args, Error, Result, Shape};

use crate::{OpKernelConstruction, sliding};

/// Padding.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Padding {
    Valid,
    Same,
    /// Before and after each space axis.
    Explicit([(i64, i64); 3]),
}

/// A pooling's attributes, with depth 1 where it has two space axes.
#[derive(Clone, Debug)]
pub struct Pooling {
    /// Number of space axes: 2 or 3.
    space: usize,
    /// Channels before the space axes.
    pub channels_first: bool,
    padding: Padding,
    /// Window and strides, if attributes say them.
    window: Option<([i64; 3], [i64; 3])>,
}

/// A pooling of one input shape. The order of fields is `window.glsl`'s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    batch: i64,
    channels: i64,
    size: [i64; 3],
    pooled: [i64; 3],
    window: [i64; 3],
    stride: [i64; 3],
    before: [i64; 3],
    space: usize,
    channels_first: bool,
}

fn layout(node: &dyn OpKernelConstruction) -> Result<(usize, bool)> {
    let format = if node.has("data_format") { node.string("data_format")? } else { "NHWC".into() };
    match format.as_str() {
        "NHWC" => Ok((2, false)),
        "NCHW" => Ok((2, true)),
        "NDHWC" => Ok((3, false)),
        "NCDHW" => Ok((3, true)),
        other => Err(Error::unimplemented(format!("data_format {other}"))),
    }
}

impl Pooling {
    /// A node's pooling; window and strides are attributes unless `inputs` have them.
    pub fn of(node: &dyn OpKernelConstruction, inputs: bool) -> Result<Self> {
        let (space, channels_first) = layout(node)?;
        let mut pooling = Self { space, channels_first, padding: Padding::Valid, window: None };
        if !inputs {
            let per_axis = |name: &str| pooling.space_axes(&node.i64s(name)?, name);
            pooling.window = Some((per_axis("ksize")?, per_axis("strides")?));
        }
        pooling.padding = match node.string("padding")?.as_str() {
            "VALID" => Padding::Valid,
            "SAME" => Padding::Same,
            "EXPLICIT" => {
                let all = node.i64s("explicit_paddings")?;
                let half = |side: usize| -> Vec<i64> { all.iter().skip(side).step_by(2).copied().collect() };
                let (before, after) = (pooling.axes_of(&half(0), 0)?, pooling.axes_of(&half(1), 0)?);
                Padding::Explicit([0, 1, 2].map(|i| (before[i], after[i])))
            }
            other => return Err(Error::invalid_argument(format!("padding: expected VALID, SAME or EXPLICIT, got {other}"))),
        };
        Ok(pooling)
    }

    /// The numbers of the space axes among those of all axes, with `fill` for a depth that is not there.
    fn axes_of(&self, all: &[i64], fill: i64) -> Result<[i64; 3]> {
        if all.len() != self.space + 2 {
            return Err(Error::invalid_argument(format!(
                "expected {} numbers, one for each dimension, got {}",
                self.space + 2,
                all.len()
            )));
        }
        let first = if self.channels_first { 2 } else { 1 };
        let mut out = [fill; 3];
        out[3 - self.space..].copy_from_slice(&all[first..first + self.space]);
        Ok(out)
    }

    /// The same for window sizes or strides, which are 1 along batch and channels.
    pub fn space_axes(&self, all: &[i64], name: &str) -> Result<[i64; 3]> {
        let out = self.axes_of(all, 1).map_err(|e| e.context(name))?;
        let channel = if self.channels_first { all[1] } else { all[all.len() - 1] };
        if all[0] != 1 || channel != 1 {
            return Err(Error::unimplemented(format!("{name}: pooling across the batch or the channels, got {all:?}")));
        }
        if out.iter().any(|&v| v < 1) {
            return Err(Error::invalid_argument(format!("{name}: expected positive numbers, got {all:?}")));
        }
        Ok(out)
    }

    /// The windows over an input of this shape. `given` are window and strides where they are inputs.
    pub fn over(&self, input: &Shape, given: Option<([i64; 3], [i64; 3])>) -> Result<Window> {
        if input.rank() != self.space + 2 {
            return Err(Error::invalid_argument(format!("input: expected rank {}, got {input}", self.space + 2)));
        }
        let Some((window, stride)) = given.or(self.window) else {
            return Err(Error::internal("a pooling without window and strides"));
        };
        let size = self.axes_of(input, 1)?;
        let channels = if self.channels_first { input[1] } else { input[self.space + 1] };
        let (mut pooled, mut before) = ([0; 3], [0; 3]);
        for i in 0..3 {
            let (n, k, s) = (size[i], window[i], stride[i]);
            match &self.padding {
                Padding::Same => (pooled[i], before[i]) = sliding::places(n, k, s, true),
                Padding::Valid => (pooled[i], before[i]) = sliding::places(n, k, s, false),
                Padding::Explicit(p) => {
                    before[i] = p[i].0;
                    pooled[i] = (n + p[i].0 + p[i].1 - k + s) / s;
                    let pad = p[i].0.max(p[i].1);
                    if pad >= k && p[i] != (0, 0) {
                        return Err(Error::invalid_argument(format!("padding {pad} needs to be smaller than the window {k}")));
                    }
                }
            }
            // A window that is too long by less than a stride gives an empty output, in TensorFlow too.
            if pooled[i] < 0 {
                return Err(Error::invalid_argument(format!(
                    "Computed output size would be negative: {} [input_size: {n}, effective_filter_size: {k}, stride: {s}]",
                    pooled[i]
                )));
            }
        }
        Ok(Window {
            batch: input[0],
            channels,
            size,
            pooled,
            window,
            stride,
            before,
            space: self.space,
            channels_first: self.channels_first,
        })
    }
}

impl Window {
    /// How often one invocation goes round: the elements of a window, times, for a gradient, the windows that an element is
    /// in (`windows`) and their elements (`elements`).
    pub fn iterations(&self, windows: bool, elements: bool) -> u64 {
        // A loop's own end counts too.
        let turns = |n: i64| if n > 1 { n as u64 + 1 } else { 1 };
        let all = |f: &dyn Fn(usize) -> i64| (0..3).map(|i| turns(f(i))).fold(1, u64::saturating_mul);
        let of_windows = if windows { all(&|i| ((self.window[i] - 1) / self.stride[i] + 1).min(self.pooled[i])) } else { 1 };
        let of_elements = if elements { all(&|i| self.window[i].min(self.size[i])) } else { 1 };
        of_windows.saturating_mul(of_elements)
    }

    /// The shape of the output.
    pub fn shape(&self) -> Shape {
        let space = &self.pooled[3 - self.space..];
        let mut shape = Shape::from([self.batch]);
        if self.channels_first {
            shape.push(self.channels);
        }
        space.iter().for_each(|&d| shape.push(d));
        if !self.channels_first {
            shape.push(self.channels);
        }
        shape
    }

    /// Appends the shader's `Window`.
    pub fn push(&self, args: &mut Args) {
        args.u32(self.channels as u32);
        for axes in [self.size, self.pooled, self.window, self.stride, self.before] {
            axes.iter().for_each(|&v| _ = args.i32(v as i32));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{Attr, Node};

    fn pooling(format: &str, padding: &str, k: &[i64], s: &[i64], explicit: &[i64]) -> Pooling {
        let node = Node::new("MaxPool")
            .attr("data_format", Attr::String(format.into()))
            .attr("padding", Attr::String(padding.into()))
            .attr("ksize", Attr::Ints(k.into()))
            .attr("strides", Attr::Ints(s.into()))
            .attr("explicit_paddings", Attr::Ints(explicit.into()));
        Pooling::of(&node, false).unwrap()
    }

    #[test]
    fn output_shapes() {
        let shape = |p: &Pooling, x: &[i64]| p.over(&Shape::new(x), None).map(|w| w.shape());
        let p = pooling("NHWC", "SAME", &[1, 3, 2, 1], &[1, 2, 2, 1], &[]);
        assert_eq!(shape(&p, &[2, 5, 6, 3]).unwrap().dims(), [2, 3, 3, 3]);
        let p = pooling("NCHW", "VALID", &[1, 1, 3, 2], &[1, 1, 2, 1], &[]);
        assert_eq!(shape(&p, &[2, 3, 5, 6]).unwrap().dims(), [2, 3, 2, 5]);
        assert_eq!(shape(&p, &[2, 3, 2, 6]).unwrap().dims(), [2, 3, 0, 5]);
        assert!(shape(&p, &[2, 3, 5, 0]).is_err());
        let p = pooling("NHWC", "EXPLICIT", &[1, 2, 2, 1], &[1, 1, 1, 1], &[0, 0, 1, 1, 0, 1, 0, 0]);
        assert_eq!(shape(&p, &[1, 4, 4, 1]).unwrap().dims(), [1, 5, 4, 1]);
        let p = pooling("NHWC", "EXPLICIT", &[1, 2, 2, 1], &[1, 1, 1, 1], &[0, 0, 1, 1, 0, 2, 0, 0]);
        assert!(shape(&p, &[1, 4, 4, 1]).is_err());
    }
}
