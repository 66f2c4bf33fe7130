//! Several moves between one tensor and dense parts of it (concatenation, splitting) as one launch per eight parts.

use tfvk_device::{Args, DevicePtr, Result, Tensor};

use super::fill::unit_word;
use super::mover::threads;
use super::view::Move;
use crate::{Compute, shader};

/// Parts of one launch.
const MOST: usize = 8;
/// Units that an invocation takes.
const UNROLL: u32 = 4;

/// The rows of one part: `rows` stretches of `len` elements, from column `first` on of a whole of `width` columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    rows: i64,
    len: i64,
    first: i64,
    /// `None`: a single row, which says nothing about the width.
    width: Option<i64>,
}

impl Rows {
    /// A move whose one side (`cut`: the destination) is a dense part, seen as rows; `None` if it is more complicated.
    pub fn of(mv: &Move, cut: bool) -> Option<Self> {
        let m = mv.collapsed();
        let (whole, part) = if cut { (&m.src, &m.dst) } else { (&m.dst, &m.src) };
        if part.offset != 0 {
            return None;
        }
        let first = whole.offset;
        match (m.dims.as_slice(), whole.strides.as_slice(), part.strides.as_slice()) {
            (&[], _, _) => Some(Self { rows: 1, len: 1, first, width: None }),
            (&[n], &[1], &[1]) => Some(Self { rows: 1, len: n, first, width: None }),
            (&[n], &[w], &[1]) if w > 1 => Some(Self { rows: n, len: 1, first, width: Some(w) }),
            (&[n, len], &[w, 1], &[l, 1]) if l == len && w > 0 => Some(Self { rows: n, len, first, width: Some(w) }),
            _ => None,
        }
    }
}

/// Carries out all of `parts` (each a tensor and its rows of `whole`), if they lie side by side without gaps; else does
/// nothing and says so.
pub fn move_parts(ctx: &Compute<'_>, whole: &Tensor, parts: &[(Tensor, Rows)], cut: bool) -> Result<bool> {
    let Some((_, head)) = parts.first() else { return Ok(false) };
    let end = parts.last().map_or(0, |(_, r)| r.first + r.len);
    let width = head.width.unwrap_or(end);
    let aligned = |r: &Rows| r.rows == head.rows && r.width.unwrap_or(width) == width;
    let adjacent = parts.windows(2).all(|w| w[0].1.first + w[0].1.len == w[1].1.first);
    if !adjacent || !parts.iter().all(|(_, r)| aligned(r)) || head.rows.saturating_mul(width) > i64::from(i32::MAX) {
        return Ok(false);
    }
    // The widest unit that divides every address and every stretch.
    let size = whole.dtype.size() as u64;
    let mut bits = 16 | whole.device_ptr()?.0 | (width as u64 * size);
    for (t, r) in parts {
        bits |= t.device_ptr()?.0 | (r.first as u64 * size) | (r.len as u64 * size);
    }
    let unit = 1u64 << bits.trailing_zeros();
    let units = |elements: i64| (elements as u64 * size / unit) as u32;
    let kernel = shader::PARTS.get(&[unit_word(unit).into()])?;
    let threads = threads(ctx);
    for some in parts.chunks(MOST) {
        let mut args = Args::new();
        if cut {
            args.read(whole)?
        } else {
            args.write(whole)?
        };
        for (t, _) in some {
            if cut {
                args.write(t)?
            } else {
                args.read(t)?
            };
        }
        (some.len()..MOST).for_each(|_| _ = args.null());
        let last = some.last().map_or(0, |(_, r)| r.first + r.len);
        (0..=MOST).for_each(|i| _ = args.u32(units(some.get(i).map_or(last, |(_, r)| r.first))));
        args.u32(head.rows as u32).u32(units(width));
        let first = some.first().map_or(0, |(_, r)| r.first);
        let count = u64::from(units(last - first)) * head.rows as u64;
        let constants = [threads, 1, 1, u32::from(cut), UNROLL];
        ctx.stream().launch_linear(kernel, &constants, &args, count.div_ceil(u64::from(threads * UNROLL)))?;
    }
    Ok(true)
}

/// Whether a tensor is on the device.
pub fn on_device(t: &Tensor) -> bool {
    t.device_ptr().is_ok_and(|p: DevicePtr| p.0 != 0)
}

#[cfg(test)]
mod tests {
    use super::super::view::View;
    use super::*;

    #[test]
    fn concatenations_and_splits_are_rows() {
        let whole = [4, 6];
        let join = Move::new(&[4, 2], View::dense(&[4, 2]), View::dense(&whole).starting_at(&[0, 3]));
        assert_eq!(Rows::of(&join, false), Some(Rows { rows: 4, len: 2, first: 3, width: Some(6) }));
        let column = Move::new(&[4, 1], View::dense(&[4, 1]), View::dense(&whole).starting_at(&[0, 5]));
        assert_eq!(Rows::of(&column, false), Some(Rows { rows: 4, len: 1, first: 5, width: Some(6) }));
        let top = Move::new(&[2, 6], View::dense(&whole), View::dense(&[2, 6]));
        assert_eq!(Rows::of(&top, true), Some(Rows { rows: 1, len: 12, first: 0, width: None }));
        let turned = Move::new(&[4, 2], View::dense(&[2, 4]).permuted(&[1, 0]), View::dense(&whole));
        assert_eq!(Rows::of(&turned, false), None);
    }
}
