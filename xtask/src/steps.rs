//! The steps that are a cargo command.

use std::process::Command;

use crate::Outcome;
use crate::files::root;

/// The weakest device that is to work. A test on an element type that it lacks asserts that it is refused clearly.
const WEAK: &[(&str, &str)] = &[
    ("TFVK_LIMIT_INVOCATIONS", "256"),
    ("TFVK_LIMIT_SHARED_MEMORY", "16384"),
    ("TFVK_LIMIT_GROUPS", "65535"),
    ("TFVK_LIMIT_WORK", "2k"),
    ("TFVK_DISABLE", "int64,f64,f16,int16,int8,subgroups,float_controls,memory_model,atomics,dot"),
];

/// Where Vulkan's loader finds the description of Khronos's validation layer.
const LAYER: &[&str] =
    &["/usr/share/vulkan/explicit_layer.d", "/usr/local/share/vulkan/explicit_layer.d", "/etc/vulkan/explicit_layer.d"];

pub fn fmt() -> Outcome {
    cargo(&["fmt", "--all", "--check"], &[])
}

pub fn clippy() -> Outcome {
    cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "--deny", "warnings"], &[])
}

pub fn test() -> Outcome {
    cargo(&["test", "--workspace", "--locked"], &software())
}

pub fn weak() -> Outcome {
    let mut env = software();
    env.extend(WEAK);
    cargo(&["test", "--locked", "-p", "tfvk-device", "-p", "tfvk-ops"], &env)
}

pub fn validation() -> Outcome {
    let name = "VkLayer_khronos_validation.json";
    if !LAYER.iter().any(|folder| std::path::Path::new(folder).join(name).exists()) && std::env::var_os("VK_LAYER_PATH").is_none()
    {
        return Err(format!("{name} is not installed: sudo apt-get install vulkan-validationlayers"));
    }
    let mut env = software();
    env.push(("TFVK_VALIDATION", "sync"));
    // Where there is no transfer queue, the one queue stands in for it: its semaphores and barriers are checked too.
    env.push(("TFVK_EMULATE", "transfer"));
    // The way into very large tensors, whose modules are made at run time.
    env.push(("TFVK_FAR", "1"));
    // The ops' tests do not ask the layer for complaints, so they are looked for in what is printed.
    let tests = ["test", "--locked", "--quiet", "-p", "tfvk-device", "-p", "tfvk-ops"];
    let output = command(&tests, &env).output().map_err(|e| format!("cargo: {e}"))?;
    let text = [output.stdout, output.stderr].map(|t| String::from_utf8_lossy(&t).into_owned()).concat();
    let complaints: Vec<&str> = text.lines().filter(|l| l.contains(COMPLAINT)).collect();
    match (output.status.success(), complaints.first()) {
        (true, None) => Ok("no complaint, synchronisation included".into()),
        (true, Some(first)) => Err(format!("{} complaints of the validation layer, the first:\n{first}", complaints.len())),
        (false, _) => Err(format!("{text}\ncargo {} failed ({})", tests.join(" "), output.status)),
    }
}

/// How the device crate logs an error of the validation layer.
const COMPLAINT: &str = "tensorflow-vulkan E: validation:";

/// Allows the software driver where there is no GPU, unless the caller has decided.
fn software() -> Vec<(&'static str, &'static str)> {
    let gpu = ["/dev/nvidia0", "/dev/dri/renderD128", "/dev/dxg"].iter().any(|d| std::path::Path::new(d).exists());
    if gpu || std::env::var_os("TFVK_ALLOW_SOFTWARE").is_some() { Vec::new() } else { vec![("TFVK_ALLOW_SOFTWARE", "1")] }
}

fn command(arguments: &[&str], env: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    command.args(arguments).current_dir(root()).envs(env.iter().copied());
    command
}

fn cargo(arguments: &[&str], env: &[(&str, &str)]) -> Outcome {
    let status = command(arguments, env).status().map_err(|e| format!("cargo: {e}"))?;
    if status.success() { Ok(String::new()) } else { Err(format!("cargo {} failed ({status})", arguments.join(" "))) }
}
