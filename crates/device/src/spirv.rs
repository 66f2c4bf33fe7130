//! The few things that a launch must know of a SPIR-V module: version, capabilities, entry point, specialisation
//! constants, workgroup size and shared memory. Not a validator; knows no device.

use std::collections::HashMap;

/// What [`parse`] finds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    /// Major and minor version.
    pub version: (u8, u8),
    /// Declared capabilities, by number.
    pub capabilities: Vec<u32>,
    /// Declared extensions.
    pub extensions: Vec<String>,
    /// The name of the GLCompute entry point.
    pub entry: String,
    /// Bytes of push constants are not known here; the ids of specialisation constants are.
    pub spec_ids: Vec<u32>,
    /// A literal workgroup size, where there is one; specialisation constants 0 to 2 override it.
    pub local_size: Option<[u32; 3]>,
    shared: Vec<Size>,
}

/// A size in bytes that may depend on specialisation constants.
#[derive(Clone, Debug)]
enum Size {
    Bytes(u64),
    Times(Box<Size>, Count),
    Sum(Vec<Size>),
}

/// The length of an array.
#[derive(Clone, Debug)]
enum Count {
    Known(u64),
    Spec { id: u32, default: u64 },
    Op { opcode: u32, operands: Vec<Count> },
    Unknown,
}

const MAGIC: u32 = 0x0723_0203;

/// One instruction of a module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction<'a> {
    pub opcode: u32,
    pub operands: &'a [u32],
    /// All its words, the first with the opcode and their number.
    pub all: &'a [u32],
    /// Where in the module it ends.
    pub end: usize,
}

/// The instructions after the header. One that runs past the end is an error, the word that it starts at, and the last item.
pub(crate) fn instructions(words: &[u32]) -> impl Iterator<Item = Result<Instruction<'_>, usize>> {
    let mut at = 5;
    std::iter::from_fn(move || {
        let (first, start) = (*words.get(at)?, at);
        let all = words.get(at..at + (first >> 16) as usize).filter(|all| !all.is_empty());
        at = all.map_or(words.len(), |all| at + all.len());
        Some(all.map_or(Err(start), |all| Ok(Instruction { opcode: first & 0xffff, operands: &all[1..], all, end: at })))
    })
}

/// Read a module. The error says what is wrong with it.
pub(crate) fn parse(words: &[u32]) -> Result<Module, String> {
    if words.len() < 5 || words[0] != MAGIC {
        return Err("it does not start with the SPIR-V magic number".into());
    }
    let mut module = Module { version: ((words[1] >> 16) as u8, (words[1] >> 8) as u8), ..Module::default() };
    let mut spec_of: HashMap<u32, u32> = HashMap::new();
    let mut constants: HashMap<u32, Count> = HashMap::new();
    let mut types: HashMap<u32, Size> = HashMap::new();
    let mut pointers: HashMap<u32, u32> = HashMap::new();
    for instruction in instructions(words) {
        let i = instruction.map_err(|at| format!("the instruction at word {at} runs past the end"))?;
        match (i.opcode, i.operands) {
            (17, &[capability]) => module.capabilities.push(capability),
            (10, name) => module.extensions.push(string(name)),
            (15, &[5, _, ref name @ ..]) => module.entry = string(name),
            (16, &[_, 17, x, y, z]) => module.local_size = Some([x, y, z]),
            (71, &[target, 1, id]) => {
                spec_of.insert(target, id);
                module.spec_ids.push(id);
            }
            // OpTypeBool, Int, Float, Vector, Matrix, Array, Struct, Pointer: all that shared memory is made of.
            (20, &[id]) => drop(types.insert(id, Size::Bytes(4))),
            (21 | 22, &[id, bits, ..]) => drop(types.insert(id, Size::Bytes(u64::from(bits) / 8))),
            (23 | 24, &[id, of, n]) => {
                if let Some(size) = types.get(&of).cloned() {
                    types.insert(id, Size::Times(Box::new(size), Count::Known(u64::from(n))));
                }
            }
            (28, &[id, of, length]) => {
                if let Some(size) = types.get(&of).cloned() {
                    let n = constants.get(&length).cloned().unwrap_or(Count::Unknown);
                    types.insert(id, Size::Times(Box::new(size), n));
                }
            }
            (30, &[id, ref members @ ..]) => {
                let sizes = members.iter().filter_map(|m| types.get(m).cloned()).collect();
                types.insert(id, Size::Sum(sizes));
            }
            (32, &[id, 4, of]) => drop(pointers.insert(id, of)),
            // OpConstant, OpSpecConstant, OpSpecConstantOp.
            (43, &[_, id, value, ..]) => drop(constants.insert(id, Count::Known(u64::from(value)))),
            (50, &[_, id, value, ..]) => {
                let default = u64::from(value);
                let n = spec_of.get(&id).map_or(Count::Known(default), |&id| Count::Spec { id, default });
                constants.insert(id, n);
            }
            (52, &[_, id, opcode, ref operands @ ..]) => {
                let operands = operands.iter().map(|o| constants.get(o).cloned().unwrap_or(Count::Unknown)).collect();
                constants.insert(id, Count::Op { opcode, operands });
            }
            // OpVariable in Workgroup storage.
            (59, &[pointer, _, 4, ..]) => {
                if let Some(size) = pointers.get(&pointer).and_then(|of| types.get(of)) {
                    module.shared.push(size.clone());
                }
            }
            // OpFunction: declarations are over.
            (54, _) => break,
            _ => {}
        }
    }
    if module.entry.is_empty() {
        return Err("it has no GLCompute entry point".into());
    }
    Ok(module)
}

