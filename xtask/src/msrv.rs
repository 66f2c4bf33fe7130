//! That everything builds with the oldest Rust that Cargo.toml promises (`rust-version`), where such a Rust is installed: as
//! a rustup toolchain, or as the system's own (`/usr/bin/rustc`, Debian's). Not part of `ci`, which installs no compiler;
//! there clippy's `incompatible_msrv` denies what is newer in the standard library.

use std::path::Path;
use std::process::Command;

use crate::Outcome;
use crate::files::root;

/// Checks every crate and test, in a target folder of its own: two compilers would throw away each other's work.
pub fn check() -> Outcome {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).map_err(|e| format!("Cargo.toml: {e}"))?;
    let version = promised(&manifest).ok_or("Cargo.toml: no rust-version")?;
    let mut cargo = toolchain(version).ok_or_else(|| {
        format!(
            "no Rust {version} here: rustup toolchain install {version}, or Debian's packages rustc-web and cargo-web {version}"
        )
    })?;
    let arguments = ["check", "--workspace", "--all-targets", "--locked", "--target-dir", "target/msrv"];
    let status = cargo.args(arguments).current_dir(root()).status().map_err(|e| format!("cargo: {e}"))?;
    if status.success() {
        Ok(format!("Rust {version}"))
    } else {
        Err(format!("with Rust {version} it does not build ({status})"))
    }
}

/// The value of `rust-version`.
fn promised(manifest: &str) -> Option<&str> {
    let value = manifest.lines().find_map(|l| l.strip_prefix("rust-version"))?;
    value.split('"').nth(1)
}

/// A cargo command of this version, or none.
fn toolchain(version: &str) -> Option<Command> {
    let said = |program: &Path, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    // `cargo` and `rustc` by their paths: whatever rustup has put into the environment of this process is overruled.
    let command = |cargo: &Path, rustc: &Path| {
        let right = |p: &Path| said(p, &["--version"]).is_some_and(|v| is(&v, version));
        (right(cargo) && right(rustc)).then(|| {
            let mut command = Command::new(cargo);
            command.env("RUSTC", rustc).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC_WRAPPER");
            command
        })
    };
    let rustup = |tool: &str| said(Path::new("rustup"), &["which", "--toolchain", version, tool]);
    let installed = rustup("cargo").zip(rustup("rustc"));
    installed
        .and_then(|(cargo, rustc)| command(Path::new(&cargo), Path::new(&rustc)))
        .or_else(|| command(Path::new("/usr/bin/cargo"), Path::new("/usr/bin/rustc")))
}

/// Whether what a tool says of itself (`rustc 1.85.0 (...)`) is this version, of two or three numbers.
fn is(said: &str, version: &str) -> bool {
    let number = said.split_whitespace().nth(1).unwrap_or_default();
    number.strip_prefix(version).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(promised("[workspace.package]\nrust-version = \"1.85\"\n"), Some("1.85"));
        assert_eq!(promised("edition = \"2024\""), None);
        assert!(is("rustc 1.85.0 (4d91de4e4 2025-02-17)", "1.85") && is("cargo 1.85.1", "1.85.1"));
        assert!(!is("rustc 1.95.0", "1.85") && !is("rustc 1.850.0", "1.85") && !is("", "1.85"));
    }
}
