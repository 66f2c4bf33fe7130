//! Variables of one execution: reading a value, updating values in place.
//!
//! TensorFlow's own functions for this come and go with its versions (there up to 2.18, not from 2.19 to 2.22, there again
//! after); without them [`variable_layout`](crate::variable_layout) reaches the value itself. The rules are the same, and
//! those of TensorFlow's own kernels: an update happens under the variable's lock; a value that a reader still holds is
//! copied first; the lock is held while the work is recorded, not while the device does it, for the stream keeps the order.

use std::ffi::c_int;

use smallvec::SmallVec;
use tf_sys::{Api, CopyFn, TF_OpKernelContext, TF_Tensor, TF_VariableInputLockHolder};
use tfvk_device::{Code, Device, DevicePtr, Error, Result, Tensor};

use crate::context::device_address;
use crate::status::{Status, tf};
use crate::stream_executor::stream_device;
use crate::tensor_handle::TensorHandle;
use crate::variable_layout::{Locked, VariableRef};
use crate::{guard, status};

/// What an execution holds of its variables: released, locks last, when it ends.
#[derive(Default)]
pub struct Variables {
    // Field order is drop order.
    values: SmallVec<[TensorHandle; 4]>,
    locked: SmallVec<[Locked; 4]>,
    holders: SmallVec<[LockHolder; 1]>,
}

/// TensorFlow's functions for variables, where they exist.
struct Functions {
    lock: unsafe extern "C" fn(
        *mut TF_OpKernelContext,
        bool,
        bool,
        *const c_int,
        usize,
        CopyFn,
        *mut *mut TF_VariableInputLockHolder,
        *mut tf_sys::TF_Status,
    ),
    release: unsafe extern "C" fn(*mut TF_VariableInputLockHolder),
    get: unsafe extern "C" fn(
        *mut TF_OpKernelContext,
        c_int,
        bool,
        bool,
        bool,
        CopyFn,
        *mut *mut TF_Tensor,
        *mut tf_sys::TF_Status,
    ),
}

impl Functions {
    fn of(tf: &Api) -> Option<Self> {
        Some(Self {
            lock: tf.TF_MaybeLockVariableInputMutexesInOrder?,
            release: tf.TF_ReleaseVariableInputLockHolder?,
            get: tf.TF_GetInputTensorFromVariable?,
        })
    }
}

/// A lock that TensorFlow took for us.
struct LockHolder {
    release: unsafe extern "C" fn(*mut TF_VariableInputLockHolder),
    raw: *mut TF_VariableInputLockHolder,
}

impl Drop for LockHolder {
    fn drop(&mut self) {
        // SAFETY: from TensorFlow's lock function, released once.
        unsafe { (self.release)(self.raw) }
    }
}

impl Variables {
    /// The value of the variable that input `input` names.
    ///
    /// # Safety
    /// `raw` is the live context of an execution on `device`, and `input` one of its resource or reference inputs.
    pub unsafe fn read(
        &mut self,
        tf: &'static Api,
        raw: *mut TF_OpKernelContext,
        device: &Device,
        input: c_int,
    ) -> Result<Tensor> {
        // SAFETY: the caller's promise, passed on.
        let handle = unsafe {
            match Functions::of(tf) {
                Some(functions) => {
                    // The lock goes at the end of this block; the handle keeps the value.
                    let _lock = lock(&functions, tf, raw, &[input])?;
                    get(&functions, tf, raw, input)?
                }
                None => VariableRef::of(tf, raw, input)?.lock(device)?.value()?,
            }
        };
        let view = view(&handle)?;
        self.values.push(handle);
        Ok(view)
    }

    /// The values of the variables that `inputs` name, locked until the execution ends, to write.
    ///
    /// # Safety
    /// As [`read`](Self::read).
    pub unsafe fn update(
        &mut self,
        tf: &'static Api,
        raw: *mut TF_OpKernelContext,
        device: &Device,
        inputs: &[c_int],
    ) -> Result<SmallVec<[Tensor; 4]>> {
        // SAFETY: the caller's promise, passed on.
        unsafe {
            if let Some(functions) = Functions::of(tf) {
                self.holders.push(lock(&functions, tf, raw, inputs)?);
                let mut views = SmallVec::new();
                for (n, &input) in inputs.iter().enumerate() {
                    // TensorFlow counts the handle of a variable named twice as a reader of its first.
                    let handle = get(&functions, tf, raw, input)?;
                    let same = inputs[..n].iter().position(|&earlier| earlier == input);
                    views.push(match same {
                        Some(first) => <SmallVec<[Tensor; 4]> as AsRef<[Tensor]>>::as_ref(&views)[first].clone(),
                        None => view(&handle)?,
                    });
                    self.values.push(handle);
                }
                return Ok(views);
            }
            let variables = inputs.iter().map(|&i| VariableRef::of(tf, raw, i)).collect::<Result<SmallVec<[_; 4]>>>()?;
            // One order for all executions, so that two cannot wait for each other; each variable once.
            let mut order: SmallVec<[usize; 4]> = (0..variables.len()).collect();
            order.sort_by_key(|&i| variables[i].identity());
            order.dedup_by_key(|i| variables[*i].identity());
            let first = self.locked.len();
            for &i in &order {
                self.locked.push(variables[i].lock(device)?);
            }
            let mut views: SmallVec<[Tensor; 4]> = SmallVec::new();
            for variable in &variables {
                let at = order.iter().position(|&i| variables[i].identity() == variable.identity());
                let at = first + at.ok_or_else(|| Error::internal("a variable that was not locked"))?;
                views.push(self.locked[at].to_update(raw, device)?);
            }
            Ok(views)
        }
    }
}

