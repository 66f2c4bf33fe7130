//! Programs that all nodes of an op share, by op, flag and element types.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tfvk_device::{DType, Result};

use crate::expr::{Program, Value};

type Key = (&'static str, bool, Vec<DType>);

/// The program of `op` with `flag` for these operands, built by `build` when it is wanted for the first time.
pub(crate) fn shared<F>(op: &'static str, flag: bool, types: &[DType], build: F) -> Result<Arc<Program>>
where
    F: for<'a> FnOnce(&[Value<'a>]) -> Vec<Value<'a>>,
{
    shared_with(op, flag, types, &[], |operands, _| build(operands))
}

/// The same with numbers that are given at launch, of types `numbers`.
pub(crate) fn shared_with<F>(op: &'static str, flag: bool, types: &[DType], numbers: &[DType], build: F) -> Result<Arc<Program>>
where
    F: for<'a> FnOnce(&[Value<'a>], &[Value<'a>]) -> Vec<Value<'a>>,
{
    static PROGRAMS: Mutex<Option<HashMap<Key, Arc<Program>>>> = Mutex::new(None);
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let programs = programs.get_or_insert_default();
    let key = (op, flag, types.to_vec());
    if let Some(p) = programs.get(&key) {
        return Ok(p.clone());
    }
    let program = Arc::new(Program::build(op, types, numbers, |_, operands, numbers| Ok(build(operands, numbers)))?);
    programs.insert(key, program.clone());
    Ok(program)
}
