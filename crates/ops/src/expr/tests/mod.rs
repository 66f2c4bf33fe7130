//! Tests of the compiler: known values, every generated module against spirv-val, and the shaders' results against the
//! interpreter's on a device.

mod chains;
mod device;
mod known;
mod shaders;

use tfvk_device::{DType, Shape, Tensor};

use super::declare::{Attr, AttrValue};
use super::{Expression, Formula, Program, declare};
use crate::{Body, KernelDef, registry};

/// The operand types of a declaration, for each combination of its type attributes.
fn operand_types(def: &KernelDef, e: &Expression) -> Vec<(Vec<DType>, Vec<AttrValue>)> {
    let n = match e.formula {
        Formula::Unary(_) | Formula::UnaryAttr(_) => 1,
        Formula::Binary(_) | Formula::BinaryAttr(_) => 2,
        Formula::Ternary(_) => 3,
        Formula::General(_) => 2,
    };
    let attrs = |to: DType| {
        let value = |a: &Attr| match a {
            Attr::Float(_) => AttrValue::Float(0.25f32.to_bits()),
            Attr::Type(_) => AttrValue::Type(to),
            Attr::Bool(_) => AttrValue::Bool(false),
            Attr::Floats(_) => AttrValue::Floats([-1.0f32, 0.0, 2.5].iter().map(|v| v.to_bits()).collect()),
        };
        e.attrs.iter().map(value).collect::<Vec<_>>()
    };
    match def.types {
        [] => vec![(vec![DType::Bool; n], attrs(DType::Bool))],
        [one] => {
            let operands = |d: DType| {
                let mut types = vec![d; n];
                if def.op.starts_with("Select") {
                    types[0] = DType::Bool;
                }
                types
            };
            one.dtypes.iter().map(|&d| (operands(d), attrs(d))).collect()
        }
        [from, to, ..] => from
            .dtypes
            .iter()
            .flat_map(|&f| to.dtypes.iter().map(move |&t| (f, t)))
            .map(|(f, t)| (vec![f; n], attrs(t)))
            .collect(),
    }
}

/// Every element-wise op for every type.
fn programs() -> Vec<Program> {
    let mut out = Vec::new();
    for def in registry::all() {
        let Body::Expression(e) = &def.body else { continue };
        for (types, attrs) in operand_types(def, e) {
            out.push(declare::program(def.op, e, &attrs, &types).unwrap_or_else(|e| panic!("{} {types:?}: {e}", def.op)));
        }
    }
    assert!(out.len() > 500, "only {} programs", out.len());
    out
}

/// A tensor over `bytes`, which must outlive it.
fn over(dtype: DType, shape: &Shape, bytes: &mut [u8]) -> Tensor {
    assert_eq!(bytes.len() as u64, shape.num_elements() as u64 * dtype.size() as u64);
    // SAFETY: callers keep the bytes alive; the interpreter reads and writes single bytes.
    unsafe { Tensor::from_host(dtype, shape.clone(), bytes.as_mut_ptr()) }
}

/// The interpreter's results.
fn interpreted(program: &Program, inputs: &[(Shape, Vec<u8>)], scalars: &[u64], shape: &Shape) -> Vec<Vec<u8>> {
    let mut data: Vec<Vec<u8>> = inputs.iter().map(|(_, b)| b.clone()).collect();
    let tensors: Vec<Tensor> =
        inputs.iter().zip(program.inputs()).zip(&mut data).map(|(((s, _), &d), bytes)| over(d, s, bytes)).collect();
    let size = shape.num_elements() as usize;
    let mut results: Vec<Vec<u8>> = program.outputs().iter().map(|o| vec![0; size * o.dtype.size()]).collect();
    let mut outputs: Vec<Tensor> = program.outputs().iter().zip(&mut results).map(|(o, b)| over(o.dtype, shape, b)).collect();
    super::interpret(program, &tensors, scalars, &mut outputs).unwrap();
    results
}

/// Elements of any type that make sense: small integers, halves, and some extremes.
fn sample(dtype: DType, n: usize, seed: u64) -> Vec<u8> {
    use super::{eval, graph::Ty, storage};
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = vec![0; n * dtype.size()];
    for i in 0..n {
        for part in 0..if dtype.is_complex() { 2 } else { 1 } {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let v = (state >> 40) as f64 / f64::from(1 << 24) * 16.0 - 6.0;
            let v = match (i % 17, dtype.is_float()) {
                (3, true) => 0.0,
                (5, true) => -0.0,
                (7, true) => f64::INFINITY,
                (9, true) => f64::NAN,
                (11, true) => 1e-3 * v,
                (13, true) => 100.0 * v,
                (_, false) if !dtype.is_complex() => v.trunc(),
                _ => v,
            };
            let bits = eval::bits_of_f64(Ty::of(dtype), v);
            let bits = match dtype {
                DType::F16 => {
                    // Exactly representable: a few significant bits, unless special.
                    u64::from(
                        ((v as f32).to_bits() & 0xffff_0000).min(0x7f80_0000 | (v as f32).to_bits() & 0x8000_0000 | 0x7fff_0000),
                    )
                }
                _ => bits,
            };
            storage::store(dtype, &mut bytes, i, part, bits);
        }
    }
    bytes
}
