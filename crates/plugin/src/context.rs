//! One execution of a node: TensorFlow's `TF_OpKernelContext` as the operators' [`OpKernelContext`].
//!
//! Every view that is handed out lives as long as a tensor handle that this context holds (or a variable that it has
//! locked). When the execution ends they are given back: memory that is then reused is used by work that is recorded
//! later, and so runs later.

use std::ffi::c_int;

use smallvec::SmallVec;
use tf_sys::{Api, TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE, TF_AllocatorAttributes, TF_OpKernelContext};
use tfvk_device::{DType, Device, DevicePtr, Error, Memory, Result, Shape, Stream, Tensor};
use tfvk_ops::OpKernelContext;

use crate::status::{Status, tf};
use crate::stream_executor::stream_device;
use crate::tensor_handle::TensorHandle;
use crate::variable::Variables;

/// A reference type's number is its element type's plus this.
const REF_OFFSET: c_int = 100;

/// One execution.
pub struct Context<'a> {
    tf: &'static Api,
    raw: *mut TF_OpKernelContext,
    device: &'a Device,
    status: Status,
    inputs: usize,
    outputs: usize,
    variables: Variables,
    held: SmallVec<[TensorHandle; 8]>,
}

impl Context<'_> {
    /// The execution that TensorFlow calls a kernel for.
    ///
    /// # Safety
    /// `raw` is live as long as the result.
    pub unsafe fn new(raw: *mut TF_OpKernelContext) -> Result<Self> {
        let tf = tf()?;
        let status = Status::new(tf);
        // SAFETY: a live context (the caller's promise); its stream is one of ours and outlives the execution.
        unsafe {
            let stream = (tf.TF_GetStream)(raw, status.raw());
            status.check()?;
            let device = stream_device(stream)?;
            let (inputs, outputs) = ((tf.TF_NumInputs)(raw), (tf.TF_NumOutputs)(raw));
            Ok(Self {
                tf,
                raw,
                device,
                status,
                inputs: inputs as usize,
                outputs: outputs as usize,
                variables: Variables::default(),
                held: SmallVec::new(),
            })
        }
    }

    fn check_input(&self, index: usize) -> Result<c_int> {
        if index < self.inputs {
            return Ok(index as c_int);
        }
        Err(Error::internal(format!("input {index} of a node that has {}", self.inputs)))
    }

    fn check_output(&self, index: usize) -> Result<c_int> {
        if index < self.outputs {
            return Ok(index as c_int);
        }
        Err(Error::internal(format!("output {index} of a node that has {}", self.outputs)))
    }

    /// A new handle of an input, which is not a reference.
    fn input_handle(&self, index: c_int) -> Result<TensorHandle> {
        let mut tensor = std::ptr::null_mut();
        // SAFETY: a live context and an index within it; the tensor is ours.
        unsafe {
            (self.tf.TF_GetInput)(self.raw, index, &mut tensor, self.status.raw());
            self.status.check()?;
            TensorHandle::new(self.tf, tensor)
        }
    }

    /// Keeps a handle until the execution ends, and views it.
    fn hold(&mut self, handle: TensorHandle, host_if_empty: bool) -> Result<Tensor> {
        let view = handle.view(|| host_if_empty)?;
        self.held.push(handle);
        Ok(view)
    }

    fn is_host_output(&self, index: c_int) -> bool {
        // SAFETY: a live context and an index within it.
        self.tf.TF_IsHostMemoryOutput.is_some_and(|f| unsafe { f(self.raw, index, self.status.raw()) })
    }
}

/// A tensor that stands for a handle or a reference: a scalar whose elements cannot be read.
fn opaque(dtype: DType) -> Tensor {
    Tensor::on_device(dtype, Shape::scalar(), DevicePtr(0))
}

