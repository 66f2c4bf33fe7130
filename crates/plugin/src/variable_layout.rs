//! A variable's value through TensorFlow's own memory, for the versions that export no function for it (2.19 and later).
//!
//! What is assumed is small, the same in 2.19, 2.20 and 2.21 (read from their headers), and checked before it is used: the object's virtual table is
//! `tensorflow::Var`'s, sizes agree, flags are flags, and a tensor of ours has its parts where a variable's must be. Where a
//! check fails, every operator on variables fails with one sentence, and nothing is touched.
//!
//! ```text
//! resource input --TF_TensorData--> ResourceHandle (200 bytes) --+192--> Var
//! Var: +0 virtual table, +8 reference count, +24 is_initialized, +25 copy_on_read_mode, +32 absl::Mutex, +40 Tensor
//! Tensor (32 bytes): shape and type 24, +24 TensorBuffer*;   TensorBuffer: +8 reference count, +16 data
//! TF_Tensor: +0 TensorInterface*;   TensorInterface: +8 Tensor
//! ```
//! A `Tensor` may be moved byte by byte: so a value is read by swapping it into a `TF_Tensor` of ours, using TensorFlow's
//! functions on that, and swapping it back, under the lock.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use tf_sys::{Api, TF_OpKernelContext, symbol};
use tfvk_device::{Code, DType, Device, Error, Result, Shape, Tensor};

use crate::context::temp;
use crate::status::Status;
use crate::tensor_handle::TensorHandle;
use crate::variable::{copy_device, view};

const HANDLE_SIZE: usize = 200;
const HANDLE_RESOURCE: usize = 192;
const VAR_IS_INITIALIZED: usize = 24;
const VAR_MUTEX: usize = 32;
const VAR_TENSOR: usize = 40;
const TENSOR_BUFFER: usize = 24;
const BUFFER_DATA: usize = 16;
const INTERFACE_TENSOR: usize = 8;
/// Where a virtual table's first function is, from its symbol on.
const VTABLE_START: usize = 16;

/// A `tensorflow::Tensor`'s bytes.
type RawTensor = [u64; 4];

type MutexFn = unsafe extern "C" fn(*mut c_void);
/// `absl::Status tensorflow::LookupResource(OpKernelContext*, const ResourceHandle&, ResourceBase**)`; a status is returned
/// through a pointer, and is 1 when OK.
type LookupFn = unsafe extern "C" fn(*mut usize, *mut TF_OpKernelContext, *const u8, *mut *mut u8);

/// The mutex's functions, by Abseil's version: TensorFlow 2.21, 2.20, 2.19.
const LOCKS: [(&CStr, &CStr); 3] = [
    (c"_ZN4absl12lts_202508145Mutex4lockEv", c"_ZN4absl12lts_202508145Mutex6unlockEv"),
    (c"_ZN4absl12lts_202501275Mutex4LockEv", c"_ZN4absl12lts_202501275Mutex6UnlockEv"),
    (c"_ZN4absl12lts_202308025Mutex4LockEv", c"_ZN4absl12lts_202308025Mutex6UnlockEv"),
];

/// What was found in the loaded TensorFlow.
struct Layout {
    var_vtable: usize,
    lock: MutexFn,
    unlock: MutexFn,
    ref_count_is_one: unsafe extern "C" fn(*const c_void) -> bool,
    lookup: LookupFn,
}

fn unknown(what: &str) -> Error {
    Error::unimplemented(format!(
        "this TensorFlow exports no function for variables and keeps them in a way that tensorflow-vulkan does not know \
         ({what}): place the variables on the CPU, or use a TensorFlow from 2.16 to 2.21"
    ))
}

