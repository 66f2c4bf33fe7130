//! One change to TensorFlow's Python side: `tf.function(jit_compile=True)` becomes a plain `tf.function`.
//!
//! XLA knows no pluggable device ("Could not find compiler for platform"). A function that is called inside another one is
//! dealt with by the graph pass; one that Python calls directly never passes there. Nothing happens in a process without
//! Python, or without TensorFlow's Python.

use std::ffi::{CStr, c_char, c_int, c_void};

use tf_sys::symbol;
use tfvk_device::Result;

use crate::log;

const SCRIPT: &CStr = c"
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
_tfvk_install()
del _tfvk_install
";

/// Installs the change, where there is a Python to change.
pub fn install() -> Result<()> {
    let all =
        (symbol(c"PyGILState_Ensure"), symbol(c"PyGILState_Release"), symbol(c"PyRun_SimpleString"), symbol(c"Py_IsInitialized"));
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
        let outcome = run(SCRIPT.as_ptr());
        release(state);
        if outcome != 0 {
            log::notice("tf.function(jit_compile=True) cannot be changed in this TensorFlow: do not use it on this device");
        }
    }
    Ok(())
}