impl OpKernelContext for Context<'_> {
    fn device(&self) -> &Device {
        self.device
    }

    fn stream(&self) -> &Stream {
        self.device.stream()
    }

    fn num_inputs(&self) -> usize {
        self.inputs
    }

    fn num_outputs(&self) -> usize {
        self.outputs
    }

    fn input(&self, index: usize) -> Result<Tensor> {
        let i = self.check_input(index)?;
        // SAFETY: a live context and an index within it.
        let number = unsafe { (self.tf.TF_InputDatatype)(self.raw, i) };
        if number > REF_OFFSET {
            // TensorFlow aborts when a reference is asked for as a value.
            return Ok(opaque(DType::Resource));
        }
        if let Some(dtype @ (DType::Resource | DType::Variant)) = DType::from_tf(number) {
            return Ok(opaque(dtype));
        }
        let handle = self.input_handle(i)?;
        // The handle may go at once: TensorFlow holds an execution's inputs until it ends.
        handle.view(|| {
            // SAFETY: as above.
            self.tf.TF_IsHostMemoryInput.is_some_and(|f| unsafe { f(self.raw, i, self.status.raw()) })
        })
    }

    fn output_dtype(&self, index: usize) -> Result<DType> {
        let i = self.check_output(index)?;
        // SAFETY: a live context and an index within it.
        let number = unsafe { (self.tf.TF_ExpectedOutputDataType)(self.raw, i) };
        // A reference output (of an old-style variable) has its element type.
        let number = if number > REF_OFFSET { number - REF_OFFSET } else { number };
        DType::from_tf(number).ok_or_else(|| {
            Error::unimplemented(format!("output {index}: TensorFlow's element type number {number} is not supported"))
        })
    }

    fn allocate_output(&mut self, index: usize, dtype: DType, shape: &Shape) -> Result<Tensor> {
        let i = self.check_output(index)?;
        let bytes = shape.byte_size(dtype)?;
        // SAFETY: a live context, an index within it, and dimensions that outlive the call; the tensor is ours.
        let handle = unsafe {
            let dims = shape.dims();
            let status = self.status.raw();
            let raw = (self.tf.TF_AllocateOutput)(self.raw, i, dtype as c_int, dims.as_ptr(), dims.len() as c_int, bytes, status);
            self.status.check()?;
            TensorHandle::new(self.tf, raw)?
        };
        let host = bytes == 0 && self.is_host_output(i);
        self.hold(handle, host)
    }

    fn forward_input_or_allocate_output(
        &mut self,
        candidates: &[usize],
        index: usize,
        dtype: DType,
        shape: &Shape,
    ) -> Result<Tensor> {
        let i = self.check_output(index)?;
        shape.byte_size(dtype)?;
        let candidates: SmallVec<[c_int; 4]> = candidates.iter().filter(|&&c| c < self.inputs).map(|&c| c as c_int).collect();
        // SAFETY: as in allocate_output; the candidates are inputs of the node.
        let handle = unsafe {
            let dims = shape.dims();
            let mut forwarded = -1;
            let raw = (self.tf.TF_ForwardInputOrAllocateOutput)(
                self.raw,
                candidates.as_ptr(),
                candidates.len() as c_int,
                i,
                dims.as_ptr(),
                dims.len() as c_int,
                &mut forwarded,
                self.status.raw(),
            );
            self.status.check()?;
            TensorHandle::new(self.tf, raw)?
        };
        let host = shape.num_elements() == 0 && self.is_host_output(i);
        self.hold(handle, host)
    }

    fn alias_output(&mut self, index: usize, input: usize, dtype: DType, shape: &Shape) -> Result<()> {
        let (i, from) = (self.check_output(index)?, self.check_input(input)?);
        shape.byte_size(dtype)?;
        let (source, alias) = (self.input_handle(from)?, self.input_handle(from)?);
        // SAFETY: two live tensors of ours, dimensions that outlive the call, a live context and an index within it.
        unsafe {
            let (dims, status) = (shape.dims(), self.status.raw());
            let rank = dims.len() as c_int;
            (self.tf.TF_TensorBitcastFrom)(source.raw(), dtype as c_int, alias.raw(), dims.as_ptr(), rank, status);
            self.status.check()?;
            (self.tf.TF_SetOutput)(self.raw, i, alias.raw(), status);
        }
        self.status.check()
    }

    fn allocate_temp(&mut self, dtype: DType, shape: &Shape) -> Result<Tensor> {
        let handle = temp(self.tf, self.raw, &self.status, dtype, shape)?;
        self.hold(handle, false)
    }

    fn read_variable(&mut self, input: usize) -> Result<Tensor> {
        let i = self.check_input(input)?;
        // SAFETY: a live context and an input of it.
        unsafe { self.variables.read(self.tf, self.raw, self.device, i) }
    }

    fn update_variables(&mut self, inputs: &[usize]) -> Result<SmallVec<[Tensor; 4]>> {
        let indices = inputs.iter().map(|&i| self.check_input(i)).collect::<Result<SmallVec<[c_int; 4]>>>()?;
        // SAFETY: a live context and inputs of it.
        unsafe { self.variables.update(self.tf, self.raw, self.device, &indices) }
    }
}

/// Device memory from TensorFlow's allocator.
pub fn temp(
    tf: &'static Api,
    raw: *mut TF_OpKernelContext,
    status: &Status,
    dtype: DType,
    shape: &Shape,
) -> Result<TensorHandle> {
    shape.byte_size(dtype)?;
    let mut attributes = TF_AllocatorAttributes { struct_size: TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE, on_host: 0 };
    // SAFETY: `raw` is the live context of an execution; dimensions and attributes outlive the call; the tensor is ours.
    unsafe {
        let dims = shape.dims();
        let tensor = (tf.TF_AllocateTemp)(raw, dtype as c_int, dims.as_ptr(), dims.len() as c_int, &mut attributes, status.raw());
        status.check()?;
        TensorHandle::new(tf, tensor)
    }
}

/// The device address of a view.
pub fn device_address(view: &Tensor) -> Result<DevicePtr> {
    match view.memory() {
        Memory::Device(pointer) => Ok(pointer),
        Memory::Host(_) => Err(Error::invalid_argument(format!("a variable of {}{} in host memory", view.dtype, view.shape))),
    }
}
