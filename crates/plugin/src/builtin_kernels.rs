//! TensorFlow's own "GPU" kernels, in a wheel that was built for CUDA: hidden, as they would be run on our device pointers.
//!
//! Such a wheel registers some 5,000 kernels for devices of type GPU. Where this plug-in has none for an op, TensorFlow would
//! place the op on the device all the same and crash in CUDA's kernel. Without them it does what `tensorflow-cpu` does: such
//! an op goes to the CPU. There is no public way to take a kernel back, so its key in TensorFlow's registry, a
//! `std::unordered_multimap` from "Op:device:label" to kernels, is made one that nobody looks for. The bytes of the registry
//! are read as a file, and before one is changed every key of it has been compared with the list of kernels that TensorFlow's
//! public interface gives: where the layout is not the known one, nothing is touched and the user is told.
//!
//! Called once, before the kernels of this plug-in are registered. Knows no op of ours.

use std::ffi::CString;

use tf_sys::{Api, TF_Buffer, symbol};
use tfvk_device::{Error, Result};

use crate::log;
use crate::status::{Status, tf};
use crate::wire::{Field, fields};

/// What `tensorflow-cpu` registers for GPU devices as well, in 2.16 to 2.21: control flow, iterators, shapes; none touches
/// the elements of a tensor in device memory.
#[rustfmt::skip]
const KEPT: [&str; 108] = [
    "AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3", "BatchFunction", "CheckPinned",
    "CollectiveAllToAllV3", "CollectiveGather", "CollectiveInitializeCommunicator", "CollectiveReduce",
    "CollectiveReduceV3", "DataServiceDatasetV4", "DebugGradientIdentity", "DeleteIterator", "DeserializeSparse",
    "DummyIterationCounter", "Enter", "Exit", "ExperimentalMapDataset", "ExperimentalSleepDataset", "Fact",
    "FinalizeDataset", "GeneratorDataset", "GetOptions", "Identity", "IsTensorFloat32Enabled",
    "IteratorFromStringHandleV2", "IteratorGetNext", "IteratorGetNextAsOptional", "IteratorGetNextSync",
    "IteratorToStringHandle", "IteratorV2", "MakeIterator", "Merge", "NextIteration", "OptionalFromValue",
    "OptionalGetValue", "OptionalHasValue", "OptionalNone", "OptionsDataset", "PlaceholderWithDefault", "PrefetchDataset",
    "PreventGradient", "RaggedTensorFromVariant", "RefEnter", "RefExit", "RefIdentity", "RefMerge", "RefNextIteration",
    "RefSwitch", "Reshape", "SleepDataset", "SquaredDifference", "StopGradient", "Switch", "TensorArrayClose",
    "TensorArrayCloseV2", "TensorArrayCloseV3", "TensorArrayGrad", "TensorArrayGradV2", "TensorArrayGradV3",
    "TensorArrayGradWithShape", "TensorArraySize", "TensorArraySizeV2", "TensorArraySizeV3", "UnwrapDatasetVariant",
    "WrapDatasetVariant", "XlaBroadcastHelper", "XlaCallModule", "XlaConv", "XlaConvV2", "XlaDequantize", "XlaDot",
    "XlaDotV2", "XlaDynamicSlice", "XlaDynamicUpdateSlice", "XlaEinsum", "XlaGather", "XlaIf", "XlaKeyValueSort",
    "XlaLaunch", "XlaOptimizationBarrier", "XlaPad", "XlaRecv", "XlaReduce", "XlaReducePrecision", "XlaReduceWindow",
    "XlaReplicaId", "XlaRngBitGenerator", "XlaScatter", "XlaSelectAndScatter", "XlaSelfAdjointEig", "XlaSend",
    "XlaSharding", "XlaSort", "XlaSpmdShardToFullShape", "XlaSvd", "XlaVariadicReduce", "XlaVariadicReduceV2",
    "XlaVariadicSort", "XlaWhile", "_EagerConst", "_ScopedAllocator", "_ScopedAllocatorConcat", "_ScopedAllocatorSplit",
    "_SwitchN", "_XlaCompile", "_XlaMerge", "_XlaRun",
];

/// An op that has a kernel for GPU devices in a wheel built for CUDA, and none in any other.
const TELLS: &str = "MatMul";
const GPU: &str = "GPU";
/// As long as [`GPU`], and no device's type.
const NOBODY: &[u8; 3] = b"gpu";

// Fields of KernelList and KernelDef (tensorflow/core/framework/kernel_def.proto).
const LIST_KERNEL: u32 = 1;
const KERNEL_OP: u32 = 1;
const KERNEL_DEVICE: u32 = 2;
const KERNEL_LABEL: u32 = 5;

/// A registered kernel, as far as its key goes.
#[derive(Clone, Debug, Default, PartialEq)]
struct Registered {
    op: String,
    device: String,
    label: String,
}

