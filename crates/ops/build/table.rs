//! Writes what the crate embeds: per shader file one packed blob of all its variants (they are much alike, so they
//! pack well together), and the Rust table that finds them.

use std::fmt::Write;
use std::path::Path;

use crate::compile::{self, Module};
use crate::packing;
use crate::source::Source;

/// Writes `shaders.rs`, `packed/` and `spv/`.
pub fn write(shaders: &[Source], modules: &[Module], out: &Path) -> Result<(), String> {
    let (packed, spv) = (out.join("packed"), out.join("spv"));
    for dir in [&packed, &spv] {
        // What a removed variant left behind must not be validated or shipped.
        let _ = std::fs::remove_dir_all(dir);
        std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    let mut rust = String::from("// Written by build.rs.\n");
    let mut all = String::new();
    for (s, shader) in shaders.iter().enumerate() {
        if let Some(twin) = shaders[..s].iter().find(|o| o.name == shader.name) {
            return Err(format!("{} and {} have the same name", twin.path, shader.path));
        }
        let mut bytes: Vec<u8> = Vec::new();
        let (mut variants, mut count) = (String::new(), 0);
        for m in modules.iter().filter(|m| m.shader == s) {
            let values = &shader.variants.list[m.variant];
            let name = compile::name(shader, values);
            let texts: Vec<&str> = values.iter().map(|v| v.text.as_str()).collect();
            let _ = writeln!(variants, "    Variant::new({name:?}, &{texts:?}, {count}),");
            let module: Vec<u8> = m.words.iter().flat_map(|w| w.to_le_bytes()).collect();
            save(&spv.join(format!("{name}.spv")), &module)?;
            bytes.extend(packing::encode(&m.words));
            count += 1;
        }
        let file = packed.join(format!("{}.z", shader.name));
        save(&file, &miniz_oxide::deflate::compress_to_vec(&bytes, 9))?;
        let upper = shader.name.to_uppercase();
        let _ = write!(
            rust,
            "static {upper}_VARIANTS: [Variant; {count}] = [\n{variants}];\n\
             /// `{}`; parameters: {}.\n\
             pub static {upper}: Shader = Shader::new({:?}, &{:?}, &{upper}_VARIANTS, include_bytes!({:?}));\n",
            shader.path,
            if shader.variants.params.is_empty() { "none".into() } else { shader.variants.params.join(", ") },
            shader.name,
            shader.variants.params,
            file.display().to_string(),
        );
        let _ = write!(all, "&{upper}, ");
    }
    let _ = writeln!(rust, "/// Every shader file.\npub static ALL: &[&Shader] = &[{all}];");
    save(&out.join("shaders.rs"), rust.as_bytes())
}

fn save(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}
