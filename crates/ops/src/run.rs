//! The driver: what all ops have in common. A host calls [`create`] once a node and [`run`] once an execution.
//!
//! Output shapes, allocation, forwarding, aliasing and empty outputs are dealt with here; a kernel validates and launches.

use smallvec::SmallVec;
use tfvk_device::{Code, DType, Device, Error, Result, Shape, Stream, Tensor};

use crate::expr::ExpressionKernel;
use crate::{Body, KernelDef, OpKernelConstruction, OpKernelContext};

/// How one output comes to be.
#[derive(Clone, Debug)]
pub enum Output {
    /// New memory (or a forwarded input's, where the declaration allows), of the element type that the node declares.
    Shape(Shape),
    /// The memory of input `input` under another shape; nothing is copied.
    Alias {
        /// Which input.
        input: usize,
        /// The new shape, of as many elements.
        shape: Shape,
    },
    /// Known only once the kernel ran: it calls [`Compute::allocate_output`] itself.
    Dynamic,
}

/// One [`Output`] per output of the node.
pub type Outputs = SmallVec<[Output; 2]>;

/// An op's implementation, made once a node and run by any number of threads.
pub trait OpKernel: Send + Sync {
    /// Validates the inputs and says what the outputs are. Errors name argument, expected and got; the driver adds the op.
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs>;
    /// Launches. Not called when there are outputs and all of them are empty or aliases.
    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()>;
}

/// The inputs of one execution, for the shape rule.
pub struct Inputs<'a> {
    tensors: &'a [Tensor],
    num_outputs: usize,
}

impl Inputs<'_> {
    /// Number of inputs.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Number of outputs that the node has.
    pub fn num_outputs(&self) -> usize {
        self.num_outputs
    }

    /// An input.
    pub fn get(&self, index: usize) -> Result<&Tensor> {
        self.tensors.get(index).ok_or_else(|| missing(index, self.tensors.len()))
    }

    /// An input's shape.
    pub fn shape(&self, index: usize) -> Result<&Shape> {
        Ok(&self.get(index)?.shape)
    }

    /// All inputs.
    pub fn all(&self) -> &[Tensor] {
        self.tensors
    }

    /// The elements of an int32 or int64 input in host memory, such as a shape or axes.
    pub fn host_ints(&self, index: usize) -> Result<SmallVec<[i64; 8]>> {
        host_ints(self.get(index)?)
    }

    /// The one element of an int32 or int64 input in host memory.
    pub fn host_int(&self, index: usize) -> Result<i64> {
        match self.host_ints(index)?.as_slice() {
            [one] => Ok(*one),
            many => Err(Error::invalid_argument(format!("input {index}: expected a scalar, got {} elements", many.len()))),
        }
    }
}

fn missing(index: usize, n: usize) -> Error {
    Error::internal(format!("input {index} of a node that has {n}"))
}

/// The elements of an integer tensor in host memory.
pub(crate) fn host_ints(t: &Tensor) -> Result<SmallVec<[i64; 8]>> {
    match t.dtype {
        DType::I32 => Ok(t.host::<i32>()?.iter().map(|&v| i64::from(v)).collect()),
        DType::I64 => Ok(SmallVec::from_slice(t.host::<i64>()?)),
        DType::I16 => Ok(t.host::<i16>()?.iter().map(|&v| i64::from(v)).collect()),
        other => Err(Error::invalid_argument(format!("expected int16, int32 or int64 elements, got {other}"))),
    }
}

/// One execution as its kernel sees it.
pub struct Compute<'a> {
    host: &'a mut dyn OpKernelContext,
    inputs: SmallVec<[Tensor; 4]>,
    outputs: SmallVec<[Tensor; 2]>,
}

