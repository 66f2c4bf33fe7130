//! Replays `tests/golden/*.json`: cases of the op table with the answers of TensorFlow's CPU, without TensorFlow.
//! `tests/ops/golden.py` writes the files and describes their format.

// The helpers of a test may fail as the test itself may.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use base64::Engine;
use serde_json::Value as Json;
use tfvk_device::{DType, Device, Shape, visible_adapters};
use tfvk_ops::local::{Attr, Local, Node, Value};
use tfvk_ops::signature::{ArgType, signature};

/// One tensor of a case.
struct Golden {
    dtype: DType,
    shape: Shape,
    bytes: Vec<u8>,
}

fn dtype(name: &str) -> DType {
    DType::NUMERIC.iter().copied().find(|d| d.name() == name).unwrap_or_else(|| panic!("no element type {name}"))
}

fn dims(json: &Json) -> Shape {
    json.as_array().unwrap().iter().map(|d| d.as_i64().unwrap()).collect()
}

fn golden(json: &Json) -> Golden {
    let bytes = base64::engine::general_purpose::STANDARD.decode(json["data"].as_str().unwrap()).unwrap();
    Golden { dtype: dtype(json["dtype"].as_str().unwrap()), shape: dims(&json["shape"]), bytes }
}

/// An attribute of the kind that the op's signature gives it.
fn attr(kind: &str, json: &Json) -> Option<Attr> {
    let list = || json["list"].as_array().unwrap();
    Some(match kind {
        "type" => Attr::Type(dtype(json["type"].as_str()?)),
        "int" => Attr::Int(json["i"].as_i64()?),
        "float" => Attr::Float(json["f"].as_f64()? as f32),
        "bool" => Attr::Bool(json["b"].as_bool()?),
        "string" => Attr::String(json["s"].as_str()?.into()),
        "shape" => Attr::Shape(Some(dims(&json["shape"]))),
        "list(int)" => Attr::Ints(list().iter().map(|v| v["i"].as_i64().unwrap()).collect()),
        "list(float)" => Attr::Floats(list().iter().map(|v| v["f"].as_f64().unwrap() as f32).collect()),
        "list(type)" => Attr::Types(list().iter().map(|v| dtype(v["type"].as_str().unwrap())).collect()),
        "list(string)" => Attr::Strings(list().iter().map(|v| v["s"].as_str().unwrap().into()).collect()),
        _ => return None,
    })
}

fn node(case: &Json) -> Node {
    let op = case["op"].as_str().unwrap();
    let known = signature(op).unwrap_or_else(|| panic!("{op}: no signature"));
    known.attrs.iter().fold(Node::new(op), |node, def| match case["attrs"].get(def.name).and_then(|json| attr(def.kind, json)) {
        Some(value) => node.attr(def.name, value),
        None => node,
    })
}

/// For each input in order, whether the declaration wants it in host memory.
fn host_inputs(node: &Node, case: &Json) -> Vec<bool> {
    let def = Local::find(node).unwrap_or_else(|e| panic!("{}: {e}", case["id"]));
    let mut flags = Vec::new();
    for arg in &signature(def.op).unwrap().inputs {
        let count = match (arg.number, arg.dtype) {
            (Some(n), _) => case["attrs"][n]["i"].as_u64().unwrap(),
            (None, ArgType::List(n)) => case["attrs"][n]["list"].as_array().unwrap().len() as u64,
            (None, _) => 1,
        };
        flags.extend((0..count).map(|_| def.host_memory.contains(&arg.name)));
    }
    flags
}

fn place(local: &Local, g: &Golden, host: bool) -> tfvk_device::Result<Value> {
    if !host {
        return local.upload(g.dtype, g.shape.clone(), &g.bytes);
    }
    let value = Value::host_zeros(g.dtype, g.shape.clone());
    let bytes = Shape::from([g.bytes.len() as i64]);
    value.tensor().with(DType::U8, bytes).host_mut::<u8>()?.copy_from_slice(&g.bytes);
    Ok(value)
}

/// The elements as float64; a complex number is two. `None` for integers, which are compared as bytes.
fn floats(dtype: DType, bytes: &[u8]) -> Option<Vec<f64>> {
    let each = |n: usize, read: fn(&[u8]) -> f64| Some(bytes.chunks_exact(n).map(read).collect());
    match dtype {
        DType::F16 => each(2, |b| half::f16::from_le_bytes([b[0], b[1]]).to_f64()),
        DType::BF16 => each(2, |b| half::bf16::from_le_bytes([b[0], b[1]]).to_f64()),
        DType::F32 | DType::C64 => each(4, |b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))),
        DType::F64 | DType::C128 => each(8, |b| f64::from_le_bytes(b.try_into().unwrap())),
        _ => None,
    }
}

