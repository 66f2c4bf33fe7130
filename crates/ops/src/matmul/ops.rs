//! The ops MatMul, BatchMatMul (V2, V3) and _FusedMatMul: attributes and shapes in, a [`Product`] out.

use smallvec::SmallVec;
use tfvk_device::DType::{self, *};
use tfvk_device::{Error, Result, Shape, Tensor};

use super::epilogue::{BiasAlong, Epilogue, FusedOps};
use super::product::{Batch, Operand, Product};
use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, t, types};

/// What matrices may hold.
const T: &[DType] = &[F16, BF16, F32, F64, I16, I32, I64, U8, U16, U32, U64, C64, C128];

/// The family's declarations.
pub const KERNELS: &[KernelDef] = &[
    KernelDef::kernel("MatMul", &[t("T", T)], MatMul::plain),
    KernelDef::kernel("_FusedMatMul", &[t("T", types::FLOAT_NN)], MatMul::fused),
    KernelDef::kernel("BatchMatMul", &[t("T", T)], BatchMatMul::make),
    KernelDef::kernel("BatchMatMulV2", &[t("T", T)], BatchMatMul::make),
    KernelDef::kernel("BatchMatMulV3", &[t("Ta", &[F16]), t("Tb", &[F16]), t("Tout", &[F16])], BatchMatMul::make),
    KernelDef::kernel("BatchMatMulV3", &[t("Ta", &[BF16]), t("Tb", &[BF16]), t("Tout", &[BF16])], BatchMatMul::make),
    KernelDef::kernel("BatchMatMulV3", &[t("Ta", &[F32]), t("Tb", &[F32]), t("Tout", &[F32])], BatchMatMul::make),
    KernelDef::kernel("BatchMatMulV3", &[t("Ta", &[F64]), t("Tb", &[F64]), t("Tout", &[F64])], BatchMatMul::make),
    KernelDef::kernel("BatchMatMulV3", &[t("Ta", &[I16]), t("Tb", &[I16]), t("Tout", &[I16])], BatchMatMul::make),
    KernelDef::kernel("BatchMatMulV3", &[t("Ta", &[I32]), t("Tb", &[I32]), t("Tout", &[I32])], BatchMatMul::make),
    KernelDef::kernel("BatchMatMulV3", &[t("Ta", &[I64]), t("Tb", &[I64]), t("Tout", &[I64])], BatchMatMul::make),
    KernelDef::kernel("BatchMatMulV3", &[t("Ta", &[C64]), t("Tb", &[C64]), t("Tout", &[C64])], BatchMatMul::make),
    KernelDef::kernel("BatchMatMulV3", &[t("Ta", &[C128]), t("Tb", &[C128]), t("Tout", &[C128])], BatchMatMul::make),
    KernelDef::kernel("BatchMatMulV3", &[t("Ta", &[I8, U8]), t("Tb", &[I8, U8]), t("Tout", &[I32])], BatchMatMul::make),
];

struct MatMul {
    transpose_a: bool,
    transpose_b: bool,
    fused: Option<FusedOps>,
}

impl MatMul {
    fn plain(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Ok(Box::new(Self { transpose_a: node.bool("transpose_a")?, transpose_b: node.bool("transpose_b")?, fused: None }))
    }

    fn fused(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        let fused = Some(FusedOps::from_node(node, false)?);
        Ok(Box::new(Self { transpose_a: node.bool("transpose_a")?, transpose_b: node.bool("transpose_b")?, fused }))
    }

    /// m, n, k.
    fn sizes(&self, a: &Shape, b: &Shape) -> Result<(i64, i64, i64)> {
        for (name, shape) in [("a", a), ("b", b)] {
            if shape.rank() != 2 {
                return Err(Error::invalid_argument(format!("{name}: expected a matrix, got shape {shape}")));
            }
        }
        let (m, ka) = if self.transpose_a { (a[1], a[0]) } else { (a[0], a[1]) };
        let (kb, n) = if self.transpose_b { (b[1], b[0]) } else { (b[0], b[1]) };
        if ka != kb {
            return Err(Error::invalid_argument(format!(
                "Matrix size-incompatible: In[0]: {a}, In[1]: {b}: expected equal inner sizes, got {ka} and {kb}"
            )));
        }
        Ok((m, n, ka))
    }

    fn epilogue(&self, ctx: &Compute<'_>, n: i64) -> Result<Epilogue> {
        let Some(fused) = self.fused else { return Ok(Epilogue::none()) };
        let bias = ctx.input(2)?;
        if bias.shape.dims() != [n] {
            return Err(Error::invalid_argument(format!("bias: expected shape [{n}], got {}", bias.shape)));
        }
        Ok(Epilogue { bias: Some(bias), along: BiasAlong::N, activation: fused.activation, alpha: fused.alpha })
    }
}