impl Registered {
    fn key(&self) -> String {
        format!("{}:{}:{}", self.op, self.device, self.label)
    }

    fn is_unwanted(&self) -> bool {
        self.device == GPU && !KEPT.contains(&self.op.as_str())
    }
}

/// Hides them, if there are any. `device_type` is that of our devices: another than GPU meets none of them.
pub fn hide(device_type: &str) -> Result<()> {
    let tf = tf()?;
    if device_type != GPU || !built_for_cuda(tf)? {
        return Ok(());
    }
    match all(tf).and_then(|kernels| rename(&kernels)) {
        Ok(count) => log::debug(|| format!("this TensorFlow was built for CUDA: {count} kernels of its own are hidden")),
        Err(error) => log::notice(format_args!(
            "this TensorFlow was built for CUDA, and its own kernels could not be hidden ({error}): an op that \
             tensorflow-vulkan lacks may crash the process; use the package tensorflow-cpu"
        )),
    }
    Ok(())
}

fn built_for_cuda(tf: &'static Api) -> Result<bool> {
    let Some(ask) = tf.TF_GetRegisteredKernelsForOp else { return Ok(false) };
    let (op, status) = (CString::new(TELLS).unwrap_or_default(), Status::new(tf));
    // SAFETY: a C string and a status that outlive the call; the buffer is ours.
    let kernels = take(tf, &status, unsafe { ask(op.as_ptr(), status.raw()) })?;
    Ok(kernels.iter().any(|k| k.device == GPU))
}

/// Every kernel, in the registry's order.
fn all(tf: &'static Api) -> Result<Vec<Registered>> {
    let ask = tf.TF_GetAllRegisteredKernels.ok_or_else(|| Error::unimplemented("it has no TF_GetAllRegisteredKernels"))?;
    let status = Status::new(tf);
    // SAFETY: a status that outlives the call; the buffer is ours.
    take(tf, &status, unsafe { ask(status.raw()) })
}

/// Reads a KernelList and deletes its buffer.
fn take(tf: &Api, status: &Status, buffer: *mut TF_Buffer) -> Result<Vec<Registered>> {
    status.check()?;
    // SAFETY: TensorFlow returned a buffer, which is ours to delete; its bytes live until then.
    unsafe {
        let Some(list) = buffer.as_ref() else { return Err(Error::internal("TensorFlow gave no list of kernels")) };
        let parsed = parse(std::slice::from_raw_parts(list.data.cast::<u8>(), list.length));
        (tf.TF_DeleteBuffer)(buffer);
        parsed
    }
}

fn parse(list: &[u8]) -> Result<Vec<Registered>> {
    let text = |f: &Field<'_>| String::from_utf8_lossy(f.value.bytes()).into_owned();
    let mut kernels = Vec::new();
    for field in fields(list) {
        let field = field?;
        if field.number != LIST_KERNEL {
            continue;
        }
        let mut kernel = Registered::default();
        for part in fields(field.value.bytes()) {
            let part = part?;
            match part.number {
                KERNEL_OP => kernel.op = text(&part),
                KERNEL_DEVICE => kernel.device = text(&part),
                KERNEL_LABEL => kernel.label = text(&part),
                _ => {}
            }
        }
        kernels.push(kernel);
    }
    Ok(kernels)
}

/// Changes the keys of the unwanted; how many there were.
#[cfg(target_os = "linux")]
fn rename(kernels: &[Registered]) -> Result<usize> {
    use std::os::unix::fs::FileExt;

    const REGISTRY: &std::ffi::CStr = c"_ZN10tensorflow20GlobalKernelRegistryEv";
    let function = symbol(REGISTRY).ok_or_else(|| Error::unimplemented("its registry is not to be found"))?;
    // SAFETY: `void* tensorflow::GlobalKernelRegistry()`.
    let registry = unsafe { std::mem::transmute::<*const _, unsafe extern "C" fn() -> *mut u8>(function)() } as u64;
    let memory = std::fs::File::open("/proc/self/mem").map_err(|e| Error::unimplemented(format!("/proc/self/mem: {e}")))?;
    let read = |at: u64, out: &mut [u8]| memory.read_exact_at(out, at).is_ok();
    let devices = registry::devices(&read, registry, kernels).ok_or_else(|| Error::unimplemented("its registry is unknown"))?;
    for &at in &devices {
        // SAFETY: three bytes of a `std::string` on TensorFlow's heap, which just compared equal to "GPU". Nobody runs a
        // kernel while TensorFlow is being imported.
        unsafe { std::ptr::copy_nonoverlapping(NOBODY.as_ptr(), at as *mut u8, NOBODY.len()) };
    }
    Ok(devices.len())
}

