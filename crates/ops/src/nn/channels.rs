//! Where a tensor's channels are, and how threads lie over a channel's elements. Shared by normalisation and bias.

use tfvk_device::{Error, Limits, Result, Shape};

/// A tensor as [outer, channels, inner].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Product of the axes before the channels.
    pub outer: u32,
    /// Channels.
    pub channels: u32,
    /// Product of the axes after the channels.
    pub inner: u32,
}

/// Whether a `data_format` attribute puts the channels right after the batch.
pub fn channels_first(format: &str) -> Result<bool> {
    match format {
        "NHWC" | "NDHWC" => Ok(false),
        "NCHW" | "NCDHW" => Ok(true),
        other => Err(Error::invalid_argument(format!("data_format: expected NHWC, NCHW, NDHWC or NCDHW, got {other:?}"))),
    }
}

/// The channel axis of a shape of rank 2 or more.
pub fn axis(shape: &Shape, first: bool) -> usize {
    if first { 1 } else { shape.rank() - 1 }
}

impl Channels {
    /// The view of a tensor of this shape (rank 2 or more). Errors: too large to index.
    pub fn new(shape: &Shape, first: bool) -> Result<Self> {
        let axis = axis(shape, first);
        let size = |dims: &[i64]| Shape::new(dims).num_elements();
        if shape.num_elements() > i64::from(i32::MAX) {
            return Err(Error::unimplemented(format!("a tensor of shape {shape} is too large")));
        }
        let small = |n: i64| u32::try_from(n).map_err(|_| Error::unimplemented(format!("shape {shape} is too large")));
        let (outer, channels, inner) = (size(&shape[..axis]), shape[axis], size(&shape[axis + 1..]));
        Ok(Self { outer: small(outer)?, channels: small(channels)?, inner: small(inner)? })
    }

    /// Whether the channels are innermost.
    pub fn last(&self) -> bool {
        self.inner == 1
    }

    /// Whether the innermost axis is a multiple of four.
    pub fn fours(&self) -> bool {
        (if self.last() { self.channels } else { self.inner }) % 4 == 0
    }

    /// Elements of one channel.
    pub fn count(&self) -> u32 {
        self.outer.saturating_mul(self.inner)
    }

    /// Elements.
    pub fn elements(&self) -> u32 {
        self.count().saturating_mul(self.channels)
    }
}

/// A launch that reduces each channel to one value per split.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Threads along x and y: along channels and elements if the channels are last, else along elements and channels.
    pub threads: [u32; 2],
    /// Pieces of a channel (elements, or fours of the inner axis).
    pub total: u32,
    /// How many parts a channel is cut into.
    pub splits: u32,
    /// Pieces of a part.
    pub chunk: u32,
    /// Workgroups.
    pub groups: u64,
}

impl Geometry {
    /// For these channels, read in fours or not.
    pub fn new(limits: &Limits, c: Channels, vector: bool) -> Self {
        /// Workgroups that keep a large GPU busy; a constant, so that results do not depend on the adapter's size.
        const BUSY: u32 = 1024;
        /// Pieces worth a thread's while.
        const SHARE: u32 = 8;
        let limit = 256.min(1 << limits.max_invocations.max(1).ilog2());
        let four = |n: u32| if vector { n / 4 } else { n };
        let (threads, total, blocks, along) = if c.last() {
            let columns = four(c.channels);
            let wide = columns.next_power_of_two().min(if vector { 32 } else { 64 });
            let high = (limit / wide).min(c.count().next_power_of_two());
            ([wide, high], c.count(), columns.div_ceil(wide), high)
        } else {
            let total = four(c.inner) * c.outer;
            let wide = total.div_ceil(4).next_power_of_two().min(limit);
            ([wide, limit / wide], total, c.channels.div_ceil(limit / wide), wide)
        };
        let splits = BUSY.div_ceil(blocks.max(1)).min(total / (along * SHARE)).max(1);
        let chunk = total.div_ceil(splits).max(1);
        let splits = total.div_ceil(chunk).max(1);
        Self { threads, total, splits, chunk, groups: u64::from(blocks) * u64::from(splits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views() {
        let view = |dims: &[i64], first| Channels::new(&Shape::new(dims), first).unwrap();
        assert_eq!(view(&[2, 5, 7, 3], false), Channels { outer: 70, channels: 3, inner: 1 });
        assert_eq!(view(&[2, 3, 5, 7], true), Channels { outer: 2, channels: 3, inner: 35 });
        assert!(Channels::new(&Shape::from([1 << 20, 1 << 12]), false).is_err());
    }
}
