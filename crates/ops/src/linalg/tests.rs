//! Eigen- and singular vectors: their signs are open, so what is checked is that they are orthonormal and give the matrix back.

use tfvk_device::DType;

use crate::local::{Attr, Local, Node, Value};
use crate::test_device::local;

/// Numbers in no order, between -1 and 1.
fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn upload(local: &Local, dtype: DType, shape: &[i64], v: &[f32]) -> Value {
    let bytes: Vec<u8> = v.iter().flat_map(|x| x.to_ne_bytes()).collect();
    local.upload(dtype, shape, &bytes).unwrap()
}

fn read(local: &Local, v: &Value) -> Vec<f32> {
    local.read(v).unwrap().chunks_exact(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect()
}

/// A matrix of complex numbers, rows by columns.
struct Matrix {
    columns: usize,
    v: Vec<[f64; 2]>,
}

impl Matrix {
    fn new(columns: usize, parts: &[f32], complex: bool) -> Self {
        let step = if complex { 2 } else { 1 };
        let v = parts.chunks_exact(step).map(|p| [f64::from(p[0]), if complex { f64::from(p[1]) } else { 0.0 }]).collect();
        Self { columns, v }
    }

    /// This times the conjugate transpose of `other`.
    fn times_adjoint(&self, other: &Self) -> Vec<[f64; 2]> {
        let row = |m: &Self, i: usize| m.v[i * m.columns..(i + 1) * m.columns].to_vec();
        let (n, k) = (self.v.len() / self.columns, other.v.len() / other.columns);
        let dot = |a: &[[f64; 2]], b: &[[f64; 2]]| {
            a.iter().zip(b).fold([0.0, 0.0], |s, (x, y)| [s[0] + x[0] * y[0] + x[1] * y[1], s[1] + x[1] * y[0] - x[0] * y[1]])
        };
        (0..n * k).map(|i| dot(&row(self, i / k), &row(other, i % k))).collect()
    }

    /// Each column times a number.
    fn scaled(&self, by: &[f64]) -> Self {
        let v = self.v.iter().enumerate().map(|(i, x)| [x[0] * by[i % self.columns], x[1] * by[i % self.columns]]).collect();
        Self { columns: self.columns, v }
    }
}

fn near(got: &[[f64; 2]], want: impl Fn(usize) -> [f64; 2], bound: f64, what: &str) {
    for (i, g) in got.iter().enumerate() {
        let w = want(i);
        assert!((g[0] - w[0]).abs() <= bound && (g[1] - w[1]).abs() <= bound, "{what}, element {i}: {g:?}, expected {w:?}");
    }
}

fn eye(n: usize) -> impl Fn(usize) -> [f64; 2] {
    move |i| [f64::from(u8::from(i / n == i % n)), 0.0]
}

#[test]
fn eigenvectors_give_the_matrix_back() {
    let Some(local) = local() else { return };
    for (dtype, parts) in [(DType::F32, 1), (DType::C64, 2)] {
        for n in [1usize, 2, 3, 8, 33] {
            let complex = parts == 2;
            let mut a = numbers(2 * n * n * parts, n as u64);
            let at = |g: usize, i: usize, j: usize| (g * n * n + i * n + j) * parts;
            for g in 0..2 {
                for i in 0..n {
                    if complex {
                        a[at(g, i, i) + 1] = 0.0;
                    }
                    // What is above the diagonal is not looked at; a double eigenvalue in the second matrix.
                    for j in 0..n {
                        if g == 1 && i != j && (i < 2 || j < 2) {
                            a[at(g, i, j)..at(g, i, j) + parts].fill(0.0);
                        }
                    }
                }
            }
            if n > 1 {
                a[at(1, 1, 1)] = a[at(1, 0, 0)];
            }
            let input = upload(&local, dtype, &[2, n as i64, n as i64], &a);
            let node = Node::new("SelfAdjointEigV2").dtype("T", dtype).attr("compute_v", Attr::Bool(true));
            let out = local.run(&node, &[input]).unwrap();
            let (e, v) = (read(&local, &out[0]), read(&local, &out[1]));
            for g in 0..2 {
                let v = Matrix::new(n, &v[g * n * n * parts..(g + 1) * n * n * parts], complex);
                let e: Vec<f64> = (0..n).map(|i| f64::from(e[(g * n + i) * parts])).collect();
                assert!(e.windows(2).all(|w| w[0] <= w[1]), "{e:?}");
                let bound = 1e-5 * (n as f64).sqrt();
                near(&v.times_adjoint(&v), eye(n), bound, "V V*");
                let part = |i: usize, j: usize, k: usize| f64::from(a[at(g, i, j) + k]);
                let want = |i: usize| match (i / n, i % n, complex) {
                    (i, j, false) => [part(i.max(j), i.min(j), 0), 0.0],
                    (i, j, true) => [part(i.max(j), i.min(j), 0), part(i.max(j), i.min(j), 1) * if i < j { -1.0 } else { 1.0 }],
                };
                near(&v.scaled(&e).times_adjoint(&v), want, 4.0 * bound, "V E V*");
            }
        }
    }
}

#[test]
fn singular_vectors_give_the_matrix_back() {
    let Some(local) = local() else { return };
    for [rows, columns] in [[1usize, 1], [5, 3], [3, 5], [8, 8], [40, 17], [2, 70]] {
        for (full, low_rank) in [(false, false), (true, false), (true, true)] {
            let mut a = numbers(2 * rows * columns, (rows * 100 + columns) as u64);
            if low_rank {
                for (i, x) in a[..rows * columns].iter_mut().enumerate() {
                    *x = (i / columns + 1) as f32 * (i % columns + 2) as f32;
                }
            }
            let input = upload(&local, DType::F32, &[2, rows as i64, columns as i64], &a);
            let node = Node::new("Svd").dtype("T", DType::F32).attr("full_matrices", Attr::Bool(full));
            let out = local.run(&node.attr("compute_uv", Attr::Bool(true)), &[input]).unwrap();
            let few = rows.min(columns);
            let [wide_u, wide_v] = if full { [rows, columns] } else { [few, few] };
            let (s, u, v) = (read(&local, &out[0]), read(&local, &out[1]), read(&local, &out[2]));
            for g in 0..2 {
                let a = &a[g * rows * columns..(g + 1) * rows * columns];
                let scale = a.iter().fold(1f64, |m, &x| m.max(f64::from(x.abs())));
                let (u, v) = (&u[g * rows * wide_u..][..rows * wide_u], &v[g * columns * wide_v..][..columns * wide_v]);
                let s: Vec<f64> = s[g * few..(g + 1) * few].iter().map(|&x| f64::from(x)).collect();
                assert!(s.windows(2).all(|w| w[0] >= w[1]) && s.iter().all(|&x| x >= 0.0), "{s:?}");
                let transposed = |m: &[f32], rows: usize, columns: usize| -> Vec<f32> {
                    (0..rows * columns).map(|i| m[i % rows * columns + i / rows]).collect()
                };
                for (m, rows, columns) in [(u, rows, wide_u), (v, columns, wide_v)] {
                    let t = Matrix::new(rows, &transposed(m, rows, columns), false);
                    near(&t.times_adjoint(&t), eye(columns), 3e-5, "U* U or V* V");
                }
                let first = |m: &[f32], rows: usize, columns: usize| -> Vec<f32> {
                    (0..rows * few).map(|i| m[i / few * columns + i % few]).collect()
                };
                let u = Matrix::new(few, &first(u, rows, wide_u), false).scaled(&s);
                let v = Matrix::new(few, &first(v, columns, wide_v), false);
                near(&u.times_adjoint(&v), |i| [f64::from(a[i]), 0.0], 3e-5 * scale * few as f64, "U S V*");
            }
        }
    }
}