/// What is wrong with a result, under the tolerance of its case. Subnormals count as zeros, which TensorFlow's CPU may flush.
fn difference(got: &[u8], want: &Golden, tolerance: &Json) -> Option<String> {
    let (Some(g), Some(w)) = (floats(want.dtype, got), floats(want.dtype, &want.bytes)) else {
        return (got != want.bytes).then(|| format!("got {got:?}, expected {:?}", want.bytes));
    };
    let bound = tolerance["bound"].as_f64().unwrap();
    let tiny = match want.dtype {
        DType::F16 => 2f64.powi(-24),
        DType::F64 | DType::C128 => f64::MIN_POSITIVE,
        _ => f64::from(f32::MIN_POSITIVE),
    };
    let largest = w.iter().filter(|v| v.is_finite()).fold(0f64, |m, v| m.max(v.abs()));
    let near = |g: f64, w: f64| match tolerance["kind"].as_str().unwrap() {
        _ if g == w || (g.is_nan() && w.is_nan()) => true,
        "exact" => g.abs() < tiny && w.abs() < tiny,
        kind => (g - w).abs() <= bound * (w.abs() + if kind == "norm" { largest } else { 0.0 }) + tiny,
    };
    let wrong = g.iter().zip(&w).position(|(&g, &w)| !near(g, w))?;
    Some(format!("element {wrong}: got {}, expected {} ({tolerance})", g[wrong], w[wrong]))
}

/// Runs one case; what the device said where it rightly refused an element type that it lacks.
fn replay(local: &Local, case: &Json) -> Result<Option<String>, String> {
    let node = node(case);
    let tensors = |key: &str| case[key].as_array().unwrap().iter().map(golden).collect::<Vec<_>>();
    let (inputs, outputs) = (tensors("inputs"), tensors("outputs"));
    let hosts = host_inputs(&node, case);
    let run = || {
        let placed =
            inputs.iter().zip(&hosts).map(|(g, &host)| place(local, g, host)).collect::<tfvk_device::Result<Vec<_>>>()?;
        let results = local.run(&node, &placed)?;
        results
            .iter()
            .map(|r| Ok((r.tensor().dtype, r.tensor().shape.clone(), local.read(r)?)))
            .collect::<tfvk_device::Result<Vec<_>>>()
    };
    let dtypes: Vec<DType> = inputs.iter().chain(&outputs).map(|g| g.dtype).collect();
    let results = match run() {
        Ok(results) => results,
        Err(e) if local.refuses(&e, &dtypes) && e.message.starts_with(case["op"].as_str().unwrap()) => {
            return Ok(Some(e.message));
        }
        Err(e) => return Err(e.message),
    };
    for (i, ((dtype, shape, bytes), want)) in results.iter().zip(&outputs).enumerate() {
        if (*dtype, shape) != (want.dtype, &want.shape) {
            return Err(format!("output {i}: got {dtype}{shape}, expected {}{}", want.dtype, want.shape));
        }
        if let Some(why) = difference(bytes, want, &case["tolerance"]) {
            return Err(format!("output {i}: {why}"));
        }
    }
    Ok(None)
}

/// Whether `*` in the pattern can stand for something so that it is the text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text
            .strip_prefix(before)
            .is_some_and(|rest| (0..=rest.len()).any(|i| rest.is_char_boundary(i) && matches(after, &rest[i..]))),
    }
}

/// The ids of `tests/ops/known_failures.txt` for an adapter.
fn known_failures(adapter: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ops/known_failures.txt");
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty());
    let fields = lines.map(|l| l.split(" | ").map(str::trim).collect::<Vec<_>>());
    fields.filter(|f| matches(f[0], adapter)).map(|f| f[1].to_owned()).collect()
}

#[test]
fn golden_values() {
    let adapters = visible_adapters().unwrap();
    let adapter = adapters.first().expect("a Vulkan adapter (TFVK_ALLOW_SOFTWARE=1 allows software ones)");
    let local = Local::new(Device::open(adapter).unwrap());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let known = known_failures(&adapter.name);
    let (mut passed, mut lacking, mut failures) = (0, 0, Vec::new());
    for entry in std::fs::read_dir(&folder).unwrap() {
        let file: Json = serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
        for case in file["cases"].as_array().unwrap() {
            match replay(&local, case) {
                Ok(None) => passed += 1,
                Ok(Some(why)) => {
                    println!("refused: {}: {why}", case["id"]);
                    lacking += 1;
                }
                Err(why) if known.iter().any(|k| matches(k, case["id"].as_str().unwrap())) => {
                    println!("known: {}: {why}", case["id"])
                }
                Err(why) => failures.push(format!("{}: {why}", case["id"])),
            }
        }
    }
    println!("{passed} cases passed, {lacking} need what {} lacks", adapter.name);
    assert!(passed > 500, "only {passed} cases were replayed");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn known_failures_by_pattern() {
    assert!(matches("NVIDIA*", "NVIDIA H200") && matches("*", "") && matches("a/*/c", "a/b/c") && matches("a[x]", "a[x]"));
    assert!(!matches("NVIDIA*", "llvmpipe") && !matches("a/*/c", "a/b/d") && !matches("a", "ab"));
    assert!(!known_failures("NVIDIA H200").is_empty());
}

#[test]
fn a_wrong_value_is_found() {
    let want = Golden { dtype: DType::F32, shape: Shape::from([1]), bytes: 1f32.to_le_bytes().to_vec() };
    let close = serde_json::json!({"kind": "close", "bound": 1e-6});
    assert_eq!(difference(&1.0000001f32.to_le_bytes(), &want, &close), None);
    assert!(difference(&1.1f32.to_le_bytes(), &want, &close).is_some());
    assert!(difference(&f32::NAN.to_le_bytes(), &want, &close).is_some());
}
