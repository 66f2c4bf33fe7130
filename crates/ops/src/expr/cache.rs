//! Bounded caches: the compiled variants of a program, and the programs of the ops that nodes use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tfvk_device::{DType, Kernel, Result};

use super::declare::{AttrValue, Expression};
use super::plan::Variant;
use super::{Chain, Program, declare, spirv};

/// Variants kept for one program. Shapes don't make variants, so few programs ever have a dozen.
const MAX_VARIANTS: usize = 64;

/// Programs kept for nodes to share.
const MAX_PROGRAMS: usize = 4096;

/// A variant, and the kernel in the place of whose loads it is, if it is no kernel of its own.
type Made = (Variant, Option<&'static str>);

/// The compiled variants of one program: a short list, quicker to search than to hash.
#[derive(Default)]
pub struct Modules(Mutex<Vec<(Made, Arc<Kernel>)>>);

impl Modules {
    /// The kernel for a variant, generated at first use.
    pub fn get(&self, program: &Program, variant: &Variant) -> Result<Arc<Kernel>> {
        self.made(variant, None, || Ok(Kernel::from_words(program.name(), spirv::generate(program, variant)?)))
    }

    /// A kernel with the program in the place of its loads.
    pub fn graft(&self, program: &Program, variant: &Variant, base: &'static Kernel) -> Result<Arc<Kernel>> {
        self.made(variant, Some(&base.name), || {
            let name = format!("{} of {}", base.name, program.name());
            Ok(Kernel::from_words(name, spirv::graft(&base.spirv, program, variant)?))
        })
    }

    fn made(&self, variant: &Variant, base: Option<&'static str>, make: impl FnOnce() -> Result<Kernel>) -> Result<Arc<Kernel>> {
        let is = |((v, i), _): &&(Made, Arc<Kernel>)| v == variant && *i == base;
        if let Some((_, k)) = self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().find(is) {
            return Ok(k.clone());
        }
        let kernel = Arc::new(make()?);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_VARIANTS {
            known.clear();
        }
        known.push(((variant.clone(), base), kernel.clone()));
        Ok(kernel)
    }
}

/// The chain that a text says, and its program, which all nodes with that text share.
pub fn chain(text: &str) -> Result<Arc<(Chain, Program)>> {
    type Chains = HashMap<String, Arc<(Chain, Program)>>;
    static CHAINS: Mutex<Option<Chains>> = Mutex::new(None);
    let lock = || CHAINS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lock().as_ref().and_then(|m| m.get(text)) {
        return Ok(known.clone());
    }
    let chain: Chain = text.parse()?;
    let program = chain.program()?;
    let made = Arc::new((chain, program));
    let mut map = lock();
    let map = map.get_or_insert_default();
    if map.len() >= MAX_PROGRAMS {
        map.clear();
    }
    map.insert(text.to_owned(), made.clone());
    Ok(made)
}

/// What makes an op's program: the op, the operands' types, the attributes that are known when it is built.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    op: String,
    inputs: Vec<DType>,
    attrs: Vec<AttrValue>,
}

/// The program of an op for these operand types; launch-time attributes don't matter.
pub fn program(op: &str, e: &Expression, attrs: &[AttrValue], inputs: &[DType]) -> Result<Arc<Program>> {
    static PROGRAMS: Mutex<Option<HashMap<Key, Arc<Program>>>> = Mutex::new(None);
    let attrs_key = attrs.iter().map(AttrValue::without_number).collect();
    let key = Key { op: op.into(), inputs: inputs.to_vec(), attrs: attrs_key };
    let lock = || PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(p) = lock().as_ref().and_then(|m| m.get(&key)) {
        return Ok(p.clone());
    }
    let program = Arc::new(declare::program(op, e, attrs, inputs)?);
    let mut map = lock();
    let map = map.get_or_insert_default();
    if map.len() >= MAX_PROGRAMS {
        map.clear();
    }
    map.insert(key, program.clone());
    Ok(program)
}
