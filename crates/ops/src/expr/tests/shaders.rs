//! Every element-wise op, for every element type that it is declared for, makes modules that spirv-val accepts.

use std::path::PathBuf;
use std::process::Command;

use smallvec::smallvec;
use tfvk_device::DType;

use super::programs;
use crate::expr::plan::{Access, Variant};
use crate::expr::spirv::{RowInput, RowPart, RowParts, RowPlace};
use crate::expr::{Builder, Program, Value, spirv};

/// Modules in files, checked many at a time: starting the tool costs more than its work.
struct Validator {
    dir: PathBuf,
    files: Vec<PathBuf>,
}

impl Validator {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("tfvk-spirv-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self { dir, files: Vec::new() }
    }

    fn add(&mut self, program: &Program, variant: &Variant) {
        self.add_words(program, variant, &spirv::generate(program, variant).unwrap());
    }

    fn add_words(&mut self, program: &Program, variant: &Variant, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let name = program.name().replace(['(', ')', ',', ' '], "_");
        let file = self.dir.join(format!("{}-{name}-{}-{}.spv", self.files.len(), variant.lanes, variant.rank));
        std::fs::write(&file, bytes).unwrap();
        self.files.push(file);
    }

    /// Fails with the tool's words; says so where it is not installed.
    fn check(self) {
        assert!(!self.files.is_empty());
        let script = "for f; do spirv-val --target-env vulkan1.2 --scalar-block-layout \"$f\" || { echo \"$f\"; exit 1; }; done";
        if Command::new("spirv-val").arg("--version").output().is_err() {
            eprintln!("spirv-val is not installed: nothing was checked");
        } else {
            for chunk in self.files.chunks(500) {
                let out = Command::new("sh").args(["-c", script, "sh"]).args(chunk).output().unwrap();
                assert!(out.status.success(), "{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
            }
        }
        std::fs::remove_dir_all(self.dir).unwrap();
    }
}

fn variants(n: usize, dtypes: &[DType]) -> Vec<Variant> {
    let size = dtypes.iter().map(|d| d.size()).max().unwrap_or(4);
    let lanes = (16 / size) as u8;
    let alternate = |a: Access, b: Access| (0..n).map(|i| if i % 2 == 0 { a } else { b }).collect();
    vec![
        Variant { lanes: 1, rank: 0, access: smallvec![Access::Full; n] },
        Variant { lanes, rank: 0, access: smallvec![Access::Full; n] },
        Variant { lanes: 1, rank: 3, access: smallvec![Access::Strided; n] },
        Variant { lanes, rank: 8, access: alternate(Access::Strided, Access::Splat) },
        Variant { lanes, rank: 0, access: alternate(Access::One, Access::Host) },
        Variant { lanes, rank: 2, access: alternate(Access::Full, Access::Strided) },
    ]
}

fn add_all(validator: &mut Validator, program: &Program) {
    let types: Vec<DType> = program.inputs().iter().copied().chain(program.outputs().iter().map(|o| o.dtype)).collect();
    for variant in variants(program.inputs().len(), &types) {
        validator.add(program, &variant);
    }
}

#[test]
#[cfg_attr(windows, ignore = "the tests of another system check the same modules")]
fn all_types_and_variants() {
    let mut v = Validator::new("types");
    for &d in DType::NUMERIC {
        let p = Program::build("select", &[d, d], &[], |_: &Builder, x: &[Value<'_>], _: &[Value<'_>]| {
            Ok(vec![x[0].equal(x[1]).select(x[0], x[1]), x[1]])
        });
        add_all(&mut v, &p.unwrap());
    }
    v.check();
}

#[test]
#[cfg_attr(windows, ignore = "the tests of another system check the same modules")]
fn loops() {
    let mut v = Validator::new("loops");
    let p = Program::build("loop", &[DType::F32], &[DType::F32], |_, x, s| {
        let [r, _] = x[0].repeat(10, [x[0], s[0]], |[a, b]| {
            let [inner] = a.repeat(3, [b], |[c]| (c.lt(c.lit(5.0)), [c * 2.0]));
            (a.lt(a.lit(100.0)), [a + b, inner])
        });
        Ok(vec![r])
    });
    add_all(&mut v, &p.unwrap());
    v.check();
}

#[test]
#[cfg_attr(windows, ignore = "the tests of another system check the same modules")]
fn all_ops() {
    let mut v = Validator::new("ops");
    for p in programs() {
        let n = p.inputs().len();
        let size = p.outputs().iter().map(|o| o.dtype).chain(p.inputs().iter().copied()).map(|d| d.size()).max().unwrap();
        // Large shaders in one lane, as they are run.
        let lanes = if p.cost() > 200 { 1 } else { (16 / size) as u8 };
        v.add(&p, &Variant { lanes, rank: 0, access: smallvec![Access::Full; n] });
    }
    v.check();
}

/// A chain in the place of the loads of a reduction: types that the kernel has and has not, tables, loops.
#[test]
#[cfg_attr(windows, ignore = "the tests of another system check the same modules")]
fn grafts() {
    let mut v = Validator::new("grafts");
    for d in [DType::F32, DType::F16, DType::BF16] {
        let inputs = [d, DType::I64, DType::Bool, DType::F64, DType::U8];
        let p = Program::build("chain", &inputs, &[], |b, x, _| {
            let exact = b.lit(DType::F64, 0.5) + x[3] + x[1].cast(DType::F64);
            let y = x[2].select(exact.cast(d), x[4].cast(d)) + x[0];
            let [r] = y.repeat(3, [y], |[a]| (a.lt(a.lit(5.0)), [a * 2.0]));
            Ok(vec![r])
        });
        let p = p.unwrap();
        for shader in [&crate::shader::REDUCE_ROW, &crate::shader::REDUCE_COLUMN] {
            let kernel = shader.get(&[d.into(), d.into(), "chain".into()]).unwrap();
            for (lanes, rank) in [(1, 0), (4, 0), (1, 3), (4, 2)] {
                let walked = if rank == 0 { Access::Full } else { Access::Strided };
                let variant = Variant { lanes, rank, access: smallvec![walked, Access::One, Access::Full, Access::One, walked] };
                v.add_words(&p, &variant, &spirv::graft(&kernel.spirv, &p, &variant).unwrap());
            }
        }
    }
    let types = [DType::F32, DType::BF16, DType::I64, DType::F32];
    let p = Program::build("row", &types, &[], |_, x, _| Ok(vec![x[0] * x[1].cast(DType::F32) + x[3] + x[2].cast(DType::F32)]));
    let p = p.unwrap();
    for (far, lanes) in [("push", 1), ("memory", 1), ("push", 4), ("memory", 4)] {
        let kernel = crate::shader::REDUCE_ROWS.get(&[DType::F32.into(), DType::F32.into(), far.into()]).unwrap();
        let first = [RowPlace::Full, RowPlace::Column, RowPlace::One, RowPlace::Row].into_iter().enumerate();
        let inputs: Vec<RowInput> = first.map(|(i, place)| RowInput::Operand(i, place)).collect();
        let then = [&inputs[..3], &[RowInput::Result(0)]].concat();
        let rows = [RowPlace::Row, RowPlace::Row, RowPlace::Row].into_iter().enumerate();
        let row: Vec<RowInput> = rows.map(|(i, place)| RowInput::Operand(i, place)).chain([RowInput::Result(1)]).collect();
        let part = |inputs, outputs| RowPart { program: &p, inputs, outputs };
        let stages = vec![part(&inputs[..], &[][..]), part(&then, &[])];
        let parts = RowParts { stages, full: Some(part(&then, &[4])), row: Some(part(&row, &[5])), lanes };
        let variant = Variant { lanes: lanes as u8, rank: 0, access: smallvec![] };
        v.add_words(&p, &variant, &spirv::graft_rows(&kernel.spirv, &parts).unwrap());
    }
    // What is no such kernel is refused.
    let p = Program::build("neg", &[DType::F32], &[], |_, x, _| Ok(vec![-x[0]])).unwrap();
    let variant = Variant { lanes: 1, rank: 0, access: smallvec![Access::Full] };
    let plain = crate::shader::REDUCE_ROW.get(&[DType::F32.into(), DType::F32.into(), "memory".into()]).unwrap();
    assert!(spirv::graft(&plain.spirv, &p, &variant).unwrap_err().message.contains("fetch"));
    assert!(spirv::graft(&plain.spirv[..9], &p, &variant).is_err());
    v.check();
}