impl OpKernel for MatMul {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (m, n, _) = self.sizes(inputs.shape(0)?, inputs.shape(1)?)?;
        Ok(Outputs::from_iter([Output::Shape(Shape::from([m, n]))]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (a, b, c) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        let (m, n, k) = self.sizes(&a.shape, &b.shape)?;
        let epilogue = self.epilogue(ctx, n)?;
        let (a, b) = (Operand::new(&a, !self.transpose_a), Operand::new(&b, self.transpose_b));
        Product { a, b, c, c_row: None, m: m as u64, n: n as u64, k: k as u64, batch: SmallVec::new(), epilogue }.run(ctx)
    }
}

struct BatchMatMul {
    adj_x: bool,
    adj_y: bool,
    /// Whether batch dimensions broadcast.
    broadcasts: bool,
}

/// The sizes of a batch of products.
struct Sizes {
    m: i64,
    n: i64,
    k: i64,
    batch: SmallVec<[Batch; 4]>,
}

impl BatchMatMul {
    fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Ok(Box::new(Self { adj_x: node.bool("adj_x")?, adj_y: node.bool("adj_y")?, broadcasts: node.op() != "BatchMatMul" }))
    }

    fn sizes(&self, x: &Shape, y: &Shape) -> Result<Sizes> {
        for (i, shape) in [x, y].into_iter().enumerate() {
            if shape.rank() < 2 {
                return Err(Error::invalid_argument(format!("In[{i}] ndims must be >= 2: {} ({shape})", shape.rank())));
            }
        }
        let split = |s: &Shape| (Shape::new(&s[..s.rank() - 2]), s[s.rank() - 2], s[s.rank() - 1]);
        let ((bx, x0, x1), (by, y0, y1)) = (split(x), split(y));
        if !self.broadcasts && bx != by {
            return Err(Error::invalid_argument(format!("In[0] and In[1] must have equal batch dimensions, got {x} and {y}")));
        }
        let (m, kx) = if self.adj_x { (x1, x0) } else { (x0, x1) };
        let (ky, n) = if self.adj_y { (y1, y0) } else { (y0, y1) };
        if kx != ky {
            return Err(Error::invalid_argument(format!(
                "Matrix size-incompatible: In[0]: {x}, In[1]: {y}: expected equal inner sizes, got {kx} and {ky}"
            )));
        }
        let batch = broadcast(&bx, &by, [m * kx, kx * n, m * n].map(|v| v as u64)).ok_or_else(|| {
            Error::invalid_argument(format!("In[0] and In[1] must have compatible batch dimensions: {x} vs. {y}"))
        })?;
        Ok(Sizes { m, n, k: kx, batch })
    }
}

/// The batch dimensions of two operands that broadcast against each other, and of the result; `each` is the number of
/// elements of one matrix of the three.
fn broadcast(x: &[i64], y: &[i64], each: [u64; 3]) -> Option<SmallVec<[Batch; 4]>> {
    let rank = x.len().max(y.len());
    let dim = |s: &[i64], i: usize| (i + s.len()).checked_sub(rank).map_or(1, |i| s[i]);
    let mut out = SmallVec::new();
    let [mut sx, mut sy, mut sz] = each;
    for i in (0..rank).rev() {
        let (dx, dy) = (dim(x, i), dim(y, i));
        if dx != dy && dx != 1 && dy != 1 {
            return None;
        }
        let n = if dx == 1 { dy } else { dx };
        let stride = |d: i64, s: u64| if d == 1 { 0 } else { s };
        out.push(Batch { n: n as u64, a: stride(dx, sx), b: stride(dy, sy), c: sz });
        (sx, sy, sz) = (sx * dx as u64, sy * dy as u64, sz * n as u64);
    }
    out.reverse();
    Some(out)
}

impl OpKernel for BatchMatMul {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let s = self.sizes(inputs.shape(0)?, inputs.shape(1)?)?;
        let shape: Shape = s.batch.iter().map(|d| d.n as i64).chain([s.m, s.n]).collect();
        Ok(Outputs::from_iter([Output::Shape(shape)]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y, c) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        let s = self.sizes(&x.shape, &y.shape)?;
        let operand = |t: &Tensor, along_k, adj: bool| Operand { conj: adj && t.dtype.is_complex(), ..Operand::new(t, along_k) };
        let (a, b) = (operand(&x, !self.adj_x, self.adj_x), operand(&y, self.adj_y, self.adj_y));
        let epilogue = Epilogue::none();
        Product { a, b, c, c_row: None, m: s.m as u64, n: s.n as u64, k: s.k as u64, batch: s.batch, epilogue }.run(ctx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_broadcast() {
        let of = |x: &[i64], y: &[i64]| {
            broadcast(x, y, [10, 100, 1000]).map(|v| v.iter().map(|d| (d.n, d.a, d.b, d.c)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[4, 3], &[4, 3]).unwrap(), [(4, 30, 300, 3000), (3, 10, 100, 1000)]);
        assert_eq!(of(&[4, 1], &[2]).unwrap(), [(4, 10, 0, 2000), (2, 0, 100, 1000)]);
        assert_eq!(of(&[], &[5]).unwrap(), [(5, 0, 100, 1000)]);
        assert!(of(&[2], &[3]).is_none());
        assert_eq!(of(&[0], &[1]).unwrap(), [(0, 10, 0, 1000)]);
    }
}
