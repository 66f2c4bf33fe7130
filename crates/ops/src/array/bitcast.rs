//! Bitcast: the same bytes under another element type. Nothing is moved or copied.

use smallvec::smallvec;
use tfvk_device::{DType, Error, Result, Shape};

use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

struct Bitcast {
    to: DType,
}

/// The kernel of Bitcast.
pub fn bitcast(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Bitcast { to: node.dtype("type")? }))
}

impl OpKernel for Bitcast {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let x = inputs.get(0)?;
        Ok(smallvec![Output::Alias { input: 0, shape: bitcast_shape(&x.shape, x.dtype, self.to)? }])
    }

    fn compute(&self, _: &mut Compute<'_>) -> Result<()> {
        Ok(())
    }
}

/// A wider element becomes an inner dimension of narrower ones, and the other way round.
fn bitcast_shape(shape: &Shape, from: DType, to: DType) -> Result<Shape> {
    let (wide, narrow) = (from.size().max(to.size()), from.size().min(to.size()));
    if narrow == 0 || wide % narrow != 0 {
        return Err(Error::invalid_argument(format!("type: cannot bitcast from {from} to {to}")));
    }
    let (mut result, parts) = (shape.clone(), (wide / narrow) as i64);
    if from.size() > to.size() {
        result.push(parts);
    } else if from.size() < to.size() {
        if shape.last() != Some(&parts) {
            return Err(Error::invalid_argument(format!(
                "input: cannot bitcast from {from} to {to}: expected an inner dimension of {parts}, got shape {shape}"
            )));
        }
        result.remove(shape.rank() - 1);
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_make_and_take_the_inner_dimension() {
        let shape = |dims: &[i64], from, to| bitcast_shape(&Shape::new(dims), from, to);
        assert_eq!(shape(&[2, 3], DType::F32, DType::I32).unwrap(), Shape::from([2, 3]));
        assert_eq!(shape(&[2], DType::F64, DType::U16).unwrap(), Shape::from([2, 4]));
        assert_eq!(shape(&[2, 4], DType::U16, DType::F64).unwrap(), Shape::from([2]));
        assert!(shape(&[2, 3], DType::U16, DType::F64).unwrap_err().message.contains("got shape [2,3]"));
        assert!(shape(&[], DType::U8, DType::F32).is_err());
    }
}
