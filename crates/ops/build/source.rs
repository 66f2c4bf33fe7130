//! The whole GLSL text of one variant: version, extensions, the parameters' macros, then the file with its includes.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::dtypes::{self, DType, Kind};
use crate::variants::{self, Value, Variants};

/// One shader file.
pub struct Source {
    /// The file's stem, which is the kernel's name.
    pub name: String,
    /// Relative to `src`.
    pub path: String,
    pub variants: Variants,
    /// `#extension` lines, of the file and its includes.
    extensions: String,
    /// The text with includes in place.
    text: String,
    /// The template that is instantiated for each type parameter.
    type_template: String,
}

const EXTENSIONS: &[&str] = &[
    "GL_EXT_buffer_reference",
    "GL_EXT_buffer_reference_uvec2",
    "GL_EXT_scalar_block_layout",
    "GL_EXT_control_flow_attributes",
    "GL_EXT_shader_8bit_storage",
    "GL_EXT_shader_16bit_storage",
    "GL_EXT_shader_explicit_arithmetic_types",
    "GL_KHR_shader_subgroup_basic",
    "GL_KHR_shader_subgroup_vote",
    "GL_KHR_shader_subgroup_arithmetic",
    "GL_KHR_shader_subgroup_ballot",
    "GL_KHR_shader_subgroup_shuffle",
];

/// Reads a shader file.
pub fn load(root: &Path, path: &Path) -> Result<Source, String> {
    let relative = path.strip_prefix(root).unwrap_or(path).display().to_string().replace('\\', "/");
    let name = path.file_stem().and_then(|s| s.to_str()).ok_or_else(|| format!("{relative}: not a UTF-8 name"))?;
    let raw = read(path)?;
    let variants = variants::parse(&raw).map_err(|e| format!("{relative}: {e}"))?;
    let (mut text, mut extensions, mut seen) = (String::new(), String::new(), Vec::new());
    include(root, path, &mut text, &mut extensions, &mut seen)?;
    let type_template = read(&root.join("prelude/type.glsl"))?;
    Ok(Source { name: name.to_string(), path: relative, variants, extensions, text, type_template })
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Appends `path` with its includes. Each file is included once; a name is looked for beside the includer, then in the
/// prelude, then from `src`.
fn include(root: &Path, path: &Path, text: &mut String, extensions: &mut String, seen: &mut Vec<PathBuf>) -> Result<(), String> {
    if seen.iter().any(|s| s == path) {
        return Ok(());
    }
    let number = seen.len() + 1;
    seen.push(path.to_path_buf());
    let _ = writeln!(text, "#line 1 {number}");
    for (i, line) in read(path)?.lines().enumerate() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix("#include").map(|n| n.trim().trim_matches('"')) {
            let beside = path.parent().unwrap_or(root).join(name);
            let found = [beside, root.join("prelude").join(name), root.join(name)].into_iter().find(|p| p.is_file());
            let found = found.ok_or_else(|| format!("{}:{}: no file {name}", path.display(), i + 1))?;
            include(root, &found, text, extensions, seen)?;
            let _ = writeln!(text, "#line {} {number}", i + 2);
        } else if trimmed.starts_with("#extension") {
            extensions.push_str(trimmed);
            extensions.push('\n');
            text.push('\n');
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    Ok(())
}

impl Source {
    /// The text of one variant.
    pub fn glsl(&self, values: &[Value]) -> String {
        let mut s = String::from("#version 460\n");
        for e in EXTENSIONS {
            let _ = writeln!(s, "#extension {e} : require");
        }
        s.push_str(&self.extensions);
        for d in dtypes::ALL {
            let _ = writeln!(s, "#define DT_{} {}", d.name, d.id);
        }
        let mut types = String::new();
        for ((param, value), known) in self.variants.params.iter().zip(values).zip(&self.variants.values) {
            if let Some(d) = dtypes::find(&value.text) {
                type_macros(&mut s, param, d);
                types.push_str(&instantiate(&self.type_template, param, d));
            } else if value.text.parse::<i64>().is_ok() {
                let _ = writeln!(s, "#define {param} {}", value.text);
            } else {
                for (i, k) in known.iter().enumerate() {
                    let _ = writeln!(s, "#define {param}_{k} {i}");
                }
                let _ = writeln!(s, "#define {param} {}", value.index);
            }
        }
        // The types' functions need the conversions, so the prelude takes them in at its end.
        s.push_str(&self.text.replace("TFVK_TYPES", &types));
        s
    }
}

fn type_macros(s: &mut String, p: &str, d: &DType) {
    let flag = |k: bool| u32::from(k);
    let _ = writeln!(s, "#define {p} {}", d.compute);
    let _ = writeln!(s, "#define {p}_ID {}\n#define {p}_SIZE {}", d.id, d.size);
    let integer = matches!(d.kind, Kind::Signed | Kind::Unsigned);
    let _ = writeln!(s, "#define {p}_IS_FLOAT {}\n#define {p}_IS_INTEGER {}", flag(d.kind == Kind::Float), flag(integer));
    let _ = writeln!(s, "#define {p}_IS_SIGNED {}", flag(d.kind != Kind::Unsigned && d.kind != Kind::Bool));
    let _ = writeln!(s, "#define {p}_IS_COMPLEX {}", flag(d.kind == Kind::Complex));
    let _ = writeln!(s, "#define {p}_IS_BOOL {}", flag(d.kind == Kind::Bool));
    let _ = writeln!(s, "#define {p}_HAS_VEC4 {}", flag(!d.vec4.is_empty()));
    if !d.vec4.is_empty() {
        let _ = writeln!(s, "#define {p}_VEC4 {}", d.vec4);
    }
    if d.kind != Kind::Complex {
        let _ = writeln!(s, "#define {p}_LOWEST ({})\n#define {p}_HIGHEST ({})", d.lowest, d.highest);
    }
}

fn instantiate(template: &str, p: &str, d: &DType) -> String {
    let four = !d.vec4.is_empty();
    let mut out = String::new();
    for line in template.lines().filter(|l| four || !l.contains("4")) {
        let line = line
            .replace("$LOAD4", &d.load4.replace("{}", "p.v[i]"))
            .replace("$SAVE4", &format!("p.v[i] = {}", d.save4.replace("{}", "x")))
            .replace("$STORE4", d.store4)
            .replace("$ALIGN4", &(d.size * 4).min(16).to_string())
            .replace("$LOAD", &d.load.replace("{}", "p.v[i]"))
            .replace("$SAVE", &d.save.replace("{}", "x"))
            .replace("$STORE", d.store)
            .replace("$SIZE", &d.size.to_string())
            .replace("$LOG2", &d.size.trailing_zeros().to_string())
            .replace("$VEC", d.vec4)
            .replace("$C", d.compute)
            .replace("$P", p);
        out.push_str(&line);
        out.push('\n');
    }
    out
}
