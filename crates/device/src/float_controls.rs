//! Asks the driver to keep NaN, infinities and signed zeros, in a module's own words: without SignedZeroInfNanPreserve a
//! driver may assume that there are none, and drops comparisons such as `x != x`.
//!
//! Every pipeline's module goes through here, whoever generated it. Denormals and rounding are left alone. Knows no device.

use std::borrow::Cow;

use crate::spirv::instructions;

/// OpCapability SignedZeroInfNanPreserve, the execution mode of the same name, OpCapability Float16.
const CAPABILITY: u32 = 4466;
const MODE: u32 = 4461;
const FLOAT16: u32 = 9;
const EXTENSION: &str = "SPV_KHR_float_controls";
/// The version from which it needs no extension.
const IN_CORE: u32 = 0x0001_0400;

/// The module with the mode for each float width that it declares and `offered` says yes to (16, 32 and 64 bits). What it
/// has already is not said twice. A module that is not understood is returned as it is.
pub(crate) fn keep_nans(words: &[u32], offered: impl Fn(u32) -> bool) -> Cow<'_, [u32]> {
    patched(words, offered).map_or(Cow::Borrowed(words), Cow::Owned)
}

fn patched(words: &[u32], offered: impl Fn(u32) -> bool) -> Option<Vec<u32>> {
    let header = words.get(..5)?;
    // The words after the last capability, extension and entry point; all three follow the header in this order.
    let (mut capabilities_end, mut entries_end) = (5, 0);
    let (mut entry, mut has_capability, mut has_extension, mut float16) = (None, false, header[1] >= IN_CORE, false);
    let (mut widths, mut present) = (Vec::new(), Vec::new());
    for instruction in instructions(words) {
        let i = instruction.ok()?;
        match (i.opcode, i.operands) {
            (17, &[capability]) => {
                capabilities_end = i.end;
                has_capability |= capability == CAPABILITY;
                float16 |= capability == FLOAT16;
            }
            (10, name) => has_extension |= name == literal(EXTENSION),
            (15, &[5, id, ..]) => (entry, entries_end) = (Some(id), i.end),
            (15, _) => entries_end = i.end,
            (16, &[_, MODE, width]) => present.push(width),
            // OpTypeFloat with an encoding is another format (bfloat16), which the mode does not speak of.
            (22, &[_, width]) => widths.push(width),
            (54, _) => break,
            _ => {}
        }
    }
    let entry = entry?;
    widths.retain(|&w| offered(w) && !present.contains(&w) && (w != 16 || float16));
    widths.dedup();
    if widths.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(words.len() + 24);
    out.extend_from_slice(&words[..capabilities_end]);
    if !has_capability {
        out.extend([2 << 16 | 17, CAPABILITY]);
    }
    if !has_extension {
        let name = literal(EXTENSION);
        out.push((name.len() as u32 + 1) << 16 | 10);
        out.extend(name);
    }
    out.extend_from_slice(&words[capabilities_end..entries_end]);
    for width in widths {
        out.extend([4 << 16 | 16, entry, MODE, width]);
    }
    out.extend_from_slice(&words[entries_end..]);
    Some(out)
}

/// A literal string: its bytes, a zero, and zeros to a whole word.
fn literal(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 4 + 1) * 4, 0);
    bytes.chunks_exact(4).map(|b| b.iter().rev().fold(0, |w, &b| w << 8 | u32::from(b))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spirv;

    /// An empty kernel that declares floats of these widths.
    fn module(version: u32, widths: &[u32]) -> Vec<u32> {
        let mut words = vec![0x0723_0203, version, 0, 20, 0, 2 << 16 | 17, 1];
        for &w in widths {
            match w {
                16 => words.extend([2 << 16 | 17, FLOAT16]),
                64 => words.extend([2 << 16 | 17, 10]),
                _ => {}
            }
        }
        // OpMemoryModel Logical GLSL450; OpEntryPoint GLCompute %1 "main"; LocalSize 1 1 1.
        words.extend([3 << 16 | 14, 0, 1]);
        let name = literal("main");
        words.extend([(name.len() as u32 + 3) << 16 | 15, 5, 1]);
        words.extend(name);
        words.extend([6 << 16 | 16, 1, 17, 1, 1, 1]);
        words.extend([2 << 16 | 19, 2, 3 << 16 | 33, 3, 2]);
        for (i, &w) in widths.iter().enumerate() {
            words.extend([3 << 16 | 22, 6 + i as u32, w]);
        }
        // OpFunction, OpLabel, OpReturn, OpFunctionEnd.
        words.extend([5 << 16 | 54, 2, 1, 0, 3, 2 << 16 | 248, 4, 1 << 16 | 253, 1 << 16 | 56]);
        words
    }

    fn modes(words: &[u32]) -> Vec<u32> {
        words.windows(4).filter(|w| w[0] == 4 << 16 | 16 && w[2] == MODE).map(|w| w[3]).collect()
    }

    /// Fails with the tool's words; says so where it is not installed.
    fn validate(words: &[u32], name: &str) {
        let file = std::env::temp_dir().join(format!("tfvk-modes-{}-{name}.spv", std::process::id()));
        std::fs::write(&file, words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
        match std::process::Command::new("spirv-val").args(["--target-env", "vulkan1.2"]).arg(&file).output() {
            Ok(out) => {
                assert!(
                    out.status.success(),
                    "{name}: {}{}",
                    String::from_utf8_lossy(&out.stdout),
                    String::from_utf8_lossy(&out.stderr)
                );
            }
            Err(_) => eprintln!("spirv-val is not installed: nothing was checked"),
        }
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn every_width_that_is_declared_and_offered() {
        for version in [0x0001_0000, 0x0001_0300, 0x0001_0400, 0x0001_0500] {
            let plain = module(version, &[16, 32, 64]);
            let all = keep_nans(&plain, |_| true);
            assert_eq!(modes(&all), [16, 32, 64]);
            validate(&plain, "plain");
            validate(&all, &format!("all-{version:x}"));
            let parsed = spirv::parse(&all).unwrap();
            assert!(parsed.capabilities.contains(&CAPABILITY));
            assert_eq!(parsed.extensions.iter().any(|e| e == EXTENSION), version < IN_CORE);
            let some = keep_nans(&plain, |w| w == 32);
            assert_eq!(modes(&some), [32]);
            validate(&some, "some");
            assert_eq!(modes(&keep_nans(&some, |_| true)), [16, 64, 32], "what was there stays");
            assert_eq!(keep_nans(&all, |_| true), all, "nothing twice");
        }
    }

    #[test]
    fn leaves_the_rest_alone() {
        let integers = module(0x0001_0500, &[]);
        assert_eq!(keep_nans(&integers, |_| true), integers);
        let floats = module(0x0001_0500, &[32]);
        assert_eq!(keep_nans(&floats, |_| false), floats);
        for cut in 0..floats.len() {
            let part = keep_nans(&floats[..cut], |_| true);
            assert!(part.len() == cut || part.ends_with(&floats[cut - 1..cut]), "cut at word {cut}");
        }
    }
}
