//! What can go into a fused node: element-wise operators, reductions, and reads and updates of variables.

use std::sync::OnceLock;

use tfvk_device::{DType, visible_adapters};
use tfvk_ops::elementwise::reduces;
use tfvk_ops::expr::{AttrValue, ShapeRule, declarations};
use tfvk_ops::signature::{ArgType, signature};
use tfvk_ops::{KernelDef, OpKernelConstruction};

use crate::graph::model::GraphNode;

/// A node that can go into a fused one.
pub enum Member {
    /// An element-wise operator, or a reduction.
    Op(Op),
    /// ReadVariableOp.
    Read(DType),
    /// AssignAddVariableOp or AssignSubVariableOp.
    Update(DType, &'static str),
}

/// An element-wise operator, or a reduction.
pub struct Op {
    /// Its name in a chain.
    pub name: String,
    /// The attributes of its expression.
    pub attrs: Vec<AttrValue>,
    /// The element types of its operands.
    pub inputs: Vec<DType>,
    /// Whether it is a reduction: after the operand come the axes.
    pub reduces: bool,
}

impl Member {
    /// Whether it is a reduction.
    pub fn reduces(&self) -> bool {
        matches!(self, Member::Op(op) if op.reduces)
    }
}

/// The node as a member.
pub fn member(node: &GraphNode) -> Option<Member> {
    if !node.ours {
        return None;
    }
    let of_variable = |inputs: usize| {
        let dtype = node.def.dtype("dtype").ok().filter(|d| DType::NUMERIC.contains(d) && on_device(*d))?;
        (node.data_inputs().count() == inputs).then_some(dtype)
    };
    match node.def.op() {
        "ReadVariableOp" => of_variable(1).map(Member::Read),
        "AssignAddVariableOp" => of_variable(2).map(|d| Member::Update(d, "AddV2")),
        "AssignSubVariableOp" => of_variable(2).map(|d| Member::Update(d, "Sub")),
        "BiasAdd" => bias_add(node).map(Member::Op),
        _ => reduction(node).or_else(|| op(node)).map(Member::Op),
    }
}

/// A reduction over axes that are in host memory.
fn reduction(node: &GraphNode) -> Option<Op> {
    let dtype = node.def.dtype("T").ok().filter(|d| reduces(node.def.op(), *d) && on_device(*d))?;
    let fits = node.def.dtype("Tidx").is_ok_and(|d| d == DType::I32) && node.data_inputs().count() == 2;
    let keep = node.def.bool("keep_dims").ok()?;
    let attrs = vec![AttrValue::Bool(keep)];
    fits.then(|| Op { name: node.def.op().to_owned(), attrs, inputs: vec![dtype], reduces: true })
}

/// A bias along the last dimension is added as any other operand that broadcasts.
fn bias_add(node: &GraphNode) -> Option<Op> {
    let dtype = node.def.dtype("T").ok().filter(|d| d.is_float() && on_device(*d))?;
    let last = !node.def.has("data_format") || node.def.string("data_format").is_ok_and(|f| f == "NHWC");
    let fits = last && node.data_inputs().count() == 2;
    fits.then(|| Op { name: "AddV2".to_owned(), attrs: Vec::new(), inputs: vec![dtype; 2], reduces: false })
}

/// The node as an operator: an expression of broadcasting operands whose kernel, for these element types, has everything
/// in device memory (TensorFlow keeps int32 on the host in many), with one result.
fn op(node: &GraphNode) -> Option<Op> {
    let op = node.def.op();
    let serves = |def: &KernelDef| def.types.iter().all(|c| node.def.dtype(c.attr).is_ok_and(|d| c.dtypes.contains(&d)));
    let &(def, e) = declarations(op).iter().find(|(def, _)| serves(def))?;
    let broadcasts = match e.shape {
        ShapeRule::Broadcast | ShapeRule::Same => true,
        ShapeRule::BroadcastOrScalar => node.def.bool("incompatible_shape_error").is_ok_and(|b| b),
        ShapeRule::First | ShapeRule::Custom(_) => false,
    };
    if !broadcasts || !def.host_memory.is_empty() {
        return None;
    }
    let signature = signature(op)?;
    let mut inputs = Vec::new();
    for arg in &signature.inputs {
        let n = match arg.number {
            Some(name) => usize::try_from(node.def.i64(name).ok()?).ok()?,
            None => 1,
        };
        let dtype = match arg.dtype {
            ArgType::Fixed(dtype) => dtype?,
            ArgType::Attr(name) => node.def.dtype(name).ok()?,
            ArgType::List(_) => return None,
        };
        inputs.extend(std::iter::repeat_n(dtype, n));
    }
    let attrs = e.read_attrs(&node.def).ok()?;
    let named = attrs.iter().filter_map(|a| if let AttrValue::Type(d) = a { Some(*d) } else { None });
    let fits = signature.outputs.len() == 1
        && node.data_inputs().count() == inputs.len()
        && inputs.iter().copied().chain(named).all(on_device);
    Some(Op { name: op.to_owned(), attrs, inputs, reduces: false }).filter(|_| fits)
}

/// Whether all devices compute with this type. What the host computes in their place must not take others along.
fn on_device(dtype: DType) -> bool {
    static LACKS: OnceLock<[bool; 2]> = OnceLock::new();
    let lacks = || {
        let all = visible_adapters().unwrap_or_default();
        [all.iter().any(|a| !a.features.int64), all.iter().any(|a| !a.features.f64)]
    };
    match dtype {
        DType::I64 | DType::U64 => !LACKS.get_or_init(lacks)[0],
        DType::F64 | DType::C128 => !LACKS.get_or_init(lacks)[1],
        _ => true,
    }
}