fn layout(tf: &'static Api) -> Result<&'static Layout> {
    static LAYOUT: OnceLock<Result<Layout>> = OnceLock::new();
    LAYOUT.get_or_init(|| Layout::find(tf)).as_ref().map_err(Clone::clone)
}

impl Layout {
    fn find(tf: &'static Api) -> Result<Self> {
        let get = |name: &CStr| symbol(name).ok_or_else(|| unknown(&name.to_string_lossy()));
        // Up to 2.18 the mutex was of another kind and 16 bytes long; those versions export functions for variables.
        if symbol(c"_ZN3tsl5mutex4lockEv").is_some() {
            return Err(unknown("tsl::mutex"));
        }
        let locks = LOCKS.iter().find_map(|(lock, unlock)| Some((symbol(lock)?, symbol(unlock)?)));
        let (lock, unlock) = locks.ok_or_else(|| unknown("absl::Mutex"))?;
        // SAFETY: the mangled names give these functions these types (a member function's first argument is `this`).
        let layout = unsafe {
            Layout {
                var_vtable: get(c"_ZTVN10tensorflow3VarE")? as usize + VTABLE_START,
                lock: std::mem::transmute::<*const c_void, MutexFn>(lock),
                unlock: std::mem::transmute::<*const c_void, MutexFn>(unlock),
                ref_count_is_one: std::mem::transmute::<*const c_void, unsafe extern "C" fn(*const c_void) -> bool>(get(
                    c"_ZNK10tensorflow6Tensor13RefCountIsOneEv",
                )?),
                lookup: std::mem::transmute::<*const c_void, LookupFn>(get(
                    c"_ZN10tensorflow14LookupResourceEPNS_15OpKernelContextERKNS_14ResourceHandleEPPNS_12ResourceBaseE",
                )?),
            }
        };
        layout.test(tf)?;
        Ok(layout)
    }

    /// A tensor of our own must have its parts where a variable's must be.
    fn test(&self, tf: &'static Api) -> Result<()> {
        let probe = scratch(tf)?;
        let tensor = raw_tensor(&probe);
        // SAFETY: a live TF_Tensor holds a TensorInterface, which is larger than what is read here in every version; the
        // buffer is read only once it is known to point at the tensor's data.
        unsafe {
            let buffer = *tensor.cast::<u8>().add(TENSOR_BUFFER).cast::<*const u8>();
            if buffer.is_null() || buffer as usize % 8 != 0 {
                return Err(unknown("tensorflow::Tensor"));
            }
            let data = *buffer.add(BUFFER_DATA).cast::<*const u8>();
            if data != probe.data().cast_const() {
                return Err(unknown("tensorflow::TensorBuffer"));
            }
            if !(self.ref_count_is_one)(tensor.cast()) {
                return Err(unknown("the reference count of a tensor"));
            }
        }
        Ok(())
    }
}

/// A tensor of ours to swap a value into: a scalar in host memory.
fn scratch(tf: &'static Api) -> Result<TensorHandle> {
    // SAFETY: a scalar has no dimensions; the tensor is ours.
    unsafe { TensorHandle::new(tf, (tf.TF_AllocateTensor)(DType::F32 as c_int, std::ptr::null(), 0, 4)) }
}

/// Where a `TF_Tensor` has its `tensorflow::Tensor`.
fn raw_tensor(handle: &TensorHandle) -> *mut RawTensor {
    // SAFETY: a TF_Tensor starts with the pointer to its TensorInterface; the address alone is computed.
    unsafe { handle.raw().cast::<*mut u8>().read().add(INTERFACE_TENSOR).cast() }
}

/// A variable, with a reference of ours or kept alive by the handle in the execution's input.
pub struct VariableRef {
    tf: &'static Api,
    layout: &'static Layout,
    var: *mut u8,
    /// Whether the reference is ours.
    owned: bool,
}

impl VariableRef {
    /// The variable that resource input `input` names.
    ///
    /// # Safety
    /// `raw` is the live context of an execution, and `input` one of its inputs; the result is dropped before it ends.
    pub unsafe fn of(tf: &'static Api, raw: *mut TF_OpKernelContext, input: c_int) -> Result<Self> {
        let layout = layout(tf)?;
        let status = Status::new(tf);
        let mut tensor = std::ptr::null_mut();
        // SAFETY: the caller's promise; the handle's size is checked before it is read.
        unsafe {
            if (tf.TF_InputDatatype)(raw, input) != DType::Resource as c_int {
                return Err(Error::unimplemented(format!("input {input}: a variable of TensorFlow 1 (a reference)")));
            }
            (tf.TF_GetInput)(raw, input, &mut tensor, status.raw());
            status.check()?;
            let handle = TensorHandle::new(tf, tensor)?;
            if (tf.TF_TensorByteSize)(handle.raw()) != HANDLE_SIZE {
                return Err(unknown("tensorflow::ResourceHandle"));
            }
            let data = handle.data().cast_const();
            let mut var = data.add(HANDLE_RESOURCE).cast::<*mut u8>().read();
            let owned = var.is_null();
            if owned {
                // A handle by name: TensorFlow 1, and a function's captured variable after loading.
                let mut outcome = 0;
                (layout.lookup)(&mut outcome, raw, data, &mut var);
                if outcome != 1 || var.is_null() {
                    return Err(Error::new(Code::FailedPrecondition, format!("input {input} names no variable")));
                }
            }
            let found = Self { tf, layout, var, owned };
            if var as usize % 8 != 0 || var.cast::<usize>().read() != layout.var_vtable {
                return Err(unknown("tensorflow::Var"));
            }
            let flags = [var.add(VAR_IS_INITIALIZED).read(), var.add(VAR_IS_INITIALIZED + 1).read()];
            if flags.iter().any(|&flag| flag > 1) {
                return Err(unknown("the flags of a tensorflow::Var"));
            }
            Ok(found)
        }
    }

    /// Equal for two references to one variable; locks are taken in its order.
    pub fn identity(&self) -> usize {
        self.var as usize
    }

    /// Locks the variable, and checks that it has a value.
    ///
    /// # Safety
    /// The execution that the reference is of has not ended, nor does it before the result is dropped.
    pub unsafe fn lock(&self, _device: &Device) -> Result<Locked> {
        // SAFETY: a Var's mutex; taken once by this thread (the caller sorts out repetitions).
        unsafe {
            (self.layout.lock)(self.var.add(VAR_MUTEX).cast());
            if self.owned {
                add_reference(self.var);
            }
        }
        let locked = Locked { tf: self.tf, layout: self.layout, var: self.var, owned: self.owned };
        // SAFETY: locked.
        if unsafe { self.var.add(VAR_IS_INITIALIZED).read() } == 0 {
            return Err(Error::new(Code::FailedPrecondition, "the variable has no value yet"));
        }
        Ok(locked)
    }
}

impl Drop for VariableRef {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: the look-up gave us a reference.
            unsafe { remove_reference(self.var) }
        }
    }
}

