//! SpaceToBatch(ND), BatchToSpace(ND), SpaceToDepth and DepthToSpace: blocks of the space axes to another axis and back.

use smallvec::SmallVec;
use tfvk_device::{Error, Result, Shape};

use super::mover::{Mover, Moving, Place, Program, Step, Value};
use super::pad::pairs;
use super::view::{Axes, Move, View};
use crate::{Inputs, OpKernel, OpKernelConstruction};

/// Between space and batch, either way. Without `block` (an attribute) input 1 has the block shape.
struct Batch {
    block: Option<i64>,
    to_batch: bool,
}

/// The kernel of SpaceToBatchND.
pub fn space_to_batch_nd(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Batch { block: None, to_batch: true })))
}

/// The kernel of BatchToSpaceND.
pub fn batch_to_space_nd(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Batch { block: None, to_batch: false })))
}

/// The kernel of SpaceToBatch.
pub fn space_to_batch(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Batch { block: Some(node.i64("block_size")?), to_batch: true })))
}

/// The kernel of BatchToSpace.
pub fn batch_to_space(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Batch { block: Some(node.i64("block_size")?), to_batch: false })))
}

impl Mover for Batch {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let (block, edge_at) = match self.block {
            Some(b) => (SmallVec::from_elem(b, 2), 1),
            None => (inputs.host_ints(1)?, 2),
        };
        let m = block.len();
        if x.rank() < m + 1 {
            return Err(Error::invalid_argument(format!("input rank should be >= {}, got {x}", m + 1)));
        }
        if let Some(b) = block.iter().find(|b| **b < 1) {
            return Err(Error::invalid_argument(format!("block_shape: expected positive elements, got {b}")));
        }
        let edges = pairs(inputs, edge_at, m, if self.to_batch { "paddings" } else { "crops" })?;
        if self.to_batch { to_batch(x, &block, &edges) } else { to_space(x, &block, &edges) }
    }
}

/// Axis orders of `[batch, s1 / b1, b1, .., rest..]` as `[b1, .., bm, batch, s1 / b1, .., rest..]`.
fn order(m: usize, rank: usize) -> SmallVec<[usize; 8]> {
    let blocks = (0..m).map(|i| 2 + 2 * i);
    blocks.chain([0]).chain((0..m).map(|i| 1 + 2 * i)).chain(2 * m + 1..m + rank).collect()
}

fn to_batch(x: &Shape, block: &[i64], pads: &[(i64, i64)]) -> Result<Program> {
    let m = block.len();
    let mut padded = x.clone();
    let mut shape = x.clone();
    let mut before: Axes = SmallVec::from_elem(0, x.rank());
    shape[0] = block.iter().fold(x[0], |n, b| n.saturating_mul(*b));
    let mut split = Axes::from_slice(&[x[0]]);
    for i in 0..m {
        padded[i + 1] = padded[i + 1].saturating_add(pads[i].0).saturating_add(pads[i].1);
        before[i + 1] = pads[i].0;
        if padded[i + 1] % block[i] != 0 {
            return Err(Error::invalid_argument(format!(
                "padded_shape[{i}]={} is not divisible by block_shape[{i}]={}",
                padded[i + 1],
                block[i]
            )));
        }
        shape[i + 1] = padded[i + 1] / block[i];
        split.extend([shape[i + 1], block[i]]);
    }
    split.extend_from_slice(&x[m + 1..]);
    let order = order(m, x.rank());
    let dims: Axes = order.iter().map(|&o| split[o]).collect();
    let mv = Move::new(&dims, View::dense(&split).permuted(&order), View::dense(&dims));
    let mut program = Program::new(shape);
    if padded == *x {
        return Ok(program.moving(0, mv));
    }
    let inner = Move::new(x, View::dense(x), View::dense(&padded).starting_at(&before));
    program.temp = Some(padded);
    program.steps.push(Step::Fill(Place::Temp, Value::Zero));
    program.steps.push(Step::Move(Place::Input(0), Place::Temp, inner));
    program.steps.push(Step::Move(Place::Temp, Place::Output(0), mv));
    Ok(program)
}

