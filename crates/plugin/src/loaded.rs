//! Whether another copy of this library serves devices in this process: one in `site-packages` and one named by
//! `TF_PLUGGABLE_DEVICE_LIBRARY_PATH`, say. TensorFlow would abort on the second platform of one device type.

/// The path of the copy that is in service, if there is one beside this.
#[cfg(target_os = "linux")]
pub fn other_copy() -> Option<String> {
    use libloading::os::unix::Library;

    const RTLD_LAZY_NOLOAD: i32 = 1 | 4;
    let own: extern "C" fn() -> bool = crate::tfvk_is_active;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let mut paths: Vec<&str> = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).collect();
    paths.retain(|path| path.rsplit('/').next().is_some_and(|name| name.contains("tensorflow_vulkan")));
    paths.dedup();
    paths.into_iter().find_map(|path| {
        // SAFETY: only a library that is in the process already is opened, so no initialiser runs.
        let library = unsafe { Library::open(Some(path), RTLD_LAZY_NOLOAD) }.ok()?;
        // SAFETY: a library of our name exports this function with this type.
        let is_active = unsafe { library.get::<extern "C" fn() -> bool>(b"tfvk_is_active\0") }.ok()?;
        (*is_active as usize != own as usize && is_active()).then(|| path.to_owned())
    })
}

/// As above; on these systems nothing tells.
#[cfg(not(target_os = "linux"))]
pub fn other_copy() -> Option<String> {
    None
}