impl<'a> Compute<'a> {
    /// The inputs, as the shape rule saw them.
    pub fn inputs(&self) -> Inputs<'_> {
        Inputs { tensors: &self.inputs, num_outputs: self.host.num_outputs() }
    }

    /// An input (a cheap clone of the view).
    pub fn input(&self, index: usize) -> Result<Tensor> {
        self.inputs.get(index).cloned().ok_or_else(|| missing(index, self.inputs.len()))
    }

    /// An output that the driver allocated. Dynamic and aliased outputs are not among them.
    pub fn output(&self, index: usize) -> Result<Tensor> {
        let n = self.outputs.len();
        self.outputs.get(index).cloned().ok_or_else(|| Error::internal(format!("output {index} of a node that has {n}")))
    }

    /// All inputs, and all outputs as [`Compute::output`] gives them.
    pub fn tensors(&self) -> (&[Tensor], &[Tensor]) {
        (&self.inputs, &self.outputs)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.host.device()
    }

    /// The stream to launch into.
    pub fn stream(&self) -> &Stream {
        self.host.stream()
    }

    /// Scratch device memory, uninitialised, for the rest of this execution.
    pub fn temp(&mut self, dtype: DType, shape: impl Into<Shape>) -> Result<Tensor> {
        self.host.allocate_temp(dtype, &shape.into())
    }

    /// Allocates an output that the shape rule called dynamic.
    pub fn allocate_output(&mut self, index: usize, shape: &Shape) -> Result<Tensor> {
        let dtype = self.host.output_dtype(index)?;
        self.host.allocate_output(index, dtype, shape)
    }

    /// Makes a dynamic output share an input's memory.
    pub fn alias_output(&mut self, index: usize, input: usize, shape: &Shape) -> Result<()> {
        let dtype = self.host.output_dtype(index)?;
        self.host.alias_output(index, input, dtype, shape)
    }

    /// See [`OpKernelContext::read_variable`]. Errors: the variable is not of type `dtype`, which nothing before here sees to.
    pub fn read_variable(&mut self, input: usize, dtype: DType) -> Result<Tensor> {
        let variable = self.host.read_variable(input)?;
        check_variable(&variable, dtype)?;
        Ok(variable)
    }

    /// See [`OpKernelContext::update_variables`]; each is to be of its type. Errors: a variable of another.
    pub fn update_variables_of(&mut self, inputs: &[usize], dtypes: &[DType]) -> Result<SmallVec<[Tensor; 4]>> {
        let variables = self.host.update_variables(inputs)?;
        variables.iter().zip(dtypes).try_for_each(|(v, &d)| check_variable(v, d))?;
        Ok(variables)
    }

    /// See [`OpKernelContext::update_variables`]. Errors: one of the variables is not of type `dtype`.
    pub fn update_variables(&mut self, inputs: &[usize], dtype: DType) -> Result<SmallVec<[Tensor; 4]>> {
        let variables = self.host.update_variables(inputs)?;
        variables.iter().try_for_each(|v| check_variable(v, dtype))?;
        Ok(variables)
    }
}

fn check_variable(variable: &Tensor, dtype: DType) -> Result<()> {
    if variable.dtype == dtype {
        return Ok(());
    }
    Err(Error::invalid_argument(format!("expected a variable of {dtype}, got one of {}", variable.dtype)))
}

/// Makes a node's kernel.
pub fn create(def: &KernelDef, node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    match def.body {
        Body::Expression(e) => Ok(Box::new(ExpressionKernel::new(e, node)?) as Box<dyn OpKernel>),
        Body::Kernel(make) => make(node),
    }
    .map_err(|e| e.context(def.op))
}

/// Executes a node once.
pub fn run(def: &KernelDef, kernel: &dyn OpKernel, host: &mut dyn OpKernelContext) -> Result<()> {
    run_unnamed(def, kernel, host).map_err(|e| match e.code {
        // What this device lacks may depend on the element types: `MatMul(float64 -> float64)`.
        Code::Unimplemented => e.context(format_args!("{}({})", def.op, types(host))),
        _ => e.context(def.op),
    })
}

/// The element types of a node's inputs and outputs.
fn types(host: &dyn OpKernelContext) -> String {
    let inputs = (0..host.num_inputs()).filter_map(|i| Some(host.input(i).ok()?.dtype));
    let outputs = (0..host.num_outputs()).filter_map(|i| host.output_dtype(i).ok());
    format!("{} -> {}", names(inputs), names(outputs))
}

/// The names of element types, each once: `float32, int64`.
pub(crate) fn names(types: impl Iterator<Item = DType>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for dtype in types {
        if !names.contains(&dtype.name()) {
            names.push(dtype.name());
        }
    }
    names.join(", ")
}

fn run_unnamed(def: &KernelDef, kernel: &dyn OpKernel, host: &mut dyn OpKernelContext) -> Result<()> {
    let inputs = (0..host.num_inputs()).map(|i| host.input(i)).collect::<Result<SmallVec<[Tensor; 4]>>>()?;
    let num_outputs = host.num_outputs();
    let plan = kernel.outputs(&Inputs { tensors: &inputs, num_outputs })?;
    if plan.len() != num_outputs {
        return Err(Error::internal(format!("the kernel describes {} outputs, the node has {num_outputs}", plan.len())));
    }
    let mut work = plan.is_empty();
    let mut outputs = SmallVec::new();
    for (i, output) in plan.iter().enumerate() {
        let dtype = host.output_dtype(i)?;
        match output {
            Output::Shape(shape) => {
                let forwarded = i == 0 && !def.forward.is_empty();
                outputs.push(if forwarded {
                    host.forward_input_or_allocate_output(def.forward, i, dtype, shape)?
                } else {
                    host.allocate_output(i, dtype, shape)?
                });
                work |= shape.num_elements() > 0;
            }
            Output::Alias { input, shape } => {
                host.alias_output(i, *input, dtype, shape)?;
                // Keeps the indices of the others right; an alias is not written.
                outputs.push(inputs.get(*input).ok_or_else(|| missing(*input, inputs.len()))?.with(dtype, shape.clone()));
            }
            Output::Dynamic => {
                outputs.push(Tensor::on_device(dtype, Shape::from([0]), tfvk_device::DevicePtr(0)));
                work = true;
            }
        }
    }
    if work { kernel.compute(&mut Compute { host, inputs, outputs }) } else { Ok(()) }
}
