//! A small host: runs one op at a time on a device without TensorFlow. For the tests and the benchmarks.
//!
//! ```text
//! Node::new("AddV2").dtype("T", F32) -> Local::run(&node, &[Value::Device(..), ..]) -> Vec<Value>
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tfvk_device::{Code, DType, Device, DevicePtr, Element, Error, Memory, Result, Shape, Stream, Tensor};

use crate::signature::{ArgType, Signature, signature};
use crate::{Body, KernelDef, OpKernel, OpKernelConstruction, OpKernelContext, create, registry, run};

/// An attribute's value.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Attr {
    Int(i64),
    Float(f32),
    Bool(bool),
    Type(DType),
    String(String),
    Shape(Option<Shape>),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Types(Vec<DType>),
    Strings(Vec<String>),
}

/// A node: an op and its attributes. Attributes that are not set have the OpDef's defaults.
#[derive(Clone, Debug)]
pub struct Node {
    op: String,
    attrs: HashMap<String, Attr>,
}

impl Node {
    /// A node of this op.
    pub fn new(op: &str) -> Self {
        Self { op: op.into(), attrs: HashMap::new() }
    }

    /// The same with an attribute.
    #[must_use]
    pub fn attr(mut self, name: &str, value: Attr) -> Self {
        self.attrs.insert(name.into(), value);
        self
    }

    /// The same with a type attribute.
    #[must_use]
    pub fn dtype(self, name: &str, value: DType) -> Self {
        self.attr(name, Attr::Type(value))
    }

    fn get(&self, name: &str) -> Option<Attr> {
        self.attrs.get(name).cloned().or_else(|| {
            let def = signature(&self.op)?.attrs.iter().find(|a| a.name == name)?;
            parse_default(def.kind, def.default?)
        })
    }
}

fn parse_default(kind: &str, text: &str) -> Option<Attr> {
    let items = || text.trim_matches(['[', ']']).split(',').filter(|s| !s.is_empty());
    let dtype = |s: &str| DType::NUMERIC.iter().copied().find(|d| d.name() == s);
    Some(match kind {
        "int" => Attr::Int(text.parse().ok()?),
        "float" => Attr::Float(text.parse().ok()?),
        "bool" => Attr::Bool(text.parse().ok()?),
        "string" => Attr::String(text.into()),
        "type" => Attr::Type(dtype(text)?),
        "list(int)" => Attr::Ints(items().map(|s| s.parse().ok()).collect::<Option<_>>()?),
        "list(float)" => Attr::Floats(items().map(|s| s.parse().ok()).collect::<Option<_>>()?),
        "list(type)" => Attr::Types(items().map(dtype).collect::<Option<_>>()?),
        "list(string)" => Attr::Strings(items().map(String::from).collect()),
        "shape" => Attr::Shape(None),
        _ => return None,
    })
}

macro_rules! getter {
    ($name:ident, $variant:ident, $ty:ty) => {
        fn $name(&self, name: &str) -> Result<$ty> {
            match self.get(name) {
                Some(Attr::$variant(v)) => Ok(v),
                other => Err(Error::invalid_argument(format!(
                    "{}: attribute {name}: expected {}, got {other:?}",
                    self.op,
                    stringify!($variant)
                ))),
            }
        }
    };
}

impl OpKernelConstruction for Node {
    fn op(&self) -> &str {
        &self.op
    }
    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
    getter!(i64, Int, i64);
    getter!(f32, Float, f32);
    getter!(bool, Bool, bool);
    getter!(dtype, Type, DType);
    getter!(string, String, String);
    getter!(shape, Shape, Option<Shape>);
    getter!(i64s, Ints, Vec<i64>);
    getter!(f32s, Floats, Vec<f32>);
    getter!(dtypes, Types, Vec<DType>);
    getter!(strings, Strings, Vec<String>);
}

