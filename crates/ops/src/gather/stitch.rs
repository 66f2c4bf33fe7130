//! DynamicStitch and DynamicPartition: rows put together and taken apart by index.

use smallvec::smallvec;
use tfvk_device::{DType, Error, Result, Shape, Tensor};

use super::gather::{along_axis, launch};
use super::segment::{Apply, Combine, Recipe, Rows, Scale, keys, reduce, sorted};
use crate::array::fill;
use crate::sort::search;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

struct Stitch;

/// The kernel of DynamicStitch. Of several rows for one place the last counts; a place without a row is zeros.
pub fn dynamic_stitch(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Stitch))
}

/// A tensor on the device with these words.
fn upload(ctx: &mut Compute<'_>, words: &[u32]) -> Result<Tensor> {
    let t = ctx.temp(DType::U32, [words.len() as i64])?;
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    ctx.stream().upload(t.device_ptr()?, &bytes)?;
    Ok(t)
}

impl Stitch {
    /// The shape of what one index names.
    fn row(inputs: &Inputs<'_>) -> Result<Shape> {
        let n = inputs.len() / 2;
        let mut row = None;
        for i in 0..n {
            let (indices, data) = (inputs.shape(i)?, inputs.shape(n + i)?);
            if data.rank() < indices.rank() || data[..indices.rank()] != indices[..] {
                return Err(Error::invalid_argument(format!(
                    "data[{i}].shape = {data} does not start with indices[{i}].shape = {indices}"
                )));
            }
            let rest = Shape::new(&data[indices.rank()..]);
            match &row {
                Some(r) if *r != rest => {
                    return Err(Error::invalid_argument(format!("data[{i}]: expected rows of shape {r}, got {rest}")));
                }
                _ => row = Some(rest),
            }
        }
        row.ok_or_else(|| Error::invalid_argument("DynamicStitch of nothing"))
    }
}

impl OpKernel for Stitch {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let mut shape = Self::row(inputs)?;
        let mut rows = 0;
        for i in 0..inputs.len() / 2 {
            for index in inputs.host_ints(i)? {
                if index < 0 {
                    return Err(Error::invalid_argument(format!("indices[{i}]: {index} is negative")));
                }
                rows = rows.max(index + 1);
            }
        }
        shape.insert(0, rows);
        Ok(smallvec![Output::Shape(shape)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let out = ctx.output(0)?;
        let n = ctx.inputs().len() / 2;
        let inner = Shape::new(&out.shape[1..]).num_elements();
        let mut covered = vec![false; out.shape[0] as usize];
        let mut all = Vec::new();
        for i in 0..n {
            let mut pairs: Vec<(u32, u32)> =
                ctx.inputs().host_ints(i)?.iter().enumerate().map(|(at, &index)| (index as u32, at as u32)).collect();
            pairs.iter().for_each(|p| covered[p.0 as usize] = true);
            // The host has the indices, so it sorts them too.
            pairs.sort_by_key(|p| p.0);
            all.push(pairs);
        }
        if covered.contains(&false) {
            fill(ctx, &out, None)?;
        }
        let recipe = Recipe { combine: Combine::Last, apply: Apply::Set, scale: Scale::None };
        for (i, pairs) in all.iter().enumerate() {
            if pairs.is_empty() {
                continue;
            }
            let keys = upload(ctx, &pairs.iter().map(|p| p.0).collect::<Vec<_>>())?;
            let order = upload(ctx, &pairs.iter().map(|p| p.1).collect::<Vec<_>>())?;
            let values = ctx.input(n + i)?;
            reduce(ctx, recipe, &Rows { keys: &keys, order: Some(&order), values: &values, scalar: false }, &out, inner)?;
        }
        Ok(())
    }
}

struct Partition;

/// The kernel of DynamicPartition. The host waits for the sizes of the outputs.
pub fn dynamic_partition(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Partition))
}

impl OpKernel for Partition {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (data, partitions) = (inputs.shape(0)?, inputs.shape(1)?);
        if data.rank() < partitions.rank() || data[..partitions.rank()] != partitions[..] {
            return Err(Error::invalid_argument(format!(
                "data.shape must start with partitions.shape, got data.shape = {data}, partitions.shape = {partitions}"
            )));
        }
        Ok((0..inputs.num_outputs()).map(|_| Output::Dynamic).collect())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (data, partitions) = (ctx.input(0)?, ctx.input(1)?);
        let n = partitions.num_elements();
        let row = Shape::new(&data.shape[partitions.shape.rank()..]);
        let with_rows = |rows: i64| -> Shape { std::iter::once(rows).chain(row.iter().copied()).collect() };
        let parts = ctx.inputs().num_outputs() as i64;
        if n == 0 {
            return (0..parts).try_for_each(|p| ctx.allocate_output(p as usize, &with_rows(0)).map(|_| ()));
        }
        let found = keys(ctx, &partitions, &[parts], n, parts)?;
        let found = sorted(ctx, &found, parts)?;
        let numbers = upload(ctx, &(0..=parts as u32).collect::<Vec<_>>())?;
        let bounds = ctx.temp(DType::U32, [parts + 1])?;
        search(ctx, &found.keys, &numbers, &bounds, n, parts + 1, false)?;
        let bytes = ctx.stream().read(&bounds)?;
        let bounds: Vec<i64> = bytes.chunks_exact(4).map(|b| i64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect();
        let flat = data.reshaped(with_rows(n));
        for (p, edge) in bounds.windows(2).enumerate() {
            let rows = edge[1] - edge[0];
            let out = ctx.allocate_output(p, &with_rows(rows))?;
            let indices = found.order.slice(edge[0], [rows]);
            let indices = indices.with(DType::I32, indices.shape.clone());
            let plan = along_axis(&flat.shape, &indices.shape, 0, 0)?;
            launch(ctx, &plan, &flat, &indices, &out)?;
        }
        Ok(())
    }
}
