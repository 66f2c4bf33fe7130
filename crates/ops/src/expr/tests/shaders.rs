//! Every program x variant makes a module that spirv-val accepts.

use std::io::Write;
use std::process::{Command, Stdio};

use smallvec::smallvec;
use tfvk_device::DType;

use crate::expr::plan::{Access, Variant};
use crate::expr::{Builder, Program, Value, spirv};

/// Runs spirv-val over a module; `None` where the tool is not installed.
fn validate(words: &[u32]) -> Option<Result<(), String>> {
    let mut child = Command::new("spirv-val")
        .args(["--target-env", "vulkan1.2", "--scalar-block-layout", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    child.stdin.take()?.write_all(&bytes).ok()?;
    let out = child.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
    Some(if out.status.success() { Ok(()) } else { Err(text) })
}

fn variants(n: usize, dtypes: &[DType]) -> Vec<Variant> {
    let size = dtypes.iter().map(|d| d.size()).max().unwrap_or(4);
    let lanes = (16 / size) as u8;
    vec![
        Variant { lanes: 1, rank: 0, access: smallvec![Access::Full; n] },
        Variant { lanes, rank: 0, access: smallvec![Access::Full; n] },
        Variant { lanes: 1, rank: 3, access: smallvec![Access::Strided; n] },
        Variant { lanes, rank: 8, access: (0..n).map(|i| if i % 2 == 0 { Access::Strided } else { Access::Splat }).collect() },
        Variant { lanes, rank: 0, access: (0..n).map(|i| if i % 2 == 0 { Access::One } else { Access::Host }).collect() },
    ]
}

fn check(program: &Program) {
    let types: Vec<DType> = program.inputs().iter().copied().chain(program.outputs().iter().map(|o| o.dtype)).collect();
    for variant in variants(program.inputs().len(), &types) {
        let words = spirv::generate(program, &variant).unwrap();
        match validate(&words) {
            Some(Ok(())) => {}
            Some(Err(e)) => panic!("{} {variant:?}: {e}", program.name()),
            None => eprintln!("spirv-val is not installed: nothing was checked"),
        }
    }
}

#[test]
fn all_types() {
    for &d in DType::NUMERIC {
        let p = Program::build("select", &[d, d], &[], |_: &Builder, x: &[Value<'_>], _: &[Value<'_>]| {
            Ok(vec![x[0].equal(x[1]).select(x[0], x[1]), x[1]])
        });
        check(&p.unwrap());
    }
}

#[test]
fn loops() {
    let p = Program::build("loop", &[DType::F32], &[DType::F32], |_, x, s| {
        let [r, _] = x[0].repeat(10, [x[0], s[0]], |[a, b]| {
            let [inner] = a.repeat(3, [b], |[c]| (c.lt(c.lit(5.0)), [c * 2.0]));
            (a.lt(a.lit(100.0)), [a + b, inner])
        });
        Ok(vec![r])
    });
    check(&p.unwrap());
}