/// A tensor that owns its memory, in host memory or on the device; or a variable (a shared device tensor).
#[derive(Clone)]
pub struct Value {
    tensor: Tensor,
    /// A variable is passed as a resource.
    variable: bool,
    _memory: Option<Arc<Owned>>,
}

enum Owned {
    Host(#[allow(dead_code)] Vec<u128>),
    Device { pool: Arc<Pool>, ptr: DevicePtr, bytes: u64 },
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Owned::Device { pool, ptr, bytes } = self {
            pool.give(*ptr, *bytes);
        }
    }
}

/// Freed device blocks by size: a short list, searched in order. The stream is in order, so a block can be used again at once.
struct Pool {
    device: Arc<Device>,
    free: Mutex<Vec<(u64, Vec<DevicePtr>)>>,
}

impl Pool {
    fn take(&self, bytes: u64) -> Result<DevicePtr> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let pooled = free.iter_mut().find(|(size, _)| *size == bytes).and_then(|(_, blocks)| blocks.pop());
        drop(free);
        pooled.map_or_else(|| self.device.allocate(bytes), Ok)
    }

    fn give(&self, ptr: DevicePtr, bytes: u64) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        match free.iter_mut().find(|(size, _)| *size == bytes) {
            Some((_, blocks)) => blocks.push(ptr),
            None => free.push((bytes, vec![ptr])),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let blocks = std::mem::take(self.free.get_mut().unwrap_or_else(PoisonError::into_inner));
        for ptr in blocks.into_iter().flat_map(|(_, blocks)| blocks) {
            // Nothing more can be done about an error here; a lost device has freed it already.
            let _ = self.device.deallocate(ptr);
        }
    }
}

impl Value {
    /// An uninitialised (zeroed) tensor in host memory.
    pub fn host_zeros(dtype: DType, shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        let bytes = shape.num_elements() as usize * dtype.size();
        let mut data = vec![0u128; bytes.div_ceil(16)];
        let ptr = data.as_mut_ptr().cast();
        // SAFETY: `data` is aligned to 16 bytes, large enough, and lives (its heap block never moves) as long as the value.
        let tensor = unsafe { Tensor::from_host(dtype, shape, ptr) };
        Self { tensor, variable: false, _memory: Some(Arc::new(Owned::Host(data))) }
    }

    /// A tensor in host memory.
    pub fn host<T: Element>(shape: impl Into<Shape>, data: &[T]) -> Result<Self> {
        let mut v = Self::host_zeros(T::DTYPE, shape);
        let n = v.tensor.num_elements();
        let out = v.tensor.host_mut::<T>()?;
        if out.len() != data.len() {
            return Err(Error::invalid_argument(format!("expected {n} elements, got {}", data.len())));
        }
        out.copy_from_slice(data);
        Ok(v)
    }

    /// A view of the tensor.
    pub fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    /// The same tensor as the value of a variable, which an op gets as a resource input.
    #[must_use]
    pub fn into_variable(mut self) -> Self {
        self.variable = true;
        self
    }
}

/// The host.
pub struct Local {
    pool: Arc<Pool>,
}

impl Local {
    /// A host for this device.
    pub fn new(device: Arc<Device>) -> Self {
        Self { pool: Arc::new(Pool { device, free: Mutex::default() }) }
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.pool.device
    }

    /// An uninitialised tensor on the device.
    pub fn empty(&self, dtype: DType, shape: impl Into<Shape>) -> Result<Value> {
        let shape = shape.into();
        let bytes = (shape.num_elements() as u64 * dtype.size() as u64).next_multiple_of(256).max(256);
        let ptr = self.pool.take(bytes)?;
        let memory = Arc::new(Owned::Device { pool: self.pool.clone(), ptr, bytes });
        Ok(Value { tensor: Tensor::on_device(dtype, shape, ptr), variable: false, _memory: Some(memory) })
    }