fn to_space(x: &Shape, block: &[i64], crops: &[(i64, i64)]) -> Result<Program> {
    let m = block.len();
    let blocks = block.iter().fold(1i64, |n, b| n.saturating_mul(*b));
    if x[0] % blocks != 0 {
        return Err(Error::invalid_argument(format!(
            "input batch dimension ({}) is not divisible by product of block sizes ({blocks})",
            x[0]
        )));
    }
    let mut whole = x.clone();
    let mut shape = x.clone();
    let mut begin: Axes = SmallVec::from_elem(0, x.rank());
    whole[0] = x[0] / blocks;
    shape[0] = whole[0];
    let mut split = Axes::from_slice(&[whole[0]]);
    for i in 0..m {
        whole[i + 1] = x[i + 1].saturating_mul(block[i]);
        shape[i + 1] = whole[i + 1].saturating_sub(crops[i].0).saturating_sub(crops[i].1);
        begin[i + 1] = crops[i].0;
        if shape[i + 1] < 0 {
            return Err(Error::invalid_argument(format!("cropped_shape[{i}]={} must be non-negative", shape[i + 1])));
        }
        split.extend([x[i + 1], block[i]]);
    }
    split.extend_from_slice(&x[m + 1..]);
    let order = order(m, x.rank());
    let dims: Axes = order.iter().map(|&o| split[o]).collect();
    let mv = Move::new(&dims, View::dense(&dims), View::dense(&split).permuted(&order));
    if whole == shape {
        return Ok(Program::new(shape).moving(0, mv));
    }
    let cut = Move::new(&shape, View::dense(&whole).starting_at(&begin), View::dense(&shape));
    let mut program = Program::new(shape);
    program.temp = Some(whole);
    program.steps.push(Step::Move(Place::Input(0), Place::Temp, mv));
    program.steps.push(Step::Move(Place::Temp, Place::Output(0), cut));
    Ok(program)
}

/// Between space and depth, either way.
struct Depth {
    block: i64,
    channels_first: bool,
    to_depth: bool,
}

fn depth(node: &dyn OpKernelConstruction, to_depth: bool) -> Result<Box<dyn OpKernel>> {
    let block = node.i64("block_size")?;
    let channels_first = match node.string("data_format")?.as_str() {
        "NHWC" => false,
        "NCHW" => true,
        other => return Err(Error::unimplemented(format!("data_format: expected NHWC or NCHW, got {other}"))),
    };
    if block < 2 {
        return Err(Error::invalid_argument(format!("Block size should be > 1, but was: {block}")));
    }
    Ok(Box::new(Moving(Depth { block, channels_first, to_depth })))
}

/// The kernel of SpaceToDepth.
pub fn space_to_depth(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    depth(node, true)
}

/// The kernel of DepthToSpace.
pub fn depth_to_space(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    depth(node, false)
}

impl Mover for Depth {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let (x, b) = (inputs.shape(0)?, self.block);
        let &[n, ref rest @ ..] = x.dims() else { return Err(Error::invalid_argument("Input rank should be: 4 instead of: 0")) };
        let &[p, q, r] = rest else {
            return Err(Error::invalid_argument(format!("Input rank should be: 4 instead of: {}", x.rank())));
        };
        let (h, w, c) = if self.channels_first { (q, r, p) } else { (p, q, r) };
        let even = if self.to_depth { h % b == 0 && w % b == 0 } else { c % b.saturating_mul(b) == 0 };
        if !even {
            return Err(Error::invalid_argument(format!("shape {x} should be divisible by block_size {b}")));
        }
        // Height, width and channels of the deep form, whose depth is (row in block, column in block, channel).
        let (h, w, c) = if self.to_depth { (h / b, w / b, c) } else { (h, w, c / b.saturating_mul(b)) };
        let (deep, space, deep_shape, space_shape): ([i64; 6], [usize; 6], Shape, Shape) = if self.channels_first {
            let shapes = (Shape::from([n, b * b * c, h, w]), Shape::from([n, c, h * b, w * b]));
            ([n, b, b, c, h, w], [0, 3, 4, 1, 5, 2], shapes.0, shapes.1)
        } else {
            let shapes = (Shape::from([n, h, w, b * b * c]), Shape::from([n, h * b, w * b, c]));
            ([n, h, w, b, b, c], [0, 1, 3, 2, 4, 5], shapes.0, shapes.1)
        };
        // The deep form walked in the order of the spatial one.
        let dims: Axes = space.iter().map(|&a| deep[a]).collect();
        let (walk, dense) = (View::dense(&deep).permuted(&space), View::dense(&dims));
        Ok(if self.to_depth {
            Program::new(deep_shape).moving(0, Move::new(&dims, dense, walk))
        } else {
            Program::new(space_shape).moving(0, Move::new(&dims, walk, dense))
        })
    }
}