impl Module {
    /// Bytes of shared memory with these specialisation constants, as far as the declarations say.
    pub fn shared_memory(&self, constants: &[u32]) -> u64 {
        self.shared.iter().map(|s| s.bytes(constants)).fold(0, u64::saturating_add)
    }

    /// The workgroup size with these specialisation constants; `None` if the module does not follow the convention.
    pub fn group_size(&self, constants: &[u32]) -> Option<[u32; 3]> {
        let literal = self.local_size;
        let mut size = literal.unwrap_or([1; 3]);
        let mut found = literal.is_some();
        for (axis, n) in size.iter_mut().enumerate() {
            if self.spec_ids.contains(&(axis as u32)) {
                if let Some(&v) = constants.get(axis) {
                    *n = v;
                    found = true;
                }
            }
        }
        found.then_some(size)
    }
}

impl Size {
    fn bytes(&self, constants: &[u32]) -> u64 {
        match self {
            Size::Bytes(n) => *n,
            Size::Times(of, n) => of.bytes(constants).saturating_mul(n.value(constants)),
            Size::Sum(of) => of.iter().map(|s| s.bytes(constants)).fold(0, u64::saturating_add),
        }
    }
}

impl Count {
    /// The value; 0 where it is not known, so that nothing is refused for a guess.
    fn value(&self, constants: &[u32]) -> u64 {
        match self {
            Count::Known(n) => *n,
            Count::Spec { id, default } => constants.get(*id as usize).map_or(*default, |&v| u64::from(v)),
            Count::Op { opcode, operands } => {
                let v: Vec<u32> = operands.iter().map(|o| o.value(constants) as u32).collect();
                u64::from(match (opcode, v.as_slice()) {
                    (128, [a, b]) => a.wrapping_add(*b),
                    (130, [a, b]) => a.wrapping_sub(*b),
                    (132, [a, b]) => a.wrapping_mul(*b),
                    (134 | 135, [a, b]) => a.checked_div(*b).unwrap_or(0),
                    (137, [a, b]) => a.checked_rem(*b).unwrap_or(0),
                    (194 | 195, [a, b]) => a.checked_shr(*b).unwrap_or(0),
                    (196, [a, b]) => a.checked_shl(*b).unwrap_or(0),
                    _ => 0,
                })
            }
            Count::Unknown => 0,
        }
    }
}

fn string(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take_while(|&b| b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A 128-bit hash of words, the same in every process. Two lanes of different odd multipliers, each word mixed by a
/// multiplication and a rotation, so that a collision of two kernels is out of the question by chance.
pub(crate) fn hash(words: &[u32]) -> u128 {
    let mut a: u64 = 0x9e37_79b9_7f4a_7c15 ^ words.len() as u64;
    let mut b: u64 = 0xc2b2_ae3d_27d4_eb4f;
    for &w in words {
        a = (a ^ u64::from(w)).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29);
        b = (b.rotate_left(23) ^ u64::from(w)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        b ^= b >> 31;
    }
    u128::from(finish(a)) << 64 | u128::from(finish(b ^ a.rotate_left(17)))
}

/// MurmurHash3's finaliser: every input bit reaches every output bit.
pub(crate) fn finish(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_is_no_module() {
        assert!(parse(&[]).is_err());
        assert!(parse(&[MAGIC, 0x0001_0500, 0, 8, 0]).is_err(), "no entry point");
        assert!(parse(&[MAGIC, 0x0001_0500, 0, 8, 0, 9 << 16 | 17]).is_err(), "cut short");
        assert!(parse(&[MAGIC, 0x0001_0500, 0, 8, 0, 0]).is_err(), "an instruction of no words");
    }

    #[test]
    fn hash_sees_order_and_length() {
        let h = [hash(&[]), hash(&[0]), hash(&[0, 0]), hash(&[1, 2]), hash(&[2, 1])];
        for (i, a) in h.iter().enumerate() {
            assert!(h.iter().skip(i + 1).all(|b| a != b));
        }
    }
}