    /// A tensor on the device, from its elements' bytes.
    pub fn upload(&self, dtype: DType, shape: impl Into<Shape>, bytes: &[u8]) -> Result<Value> {
        let value = self.empty(dtype, shape)?;
        if value.tensor.bytes() != bytes.len() as u64 {
            return Err(Error::invalid_argument(format!("expected {} bytes, got {}", value.tensor.bytes(), bytes.len())));
        }
        self.device().stream().upload(value.tensor.device_ptr()?, bytes)?;
        Ok(value)
    }

    /// The bytes of a tensor's elements; waits for the device if it is there.
    pub fn read(&self, value: &Value) -> Result<Vec<u8>> {
        match value.tensor.memory() {
            Memory::Device(_) => self.device().stream().read(&value.tensor),
            Memory::Host(_) => {
                Ok(value.tensor.with(DType::U8, Shape::from([value.tensor.bytes() as i64])).host::<u8>()?.to_vec())
            }
        }
    }

    /// The declaration that serves a node: the first whose type constraints the node's attributes meet.
    pub fn find(node: &Node) -> Result<&'static KernelDef> {
        let serves = |def: &KernelDef| {
            def.op == node.op
                && def.types.iter().all(|c| matches!(node.get(c.attr), Some(Attr::Type(d)) if c.dtypes.contains(&d)))
        };
        registry::all()
            .find(|d| serves(d))
            .ok_or_else(|| Error::unimplemented(format!("{}: no kernel for {:?}", node.op, node.attrs)))
    }

    /// Whether an error is the device's rightful refusal of these element types: one of them needs an arithmetic that the
    /// device lacks, and the message names the kernel, the type and what is missing. For tests on a weak device.
    pub fn refuses(&self, error: &Error, dtypes: &[DType]) -> bool {
        let has = &self.device().adapter().features;
        let arithmetic: [(bool, &str, &[DType]); 3] = [
            (has.int64, "shaderInt64", &[DType::I64, DType::U64]),
            (has.f64, "shaderFloat64", &[DType::F64, DType::C128]),
            (has.f16, "shaderFloat16", &[DType::F16]),
        ];
        let said = |what: &str| error.message.contains(what);
        let names = |d: &DType| said(d.name()) || said(&format!(".{}", crate::shader::Value::Type(*d)));
        let lacking = |types: &[DType]| types.iter().any(|d| dtypes.contains(d) && names(d));
        error.code == Code::Unimplemented
            && said("kernel '")
            && arithmetic.iter().any(|(has, name, types)| !has && said(name) && lacking(types))
    }

    /// A node's kernel, to run it many times.
    pub fn prepare(&self, node: &Node) -> Result<Prepared> {
        let def = Self::find(node)?;
        let signature = signature(&node.op).ok_or_else(|| Error::internal(format!("{}: no signature", node.op)))?;
        let outputs = output_places(signature, def, node)?;
        Ok(Prepared { def, kernel: create(def, node)?, outputs })
    }

    /// Runs a node once.
    pub fn run(&self, node: &Node, inputs: &[Value]) -> Result<Vec<Value>> {
        self.execute(&self.prepare(node)?, inputs)
    }

    /// Runs a node with another kernel than its own, for tests of what the kernel would not choose here.
    #[cfg(test)]
    pub(crate) fn run_kernel(&self, node: &Node, kernel: Box<dyn OpKernel>, inputs: &[Value]) -> Result<Vec<Value>> {
        let prepared = self.prepare(node)?;
        self.execute(&Prepared { kernel, ..prepared }, inputs)
    }

    /// Runs a prepared node.
    pub fn execute(&self, node: &Prepared, inputs: &[Value]) -> Result<Vec<Value>> {
        let mut context =
            Context { local: self, inputs, declared: &node.outputs, outputs: vec![None; node.outputs.len()], temps: Vec::new() };
        run(node.def, node.kernel.as_ref(), &mut context)?;
        let missing = || Error::internal(format!("{}: an output was not set", node.def.op));
        context.outputs.into_iter().map(|o| o.ok_or_else(missing)).collect()
    }
}

