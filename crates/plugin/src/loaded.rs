//! Whether another copy of this library serves devices in this process: one in `site-packages` and one named by
//! `TF_PLUGGABLE_DEVICE_LIBRARY_PATH`, say. TensorFlow would abort on the second platform of one device type.

/// The path of the copy that is in service, if there is one beside this. On macOS nothing tells.
pub fn other_copy() -> Option<String> {
    let own: extern "C" fn() -> bool = crate::tfvk_is_active;
    os::paths().into_iter().filter(|path| is_ours(path)).find_map(|path| {
        let library = os::already_loaded(&path)?;
        // SAFETY: a library of our name exports this function with this type.
        let is_active = unsafe { library.get::<extern "C" fn() -> bool>(b"tfvk_is_active\0") }.ok()?;
        (*is_active as usize != own as usize && is_active()).then_some(path)
    })
}

fn is_ours(path: &str) -> bool {
    path.rsplit(['/', '\\']).next().is_some_and(|name| name.contains("tensorflow_vulkan"))
}

#[cfg(not(windows))]
mod os {
    use libloading::os::unix::Library;

    /// The files that are mapped into this process; none where there is no /proc.
    pub fn paths() -> Vec<String> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let mut paths: Vec<String> = maps.lines().filter_map(|line| line.find('/').map(|at| line[at..].to_owned())).collect();
        paths.dedup();
        paths
    }

    pub fn already_loaded(path: &str) -> Option<Library> {
        const RTLD_LAZY_NOLOAD: i32 = if cfg!(target_os = "macos") { 1 | 0x10 } else { 1 | 4 };
        // SAFETY: only a library that is in the process already is opened, so no initialiser runs.
        unsafe { Library::open(Some(path), RTLD_LAZY_NOLOAD) }.ok()
    }
}

#[cfg(windows)]
mod os {
    use std::ffi::c_void;
    use std::ptr::null_mut;

    use libloading::os::windows::Library;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetCurrentProcess() -> *mut c_void;
        fn K32EnumProcessModules(process: *mut c_void, modules: *mut *mut c_void, bytes: u32, needed: *mut u32) -> i32;
        fn GetModuleFileNameW(module: *mut c_void, name: *mut u16, length: u32) -> u32;
    }

    /// The files of this process's modules.
    pub fn paths() -> Vec<String> {
        let mut modules = vec![null_mut(); 4096];
        let (room, mut needed) = (size_of_val(&modules[..]) as u32, 0);
        // SAFETY: the system writes at most `room` bytes of handles, which is what `modules` has.
        if unsafe { K32EnumProcessModules(GetCurrentProcess(), modules.as_mut_ptr(), room, &mut needed) } == 0 {
            return Vec::new();
        }
        modules.truncate(needed as usize / size_of::<*mut c_void>());
        modules.into_iter().filter_map(path).collect()
    }

    fn path(module: *mut c_void) -> Option<String> {
        let mut name = vec![0; 1 << 15];
        // SAFETY: the system writes at most as many units as `name` has; a module that is gone gives 0.
        let length = unsafe { GetModuleFileNameW(module, name.as_mut_ptr(), name.len() as u32) } as usize;
        (length > 0).then(|| String::from_utf16(name.get(..length)?).ok()).flatten()
    }

    pub fn already_loaded(path: &str) -> Option<Library> {
        Library::open_already_loaded(path).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_listed_and_told_apart() {
        let program = std::env::current_exe().unwrap();
        let name = program.file_name().unwrap().to_str().unwrap();
        if !cfg!(target_os = "macos") {
            assert!(os::paths().iter().any(|path| path.ends_with(name)), "{name} is not in {:?}", os::paths());
        }
        assert!(is_ours("/site packages/libtensorflow_vulkan.so") && is_ours(r"C:\plugins\tensorflow_vulkan.dll"));
        assert!(!is_ours("/tensorflow_vulkan/other.so"));
        assert_eq!(other_copy(), None);
    }
}
