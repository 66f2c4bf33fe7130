//! Four changes to TensorFlow's Python side, for what never passes the plug-in's C interface.
//!
//! - `tf.function(jit_compile=True)` becomes a plain `tf.function`: XLA knows no pluggable device ("Could not find compiler
//!   for platform"). A function that is called inside another one is dealt with by the graph pass; one that Python calls
//!   directly never passes there.
//! - The `memory_limit` of a logical device is told to `memory_limit`.
//! - Keras hands the weights of a GRU to CudnnRNN in cuDNN's order of gates only where TensorFlow was built for CUDA, and in
//!   its own where not; the op cannot tell. The functions that do so (Keras 3's and tf_keras's) are told that it was.
//! - An eager op is executed as itself and not, as TensorFlow does since 2.9, as a function made around it: such functions
//!   share one rendezvous, through which arguments in host memory reach an op on a device, and ops of several threads get
//!   each other's. It is also quicker. The setting is fixed when the context is made, which is after this library is loaded.
//!
//! Nothing happens in a process without Python, or without TensorFlow's Python.

use std::ffi::{CString, c_char, c_int, c_void};

use tf_sys::symbol;
use tfvk_device::log::{Level, enabled};
use tfvk_device::{Error, Result};

use crate::log;
use crate::memory_limit::tfvk_memory_limit;

/// `ADDRESS` is that of [`tfvk_memory_limit`]; `INFO` whether messages of that level are printed.
const SCRIPT: &str = r#"
def _tfvk_install():
    import sys
    module = sys.modules.get('tensorflow.python.eager.polymorphic_function.polymorphic_function')
    function = getattr(module, 'Function', None)
    if function is None or hasattr(function, '_tfvk_init'):
        return
    function._tfvk_init = init = function.__init__
    def __init__(self, *args, **kwargs):
        init(self, *args, **kwargs)
        if getattr(self, '_jit_compile', None):
            self._jit_compile = None
    __init__.__doc__, __init__.__wrapped__ = init.__doc__, init
    function.__init__ = __init__

def _tfvk_install_limits():
    import ctypes, sys
    context = getattr(sys.modules.get('tensorflow.python.eager.context'), 'Context', None)
    configure = getattr(context, 'set_logical_device_configuration', None)
    if configure is None or hasattr(context, '_tfvk_configure'):
        return
    tell = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_uint64)(ADDRESS)
    context._tfvk_configure = configure
    def set_logical_device_configuration(self, dev, virtual_devices):
        configure(self, dev, virtual_devices)
        if dev.device_type != 'GPU':
            return
        if len(virtual_devices) > 1:
            print('tensorflow-vulkan: TensorFlow does not cut this GPU into logical devices: it stays one, of their memory'
                  ' together. TFVK_VISIBLE_DEVICES=0,0 gives two devices on adapter 0.', file=sys.stderr)
        gpus = [d for d in self._physical_devices if d.device_type == 'GPU']
        tell(gpus.index(dev), sum(int(v.memory_limit) << 20 for v in virtual_devices))
    set_logical_device_configuration.__doc__ = configure.__doc__
    context.set_logical_device_configuration = set_logical_device_configuration

def _tfvk_install_gates():
    import sys
    module = sys.modules.get('tensorflow.python.platform.sysconfig')
    told = getattr(module, 'get_build_info', None)
    if told is None or hasattr(told, '_tfvk'):
        return
    def get_build_info():
        info = told()
        if sys._getframe(1).f_code.co_name in ('_cudnn_gru', 'gpu_gru'):
            info = type(info)(info, is_cuda_build=True)
        return info
    get_build_info.__doc__, get_build_info._tfvk = told.__doc__, True
    module.get_build_info = get_build_info
    for name in ('tensorflow._api.v2.sysconfig', 'tensorflow._api.v2.compat.v2.sysconfig',
                 'tensorflow._api.v2.compat.v1.sysconfig'):
        api = sys.modules.get(name)
        if getattr(api, 'get_build_info', None) is told:
            api.get_build_info = get_build_info

def _tfvk_install_eager():
    import sys
    tfe = sys.modules.get('tensorflow.python.pywrap_tfe')
    choose = getattr(tfe, 'TFE_ContextOptionsSetRunEagerOpAsFunction', None)
    made = getattr(sys.modules.get('tensorflow.python.eager.context'), '_context', None)
    if choose is None or getattr(made, '_initialized', False):
        if INFO:
            print('tensorflow-vulkan I: eager ops stay functions, whose int32 arguments several threads can mix up: '
                + ('this TensorFlow knows no other way' if choose is None else 'TensorFlow was at work before'), file=sys.stderr)
    elif not hasattr(choose, '_tfvk'):
        def set_run_eager_op_as_function(options, enable):
            choose(options, False)
        set_run_eager_op_as_function._tfvk = True
        tfe.TFE_ContextOptionsSetRunEagerOpAsFunction = set_run_eager_op_as_function

_tfvk_install()
_tfvk_install_limits()
_tfvk_install_gates()
_tfvk_install_eager()
del _tfvk_install, _tfvk_install_limits, _tfvk_install_gates, _tfvk_install_eager
"#;

/// Installs them, where there is a Python to change.
pub fn install() -> Result<()> {
    let all =
        (symbol(c"PyGILState_Ensure"), symbol(c"PyGILState_Release"), symbol(c"PyRun_SimpleString"), symbol(c"Py_IsInitialized"));
    let address = tfvk_memory_limit as *const () as usize;
    let info = if enabled(Level::Info) { "True" } else { "False" };
    let script = CString::new(SCRIPT.replace("ADDRESS", &address.to_string()).replace("INFO", info));
    let script = script.map_err(|_| Error::internal("a script with a zero byte"))?;
    let (Some(ensure), Some(release), Some(run), Some(initialized)) = all else { return Ok(()) };
    // SAFETY: CPython's documented functions, with their types; the lock is taken before the interpreter is used.
    unsafe {
        let ensure = std::mem::transmute::<*const c_void, unsafe extern "C" fn() -> c_int>(ensure);
        let release = std::mem::transmute::<*const c_void, unsafe extern "C" fn(c_int)>(release);
        let run = std::mem::transmute::<*const c_void, unsafe extern "C" fn(*const c_char) -> c_int>(run);
        let initialized = std::mem::transmute::<*const c_void, unsafe extern "C" fn() -> c_int>(initialized);
        if initialized() == 0 {
            return Ok(());
        }
        let state = ensure();
        let outcome = run(script.as_ptr());
        release(state);
        if outcome != 0 {
            log::notice(
                "this TensorFlow's Python side is unknown: do without tf.function(jit_compile=True), memory_limit and GRU on this device",
            );
        }
    }
    Ok(())
}
