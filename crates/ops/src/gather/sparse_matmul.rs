//! SparseTensorDenseMatMul. Indices are on the device and not looked at by the host: one outside the matrix is as in TensorFlow's
//! kernel for GPUs, where a column outside makes its row NaN, and a row outside counts for nothing.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Shape};

use super::gather::index_word;
use super::segment::sorted;
use crate::array::{count, fill_bits, threads};
use crate::loops;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

struct SparseMatMul {
    adjoint_a: bool,
    adjoint_b: bool,
}

/// The kernel of SparseTensorDenseMatMul.
pub fn sparse_tensor_dense_mat_mul(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(SparseMatMul { adjoint_a: node.bool("adjoint_a")?, adjoint_b: node.bool("adjoint_b")? }))
}

impl SparseMatMul {
    /// Rows of the product, what is summed over, columns.
    fn sizes(&self, inputs: &Inputs<'_>) -> Result<[i64; 3]> {
        let wrong = |what: String| Err(Error::invalid_argument(what));
        let (indices, values, b) = (inputs.shape(0)?, inputs.shape(1)?, inputs.shape(3)?);
        if b.rank() != 2 {
            return wrong(format!("Tensor 'b' is not a matrix, got {b}"));
        }
        let a = inputs.host_ints(2)?;
        let &[a_rows, a_columns] = a.as_slice() else {
            return wrong(format!("Tensor 'a_shape' must have 2 elements, got {}", a.len()));
        };
        if values.rank() != 1 || indices.rank() != 2 {
            return wrong(format!("Tensor 'a_values' is not a vector or 'a_indices' not a matrix, got {values}, {indices}"));
        }
        if indices[0] != values[0] {
            return wrong(format!(
                "Number of rows of a_indices does not match number of entries in a_values: {indices}, {values}"
            ));
        }
        if indices[1] != 2 {
            return wrong(format!("Number of columns of a_indices does not match number of entries in a_shape: {indices}"));
        }
        if a_rows < 0 || a_columns < 0 {
            return wrong(format!("a_shape must not be negative, got [{a_rows}, {a_columns}]"));
        }
        let (rows, inner) = if self.adjoint_a { (a_columns, a_rows) } else { (a_rows, a_columns) };
        let (b_inner, columns) = if self.adjoint_b { (b[1], b[0]) } else { (b[0], b[1]) };
        if inner != b_inner {
            let what = "Cannot multiply A and B because inner dimension does not match";
            return wrong(format!("{what}: {inner} vs. {b_inner}. Did you forget a transpose?"));
        }
        Ok([rows, inner, columns])
    }
}

impl OpKernel for SparseMatMul {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let [rows, _, columns] = self.sizes(inputs)?;
        Ok(smallvec![Output::Shape(Shape::from([rows, columns]))])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let [rows, inner, columns] = self.sizes(&ctx.inputs())?;
        let (indices, values, b, y) = (ctx.input(0)?, ctx.input(1)?, ctx.input(3)?, ctx.output(0)?);
        let n = count(&values.shape)?;
        if n == 0 {
            return fill_bits(ctx, &y, &[0; 16]);
        }
        let elements = count(&y.shape)?;
        if rows.max(inner) >= 1 << 31 {
            return Err(Error::unimplemented(format!("a sparse matrix of {rows} rows and {inner} columns")));
        }
        let keys = ctx.temp(DType::U32, [i64::from(n)])?;
        let width = threads(ctx);
        let ix = index_word(indices.dtype)?;
        let launch =
            |ctx: &Compute<'_>, kind: &'static str, keys: &_, order: Option<&_>, range: (u32, u32), threads: u32| -> Result<()> {
                let mut args = Args::new();
                args.read(&indices)?.read(&values)?;
                if b.num_elements() == 0 {
                    args.null()
                } else {
                    args.read(&b)?
                };
                args.read_write(&y)?;
                if order.is_some() {
                    args.read(keys)?
                } else {
                    args.write(keys)?
                };
                match order {
                    Some(order) => args.read(order)?,
                    None => args.null(),
                };
                args.u32(n).u32(rows as u32).u32(inner as u32).u32(columns as u32).u32(range.0).u32(range.1);
                let kernel = shader::SPARSE_MATMUL.get(&[y.dtype.into(), ix.into(), kind.into()])?;
                let constants = [width, 1, 1, u32::from(self.adjoint_a), u32::from(self.adjoint_b)];
                ctx.stream().launch_linear(kernel, &constants, &args, threads.div_ceil(width).into())
            };
        launch(ctx, "keys", &keys, None, (0, n), n)?;
        let found = sorted(ctx, &keys, rows)?;
        // A row may have any number of elements; nothing says how many.
        let room = loops::limit(ctx.device().adapter());
        let mut ranges = loops::ranges(room, n, |_| 1)?.into_iter();
        ranges.try_for_each(|range| launch(ctx, "product", &found.keys, Some(&found.order), range, elements))
    }
}
