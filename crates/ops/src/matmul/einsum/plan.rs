//! An Einsum of two operands as one [`Product`]: which labels are rows, columns, sums and batch, and whether the operands
//! can be read, and the result written, where they lie. Pure.

use smallvec::SmallVec;

use super::super::product::{Batch, merge};
use super::equation::{Dim, Label, View};

/// A product over strided operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Whether the second input is A.
    pub swapped: bool,
    /// Rows, columns, length of the sums.
    pub m: u64,
    /// Columns.
    pub n: u64,
    /// Length of the sums.
    pub k: u64,
    /// Whether A's elements lie along k, and its row length.
    pub a: (bool, u64),
    /// The same of B.
    pub b: (bool, u64),
    /// Row length of the result.
    pub c_row: u64,
    /// Batch dimensions.
    pub batch: SmallVec<[Batch; 4]>,
}

fn stride(v: &View, label: Label) -> Option<i64> {
    v.iter().find(|d| d.label == label).map(|d| d.stride)
}

/// Dimensions of a group with their strides in the two operands that have them, merged; outermost first by `second`.
fn group(dims: impl Iterator<Item = (i64, i64, i64)>) -> Vec<(i64, i64, i64)> {
    let mut all: Vec<_> = dims.collect();
    all.sort_by_key(|&(_, _, second)| std::cmp::Reverse(second));
    let mut out: Vec<(i64, i64, i64)> = Vec::new();
    for (n, first, second) in all {
        match out.last_mut() {
            Some(o) if o.1 == n * first && o.2 == n * second => *o = (o.0 * n, first, second),
            _ => out.push((n, first, second)),
        }
    }
    out
}

/// The product of `x` and `y` with the result in `z`, or `None` if something has to be copied first. Each label is in two
/// or three of the views, and no size is 0.
pub fn plan(x: &View, y: &View, z: &View) -> Option<Plan> {
    try_plan(x, y, z, false).or_else(|| try_plan(y, x, z, true))
}

fn try_plan(x: &View, y: &View, z: &View, swapped: bool) -> Option<Plan> {
    let mut batch: SmallVec<[Batch; 4]> = SmallVec::new();
    for d in z {
        if let (Some(a), Some(b)) = (stride(x, d.label), stride(y, d.label)) {
            batch.push(Batch { n: d.n as u64, a: a as u64, b: b as u64, c: d.stride as u64 });
        }
    }
    let both = |v: &View, other: &View, in_z: &View| {
        v.iter()
            .filter(|d| stride(other, d.label).is_none())
            .filter_map(|d| Some((d.n, d.stride, stride(in_z, d.label)?)))
            .collect::<Vec<_>>()
    };
    let mut rows = group(both(x, y, z).into_iter());
    let mut columns = group(both(y, x, z).into_iter());
    let sums =
        group(x.iter().filter(|d| stride(z, d.label).is_none()).filter_map(|d| Some((d.n, stride(y, d.label)?, d.stride))));
    if sums.len() > 1 {
        return None;
    }
    let (k, bk, ak) = sums.first().copied().unwrap_or((1, 1, 1));
    // The innermost is the row, the column; what cannot be merged with it becomes batch.
    let (m, am, cm) = rows.pop().unwrap_or((1, 0, 0));
    let (n, bn, cn) = columns.pop().unwrap_or((1, 0, 1));
    if cn != 1 {
        return None;
    }
    batch.extend(rows.iter().map(|&(n, a, c)| Batch { n: n as u64, a: a as u64, b: 0, c: c as u64 }));
    batch.extend(columns.iter().map(|&(n, b, c)| Batch { n: n as u64, a: 0, b: b as u64, c: c as u64 }));
    batch.sort_by_key(|d| std::cmp::Reverse(d.c));
    let batch = merge(&batch);
    if batch.len() > 3 {
        return None;
    }
    let a = matrix((m, am), (k, ak))?;
    let b = matrix((n, bn), (k, bk))?;
    // Without rows the length of one is only read.
    let c_row = if m == 1 { n } else { cm } as u64;
    Some(Plan { swapped, m: m as u64, n: n as u64, k: k as u64, a, b, c_row, batch })
}