/// A view of a variable's value.
pub fn view(handle: &TensorHandle) -> Result<Tensor> {
    let view = handle.view(|| false)?;
    device_address(&view)?;
    Ok(view)
}

/// # Safety
/// As [`Variables::read`].
unsafe fn lock(functions: &Functions, tf: &'static Api, raw: *mut TF_OpKernelContext, inputs: &[c_int]) -> Result<LockHolder> {
    // TensorFlow locks the variables of inputs 0 to n - 1, whichever n inputs are named: name all up to the highest.
    let n = inputs.iter().max().map_or(0, |&i| i + 1);
    let all: SmallVec<[c_int; 4]> = (0..n).collect();
    let status = Status::new(tf);
    let mut holder = std::ptr::null_mut();
    // SAFETY: a live context and inputs of it; the list and the place for the result outlive the call.
    unsafe {
        for &input in &all {
            let number = (tf.TF_InputDatatype)(raw, input);
            if number != tfvk_device::DType::Resource as c_int && number < 100 {
                return Err(Error::internal(format!("input {input} is not a variable, but one after it is")));
            }
        }
        (functions.lock)(raw, true, false, all.as_ptr(), all.len(), copy_value, &mut holder, status.raw());
    }
    status.check()?;
    Ok(LockHolder { release: functions.release, raw: holder })
}

/// The value of a locked variable, copied first if someone else holds it.
///
/// # Safety
/// As [`Variables::read`]; the variable is locked.
unsafe fn get(functions: &Functions, tf: &'static Api, raw: *mut TF_OpKernelContext, input: c_int) -> Result<TensorHandle> {
    let status = Status::new(tf);
    let mut tensor = std::ptr::null_mut();
    // SAFETY: the caller's promise; the tensor is ours.
    unsafe {
        (functions.get)(raw, input, true, false, false, copy_value, &mut tensor, status.raw());
        status.check()?;
        if tensor.is_null() {
            return Err(Error::new(Code::FailedPrecondition, format!("input {input} names no variable that can be read")));
        }
        TensorHandle::new(tf, tensor)
    }
}

/// Copies a variable's value for TensorFlow, which gives both tensors away.
unsafe extern "C" fn copy_value(raw: *mut TF_OpKernelContext, source: *mut TF_Tensor, dest: *mut TF_Tensor) {
    let copied = guard::catch(|| {
        let tf = tf()?;
        // SAFETY: TensorFlow passes the live context of an execution on a stream of ours, and two tensors that are ours.
        unsafe {
            let (source, dest) = (TensorHandle::new(tf, source), TensorHandle::new(tf, dest));
            let status = Status::new(tf);
            let stream = (tf.TF_GetStream)(raw, status.raw());
            status.check()?;
            let device = stream_device(stream)?;
            copy_device(device, &view(&source?)?, &view(&dest?)?)
        }
    });
    if let (Err(error), Ok(tf)) = (copied, tf()) {
        let status = Status::new(tf);
        status::set(status.raw(), &error);
        // SAFETY: a live context and a live status.
        unsafe { (tf.TF_OpKernelContext_Failure)(raw, status.raw()) }
    }
}

/// Copies all elements of a tensor, in stream order.
pub fn copy_device(device: &Device, source: &Tensor, dest: &Tensor) -> Result<()> {
    let (from, to): (DevicePtr, DevicePtr) = (device_address(source)?, device_address(dest)?);
    match source.bytes() {
        0 => Ok(()),
        n if n == dest.bytes() => tfvk_ops::copy::copy_bytes(device, device.stream(), to, from, n),
        n => Err(Error::internal(format!("a copy of {n} bytes to {}", dest.bytes()))),
    }
}
