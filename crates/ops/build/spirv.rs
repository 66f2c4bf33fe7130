//! What is done to a module after glslang: names and debug information go.

/// The module without debug instructions.
pub fn strip(words: &[u32]) -> Result<Vec<u32>, String> {
    const HEADER: usize = 5;
    let mut out = words.get(..HEADER).ok_or("a module without a header")?.to_vec();
    let mut at = HEADER;
    while at < words.len() {
        let (opcode, len) = (words[at] & 0xffff, (words[at] >> 16) as usize);
        let instruction = words.get(at..at + len).filter(|i| !i.is_empty()).ok_or("a truncated module")?;
        // OpSourceContinued, OpSource, OpSourceExtension, OpName, OpMemberName, OpString, OpLine, OpNoLine, OpModuleProcessed.
        if !matches!(opcode, 2..=8 | 317 | 330) {
            out.extend_from_slice(instruction);
        }
        at += len;
    }
    Ok(out)
}
