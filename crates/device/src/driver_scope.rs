//! Keeps a Vulkan driver's symbols apart from those of the program that we are loaded into.
//!
//! TensorFlow puts its own symbols, a whole LLVM among them, into the global scope; Mesa's drivers use another LLVM, and the
//! dynamic linker would hand them TensorFlow's: the first shader that is compiled crashes. A library that is loaded with
//! `RTLD_DEEPBIND` looks into itself and its dependencies first, and the loader, which opens it again, gets the same copy.
//! Only Linux's glibc has this; only there is it needed. `TFVK_DRIVER_SCOPE=global` leaves it out (a sanitizer forbids it).

/// Opens the libraries of all installed drivers so that they see their own symbols first. Before the instance is made.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn isolate() {}

/// Opens the libraries of all installed drivers so that they see their own symbols first. Before the instance is made.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn isolate() {
    use std::os::unix::ffi::OsStrExt;

    if std::env::var("TFVK_DRIVER_SCOPE").is_ok_and(|v| v == "global") {
        return;
    }
    for library in manifests::files().iter().filter_map(|manifest| manifests::library(manifest)) {
        let Ok(name) = std::ffi::CString::new(library.as_os_str().as_bytes()) else { continue };
        // SAFETY: the Vulkan loader opens the same libraries a moment later; one that cannot be opened (of another
        // architecture, say) is left to it. The handle is kept, so the library stays.
        unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND) };
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod manifests {
    //! The drivers' manifests, where the Vulkan loader looks for them.

    use std::env::{split_paths, var_os};
    use std::path::{Path, PathBuf};

    /// All manifests: those that the environment names, else those of the user and of the system.
    pub fn files() -> Vec<PathBuf> {
        let named = var_os("VK_DRIVER_FILES").or_else(|| var_os("VK_ICD_FILENAMES"));
        let mut places: Vec<PathBuf> = match &named {
            Some(list) => split_paths(list).collect(),
            None => standard_folders(),
        };
        places.extend(var_os("VK_ADD_DRIVER_FILES").iter().flat_map(split_paths));
        places.iter().flat_map(|place| if place.is_dir() { json_files(place) } else { vec![place.clone()] }).collect()
    }

    fn standard_folders() -> Vec<PathBuf> {
        let list = |name: &str, default: &str| -> Vec<PathBuf> {
            split_paths(&var_os(name).filter(|v| !v.is_empty()).unwrap_or_else(|| default.into())).collect()
        };
        let home = var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let user = [("XDG_CONFIG_HOME", ".config"), ("XDG_DATA_HOME", ".local/share")];
        let mut roots: Vec<PathBuf> =
            user.iter().map(|(name, part)| var_os(name).map_or_else(|| home.join(part), PathBuf::from)).collect();
        roots.extend(list("XDG_CONFIG_DIRS", "/etc/xdg"));
        roots.push("/etc".into());
        roots.extend(list("XDG_DATA_DIRS", "/usr/local/share:/usr/share"));
        roots.iter().map(|root| root.join("vulkan/icd.d")).collect()
    }

    fn json_files(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.extension().is_some_and(|e| e == "json")).collect()
    }

    /// The library that a manifest names: a path, a path relative to the manifest, or a name to look up.
    pub fn library(manifest: &Path) -> Option<PathBuf> {
        let library = PathBuf::from(library_path(&std::fs::read_to_string(manifest).ok()?)?);
        let relative = library.is_relative() && library.components().count() > 1;
        Some(if relative { manifest.parent()?.join(library) } else { library })
    }

    /// The value of the first `"library_path"` of a JSON text.
    pub fn library_path(json: &str) -> Option<String> {
        let rest = json.split_once("\"library_path\"")?.1.split_once(':')?.1.split_once('"')?.1;
        let mut value = String::new();
        let mut characters = rest.chars();
        loop {
            match characters.next()? {
                '"' => return Some(value),
                '\\' => value.push(characters.next()?),
                c => value.push(c),
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_manifest_names_its_library() {
            let json = r#"{"ICD": {"api_version": "1.1.230", "library_path" : "/usr\/lib/libvulkan_lvp.so"}}"#;
            assert_eq!(library_path(json).as_deref(), Some("/usr/lib/libvulkan_lvp.so"));
            assert_eq!(library_path(r#"{"ICD": {}}"#), None);
            assert_eq!(library_path(r#"{"library_path": "unfinished"#), None);
        }
    }
}
