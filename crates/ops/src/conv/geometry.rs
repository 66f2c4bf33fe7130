//! The shape of a convolution: attributes and shapes in, sizes and paddings out, with TensorFlow's checks and words.
//! 2-D is 3-D of depth 1. Pure.

use tfvk_device::{Error, Result, Shape};

use crate::{OpKernelConstruction, sliding};

/// Sizes along depth, height, width.
pub type Size3 = [i64; 3];

/// The padding attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Output of ceil(input / stride).
    Same,
    /// No padding.
    Valid,
    /// Before and after each spatial dimension.
    Explicit([[i64; 2]; 3]),
}

/// The attributes that all convolutions share.
#[derive(Clone, Debug)]
pub struct Attributes {
    /// 2 or 3 spatial dimensions.
    pub rank: usize,
    /// NCHW or NCDHW.
    pub channels_first: bool,
    strides: Size3,
    dilations: Size3,
    padding: Padding,
}

/// A convolution of given shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Channels before (true) or after the spatial dimensions.
    pub channels_first: bool,
    /// Images.
    pub batch: i64,
    /// Input size.
    pub input: Size3,
    /// Input channels, of all groups.
    pub in_channels: i64,
    /// Filter size.
    pub filter: Size3,
    /// Filter's input channels: those of one group.
    pub group_channels: i64,
    /// Output size.
    pub output: Size3,
    /// Output channels, of all groups.
    pub out_channels: i64,
    /// Strides.
    pub strides: Size3,
    /// Dilations.
    pub dilations: Size3,
    /// Padding before.
    pub pad: Size3,
}

fn invalid<T>(message: String) -> Result<T> {
    Err(Error::invalid_argument(message))
}

/// Spatial values of a list over all dimensions of a format.
fn spatial(list: &[i64], rank: usize, channels_first: bool) -> Size3 {
    let first = if channels_first { 2 } else { 1 };
    let mut out = [1; 3];
    out[3 - rank..].copy_from_slice(&list[first..first + rank]);
    out
}

impl Attributes {
    /// Reads strides, dilations, padding, explicit_paddings and data_format of a node with `rank` spatial dimensions.
    pub fn from_node(node: &dyn OpKernelConstruction, rank: usize) -> Result<Self> {
        let format = node.string("data_format")?;
        let channels_first = match format.as_str() {
            "NHWC" | "NDHWC" => false,
            "NCHW" | "NCDHW" => true,
            other => return invalid(format!("Invalid data format: {other}")),
        };
        let n = rank + 2;
        let per_dimension = |name: &str, missing: Vec<i64>| {
            let list = if node.has(name) { node.i64s(name)? } else { missing };
            let channel = if channels_first { 1 } else { n - 1 };
            if list.len() != n {
                return invalid(format!("Sliding window {name} field must specify {n} dimensions, got {}", list.len()));
            }
            if list[0] != 1 || list[channel] != 1 {
                return invalid(format!(
                    "Current implementation does not yet support {name} in the batch and depth dimensions, got {list:?}."
                ));
            }
            let s = spatial(&list, rank, channels_first);
            if s.iter().any(|&v| v <= 0) {
                return invalid(format!("Spatial {name} should be larger than 0, got {list:?}."));
            }
            Ok(s)
        };
        let strides = per_dimension("strides", Vec::new())?;
        let dilations = per_dimension("dilations", vec![1; n])?;
        let explicit = if node.has("explicit_paddings") { node.i64s("explicit_paddings")? } else { Vec::new() };
        let padding = match node.string("padding")?.as_str() {
            "EXPLICIT" => Self::explicit(&explicit, rank, channels_first)?,
            _ if !explicit.is_empty() => {
                return invalid("explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT".into());
            }
            "SAME" => Padding::Same,
            "VALID" => Padding::Valid,
            other => return invalid(format!("padding: expected SAME, VALID or EXPLICIT, got {other}")),
        };
        Ok(Self { rank, channels_first, strides, dilations, padding })
    }

