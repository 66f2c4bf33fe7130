//! The seam to the host: what an op sees of whoever runs it. The hosts implement these two traits; ops only call them.
//!
//! The words are TensorFlow's (`OpKernelConstruction`, `OpKernelContext`), but nothing here needs TensorFlow.

use smallvec::SmallVec;
use tfvk_device::{DType, Device, Result, Shape, Stream, Tensor};

/// An op's attributes, while its kernel is made. Each getter fails with an error that names the attribute if the
/// node has none of that name and type.
pub trait OpKernelConstruction {
    /// TensorFlow's name of the op.
    fn op(&self) -> &str;
    /// Whether the node has this attribute.
    fn has(&self, name: &str) -> bool;
    /// An `int` attribute.
    fn i64(&self, name: &str) -> Result<i64>;
    /// A `float` attribute.
    fn f32(&self, name: &str) -> Result<f32>;
    /// A `bool` attribute.
    fn bool(&self, name: &str) -> Result<bool>;
    /// A `type` attribute.
    fn dtype(&self, name: &str) -> Result<DType>;
    /// A `string` attribute.
    fn string(&self, name: &str) -> Result<String>;
    /// A `shape` attribute; `None` for an unknown rank; unknown dimensions are -1.
    fn shape(&self, name: &str) -> Result<Option<Shape>>;
    /// A `list(int)` attribute.
    fn i64s(&self, name: &str) -> Result<Vec<i64>>;
    /// A `list(float)` attribute.
    fn f32s(&self, name: &str) -> Result<Vec<f32>>;
    /// A `list(type)` attribute.
    fn dtypes(&self, name: &str) -> Result<Vec<DType>>;
    /// A `list(string)` attribute.
    fn strings(&self, name: &str) -> Result<Vec<String>>;
}

/// One execution of an op: its tensors, its memory, its stream.
///
/// Tensors live until the execution ends; memory of inputs and temporaries may be reused after that by whatever is
/// recorded into the stream later.
pub trait OpKernelContext {
    /// The device that the op runs on.
    fn device(&self) -> &Device;
    /// The stream that its launches go to.
    fn stream(&self) -> &Stream;
    /// Number of inputs.
    fn num_inputs(&self) -> usize;
    /// Number of outputs.
    fn num_outputs(&self) -> usize;
    /// An input; a resource input is a [`DType::Resource`] scalar whose elements cannot be read.
    fn input(&self, index: usize) -> Result<Tensor>;
    /// The element type that the node declares for an output.
    fn output_dtype(&self, index: usize) -> Result<DType>;
    /// A new output, uninitialised; in host memory where the op's declaration says so.
    fn allocate_output(&mut self, index: usize, dtype: DType, shape: &Shape) -> Result<Tensor>;
    /// An output in the memory of the first of `candidates` (inputs) that nobody else uses and whose type and shape
    /// fit, else a new one. `candidates` is not empty.
    fn forward_input_or_allocate_output(
        &mut self,
        candidates: &[usize],
        index: usize,
        dtype: DType,
        shape: &Shape,
    ) -> Result<Tensor>;
    /// An output that shares an input's memory, under another shape of as many elements and a type of the same size.
    fn alias_output(&mut self, index: usize, input: usize, dtype: DType, shape: &Shape) -> Result<()>;
    /// Scratch device memory, uninitialised, for the rest of this execution.
    fn allocate_temp(&mut self, dtype: DType, shape: &Shape) -> Result<Tensor>;
    /// The current value of the variable that resource (or reference) input `input` names, to read. It stays valid for this execution.
    fn read_variable(&mut self, input: usize) -> Result<Tensor>;
    /// The values of the variables that these inputs name, to update in place: all are locked, in an order that cannot
    /// deadlock, until the execution ends, and each value that someone else shares was copied first. Naming one
    /// variable twice gives the same memory twice.
    fn update_variables(&mut self, inputs: &[usize]) -> Result<SmallVec<[Tensor; 4]>>;
}
