//! The intermediate representation: a typed SSA graph of scalar operations, for one element of every operand.
//!
//! [`super::Value`] builds it, [`super::interpret`] evaluates it on the host and [`super::spirv`] makes a shader of it.
//! It knows compute types only ([`Ty`]): narrow types were widened, and rounded where they must be, when it was built.

use std::collections::HashMap;

use tfvk_device::DType;

use super::eval;

/// The index of a node in its graph.
pub type Id = u32;

/// What a node's value is computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Ty {
    Bool,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Ty {
    /// The type that elements (or, for complex types, their parts) of `dtype` are computed in.
    pub fn of(dtype: DType) -> Ty {
        match dtype {
            DType::Bool => Ty::Bool,
            DType::I8 | DType::I16 | DType::I32 => Ty::I32,
            DType::U8 | DType::U16 | DType::U32 => Ty::U32,
            DType::I64 => Ty::I64,
            DType::U64 => Ty::U64,
            DType::F64 | DType::C128 => Ty::F64,
            // Handles never get here: the declarations list no such type.
            DType::F16 | DType::BF16 | DType::F32 | DType::C64 | DType::Resource | DType::Variant => Ty::F32,
        }
    }

    /// Bits of a value; 32 for bool.
    pub fn bits(self) -> u32 {
        match self {
            Ty::Bool | Ty::I32 | Ty::U32 | Ty::F32 => 32,
            Ty::I64 | Ty::U64 | Ty::F64 => 64,
        }
    }

    /// f32 or f64.
    pub fn is_float(self) -> bool {
        matches!(self, Ty::F32 | Ty::F64)
    }

    /// A signed integer.
    pub fn is_signed(self) -> bool {
        matches!(self, Ty::I32 | Ty::I64)
    }
}

/// An operation on one operand; the result has its type unless said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Unary {
    Neg,
    /// Bitwise, or logical for bool.
    Not,
    /// Of a float.
    Abs,
    Floor,
    Ceil,
    Trunc,
    /// To the nearest integer, ties to even.
    RoundEven,
    /// As accurate as the hardware's; [`super::Value::sqrt`] corrects it.
    Sqrt,
    /// Set bits of a 32-bit integer.
    BitCount,
    /// The number of the highest set bit of a u32; all ones for 0.
    FindMsb,
}

/// An operation on two operands of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    /// Float: as accurate as the hardware's. Integer: truncates; the divisor must not be 0 (or -1 for the least dividend).
    Div,
    /// The upper half of the product of two u32.
    MulHi,
    And,
    Or,
    Xor,
    /// The count (of the same type) must be less than the number of bits.
    Shl,
    /// Arithmetic for signed types.
    Shr,
    /// The result is bool; false where either is NaN.
    Eq,
    /// The result is bool; true where either is NaN.
    Ne,
    /// The result is bool; false where either is NaN.
    Lt,
    /// The result is bool; false where either is NaN.
    Le,
}

impl Binary {
    /// Whether the result is bool whatever the operands are.
    pub fn compares(self) -> bool {
        matches!(self, Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le)
    }
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Node {
    /// The value's bits.
    Const(u64),
    /// An operand's element; part 1 is the imaginary one.
    Input {
        index: u16,
        part: u8,
    },
    /// A number given at launch.
    Scalar {
        slot: u16,
    },
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    /// Condition, value if true, value if false.
    Select(Id, Id, Id),
    /// To the node's type by value: between integers modulo 2^n, from a float only within the target's range.
    Convert(Id),
    /// To the node's type of the same size, bit by bit.
    Bitcast(Id),
    /// The element of a constant table that a u32 names; the last one beyond its end.
    Lookup {
        table: u16,
        index: Id,
    },
    /// A variable of a loop, inside its body.
    Param {
        of: u16,
        index: u16,
    },
    /// A variable's last value, after its loop.
    Result {
        of: u16,
        index: u16,
    },
}

/// `while cond(vars) { vars = next(vars) }`. The nodes `start..end` are its body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Loop {
    pub start: Id,
    pub end: Id,
    pub init: Vec<Id>,
    pub params: Vec<Id>,
    pub next: Vec<Id>,
    pub cond: Id,
}