    fn explicit(list: &[i64], rank: usize, channels_first: bool) -> Result<Padding> {
        let n = 2 * (rank + 2);
        if list.len() != n {
            return invalid(format!("explicit_paddings attribute must contain {n} values, but got: {}", list.len()));
        }
        if list.iter().any(|&p| p < 0) {
            return invalid(format!("All elements of explicit_paddings must be nonnegative, got {list:?}"));
        }
        let channel = if channels_first { 1 } else { rank + 1 };
        if [0, channel].iter().any(|&d| list[2 * d] != 0 || list[2 * d + 1] != 0) {
            return invalid("Nonzero explicit padding in the batch or depth dimensions is not supported".into());
        }
        let half = |side: usize| list.iter().skip(side).step_by(2).copied().collect::<Vec<i64>>();
        let (before, after) = (spatial_or_zero(&half(0), rank, channels_first), spatial_or_zero(&half(1), rank, channels_first));
        Ok(Padding::Explicit([0, 1, 2].map(|i| [before[i], after[i]])))
    }

    /// The convolution of an input (its shape as given) with a filter ([spatial.., in, out]).
    pub fn geometry(&self, input: &Shape, filter: &Shape) -> Result<Geometry> {
        let n = self.rank + 2;
        if input.rank() != n {
            return invalid(format!("input must be {n}-dimensional: {input}"));
        }
        if filter.rank() != n {
            return invalid(format!("filter must be {n}-dimensional: {filter}"));
        }
        let in_channels = input[if self.channels_first { 1 } else { n - 1 }];
        let (group_channels, out_channels) = (filter[n - 2], filter[n - 1]);
        if group_channels <= 0 {
            return invalid(format!("filter depth must be greater than zero, got {filter}"));
        }
        if in_channels % group_channels != 0 {
            return invalid(format!("input depth must be evenly divisible by filter depth: {in_channels} vs {group_channels}"));
        }
        let groups = in_channels / group_channels;
        if groups > 1 && out_channels % groups != 0 {
            return invalid(format!("output depth must be evenly divisible by number of groups: {out_channels} vs {groups}"));
        }
        let mut size = [1; 3];
        size[3 - self.rank..].copy_from_slice(&filter[..self.rank]);
        self.place(input, size, in_channels, group_channels, out_channels)
    }

    /// The depthwise convolution of an input with a filter ([height, width, in, multiplier]).
    pub fn depthwise(&self, input: &Shape, filter: &Shape) -> Result<Geometry> {
        if input.rank() != 4 {
            return invalid(format!("input must be 4-dimensional: {input}"));
        }
        if filter.rank() != 4 {
            return invalid(format!("filter must be 4-dimensional: {filter}"));
        }
        let in_channels = input[if self.channels_first { 1 } else { 3 }];
        if in_channels != filter[2] {
            return invalid(format!("input and filter must have the same depth: {in_channels} vs {}", filter[2]));
        }
        self.place(input, [1, filter[0], filter[1]], in_channels, 1, in_channels * filter[3])
    }

    fn place(&self, input: &Shape, filter: Size3, in_channels: i64, group_channels: i64, out_channels: i64) -> Result<Geometry> {
        let size = spatial(input, self.rank, self.channels_first);
        let (mut output, mut pad) = ([1; 3], [0; 3]);
        for i in 3 - self.rank..3 {
            (output[i], pad[i]) = self.output(i, size[i], filter[i])?;
        }
        Ok(Geometry {
            channels_first: self.channels_first,
            batch: input[0],
            input: size,
            in_channels,
            filter,
            group_channels,
            output,
            out_channels,
            strides: self.strides,
            dilations: self.dilations,
            pad,
        })
    }

