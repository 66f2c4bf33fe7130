//! Evaluates a chain of element-wise ops on the host: `expr_eval "inputs float32; Exp %0; outputs 0" < elements > results`.
//! Operands of one length follow each other on standard input. For accuracy measurements (scripts/expr_accuracy.py).

use std::io::{Read, Write};

use tfvk_device::{DType, Shape, Tensor};
use tfvk_ops::expr::{Chain, interpret};

fn tensor(dtype: DType, n: i64, bytes: &mut [u8]) -> Tensor {
    // SAFETY: the bytes outlive the tensor, and the interpreter reads and writes them as bytes alone.
    unsafe { Tensor::from_host(dtype, Shape::from([n]), bytes.as_mut_ptr()) }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).ok_or("usage: expr_eval CHAIN < elements")?;
    let chain: Chain = text.parse()?;
    let program = chain.program()?;
    eprintln!("{}: {} nodes", program.name(), program.cost());
    let mut data = Vec::new();
    std::io::stdin().read_to_end(&mut data)?;
    let n = data.len() / program.inputs().iter().map(|d| d.size()).sum::<usize>().max(1);
    let (mut rest, mut inputs) = (data.as_mut_slice(), Vec::new());
    for &d in program.inputs() {
        let (own, after) = rest.split_at_mut(n * d.size());
        inputs.push(tensor(d, n as i64, own));
        rest = after;
    }
    let mut results: Vec<Vec<u8>> = program.outputs().iter().map(|o| vec![0; n * o.dtype.size()]).collect();
    let mut outputs: Vec<Tensor> =
        program.outputs().iter().zip(&mut results).map(|(o, bytes)| tensor(o.dtype, n as i64, bytes)).collect();
    interpret(&program, &inputs, &[], &mut outputs)?;
    for r in results {
        std::io::stdout().write_all(&r)?;
    }
    Ok(())
}