/// # Safety
/// `var` is a live `Var`.
unsafe fn reference_count<'a>(var: *mut u8) -> &'a std::sync::atomic::AtomicI64 {
    // SAFETY: the count is an atomic of 64 bits at this place.
    unsafe { &*var.add(8).cast() }
}

unsafe fn add_reference(var: *mut u8) {
    // SAFETY: the caller has a reference.
    unsafe { reference_count(var) }.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
}

unsafe fn remove_reference(var: *mut u8) {
    use std::sync::atomic::Ordering::{AcqRel, Acquire};
    // SAFETY: the caller has a reference. The last one is kept: only TensorFlow can delete the object, and only a variable
    // that is destroyed while an operator runs on it comes here with the last reference.
    let count = unsafe { reference_count(var) };
    let _ = count.fetch_update(AcqRel, Acquire, |n| (n > 1).then_some(n - 1));
}

/// A locked variable that has a value.
pub struct Locked {
    tf: &'static Api,
    layout: &'static Layout,
    var: *mut u8,
    owned: bool,
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: locked by this thread, unlocked once.
        unsafe {
            (self.layout.unlock)(self.var.add(VAR_MUTEX).cast());
            if self.owned {
                remove_reference(self.var);
            }
        }
    }
}

/// The variable's value, swapped into a tensor of ours; swapped back when dropped.
struct Swapped<'a> {
    locked: &'a Locked,
    handle: TensorHandle,
}

impl<'a> Swapped<'a> {
    fn new(locked: &'a Locked) -> Result<Self> {
        let swapped = Self { locked, handle: scratch(locked.tf)? };
        swapped.swap();
        Ok(swapped)
    }

    fn swap(&self) {
        // SAFETY: both are whole tensors; a tensor may be moved byte by byte; the variable's is under its lock.
        unsafe { std::ptr::swap(raw_tensor(&self.handle), self.locked.var.add(VAR_TENSOR).cast::<RawTensor>()) }
    }
}

impl Drop for Swapped<'_> {
    fn drop(&mut self) {
        self.swap();
    }
}

impl Locked {
    /// A handle of the value, which keeps it as it is.
    pub fn value(&self) -> Result<TensorHandle> {
        let swapped = Swapped::new(self)?;
        let (shape, number) = (swapped.handle.shape(), swapped.handle.dtype_number());
        let (copy, status) = (scratch(self.tf)?, Status::new(self.tf));
        // SAFETY: two live tensors and dimensions that outlive the call.
        unsafe {
            let (from, rank) = (swapped.handle.raw(), shape.rank() as c_int);
            (self.tf.TF_TensorBitcastFrom)(from, number, copy.raw(), shape.dims().as_ptr(), rank, status.raw());
        }
        status.check()?;
        Ok(copy)
    }

    /// A view of the value, which nobody else holds: if someone does, the variable gets a copy.
    ///
    /// # Safety
    /// `raw` is the live context of the execution, on `device`.
    pub unsafe fn to_update(&self, raw: *mut TF_OpKernelContext, device: &Device) -> Result<Tensor> {
        let swapped = Swapped::new(self)?;
        let current = view(&swapped.handle)?;
        // SAFETY: a whole tensor.
        if current.num_elements() == 0 || unsafe { (self.layout.ref_count_is_one)(raw_tensor(&swapped.handle).cast()) } {
            return Ok(current);
        }
        let shape: &Shape = &current.shape;
        let fresh = temp(self.tf, raw, &Status::new(self.tf), current.dtype, shape)?;
        let copy = view(&fresh)?;
        copy_device(device, &current, &copy)?;
        // The fresh value goes where the variable's is now, and back with it; the old one goes with `fresh`.
        // SAFETY: two whole tensors of ours.
        unsafe { std::ptr::swap(raw_tensor(&swapped.handle), raw_tensor(&fresh)) };
        Ok(copy)
    }
}
