//! The kernels: every [`KernelDef`] of the operators' registry, registered with TensorFlow once for each combination of its
//! element types; and the three functions through which TensorFlow makes, runs and deletes a kernel.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tf_sys::{Api, TF_KernelBuilder, TF_OpKernelConstruction, TF_OpKernelContext, TF_ShapeInferenceContext, TF_Status};
use tfvk_device::{DType, Error, Result};
use tfvk_ops::elementwise::{FUSED_OP, UPDATE_OP};
use tfvk_ops::{KernelDef, OpKernel, OpKernelConstruction, registry};

use crate::construction::Node;
use crate::context::Context;
use crate::status::{Status, tf};
use crate::{builtin_kernels, guard, log, platform, status};

/// Above TensorFlow's own "GPU" kernels, whose highest is 1.
const PRIORITY: i32 = 2;

/// What TensorFlow holds for a node.
struct Kernel {
    def: &'static KernelDef,
    /// An error is told when the node is executed. Told at once it would leave behind what was sent to the node from
    /// another device: TensorFlow 2.21's eager mode hands that to the next op that waits for an input of the same name.
    kernel: Result<Box<dyn OpKernel>>,
}

/// Registers all kernels, if there are devices.
pub fn init() -> Result<()> {
    // Once, though this library may be loaded again under another name.
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    let Some(device_type) = platform::device_type() else { return Ok(()) };
    if REGISTERED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    guard::logging("hiding TensorFlow's own kernels", || builtin_kernels::hide(&device_type.to_string_lossy()));
    let tf = tf()?;
    define_fused(tf)?;
    let mut refused = Vec::new();
    let mut count = 0;
    for def in registry::all() {
        for types in combinations(def) {
            match register(tf, device_type, def, &types) {
                Ok(()) => count += 1,
                Err(error) => refused.push(format!("{} {types:?}: {error}", def.op)),
            }
        }
    }
    log::debug(|| format!("registered {count} kernels; not {refused:#?}"));
    Ok(())
}

/// Every combination of the element types of a declaration's constraints.
fn combinations(def: &KernelDef) -> Vec<Vec<(&'static str, DType)>> {
    let mut all = vec![Vec::new()];
    for constraint in def.types {
        all = all
            .into_iter()
            .flat_map(|types| constraint.dtypes.iter().map(move |&dtype| [&types[..], &[(constraint.attr, dtype)]].concat()))
            .collect();
    }
    all
}

/// A builder that is deleted unless it was handed over.
struct Builder {
    tf: &'static Api,
    raw: *mut TF_KernelBuilder,
}

impl Drop for Builder {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: made by TF_NewKernelBuilder and not handed over.
            unsafe { (self.tf.TF_DeleteKernelBuilder)(self.raw) }
        }
    }
}

fn register(tf: &'static Api, device_type: &CString, def: &KernelDef, types: &[(&str, DType)]) -> Result<()> {
    let c_string = |s: &str| CString::new(s).map_err(|_| Error::internal("a name with a zero byte"));
    let (op, status) = (c_string(def.op)?, Status::new(tf));
    // SAFETY: the strings outlive the calls (TensorFlow copies them); the builder is live until it is handed over; the
    // three functions have the types that TensorFlow calls them with.
    unsafe {
        let raw = (tf.TF_NewKernelBuilder)(op.as_ptr(), device_type.as_ptr(), Some(create), Some(compute), Some(delete));
        let mut builder = Builder { tf, raw };
        for (attribute, dtype) in types {
            let attribute = c_string(attribute)?;
            (tf.TF_KernelBuilder_TypeConstraint)(raw, attribute.as_ptr(), *dtype as i32, status.raw());
            // Without the constraint the kernel would be registered for every type.
            status.check()?;
        }
        for argument in def.host_memory {
            (tf.TF_KernelBuilder_HostMemory)(raw, c_string(argument)?.as_ptr());
        }
        (tf.TF_KernelBuilder_Priority)(raw, PRIORITY);
        builder.raw = std::ptr::null_mut();
        (tf.TF_RegisterKernelBuilder)(op.as_ptr(), raw, status.raw());
    }
    status.check()
}

/// The declaration that serves this node: of those of its op, the one whose constraints hold.
fn find(node: &Node) -> Result<&'static KernelDef> {
    static BY_OP: OnceLock<HashMap<&'static str, Vec<&'static KernelDef>>> = OnceLock::new();
    let by_op = BY_OP.get_or_init(|| {
        let mut map: HashMap<_, Vec<_>> = HashMap::new();
        for def in registry::all() {
            map.entry(def.op).or_default().push(def);
        }
        map
    });
    let serves = |def: &&KernelDef| def.types.iter().all(|c| node.dtype(c.attr).is_ok_and(|d| c.dtypes.contains(&d)));
    let found = by_op.get(node.op()).and_then(|defs| defs.iter().copied().find(serves));
    found.ok_or_else(|| Error::internal(format!("no kernel of tensorflow-vulkan serves this {} node", node.op())))
}

