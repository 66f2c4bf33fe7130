//! The ops Conv2D, Conv3D and their gradients: attributes and shapes in, a [`Conv`] out.

use tfvk_device::DType::{self, *};
use tfvk_device::{Error, Result, Shape};

use super::geometry::{Attributes, Geometry};
use super::launch::{Conv, Pass};
use crate::matmul::epilogue::{BiasAlong, Epilogue, FusedOps};
use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, t, types};

const T2: &[DType] = &[F16, BF16, F32, F64, I32];
const FUSED: &[DType] = &[F16, F32, F64];

/// The family's declarations.
pub const KERNELS: &[KernelDef] = &[
    KernelDef::kernel("Conv2D", &[t("T", T2)], |n| forward(n, 2)),
    KernelDef::kernel("Conv3D", &[t("T", types::FLOAT)], |n| forward(n, 3)),
    KernelDef::kernel("Conv2DBackpropInput", &[t("T", T2)], |n| input_gradient(n, 2)).host(&["input_sizes"]),
    KernelDef::kernel("Conv3DBackpropInputV2", &[t("T", types::FLOAT), t("Tshape", types::INDEX)], |n| input_gradient(n, 3))
        .host(&["input_sizes"]),
    KernelDef::kernel("Conv2DBackpropFilter", &[t("T", types::FLOAT)], |n| filter_gradient(n, 2)).host(&["filter_sizes"]),
    KernelDef::kernel("Conv3DBackpropFilterV2", &[t("T", types::FLOAT)], |n| filter_gradient(n, 3)).host(&["filter_sizes"]),
    KernelDef::kernel("_FusedConv2D", &[t("T", FUSED)], fused),
];

struct ConvOp {
    pass: Pass,
    attributes: Attributes,
    fused: Option<FusedOps>,
}

fn make(node: &dyn OpKernelConstruction, rank: usize, pass: Pass) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(ConvOp { pass, attributes: Attributes::from_node(node, rank)?, fused: None }))
}

fn forward(node: &dyn OpKernelConstruction, rank: usize) -> Result<Box<dyn OpKernel>> {
    make(node, rank, Pass::Forward)
}

fn input_gradient(node: &dyn OpKernelConstruction, rank: usize) -> Result<Box<dyn OpKernel>> {
    make(node, rank, Pass::InputGradient)
}

fn filter_gradient(node: &dyn OpKernelConstruction, rank: usize) -> Result<Box<dyn OpKernel>> {
    make(node, rank, Pass::FilterGradient)
}

fn fused(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let format = if node.has("filter_format") { node.string("filter_format")? } else { "HWIO".into() };
    if format != "HWIO" {
        return Err(Error::unimplemented(format!("filter_format: expected HWIO, got {format}")));
    }
    let fused = Some(FusedOps::from_node(node, false)?);
    Ok(Box::new(ConvOp { pass: Pass::Forward, attributes: Attributes::from_node(node, 2)?, fused }))
}

/// A shape given as a vector in host memory; for an input's sizes also its spatial part alone.
pub(super) fn sizes(inputs: &Inputs<'_>, index: usize, name: &str) -> Result<Shape> {
    let shape = inputs.shape(index)?;
    if shape.rank() != 1 {
        return Err(Error::invalid_argument(format!("{name} must be 1-dim, not {}", shape.rank())));
    }
    let list = inputs.host_ints(index)?;
    if let Some(negative) = list.iter().find(|&&d| d < 0) {
        return Err(Error::invalid_argument(format!("{name}: Dimension {negative} must be >= 0")));
    }
    Ok(Shape::new(&list))
}

impl ConvOp {
    /// The forward convolution, the result's shape, and which inputs are source and other operand.
    fn plan(&self, inputs: &Inputs<'_>) -> Result<(Geometry, Shape, [usize; 2])> {
        let rank = self.attributes.rank;
        match self.pass {
            Pass::Forward => {
                let g = self.attributes.geometry(inputs.shape(0)?, inputs.shape(1)?)?;
                Ok((g, g.output_shape(rank), [0, 1]))
            }
            Pass::InputGradient => {
                let (filter, gradient) = (inputs.shape(1)?, inputs.shape(2)?);
                let input = self.input_sizes(sizes(inputs, 0, "input_sizes")?, filter, gradient);
                let g = self.attributes.geometry(&input, filter)?;
                g.check_gradient(rank, gradient)?;
                Ok((g, input, [2, 1]))
            }
            Pass::FilterGradient => {
                let filter = sizes(inputs, 1, "filter_sizes")?;
                let g = self.attributes.geometry(inputs.shape(0)?, &filter)?;
                g.check_gradient(rank, inputs.shape(2)?)?;
                Ok((g, filter, [0, 2]))
            }
        }
    }

    /// `input_sizes` may be height and width alone; then batch and channels are those of the other operands.
    fn input_sizes(&self, given: Shape, filter: &Shape, gradient: &Shape) -> Shape {
        if given.rank() != 2 || self.attributes.rank != 2 || filter.rank() != 4 || gradient.rank() != 4 {
            return given;
        }
        let (n, c) = (gradient[0], filter[2]);
        if self.attributes.channels_first {
            Shape::from([n, c, given[0], given[1]])
        } else {
            Shape::from([n, given[0], given[1], c])
        }
    }