/// A graph. Operands precede their uses.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<(Node, Ty)>,
    loops: Vec<Loop>,
    tables: Vec<Vec<u32>>,
    /// Nodes made so far, by content; one map per loop nesting level, since a body's nodes exist only inside.
    known: Vec<HashMap<(Node, Ty), Id>>,
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Self {
        Self { nodes: Vec::new(), loops: Vec::new(), tables: Vec::new(), known: vec![HashMap::new()] }
    }

    /// All nodes with their types.
    pub fn nodes(&self) -> &[(Node, Ty)] {
        &self.nodes
    }

    /// The constant tables.
    pub fn tables(&self) -> &[Vec<u32>] {
        &self.tables
    }

    /// The number of the table with these elements.
    pub(super) fn table(&mut self, elements: &[u32]) -> u16 {
        let known = self.tables.iter().position(|t| t == elements);
        let at = known.unwrap_or_else(|| {
            self.tables.push(elements.to_vec());
            self.tables.len() - 1
        });
        at as u16
    }

    /// All loops; an inner one comes before the one around it.
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// A node.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id as usize].0
    }

    /// A node's type.
    pub fn ty(&self, id: Id) -> Ty {
        self.nodes[id as usize].1
    }

    /// The bits of a constant node.
    pub fn constant(&self, id: Id) -> Option<u64> {
        match self.node(id) {
            Node::Const(bits) => Some(*bits),
            _ => None,
        }
    }

    /// The node with this content: an existing one, a constant where it folds, or a new one.
    pub fn add(&mut self, node: Node, ty: Ty) -> Id {
        if let Node::Select(c, yes, no) = node {
            match self.constant(c) {
                Some(0) => return no,
                Some(_) => return yes,
                None if yes == no => return yes,
                None => {}
            }
        }
        let node = self.fold(&node, ty).unwrap_or(node);
        let key = (node, ty);
        if let Some(&id) = self.known.iter().rev().find_map(|scope| scope.get(&key)) {
            return id;
        }
        let id = self.nodes.len() as Id;
        self.nodes.push(key.clone());
        if let Some(scope) = self.known.last_mut() {
            scope.insert(key, id);
        }
        id
    }

    fn fold(&self, node: &Node, ty: Ty) -> Option<Node> {
        let c = |id: &Id| self.constant(*id);
        let bits = match node {
            Node::Unary(op, a) => eval::unary(*op, self.ty(*a), c(a)?),
            Node::Binary(op, a, b) => eval::binary(*op, self.ty(*a), c(a)?, c(b)?),
            Node::Convert(a) => eval::convert(self.ty(*a), ty, c(a)?),
            Node::Bitcast(a) => c(a)?,
            _ => return None,
        };
        Some(Node::Const(bits))
    }

    /// Opens a loop over variables that start as `init`: their ids inside the body.
    pub(super) fn open_loop(&mut self, init: Vec<Id>) -> (u16, Vec<Id>) {
        let of = self.loops.len() as u16;
        let start = self.nodes.len() as Id;
        self.known.push(HashMap::new());
        let types: Vec<Ty> = init.iter().map(|&i| self.ty(i)).collect();
        let params: Vec<Id> =
            types.iter().enumerate().map(|(i, &ty)| self.add(Node::Param { of, index: i as u16 }, ty)).collect();
        self.loops.push(Loop { start, end: start, init, params: params.clone(), next: Vec::new(), cond: 0 });
        (of, params)
    }

    /// Closes the innermost open loop: the variables' ids after it.
    pub(super) fn close_loop(&mut self, of: u16, cond: Id, next: Vec<Id>) -> Vec<Id> {
        self.known.pop();
        let end = self.nodes.len() as Id;
        let l = &mut self.loops[of as usize];
        (l.end, l.cond, l.next) = (end, cond, next);
        let types: Vec<Ty> = l.params.clone().iter().map(|&p| self.ty(p)).collect();
        types.iter().enumerate().map(|(i, &ty)| self.add(Node::Result { of, index: i as u16 }, ty)).collect()
    }

    /// Which nodes the values `roots` need.
    pub fn live(&self, roots: impl IntoIterator<Item = Id>) -> Vec<bool> {
        let mut live = vec![false; self.nodes.len()];
        let mut todo: Vec<Id> = roots.into_iter().collect();
        while let Some(id) = todo.pop() {
            if std::mem::replace(&mut live[id as usize], true) {
                continue;
            }
            match self.node(id) {
                Node::Const(_) | Node::Input { .. } | Node::Scalar { .. } => {}
                Node::Unary(_, a) | Node::Convert(a) | Node::Bitcast(a) | Node::Lookup { index: a, .. } => todo.push(*a),
                Node::Binary(_, a, b) => todo.extend([*a, *b]),
                Node::Select(a, b, c) => todo.extend([*a, *b, *c]),
                Node::Param { of, .. } | Node::Result { of, .. } => {
                    let l = &self.loops[*of as usize];
                    todo.push(l.cond);
                    todo.extend(l.init.iter().chain(&l.params).chain(&l.next));
                }
            }
        }
        live
    }
}
