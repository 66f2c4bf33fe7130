//! The tests of the Rust side of the seams (TensorFlow's structs and functions, the plug-in's reading of what TensorFlow
//! passes) under valgrind: reads of what is not there, use after free, memory that nobody frees. No GPU is used.

use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::files::root;

/// The crates whose unit tests are run.
const CRATES: &[&str] = &["tf-sys", "tfvk-plugin"];

pub fn seams() -> Outcome {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err("valgrind is not installed: sudo apt-get install valgrind".into());
    }
    let tests = CRATES.iter().map(|name| test_program(name)).collect::<Result<Vec<_>, _>>()?;
    for test in &tests {
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--error-exitcode=9", "--leak-check=full"]);
        command.args(["--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]);
        // One at a time: valgrind runs one thread at a time anyway. Without a Vulkan driver no test can reach a GPU.
        command.arg(test).args(["--quiet", "--test-threads=1"]).env("VK_DRIVER_FILES", "/nowhere").current_dir(root());
        let status = command.status().map_err(|e| format!("valgrind: {e}"))?;
        if !status.success() {
            return Err(format!("{} under valgrind failed ({status})", test.display()));
        }
    }
    Ok(format!("{} programs", tests.len()))
}

/// Builds a crate's unit tests; where their program is.
fn test_program(name: &str) -> Result<PathBuf, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--no-run", "--locked", "--lib", "--message-format=json", "-p", name]).current_dir(root());
    let output = command.stderr(std::process::Stdio::inherit()).output().map_err(|e| format!("cargo: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Cargo names the program in the one message with this field; a path is written as a JSON string.
    let found = text.lines().filter_map(|line| line.split_once("\"executable\":\"")?.1.split_once('"')).next_back();
    match found {
        Some((path, _)) if output.status.success() => Ok(PathBuf::from(path.replace("\\\\", "\\"))),
        _ => Err(format!("the tests of {name} do not build ({})", output.status)),
    }
}
