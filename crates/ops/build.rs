//! Compiles every `src/**/*.comp` to SPIR-V, once per variant that its header declares, and writes the table that
//! `src/shader.rs` includes. `src/prelude/README.md` says how a kernel is written.
//!
//! In OUT_DIR: `shaders.rs` (the table), `packed/*.z` (what is embedded), `spv/*.spv` (one module a variant, for
//! validators), `cache/*` (modules by the hash of their whole source, so that only what changed is compiled).

#[path = "build/compile.rs"]
mod compile;
#[path = "build/dtypes.rs"]
mod dtypes;
#[path = "src/packing.rs"]
mod packing;
#[path = "build/source.rs"]
mod source;
#[path = "build/spirv.rs"]
mod spirv;
#[path = "build/table.rs"]
mod table;
#[path = "build/variants.rs"]
mod variants;

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=src");
    if let Err(message) = build() {
        // One line a line, so that cargo shows each.
        for line in message.lines() {
            println!("cargo:warning={line}");
        }
        eprintln!("{message}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let root = PathBuf::from(env("CARGO_MANIFEST_DIR")?).join("src");
    let out = PathBuf::from(env("OUT_DIR")?);
    let mut files = Vec::new();
    find(&root, &mut files)?;
    files.sort();
    let mut shaders = Vec::new();
    for path in &files {
        shaders.push(source::load(&root, path)?);
    }
    let modules = compile::all(&shaders, &out)?;
    table::write(&shaders, &modules, &out)
}

/// Every `.comp` file below `dir`.
fn find(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "comp") {
            files.push(path);
        }
    }
    Ok(())
}

fn env(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("{name} is not set"))
}
