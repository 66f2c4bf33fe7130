//! Every embedded shader passes `spirv-val`, where that is installed (TFVK_REQUIRE_SPIRV_VAL=1: it must be).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

fn failure(file: &Path) -> Option<String> {
    let run = match Command::new("spirv-val").args(["--target-env", "vulkan1.3", "--scalar-block-layout"]).arg(file).output() {
        Ok(run) => run,
        Err(why) => return Some(format!("spirv-val does not run: {why}")),
    };
    let text = String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout);
    // A capability that this spirv-val is too old to know.
    let unknown = text.contains("Invalid capability operand") || text.contains("Invalid opcode");
    (!run.status.success() && !unknown).then(|| format!("{}: {text}", file.display()))
}

#[test]
#[cfg_attr(windows, ignore = "the tests of another system check the same modules")]
fn every_shader_is_valid() {
    if Command::new("spirv-val").arg("--version").output().is_err() {
        assert!(std::env::var_os("TFVK_REQUIRE_SPIRV_VAL").is_none(), "spirv-val is not installed");
        eprintln!("skipped: spirv-val is not installed");
        return;
    }
    let folder = concat!(env!("OUT_DIR"), "/spv");
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(files.len() > 100, "{folder} has {} modules", files.len());
    let (todo, failures) = (Mutex::new(files), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |n| n.get()) {
            scope.spawn(|| {
                loop {
                    let Some(file) = todo.lock().unwrap().pop() else { break };
                    failures.lock().unwrap().extend(failure(&file));
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} modules fail; the first: {}", failures.len(), failures[0]);
}