/// How a matrix of (size, stride) along its outer index and along k lies: along k?, row length.
fn matrix((outer, outer_stride): (i64, i64), (k, k_stride): (i64, i64)) -> Option<(bool, u64)> {
    let along_k = (k == 1 || k_stride == 1).then_some((true, if outer == 1 { k } else { outer_stride } as u64));
    let across = (outer == 1 || outer_stride == 1).then_some((false, if k == 1 { outer } else { k_stride } as u64));
    // A single column or row fits both ways: the one that reads fours.
    if k == 1 { across.or(along_k) } else { along_k.or(across) }
}

/// The order in which to copy operands so that a plan is sure to be found: batch, rows, columns, sums.
pub fn canonical(x: &View, y: &View, z: &View) -> [View; 3] {
    let has = |v: &View, d: &Dim| stride(v, d.label).is_some();
    let pick = |from: &View, f: &dyn Fn(&Dim) -> bool| from.iter().filter(|d| f(d)).copied().collect::<Vec<_>>();
    let batch = pick(z, &|d| has(x, d) && has(y, d));
    let rows = pick(z, &|d| has(x, d) && !has(y, d));
    let columns = pick(z, &|d| !has(x, d) && has(y, d));
    let sums = pick(x, &|d| !has(z, d));
    let join = |parts: [&Vec<Dim>; 3]| super::equation::dense(parts.into_iter().flatten().copied());
    [join([&batch, &rows, &sums]), join([&batch, &columns, &sums]), join([&batch, &rows, &columns])]
}

#[cfg(test)]
mod tests {
    use super::super::equation::Equation;
    use super::*;
    use tfvk_device::Shape;

    fn of(equation: &str, x: &[i64], y: &[i64]) -> (Option<Plan>, [View; 3]) {
        let v = Equation::parse(equation, 2).unwrap().views(&[&Shape::new(x), &Shape::new(y)]).unwrap();
        (plan(&v.inputs[0], &v.inputs[1], &v.output), canonical(&v.inputs[0], &v.inputs[1], &v.output))
    }

    #[test]
    fn attention_needs_no_copies() {
        // Scores of Keras' attention: keys, queries.
        let p = of("aecd,abcd->acbe", &[2, 7, 3, 5], &[2, 6, 3, 5]).0.unwrap();
        assert_eq!((p.swapped, p.m, p.n, p.k, p.a, p.b, p.c_row), (true, 6, 7, 5, (true, 15), (true, 15), 7));
        // Scores times values.
        let p = of("acbe,aecd->abcd", &[2, 3, 6, 7], &[2, 7, 3, 5]).0.unwrap();
        assert_eq!((p.swapped, p.m, p.n, p.k, p.a, p.b, p.c_row), (false, 6, 5, 7, (true, 7), (false, 15), 15));
        assert_eq!(p.batch.len(), 2);
        // Projections in and out.
        let p = of("abc,cde->abde", &[2, 6, 4], &[4, 3, 5]).0.unwrap();
        assert_eq!((p.m, p.n, p.k, p.batch.len()), (12, 15, 4, 0));
        let p = of("abcd,cde->abe", &[2, 6, 3, 5], &[3, 5, 4]).0.unwrap();
        assert_eq!((p.m, p.n, p.k, p.batch.len()), (12, 4, 15, 0));
    }

    #[test]
    fn what_lies_badly_is_copied_and_then_fits() {
        let (p, [x, y, z]) = of("abc,bda->cd", &[2, 3, 4], &[3, 5, 2]);
        assert!(p.is_none());
        assert!(plan(&x, &y, &z).is_some());
    }
}
