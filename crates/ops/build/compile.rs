//! Compiles every variant on a few threads, taking from the cache what did not change.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use glslang::{Compiler, CompilerOptions, ShaderInput, ShaderMessage, ShaderSource, ShaderStage, SourceLanguage, SpirvVersion};
use glslang::{Target, VulkanVersion};

use crate::source::Source;
use crate::spirv;
use crate::variants::Value;

/// A variant's module.
pub struct Module {
    /// Which shader file, and which of its variants.
    pub shader: usize,
    pub variant: usize,
    pub words: Vec<u32>,
}

/// `stem.f32.sum`.
pub fn name(shader: &Source, values: &[Value]) -> String {
    std::iter::once(shader.name.as_str()).chain(values.iter().map(|v| v.text.as_str())).collect::<Vec<_>>().join(".")
}

/// Every variant of every shader, in order.
pub fn all(shaders: &[Source], out: &Path) -> Result<Vec<Module>, String> {
    let cache = out.join("cache");
    std::fs::create_dir_all(&cache).map_err(|e| format!("{}: {e}", cache.display()))?;
    let jobs: Vec<(usize, usize)> =
        shaders.iter().enumerate().flat_map(|(s, f)| (0..f.variants.list.len()).map(move |v| (s, v))).collect();
    let (next, done, errors, used) = (AtomicUsize::new(0), Mutex::default(), Mutex::default(), Mutex::default());
    let compiler = Compiler::acquire().ok_or("glslang does not start")?;
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get()).min(8);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(&(s, v)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let values = &shaders[s].variants.list[v];
                    let text = shaders[s].glsl(values);
                    let file = cache.join(hash(&text));
                    push(&used, file.clone());
                    match module(compiler, text, &file) {
                        Ok(words) => push(&done, Module { shader: s, variant: v, words }),
                        Err(e) => push(&errors, format!("{} ({}): {e}", shaders[s].path, name(&shaders[s], values))),
                    }
                }
            });
        }
    });
    let errors: Vec<String> = take(errors);
    if let Some(first) = errors.first() {
        return Err(format!("{} of {} shaders failed. The first:\n{first}", errors.len(), jobs.len()));
    }
    forget_others(&cache, &take(used).into_iter().collect());
    let mut modules: Vec<Module> = take(done);
    modules.sort_by_key(|m| (m.shader, m.variant));
    Ok(modules)
}

fn push<T>(list: &Mutex<Vec<T>>, value: T) {
    if let Ok(mut l) = list.lock() {
        l.push(value);
    }
}

fn take<T>(list: Mutex<Vec<T>>) -> Vec<T> {
    list.into_inner().unwrap_or_default()
}

fn hash(text: &str) -> String {
    let mut h = DefaultHasher::new();
    // The number stands for everything that is done to a module besides its source.
    (1u32, text).hash(&mut h);
    format!("{:016x}", h.finish())
}

fn module(compiler: &Compiler, text: String, file: &Path) -> Result<Vec<u32>, String> {
    if let Ok(bytes) = std::fs::read(file) {
        if bytes.len() > 20 && bytes.len() % 4 == 0 {
            return Ok(bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect());
        }
    }
    let words = spirv::strip(&compile(compiler, text)?)?;
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    std::fs::write(file, bytes).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(words)
}

fn compile(compiler: &Compiler, text: String) -> Result<Vec<u32>, String> {
    let source = ShaderSource::from(text);
    let options = CompilerOptions {
        source_language: SourceLanguage::GLSL,
        target: Target::Vulkan { version: VulkanVersion::Vulkan1_2, spirv_version: SpirvVersion::SPIRV1_5 },
        version_profile: None,
        messages: ShaderMessage::DEFAULT,
    };
    let defines: Option<&[(&str, Option<&str>)]> = None;
    let input = ShaderInput::new(&source, ShaderStage::Compute, &options, defines, None).map_err(|e| e.to_string())?;
    let shader = compiler.create_shader(input).map_err(|e| e.to_string())?;
    shader.compile().map_err(|e| e.to_string())
}

/// Removes what no variant uses any more.
fn forget_others(cache: &Path, used: &HashSet<PathBuf>) {
    for entry in std::fs::read_dir(cache).into_iter().flatten().flatten() {
        if !used.contains(&entry.path()) {
            // A file that stays does no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
