//! A `TF_Tensor` that we own a reference of.

use std::ffi::c_int;

use tf_sys::{Api, TF_Tensor};
use tfvk_device::{DType, DevicePtr, Error, Result, Shape, Tensor, is_device_address};

/// An owned `TF_Tensor`.
pub struct TensorHandle {
    tf: &'static Api,
    raw: *mut TF_Tensor,
}

impl TensorHandle {
    /// Takes over `raw`; an error if it is null.
    ///
    /// # Safety
    /// `raw` is null or a `TF_Tensor` that the caller owns and gives away.
    pub unsafe fn new(tf: &'static Api, raw: *mut TF_Tensor) -> Result<Self> {
        if raw.is_null() { Err(Error::internal("TensorFlow returned no tensor")) } else { Ok(Self { tf, raw }) }
    }

    /// For handing to TensorFlow.
    pub fn raw(&self) -> *mut TF_Tensor {
        self.raw
    }

    /// Its dimensions.
    pub fn shape(&self) -> Shape {
        // SAFETY: a live tensor, and dimension numbers below its rank.
        unsafe { (0..(self.tf.TF_NumDims)(self.raw)).map(|i| (self.tf.TF_Dim)(self.raw, i)).collect() }
    }

    /// Its element type, as TensorFlow's number.
    pub fn dtype_number(&self) -> c_int {
        // SAFETY: a live tensor.
        unsafe { (self.tf.TF_TensorType)(self.raw) }
    }

    /// The address of its elements.
    pub fn data(&self) -> *mut u8 {
        // SAFETY: a live tensor.
        unsafe { (self.tf.TF_TensorData)(self.raw).cast() }
    }

    /// A view of it, on the device or in host memory as its address says. An empty tensor is in host memory if
    /// `host_if_empty` (it has no address to tell by).
    pub fn view(&self, host_if_empty: impl FnOnce() -> bool) -> Result<Tensor> {
        let number = self.dtype_number();
        let dtype = DType::from_tf(number)
            .ok_or_else(|| Error::unimplemented(format!("TensorFlow's element type number {number} is not supported")))?;
        let shape = self.shape();
        let empty = shape.num_elements() == 0;
        // A tensor without elements may have no buffer, which TensorFlow's function does not bear.
        let data = if empty { std::ptr::null_mut() } else { self.data() };
        let on_device = if empty { !host_if_empty() } else { is_device_address(data as u64) };
        if on_device {
            return Ok(Tensor::on_device(dtype, shape, DevicePtr(data as u64)));
        }
        // SAFETY: TensorFlow's tensors are aligned to 64 bytes (a slice of one to its elements), and this handle keeps the
        // memory alive; whoever holds the view holds the handle (see `context`).
        Ok(unsafe { Tensor::from_host(dtype, shape, data) })
    }
}

impl Drop for TensorHandle {
    fn drop(&mut self) {
        // SAFETY: owned, deleted once.
        unsafe { (self.tf.TF_DeleteTensor)(self.raw) }
    }
}
