//! The architecture, as checks over the files: which crate may use which, where TensorFlow's names and `unsafe` may stand,
//! that each file says what it is and stays small, and words that must not come in.

use crate::Outcome;
use crate::files::{Source, all, root};

/// The arrows between the crates: a crate, and those that it may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("device", &[]),
    ("ops", &["device"]),
    ("tf-sys", &[]),
    ("bench", &["device", "ops"]),
    ("plugin", &["device", "ops", "tf-sys", "bench"]),
    ("runtime", &["device", "ops"]),
];

/// Where `unsafe` may stand: TensorFlow's C API, the plug-in's C seam, the Vulkan half of the device; and where the ops'
/// own host and the benchmarks hand host memory to the device. Tests and examples may too.
const UNSAFE: &[&str] =
    &["crates/tf-sys/", "crates/plugin/", "crates/device/", "crates/ops/src/local.rs", "crates/bench/src/device_cases.rs"];

/// Beginnings of names of TensorFlow's C API, which only tf-sys and the plug-in may know.
const C_API: &[&str] = &["TF_", "TFE_", "SP_", "SE_", "TP_", "tf_sys"];

/// Lines of a file, at most.
const LONGEST: usize = 600;

/// What must not be committed, spelt so that this file does not hold it.
fn forbidden() -> Vec<String> {
    ["todo", "unimplemented", "dbg"]
        .iter()
        .map(|w| format!("{w}!("))
        .chain([format!("FIX{}", "ME"), format!("/wo{}/", "rk")])
        .collect()
}

pub fn check() -> Outcome {
    let files = all()?;
    let mut problems = Vec::new();
    for file in &files {
        crate_arrows(file, &mut problems);
        c_api(file, &mut problems);
        unsafe_places(file, &mut problems);
        header_and_length(file, &mut problems);
        words(file, &mut problems);
        links(file, &mut problems);
    }
    if problems.is_empty() { Ok(format!("{} files", files.len())) } else { Err(problems.join("\n")) }
}

/// Each crate depends only on those that its arrows reach.
fn crate_arrows(file: &Source, problems: &mut Vec<String>) {
    let Some(name) = file.path.strip_prefix("crates/").and_then(|p| p.strip_suffix("/Cargo.toml")) else { return };
    let Some((_, allowed)) = ARROWS.iter().find(|(c, _)| *c == name) else {
        return problems.push(format!("{}: a crate that xtask/src/arch.rs does not know", file.path));
    };
    for line in file.text.lines() {
        let dependency = line.split(['.', ' ', '=']).next().unwrap_or("");
        let short = if dependency == "tf-sys" { dependency } else { dependency.strip_prefix("tfvk-").unwrap_or("") };
        if !short.is_empty() && short != name && !allowed.contains(&short) {
            problems.push(format!("{}: {name} must not depend on {dependency}", file.path));
        }
    }
}

/// The device, the ops and their benchmarks know no TensorFlow.
fn c_api(file: &Source, problems: &mut Vec<String>) {
    let hostless = ["crates/device/", "crates/ops/", "crates/bench/", "crates/runtime/"];
    if file.extension() != "rs" || !hostless.iter().any(|c| file.path.starts_with(c)) {
        return;
    }
    for (number, line) in file.code_lines() {
        if let Some(word) = identifiers(line).find(|w| C_API.iter().any(|p| w.starts_with(p))) {
            problems.push(format!("{}:{number}: {word} belongs to TensorFlow's C API", file.path));
        }
    }
}

fn unsafe_places(file: &Source, problems: &mut Vec<String>) {
    let test = file.path.contains("/tests/") || file.path.contains("/examples/");
    if file.extension() != "rs" || test || UNSAFE.iter().any(|c| file.path.starts_with(c)) {
        return;
    }
    let found = file.code_lines().find(|(_, line)| identifiers(line).any(|w| w == "unsafe") && !line.contains('"'));
    if let Some((number, _)) = found {
        problems.push(format!("{}:{number}: unsafe stands only in {}", file.path, UNSAFE.join(", ")));
    }
}