    /// Output size and padding before, along one dimension.
    fn output(&self, i: usize, input: i64, filter: i64) -> Result<(i64, i64)> {
        let (stride, window) = (self.strides[i], (filter - 1) * self.dilations[i] + 1);
        let (out, before) = match &self.padding {
            Padding::Same => sliding::places(input, window, stride, true),
            Padding::Valid => sliding::places(input, window, stride, false),
            Padding::Explicit(p) => ((input + p[i][0] + p[i][1] - window + stride) / stride, p[i][0]),
        };
        if out < 0 {
            return invalid(format!(
                "Computed output size would be negative: {out} [input_size: {input}, effective_filter_size: {window}, stride: {stride}]"
            ));
        }
        Ok((out, before))
    }
}

fn spatial_or_zero(list: &[i64], rank: usize, channels_first: bool) -> Size3 {
    let mut out = spatial(list, rank, channels_first);
    out[..3 - rank].fill(0);
    out
}

impl Geometry {
    /// Groups.
    pub fn groups(&self) -> i64 {
        self.in_channels / self.group_channels
    }

    fn shape(&self, rank: usize, size: Size3, channels: i64) -> Shape {
        let spatial = size[3 - rank..].iter().copied();
        let head = std::iter::once(self.batch);
        if self.channels_first {
            head.chain([channels]).chain(spatial).collect()
        } else {
            head.chain(spatial).chain([channels]).collect()
        }
    }

    /// The output's shape.
    pub fn output_shape(&self, rank: usize) -> Shape {
        self.shape(rank, self.output, self.out_channels)
    }

    /// Errors unless the gradient `out_backprop` has the output's shape.
    pub fn check_gradient(&self, rank: usize, out_backprop: &Shape) -> Result<()> {
        let want = self.output_shape(rank);
        if *out_backprop == want {
            Ok(())
        } else {
            invalid(format!("Size of out_backprop doesn't match computed: actual = {out_backprop}, computed = {want}"))
        }
    }

    /// Whether each output pixel sees one input pixel, the one at its place.
    pub fn is_pointwise(&self) -> bool {
        self.filter == [1; 3] && self.strides == [1; 3] && self.pad == [0; 3] && self.input == self.output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{Attr, Node};

    fn node(padding: &str, explicit: &[i64], format: &str) -> Node {
        let strides = if format == "NCHW" { vec![1, 1, 2, 3] } else { vec![1, 2, 3, 1] };
        Node::new("Conv2D")
            .attr("strides", Attr::Ints(strides))
            .attr("padding", Attr::String(padding.into()))
            .attr("explicit_paddings", Attr::Ints(explicit.into()))
            .attr("data_format", Attr::String(format.into()))
    }

    #[test]
    fn sizes_and_paddings() {
        let filter = Shape::from([3, 5, 4, 8]);
        let of = |padding: &str, explicit: &[i64], format: &str, input: [i64; 4]| {
            let g = Attributes::from_node(&node(padding, explicit, format), 2)
                .unwrap()
                .geometry(&Shape::from(input), &filter)
                .unwrap();
            (g.output_shape(2), g.pad)
        };
        assert_eq!(of("SAME", &[], "NHWC", [2, 7, 9, 4]), (Shape::from([2, 4, 3, 8]), [0, 1, 1]));
        assert_eq!(of("VALID", &[], "NHWC", [2, 7, 9, 4]), (Shape::from([2, 3, 2, 8]), [0, 0, 0]));
        assert_eq!(of("EXPLICIT", &[0, 0, 0, 0, 2, 1, 3, 0], "NCHW", [2, 4, 7, 9]), (Shape::from([2, 8, 4, 3]), [0, 2, 3]));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let a = Attributes::from_node(&node("VALID", &[], "NHWC"), 2).unwrap();
        let e = |i: [i64; 4], f: [i64; 4]| a.geometry(&Shape::from(i), &Shape::from(f)).unwrap_err().message;
        assert!(e([1, 1, 9, 4], [5, 5, 4, 8]).contains("would be negative"));
        assert!(e([1, 9, 9, 5], [3, 3, 4, 8]).contains("evenly divisible by filter depth: 5 vs 4"));
        assert!(Attributes::from_node(&node("VALID", &[0; 8], "NHWC"), 2).unwrap_err().message.contains("must be empty"));
    }
}
