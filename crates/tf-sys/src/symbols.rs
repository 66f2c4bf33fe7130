//! Finding a symbol in the TensorFlow that has loaded this library.
//!
//! TensorFlow 2.20 and later have their symbols in the global scope; before, they are in two libraries that are loaded but
//! not global; on Windows, in one module whose name depends on the version. No library is loaded here: only those that are
//! already in the process are asked.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

#[cfg(unix)]
mod os {
    use libloading::os::unix::Library;

    // The same on every Unix; the constant for "only if it is already loaded" is not.
    const RTLD_LAZY: i32 = 1;
    const RTLD_NOLOAD: i32 = if cfg!(target_os = "macos") { 0x10 } else { 4 };
    const NAMES: [&str; 2] = if cfg!(target_os = "macos") {
        ["libtensorflow_framework.2.dylib", "libtensorflow_cc.2.dylib"]
    } else {
        ["libtensorflow_framework.so.2", "libtensorflow_cc.so.2"]
    };

    pub fn modules() -> Vec<Library> {
        // SAFETY: a library that is loaded already runs no initialiser when it is opened again.
        let named = NAMES.iter().filter_map(|name| unsafe { Library::open(Some(name), RTLD_LAZY | RTLD_NOLOAD) }.ok());
        std::iter::once(Library::this()).chain(named).collect()
    }
}

#[cfg(windows)]
mod os {
    use libloading::os::windows::Library;

    // Python's own are found, too, as they are in the global scope elsewhere.
    const NAMES: [&str; 6] = [
        "_pywrap_tensorflow_common.dll",
        "_pywrap_tensorflow_internal.pyd",
        "python313.dll",
        "python312.dll",
        "python311.dll",
        "python310.dll",
    ];

    pub fn modules() -> Vec<Library> {
        NAMES.iter().filter_map(|name| Library::open_already_loaded(name).ok()).collect()
    }
}

/// The address of `name` (a function, or a C++ object such as a vtable), or `None` where the loaded TensorFlow has none.
pub fn symbol(name: &CStr) -> Option<*const c_void> {
    static MODULES: OnceLock<Vec<libloading::Library>> = OnceLock::new();
    let modules = MODULES.get_or_init(|| os::modules().into_iter().map(libloading::Library::from).collect());
    modules.iter().find_map(|module| {
        // SAFETY: only the address is taken; whoever uses it vouches for its type.
        let found = unsafe { module.get::<*const c_void>(name.to_bytes_with_nul()) };
        // SAFETY: the module stays open for the life of the process, and so does the address.
        found.ok().and_then(|s| unsafe { s.try_as_raw_ptr() }).map(|p| p.cast_const()).filter(|p| !p.is_null())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_only_what_is_there() {
        assert!(symbol(c"TF_NoSuchFunction").is_none());
        #[cfg(unix)]
        assert!(symbol(c"malloc").is_some());
    }
}
