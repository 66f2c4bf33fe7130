//! CheckNumerics and CheckNumericsV2: the input, or an error that says what in it is not finite. The host waits for the answer.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Kernel, Result, Shape};

use crate::array::{count, fill_bits, threads};
use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, TypeConstraint, shader, t, types};

const T: &[TypeConstraint] = &[t("T", types::FLOAT)];

/// The declarations.
pub const OPS: &[KernelDef] =
    &[KernelDef::kernel("CheckNumerics", T, CheckNumerics::make), KernelDef::kernel("CheckNumericsV2", T, CheckNumerics::make)];

struct CheckNumerics {
    kernel: &'static Kernel,
    message: String,
    /// Infinities are told apart by their sign.
    signs: bool,
}

impl CheckNumerics {
    fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        let kernel = shader::CHECK.get(&[node.dtype("T")?.into(), DType::U32.into()])?;
        Ok(Box::new(Self { kernel, message: node.string("message")?, signs: node.op().ends_with("V2") }))
    }
}

/// The words for what the kernel's bits say, joined as TensorFlow joins them.
fn words(bits: u32, signs: bool) -> String {
    let mut found = Vec::new();
    match (signs, bits & 3) {
        (_, 0) => {}
        (false, _) => found.push("Inf"),
        (true, 1) => found.push("-Inf"),
        (true, 2) => found.push("+Inf"),
        (true, _) => found.extend(["-Inf", "+Inf"]),
    }
    if bits & 4 != 0 {
        found.push("NaN");
    }
    match found.as_slice() {
        [a, b, c] => format!("{a}, {b}, and {c}"),
        [a, b] => format!("{a} and {b}"),
        _ => found.concat(),
    }
}

impl OpKernel for CheckNumerics {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = inputs.shape(0)?;
        if shape.num_elements() == 0 {
            return Ok(smallvec![Output::Alias { input: 0, shape: shape.clone() }]);
        }
        Ok(smallvec![Output::Dynamic])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let x = ctx.input(0)?;
        let (n, width) = (count(&x.shape)?, threads(ctx));
        let found = ctx.temp(DType::U32, Shape::from([1]))?;
        fill_bits(ctx, &found, &[0; 16])?;
        let groups = n.div_ceil(width * 4).min(4096);
        let mut args = Args::new();
        args.read(&x)?.read_write(&found)?.u32(n).u32(groups * width);
        ctx.stream().launch(self.kernel, &[width, 1, 1], &args, [groups, 1, 1])?;
        let bytes = ctx.stream().read(&found)?;
        let bits = bytes.first().copied().unwrap_or(0);
        if bits != 0 {
            let what = format!("{} : Tensor had {} values", self.message, words(bits.into(), self.signs));
            return Err(Error::invalid_argument(what));
        }
        ctx.alias_output(0, 0, &x.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn what_was_found_is_told_in_words() {
        assert_eq!(words(7, true), "-Inf, +Inf, and NaN");
        assert_eq!(words(7, false), "Inf and NaN");
        assert_eq!(words(3, true), "-Inf and +Inf");
        assert_eq!((words(2, true).as_str(), words(1, false).as_str(), words(4, true).as_str()), ("+Inf", "Inf", "NaN"));
    }
}