/// Rust files open with `//!`, shaders with `//`, Python files with a docstring; none is longer than [`LONGEST`].
fn header_and_length(file: &Source, problems: &mut Vec<String>) {
    let lines = file.text.lines().count();
    let first = file.text.lines().find(|l| !l.starts_with("#!") && !l.starts_with("#version")).unwrap_or("");
    let (good, want) = match file.extension() {
        "rs" => (first.starts_with("//!"), "//!"),
        "comp" if file.path.contains("/src/") => (first.starts_with("//"), "//"),
        "py" => (first.starts_with("\"\"\""), "a docstring"),
        _ => return,
    };
    if !good {
        problems.push(format!("{}: does not open with {want} that says what it is", file.path));
    }
    if lines > LONGEST {
        problems.push(format!("{}: {lines} lines, {LONGEST} at most", file.path));
    }
}

fn words(file: &Source, problems: &mut Vec<String>) {
    for word in forbidden() {
        if let Some(number) = file.text.lines().position(|l| l.contains(&word)) {
            problems.push(format!("{}:{}: {word} must not be committed", file.path, number + 1));
        }
    }
}

/// What a text links to inside the repository is there.
fn links(file: &Source, problems: &mut Vec<String>) {
    if file.extension() != "md" {
        return;
    }
    let folder = root().join(&file.path).parent().map(std::path::Path::to_path_buf).unwrap_or_default();
    for target in targets(&file.text).filter(|t| !t.contains("://") && !t.is_empty()) {
        if !folder.join(target).exists() {
            problems.push(format!("{}: links to {target}, which does not exist", file.path));
        }
    }
}

/// The targets of Markdown links, without what follows a `#`.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next())
}

fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(check: fn(&Source, &mut Vec<String>), path: &str, text: &str) -> usize {
        let mut found = Vec::new();
        check(&Source { path: path.into(), text: text.into() }, &mut found);
        found.len()
    }

    #[test]
    fn arrows_point_one_way() {
        assert_eq!(problems(crate_arrows, "crates/device/Cargo.toml", "tfvk-ops.workspace = true"), 1);
        assert_eq!(problems(crate_arrows, "crates/ops/Cargo.toml", "tf-sys = { path = \"../tf-sys\" }"), 1);
        assert_eq!(problems(crate_arrows, "crates/ops/Cargo.toml", "tfvk-device.workspace = true\nrspirv = \"1\""), 0);
        assert_eq!(problems(crate_arrows, "crates/new/Cargo.toml", ""), 1);
    }

    #[test]
    fn ops_know_no_tensorflow_and_no_unsafe() {
        assert_eq!(problems(c_api, "crates/ops/src/a.rs", "let x = TF_TensorData(t);"), 1);
        assert_eq!(problems(c_api, "crates/ops/src/a.rs", "// like TF_Code\nlet x = 1;"), 0);
        assert_eq!(problems(unsafe_places, "crates/ops/src/a.rs", "let x = unsafe { f() };"), 1);
        assert_eq!(problems(unsafe_places, "crates/device/src/a.rs", "let x = unsafe { f() };"), 0);
    }

    #[test]
    fn a_file_says_what_it_is_and_stays_small() {
        assert_eq!(problems(header_and_length, "a.rs", "fn f() {}"), 1);
        assert_eq!(problems(header_and_length, "a.rs", "//! What it is.\n"), 0);
        assert_eq!(problems(header_and_length, "a.rs", &format!("//! x\n{}", "\n".repeat(LONGEST))), 1);
        assert_eq!(problems(words, "a.rs", &format!("{}!(\"later\")", "todo")), 1);
    }

    #[test]
    fn links_lead_somewhere() {
        assert_eq!(problems(links, "README.md", "[a](ARCHITECTURE.md#x) [b](https://example.org/a.md) [c](#here)"), 0);
        assert_eq!(problems(links, "docs/a.md", "see [a](ARCHITECTURE.md)"), 1);
    }
}