/// On other systems the registry is another library's map.
#[cfg(not(target_os = "linux"))]
fn rename(_: &[Registered]) -> Result<usize> {
    let _ = (symbol, NOBODY);
    Err(Error::unimplemented("on this system there is no way"))
}

/// libstdc++'s map: `{mutex, {buckets, bucket_count, first node, size, ..}}`, a node `{next, {string, ..}, ..}`, a string
/// `{data, size, ..}`. The nodes are one list, in the order in which TensorFlow tells its kernels.
#[cfg(any(target_os = "linux", test))]
mod registry {
    use super::Registered;

    /// Reads memory; false where there is none.
    type Read<'a> = &'a dyn Fn(u64, &mut [u8]) -> bool;

    fn words<const N: usize>(read: Read<'_>, at: u64) -> Option<[u64; N]> {
        let mut out = [0; N];
        for (i, word) in out.iter_mut().enumerate() {
            let mut bytes = [0; 8];
            read(at.checked_add(8 * i as u64)?, &mut bytes).then_some(())?;
            *word = u64::from_ne_bytes(bytes);
        }
        Some(out)
    }

    /// Where the unwanted kernels' device types are; `None` unless every key is the one that its kernel must have.
    pub fn devices(read: Read<'_>, registry: u64, kernels: &[Registered]) -> Option<Vec<u64>> {
        (1..=8).find_map(|mutex_words| {
            let [_, _, first, size] = words(read, registry + 8 * mutex_words)?;
            if size == kernels.len() as u64 { list(read, first, kernels) } else { None }
        })
    }

    fn list(read: Read<'_>, mut node: u64, kernels: &[Registered]) -> Option<Vec<u64>> {
        let mut found = Vec::new();
        for kernel in kernels {
            let [next, data, size] = words(read, node)?;
            let key = kernel.key();
            let mut text = vec![0; key.len()];
            if size != key.len() as u64 || !read(data, &mut text) || text != key.as_bytes() {
                return None;
            }
            if kernel.is_unwanted() {
                found.push(data + kernel.op.len() as u64 + 1);
            }
            node = next;
        }
        (node == 0).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::put_bytes;

    fn kernel(op: &str, device: &str, label: &str) -> Registered {
        Registered { op: op.into(), device: device.into(), label: label.into() }
    }

    fn some() -> Vec<Registered> {
        vec![
            kernel("MatMul", "GPU", ""),
            kernel("Identity", "GPU", ""),
            kernel("MatMul", "CPU", ""),
            kernel("Conv2D", "GPU", "x"),
        ]
    }

    #[test]
    fn a_list_of_kernels() {
        let mut list = Vec::new();
        for k in some() {
            let mut def = Vec::new();
            put_bytes(&mut def, KERNEL_OP, k.op.as_bytes());
            put_bytes(&mut def, KERNEL_DEVICE, k.device.as_bytes());
            put_bytes(&mut def, 3, b"");
            put_bytes(&mut def, KERNEL_LABEL, k.label.as_bytes());
            put_bytes(&mut list, LIST_KERNEL, &def);
        }
        assert_eq!(parse(&list), Ok(some()));
        assert!(KEPT.windows(2).all(|w| w[0] < w[1]), "in order");
    }

    /// A registry as libstdc++ lays it out, at address 0 on, and the addresses of its keys.
    fn image(kernels: &[Registered]) -> (Vec<u8>, Vec<u64>) {
        let mut words: Vec<u64> = vec![7, 7, 99, 13, 48, kernels.len() as u64];
        let (mut texts, mut keys) = (Vec::new(), Vec::new());
        let start = (words.len() + 5 * kernels.len()) as u64 * 8;
        for (i, kernel) in kernels.iter().enumerate() {
            let next = if i + 1 < kernels.len() { 48 + 40 * (i as u64 + 1) } else { 0 };
            keys.push(start + texts.len() as u64);
            words.extend([next, start + texts.len() as u64, kernel.key().len() as u64, 1, 2]);
            texts.extend_from_slice(kernel.key().as_bytes());
        }
        (words.iter().flat_map(|w| w.to_ne_bytes()).chain(texts).collect(), keys)
    }

    #[test]
    fn the_unwanted_are_found_where_every_key_agrees() {
        let (bytes, keys) = image(&some());
        let read = |at: u64, out: &mut [u8]| match bytes.get(at as usize..at as usize + out.len()) {
            Some(part) => {
                out.copy_from_slice(part);
                true
            }
            None => false,
        };
        let found = registry::devices(&read, 0, &some()).unwrap();
        assert_eq!(found, [keys[0] + 7, keys[3] + 7]);
        assert_eq!(&bytes[found[1] as usize..][..3], b"GPU");
        let mut others = some();
        others[2].label = "y".into();
        assert!(registry::devices(&read, 0, &others).is_none(), "a key differs");
        assert!(registry::devices(&read, 0, &some()[..3]).is_none(), "a kernel too few");
    }
}
