//! Validates every embedded shader with spirv-val. The ops crate's build leaves each module as `spv/*.spv` in its OUT_DIR.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::files::root;

/// What spirv-val says of a module that is newer than itself: it cannot judge that one.
const TOO_NEW: &[&str] = &[
    "Invalid capability operand",
    "Invalid opcode",
    "Invalid storage class operand",
    "Invalid memory model operand",
    "Unknown capability",
];

pub fn validate() -> Outcome {
    let folder = out_dir()?.join("spv");
    let mut modules: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "spv"))
        .collect();
    modules.sort();
    if modules.is_empty() {
        return Err(format!("{}: no module to validate", folder.display()));
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let verdicts: Vec<Verdict> = std::thread::scope(|scope| {
        let parts = modules.chunks(modules.len().div_ceil(threads));
        let running: Vec<_> = parts.map(|part| scope.spawn(|| part.iter().map(|m| judge(m)).collect::<Vec<_>>())).collect();
        running
            .into_iter()
            .flat_map(|t| t.join().unwrap_or_else(|_| vec![Verdict::Wrong("a validating thread died".into())]))
            .collect()
    });
    let wrong: Vec<&str> =
        verdicts.iter().filter_map(|v| if let Verdict::Wrong(why) = v { Some(why.as_str()) } else { None }).collect();
    let new = verdicts.iter().filter(|v| matches!(v, Verdict::TooNew)).count();
    if wrong.is_empty() {
        Ok(format!("{} modules valid, {new} newer than this spirv-val", modules.len() - new))
    } else {
        Err(wrong.join("\n"))
    }
}

enum Verdict {
    Valid,
    TooNew,
    Wrong(String),
}

fn judge(module: &Path) -> Verdict {
    let output = Command::new("spirv-val").args(["--target-env", "vulkan1.2", "--scalar-block-layout"]).arg(module).output();
    let output = match output {
        Ok(output) => output,
        Err(e) => return Verdict::Wrong(format!("spirv-val: {e}: sudo apt-get install spirv-tools")),
    };
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.success() {
        true => Verdict::Valid,
        false if TOO_NEW.iter().any(|t| said.contains(t)) => Verdict::TooNew,
        false => Verdict::Wrong(format!("{}: {}", module.display(), said.trim())),
    }
}

/// The OUT_DIR of the ops crate's build script, as cargo tells it.
fn out_dir() -> Result<PathBuf, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let arguments = ["build", "--quiet", "--locked", "-p", "tfvk-ops", "--message-format", "json"];
    let output = Command::new(cargo).args(arguments).current_dir(root()).output().map_err(|e| format!("cargo: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find(|l| l.contains("\"build-script-executed\"") && l.contains("/crates/ops#"));
    let dir = line.and_then(|l| l.split("\"out_dir\":\"").nth(1)).and_then(|l| l.split('"').next());
    dir.map(PathBuf::from)
        .ok_or_else(|| format!("cargo does not tell tfvk-ops's OUT_DIR: {}", String::from_utf8_lossy(&output.stderr)))
}
