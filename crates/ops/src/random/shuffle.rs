//! RandomShuffle and StatelessShuffle: rows in another order. The order is drawn on the host, one exchange after the other as
//! TensorFlow's CPU kernel draws it; the rows are moved on the device.

use smallvec::smallvec;
use tfvk_device::{DType, Error, Result, Shape};

use super::philox::{Generator, Philox};
use super::shape::check_algorithm;
use crate::gather::rows;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

/// A node without a generator has a key, a counter and an algorithm after the value.
struct Shuffle(Option<Generator>);

pub(super) fn stateful(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Shuffle(Some(Generator::new(node)?))))
}

pub(super) fn stateless(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Shuffle(None)))
}

/// The place that `key` and `counter`, in host memory, name.
fn place(inputs: &Inputs<'_>) -> Result<Philox> {
    let (key, counter) = (inputs.get(1)?.host::<u64>()?, inputs.get(2)?.host::<u64>()?);
    match (key, counter) {
        (&[key], &[low, high, ..]) => {
            let words = |v: u64| [v as u32, (v >> 32) as u32];
            let ([a, b], [c, d]) = (words(low), words(high));
            Ok(Philox { counter: [a, b, c, d], key: words(key) })
        }
        _ => {
            let what = format!("expected a key of shape [1] and a counter of shape [2], got {} and {}", key.len(), counter.len());
            Err(Error::invalid_argument(what))
        }
    }
}

/// The numbers below `n` in the order that the words from `from` on shuffle them into.
fn permutation(n: u32, mut from: Philox) -> Vec<i32> {
    let mut order: Vec<i32> = (0..n as i32).collect();
    let (mut block, mut used) = ([0; 4], 4);
    for i in 0..n.saturating_sub(1) {
        if used == 4 {
            block = from.block();
            from.skip(1);
            used = 0;
        }
        order.swap(i as usize, (i + block[used] % (n - i)) as usize);
        used += 1;
    }
    order
}

impl OpKernel for Shuffle {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = inputs.shape(0)?.clone();
        if self.0.is_none() {
            check_algorithm(inputs, 3)?;
            place(inputs)?;
        }
        let few = shape.num_elements() <= 1 || shape.first().is_none_or(|&n| n <= 1);
        Ok(smallvec![if few { Output::Alias { input: 0, shape } } else { Output::Shape(shape) }])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let n = x.shape.first().copied().unwrap_or(1);
        let Some(n32) = u32::try_from(n).ok().filter(|n| n >> 31 == 0) else {
            return Err(Error::unimplemented(format!("a shuffle of {n} rows")));
        };
        let from = match &self.0 {
            Some(generator) => generator.reserve((n as u64 - 1).div_ceil(4)),
            None => place(&ctx.inputs())?,
        };
        let order = ctx.temp(DType::I32, Shape::from([n]))?;
        let bytes: Vec<u8> = permutation(n32, from).iter().flat_map(|v| v.to_ne_bytes()).collect();
        ctx.stream().upload(order.device_ptr()?, &bytes)?;
        rows(ctx, &x, &order, &y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_tensorflows() {
        // tf.raw_ops.RandomShuffle(value=range(10), seed=3, seed2=5), twice.
        let mut place = Philox::from_seeds(3, 5);
        assert_eq!(permutation(10, place), [1, 2, 6, 5, 0, 3, 7, 4, 8, 9]);
        place.skip(9u64.div_ceil(4));
        assert_eq!(permutation(10, place), [1, 9, 3, 6, 0, 8, 4, 7, 5, 2]);
        assert_eq!((permutation(0, place), permutation(1, place)), (vec![], vec![0]));
    }
}
