//! Transpose and ConjugateTranspose: output axis `i` is input axis `perm[i]`.

use smallvec::{SmallVec, smallvec};
use tfvk_device::{Args, DType, Error, Result};

use super::mover::{Mover, Moving, Program, threads};
use super::one_hot::count;
use super::view::{Axes, View};
use crate::copy::permute;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

struct Transpose;

/// The kernel of Transpose.
pub fn transpose(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Transpose)))
}

/// The kernel of ConjugateTranspose.
pub fn conjugate_transpose(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    match node.dtype("T")? {
        DType::C64 | DType::C128 => Ok(Box::new(Conjugated)),
        _ => transpose(node),
    }
}

/// Transposed complex numbers, conjugated where they lie then.
struct Conjugated;

impl OpKernel for Conjugated {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let x = inputs.shape(0)?;
        let perm = permutation(&inputs.host_ints(1)?, x.rank())?;
        Ok(smallvec![Output::Shape(perm.iter().map(|&p| x[p]).collect())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let perm = permutation(&ctx.inputs().host_ints(1)?, x.shape.rank())?;
        permute(ctx.device(), ctx.stream(), &x, &y, &perm)?;
        let n = count(&y.shape)?;
        let threads = threads(ctx);
        let mut args = Args::new();
        args.read_write(&y)?.u32(n).u32(0);
        let kernel = shader::CONJUGATE.get(&[y.dtype.into()])?;
        ctx.stream().launch_linear(kernel, &[threads, 1, 1], &args, n.div_ceil(threads).into())
    }
}

/// `perm` as axes of a tensor of `rank`, negative ones counted from the end.
pub(super) fn permutation(perm: &[i64], rank: usize) -> Result<SmallVec<[usize; 8]>> {
    if perm.len() != rank {
        return Err(Error::invalid_argument(format!(
            "transpose expects a vector of size {rank}. But input(1) is a vector of size {}",
            perm.len()
        )));
    }
    let mut seen: SmallVec<[bool; 8]> = SmallVec::from_elem(false, rank);
    perm.iter()
        .map(|&p| {
            let axis = if p < 0 { p + rank as i64 } else { p };
            match usize::try_from(axis).ok().filter(|&a| a < rank) {
                Some(a) if !std::mem::replace(&mut seen[a], true) => Ok(a),
                Some(a) => Err(Error::invalid_argument(format!("perm: {a} is missing or repeated in {perm:?}"))),
                None => Err(Error::invalid_argument(format!("perm: {p} is out of range [0 .. {rank})"))),
            }
        })
        .collect()
}

impl Mover for Transpose {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let perm = permutation(&inputs.host_ints(1)?, x.rank())?;
        let shape: Axes = perm.iter().map(|&p| x[p]).collect();
        // Only axes longer than 1 move anything.
        let order: SmallVec<[usize; 8]> = perm.iter().copied().filter(|&p| x[p] != 1).collect();
        if order.windows(2).all(|w| w[0] < w[1]) {
            return Ok(Program::alias(0, shape.as_slice().into()));
        }
        Ok(Program::gathered(0, &shape, View::dense(x).permuted(&perm)))
    }
}

#[cfg(test)]
mod tests {
    use super::permutation;

    #[test]
    fn permutations() {
        assert_eq!(permutation(&[-1, 0], 2).unwrap().as_slice(), [1, 0]);
        assert!(permutation(&[0, 0], 2).is_err());
        assert!(permutation(&[0], 2).is_err());
        assert!(permutation(&[0, 2], 2).is_err());
    }
}
