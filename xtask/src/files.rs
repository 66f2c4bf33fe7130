//! The repository's files, as the checks read them.

use std::path::{Path, PathBuf};

/// A text file of the repository.
pub struct Source {
    /// Path below the repository's root, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Source {
    /// What follows the last dot of the name.
    pub fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, e)| e)
    }

    /// Numbered lines without comments that begin with `//` (a `//` inside a string counts as one: good enough here).
    pub fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(i, line)| (i + 1, line.split("//").next().unwrap_or("")))
    }
}

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Every text file that git tracks or would track.
pub fn all() -> Result<Vec<Source>, String> {
    let output = std::process::Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .map_err(|e| format!("git ls-files: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    // A binary file, or one that was just deleted, is not read.
    Ok(names
        .lines()
        .filter_map(|path| Some(Source { path: path.into(), text: std::fs::read_to_string(root().join(path)).ok()? }))
        .collect())
}
