//! What the project depends on: every licence in the tree is allowed by `deny.toml`, and every direct dependency from
//! outside is listed in `xtask/dependencies.txt` with its reason.

use std::collections::BTreeSet;
use std::process::Command;

use crate::Outcome;
use crate::files::root;

pub fn check() -> Outcome {
    let deny = std::fs::read_to_string(root().join("deny.toml")).map_err(|e| format!("deny.toml: {e}"))?;
    let allowed = allowed_licences(&deny);
    let listed =
        std::fs::read_to_string(root().join("xtask/dependencies.txt")).map_err(|e| format!("xtask/dependencies.txt: {e}"))?;
    let (known, mut problems) = reasons(&listed);

    let packages = tree(&["--format", "{p}|{l}"])?;
    for (name, licence) in packages.iter().filter_map(|line| line.split_once('|')) {
        if !permits(licence, &allowed) {
            problems.push(format!("{name}: licence {licence:?} is not allowed by deny.toml"));
        }
    }
    let ours: BTreeSet<String> = packages.iter().filter(|p| p.contains(" (/")).map(|p| package_name(p)).collect();
    let direct: BTreeSet<String> = tree(&["--depth", "1", "--format", "{p}"])?.iter().map(|p| package_name(p)).collect();
    let direct: BTreeSet<String> = direct.difference(&ours).cloned().collect();
    problems
        .extend(direct.difference(&known).map(|d| format!("{d}: a direct dependency that xtask/dependencies.txt does not list")));
    problems
        .extend(known.difference(&direct).map(|d| format!("{d}: listed in xtask/dependencies.txt, but nothing depends on it")));
    if problems.is_empty() {
        Ok(format!("{} packages, {} direct", packages.len(), direct.len()))
    } else {
        Err(problems.join("\n"))
    }
}

/// The unique lines of `cargo tree` over the whole workspace and every platform.
fn tree(more: &[&str]) -> Result<BTreeSet<String>, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let fixed = ["tree", "--workspace", "--locked", "--target", "all", "--edges", "all", "--prefix", "none", "--no-dedupe"];
    let output =
        Command::new(cargo).args(fixed).args(more).current_dir(root()).output().map_err(|e| format!("cargo tree: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(lines.lines().map(str::trim).filter(|l| !l.is_empty()).map(String::from).collect())
}

fn package_name(line: &str) -> String {
    line.split_whitespace().next().unwrap_or_default().into()
}

/// The strings of `allow = [...]` in the section `[licenses]`.
fn allowed_licences(deny: &str) -> BTreeSet<String> {
    let section = deny.split("[licenses]").nth(1).unwrap_or_default();
    let list = section.split("allow = [").nth(1).and_then(|s| s.split(']').next()).unwrap_or_default();
    list.split('"').skip(1).step_by(2).map(String::from).collect()
}

/// The names of `dependencies.txt` (`name: reason`), and what is wrong with its lines.
fn reasons(text: &str) -> (BTreeSet<String>, Vec<String>) {
    let lines = text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    let (good, bad): (Vec<&str>, Vec<&str>) =
        lines.partition(|l| l.split_once(": ").is_some_and(|(_, reason)| !reason.trim().is_empty()));
    (
        good.iter().filter_map(|l| Some(l.split_once(": ")?.0.trim().to_string())).collect(),
        bad.iter().map(|l| format!("xtask/dependencies.txt: {l:?} gives no reason")).collect(),
    )
}

/// Whether an SPDX expression is satisfied: of every part joined by AND, one alternative is allowed.
fn permits(licence: &str, allowed: &BTreeSet<String>) -> bool {
    let licence = licence.trim().trim_end_matches(" (*)").replace('/', " OR ").replace(['(', ')'], "");
    !licence.is_empty() && licence.split(" AND ").all(|part| part.split(" OR ").any(|one| allowed.contains(one.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_is_judged_by_its_alternatives() {
        let allowed = allowed_licences("[licenses]\nallow = [\"MIT\", \"Apache-2.0\"]");
        assert!(
            permits("MIT OR GPL-3.0", &allowed)
                && permits("MIT/Apache-2.0", &allowed)
                && permits("(MIT OR X) AND Apache-2.0", &allowed)
        );
        assert!(!permits("GPL-3.0", &allowed) && !permits("MIT AND GPL-3.0", &allowed) && !permits("", &allowed));
    }

    #[test]
    fn a_listed_dependency_needs_a_reason() {
        let (names, problems) = reasons("# words\nash: Vulkan\nlibc\n");
        assert_eq!(names.len(), 1);
        assert_eq!(problems.len(), 1);
    }
}