/// A node whose kernel is made.
pub struct Prepared {
    def: &'static KernelDef,
    kernel: Box<dyn OpKernel>,
    outputs: Vec<(DType, bool)>,
}

/// Element type and "in host memory" of each output.
fn output_places(signature: &Signature, def: &KernelDef, node: &Node) -> Result<Vec<(DType, bool)>> {
    let mut places = Vec::new();
    for arg in &signature.outputs {
        let host = def.host_memory.contains(&arg.name);
        let count = arg.number.map_or(Ok(1), |n| node.i64(n))?;
        match arg.dtype {
            ArgType::Fixed(Some(d)) => places.extend((0..count).map(|_| (d, host))),
            ArgType::Attr(a) => {
                let d = node.dtype(a)?;
                places.extend((0..count).map(|_| (d, host)));
            }
            ArgType::List(a) => places.extend(node.dtypes(a)?.into_iter().map(|d| (d, host))),
            ArgType::Fixed(None) => {
                return Err(Error::unimplemented(format!("{}: output {} is a string", signature.op, arg.name)));
            }
        }
    }
    Ok(places)
}

struct Context<'a> {
    local: &'a Local,
    inputs: &'a [Value],
    declared: &'a [(DType, bool)],
    outputs: Vec<Option<Value>>,
    temps: Vec<Value>,
}

impl Context<'_> {
    fn given(&self, index: usize) -> Result<&Value> {
        self.inputs.get(index).ok_or_else(|| Error::invalid_argument(format!("input {index} of {}", self.inputs.len())))
    }
}

impl OpKernelContext for Context<'_> {
    fn device(&self) -> &Device {
        self.local.device()
    }
    fn stream(&self) -> &Stream {
        self.local.device().stream()
    }
    fn num_inputs(&self) -> usize {
        self.inputs.len()
    }
    fn num_outputs(&self) -> usize {
        self.declared.len()
    }
    fn input(&self, index: usize) -> Result<Tensor> {
        let value = self.given(index)?;
        Ok(if value.variable { value.tensor.with(DType::Resource, Shape::scalar()) } else { value.tensor.clone() })
    }
    fn output_dtype(&self, index: usize) -> Result<DType> {
        Ok(self.declared[index].0)
    }
    fn allocate_output(&mut self, index: usize, dtype: DType, shape: &Shape) -> Result<Tensor> {
        let host = self.declared[index].1;
        let value = if host { Value::host_zeros(dtype, shape.clone()) } else { self.local.empty(dtype, shape.clone())? };
        let tensor = value.tensor.clone();
        self.outputs[index] = Some(value);
        Ok(tensor)
    }
    /// Never forwards: the caller keeps its inputs.
    fn forward_input_or_allocate_output(&mut self, _: &[usize], index: usize, dtype: DType, shape: &Shape) -> Result<Tensor> {
        self.allocate_output(index, dtype, shape)
    }
    fn alias_output(&mut self, index: usize, input: usize, dtype: DType, shape: &Shape) -> Result<()> {
        let mut value = self.given(input)?.clone();
        value.tensor = value.tensor.with(dtype, shape.clone());
        self.outputs[index] = Some(value);
        Ok(())
    }
    fn allocate_temp(&mut self, dtype: DType, shape: &Shape) -> Result<Tensor> {
        let value = self.local.empty(dtype, shape.clone())?;
        let tensor = value.tensor.clone();
        self.temps.push(value);
        Ok(tensor)
    }
    fn read_variable(&mut self, input: usize) -> Result<Tensor> {
        Ok(self.given(input)?.tensor.clone())
    }
    fn update_variables(&mut self, inputs: &[usize]) -> Result<SmallVec<[Tensor; 4]>> {
        inputs.iter().map(|&i| Ok(self.given(i)?.tensor.clone())).collect()
    }
}

/// Whether a declaration's body is an expression (some tests walk only those).
pub fn is_expression(def: &KernelDef) -> bool {
    matches!(def.body, Body::Expression(_))
}