    fn epilogue(&self, ctx: &Compute<'_>, g: &Geometry) -> Result<Epilogue> {
        let Some(fused) = self.fused else { return Ok(Epilogue::none()) };
        let bias = ctx.input(2)?;
        if bias.num_elements() != g.out_channels {
            return Err(Error::invalid_argument(format!("bias: expected {} elements, got shape {}", g.out_channels, bias.shape)));
        }
        let along = if g.channels_first { BiasAlong::M } else { BiasAlong::N };
        Ok(Epilogue { bias: Some(bias), along, activation: fused.activation, alpha: fused.alpha })
    }
}

impl OpKernel for ConvOp {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (_, shape, _) = self.plan(inputs)?;
        Ok(Outputs::from_iter([Output::Shape(shape)]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (geometry, _, [source, other]) = self.plan(&ctx.inputs())?;
        let epilogue = self.epilogue(ctx, &geometry)?;
        let (source, other, result) = (ctx.input(source)?, ctx.input(other)?, ctx.output(0)?);
        Conv { pass: self.pass, geometry, source, other, result, epilogue }.run(ctx)
    }
}

#[cfg(test)]
mod tests {
    use tfvk_device::DType;

    use crate::local::{Attr, Local, Node, Value};
    use crate::test_device::local;

    fn up(host: &Local, shape: &[i64], v: &[f32]) -> Value {
        let bytes: Vec<u8> = v.iter().flat_map(|x| x.to_le_bytes()).collect();
        host.upload(DType::F32, tfvk_device::Shape::new(shape), &bytes).unwrap()
    }

    fn floats(host: &Local, v: &Value) -> Vec<f32> {
        host.read(v).unwrap().chunks(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    }

    fn strings(list: &[&str]) -> Attr {
        Attr::Strings(list.iter().map(|s| (*s).into()).collect())
    }

    /// Each activation after each layout's bias, against the plain op and the same on the host.
    #[test]
    fn fused_bias_and_activation() {
        let Some(host) = local() else { return };
        let values = |n: i64| (0..n).map(|i| ((i * 5 + i / 3) % 7 - 3) as f32 / 2.0).collect::<Vec<f32>>();
        let bias = [1.0f32, -8.0, 0.5, 20.0, -3.5];
        for (format, shape, filter) in
            [("NHWC", [2, 4, 5, 3], [3, 3, 3, 5]), ("NCHW", [2, 3, 4, 5], [3, 3, 3, 5]), ("NHWC", [2, 4, 4, 4], [1, 1, 4, 5])]
        {
            let (x, w) =
                (up(&host, &shape, &values(shape.iter().product())), up(&host, &filter, &values(filter.iter().product())));
            let node = |op: &str| {
                let node = Node::new(op).dtype("T", DType::F32).attr("strides", Attr::Ints(vec![1; 4]));
                node.attr("padding", Attr::String("SAME".into())).attr("data_format", Attr::String(format.into()))
            };
            let plain = host.run(&node("Conv2D"), &[x.clone(), w.clone()]).unwrap().remove(0);
            let area = if format == "NCHW" { 20 } else { 1 };
            let sums: Vec<f32> = floats(&host, &plain).iter().enumerate().map(|(i, v)| v + bias[i / area % 5]).collect();
            type Activation = fn(f32) -> f32;
            let cases: [(&str, Activation); 6] = [
                ("", |v| v),
                ("Relu", |v| v.max(0.0)),
                ("Relu6", |v| v.clamp(0.0, 6.0)),
                ("Elu", |v| if v < 0.0 { v.exp_m1() } else { v }),
                ("LeakyRelu", |v| if v > 0.0 { v } else { v * 0.25 }),
                ("GeluExact", f32::abs),
            ];
            for (name, f) in cases {
                let ops = if name.is_empty() { vec!["BiasAdd"] } else { vec!["BiasAdd", name] };
                let fused = node("_FusedConv2D").attr("fused_ops", strings(&ops)).attr("leakyrelu_alpha", Attr::Float(0.25));
                let fused = fused.attr("TArgs", Attr::Types(vec![DType::F32])).attr("num_args", Attr::Int(1));
                let got = floats(&host, &host.run(&fused, &[x.clone(), w.clone(), up(&host, &[5], &bias)]).unwrap()[0]);
                for (g, s) in got.iter().zip(&sums) {
                    if name == "GeluExact" {
                        // Between 0 and the identity, and close to one of them away from 0.
                        assert!(*g <= s.max(0.0) + 1e-5 && *g >= s.clamp(-0.17, 0.0) - 1e-5, "{format} gelu({s}) = {g}");
                        continue;
                    }
                    assert!((g - f(*s)).abs() <= 1e-5 * s.abs().max(1.0), "{format} {name}({s}) = {g}");
                }
            }
        }
    }

    #[test]
    fn fused_matmul() {
        let Some(host) = local() else { return };
        let (x, w, b) = (
            up(&host, &[2, 2], &[1.0, 2.0, 3.0, 4.0]),
            up(&host, &[2, 2], &[1.0, -1.0, 1.0, -1.0]),
            up(&host, &[2], &[1.0, 2.0]),
        );
        let node = Node::new("_FusedMatMul").dtype("T", DType::F32).attr("num_args", Attr::Int(1));
        let node = node.attr("fused_ops", strings(&["BiasAdd", "Relu"]));
        assert_eq!(floats(&host, &host.run(&node, &[x, w, b]).unwrap()[0]), [4.0, 0.0, 8.0, 0.0]);
    }
}