unsafe extern "C" fn create(construction: *mut TF_OpKernelConstruction) -> *mut c_void {
    let made = guard::catch(|| {
        // SAFETY: TensorFlow passes a live construction.
        let node = unsafe { Node::of(construction) }?;
        let def = find(&node)?;
        let kernel = guard::catch(|| Ok(tfvk_ops::create(def, &node))).map_err(|e| e.context(def.op)).and_then(|made| made);
        Ok(Box::new(Kernel { def, kernel }))
    });
    match made {
        Ok(kernel) => Box::into_raw(kernel).cast(),
        Err(error) => {
            if let Ok(tf) = tf() {
                let status = Status::new(tf);
                status::set(status.raw(), &error);
                // SAFETY: a live construction and a live status.
                unsafe { (tf.TF_OpKernelConstruction_Failure)(construction, status.raw()) }
            }
            std::ptr::null_mut()
        }
    }
}

unsafe extern "C" fn compute(kernel: *mut c_void, context: *mut TF_OpKernelContext) {
    let result = guard::catch(|| {
        // SAFETY: what `create` returned for this node; TensorFlow deletes it only when no execution is under way.
        let kernel = unsafe { kernel.cast::<Kernel>().as_ref() };
        let kernel = kernel.ok_or_else(|| Error::internal("a kernel that could not be made"))?;
        let made = kernel.kernel.as_ref().map_err(Clone::clone)?;
        // SAFETY: TensorFlow passes a live context for the time of this call.
        let mut context = unsafe { Context::new(context) }?;
        // A guard of its own, so that the report of a fault names the op.
        guard::catch(|| Ok(tfvk_ops::run(kernel.def, &**made, &mut context))).map_err(|e| e.context(kernel.def.op))?
    });
    if let (Err(error), Ok(tf)) = (result, tf()) {
        let status = Status::new(tf);
        status::set(status.raw(), &error);
        // SAFETY: a live context and a live status.
        unsafe { (tf.TF_OpKernelContext_Failure)(context, status.raw()) }
    }
}

unsafe extern "C" fn delete(kernel: *mut c_void) {
    guard::logging("deleting a kernel", || {
        if !kernel.is_null() {
            // SAFETY: made by `create`, deleted once.
            drop(unsafe { Box::from_raw(kernel.cast::<Kernel>()) });
        }
        Ok(())
    });
}

/// Tells TensorFlow the operators that the graph pass puts in the place of several.
fn define_fused(tf: &'static Api) -> Result<()> {
    let attributes = [c"A: int >= 0", c"Tin: list(type) >= 1", c"Tout: list(type) >= 1", c"program: string"];
    define(tf, FUSED_OP, false, &attributes, &[c"args: Tin", c"axes: A * int32"])?;
    let attributes = [c"N: int >= 1", c"A: int >= 0", c"Tin: list(type) >= 0", c"Tout: list(type) >= 0", c"program: string"];
    define(tf, UPDATE_OP, true, &attributes, &[c"variables: N * resource", c"args: Tin", c"axes: A * int32"])
}

fn define(tf: &'static Api, op: &str, stateful: bool, attributes: &[&CStr], inputs: &[&CStr]) -> Result<()> {
    let status = Status::new(tf);
    let name = CString::new(op).map_err(|_| Error::internal("a name with a zero byte"))?;
    // SAFETY: the strings outlive the calls; the builder is handed over by the last.
    unsafe {
        let builder = (tf.TF_NewOpDefinitionBuilder)(name.as_ptr());
        attributes.iter().for_each(|a| (tf.TF_OpDefinitionBuilderAddAttr)(builder, a.as_ptr()));
        inputs.iter().for_each(|i| (tf.TF_OpDefinitionBuilderAddInput)(builder, i.as_ptr()));
        (tf.TF_OpDefinitionBuilderAddOutput)(builder, c"results: Tout".as_ptr());
        (tf.TF_OpDefinitionBuilderSetIsStateful)(builder, stateful);
        (tf.TF_OpDefinitionBuilderSetShapeInferenceFunction)(builder, Some(unknown_shape));
        (tf.TF_RegisterOpDefinition)(builder, status.raw());
    }
    status.check()
}

unsafe extern "C" fn unknown_shape(context: *mut TF_ShapeInferenceContext, status: *mut TF_Status) {
    if let Ok(tf) = tf() {
        // SAFETY: TensorFlow passes a live context and a live status.
        unsafe { (tf.TF_ShapeInferenceContextSetUnknownShape)(context, status) }
    }
}
