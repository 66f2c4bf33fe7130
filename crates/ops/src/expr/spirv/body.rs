//! The program's nodes as instructions, for one lane.

use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, GlslStd450Op, LoopControl, Word};

use super::Built;
use super::module::Module;
use crate::expr::Program;
use crate::expr::graph::{Binary, Graph, Id, Node, Ty, Unary};

/// The result ids of all live nodes, given the operands' parts and the scalars.
pub(super) fn evaluate(m: &mut Module, program: &Program, inputs: &[[Word; 2]], scalars: &[[Word; 2]]) -> Built<Vec<Word>> {
    let n = program.graph().nodes().len();
    let mut e = Emit { program, inputs, scalars, values: vec![0; n] };
    e.range(m, 0, n as Id)?;
    Ok(e.values)
}

struct Emit<'p> {
    program: &'p Program,
    inputs: &'p [[Word; 2]],
    scalars: &'p [[Word; 2]],
    values: Vec<Word>,
}

impl<'p> Emit<'p> {
    fn graph(&self) -> &'p Graph {
        self.program.graph()
    }

    fn get(&self, id: Id) -> Word {
        self.values[id as usize]
    }

    fn range(&mut self, m: &mut Module, from: Id, to: Id) -> Built<()> {
        let mut id = from;
        while id < to {
            // The outermost loop that starts here comes last in the list.
            let inner = self.graph().loops().iter().enumerate().rev().find(|(_, l)| l.start == id && l.end <= to);
            if let Some((of, l)) = inner {
                if self.program.is_live(l.params[0]) {
                    self.repeat(m, of)?;
                }
                id = l.end;
                continue;
            }
            if self.program.is_live(id) {
                self.values[id as usize] = self.node(m, id)?;
            }
            id += 1;
        }
        Ok(())
    }

    /// header: phis; body: condition and next values; continue while the condition holds.
    fn repeat(&mut self, m: &mut Module, of: usize) -> Built<()> {
        let l = self.graph().loops()[of].clone();
        let [header, body, next, merge] = [m.b.id(), m.b.id(), m.b.id(), m.b.id()];
        let before = m.current;
        m.b.branch(header)?;
        m.begin(header)?;
        let mut patches = Vec::new();
        for (i, (&p, &init)) in l.params.iter().zip(&l.init).enumerate() {
            let ty = m.ty(self.graph().ty(p));
            let incoming = m.b.id();
            self.values[p as usize] = m.b.phi(ty, None, [(self.get(init), before), (incoming, next)])?;
            patches.push((incoming, l.next[i], ty));
        }
        m.b.loop_merge(merge, next, LoopControl::NONE, [])?;
        m.b.branch(body)?;
        m.begin(body)?;
        let first = l.params.last().map_or(l.start, |p| p + 1);
        self.range(m, first, l.end)?;
        m.b.branch_conditional(self.get(l.cond), next, merge, [])?;
        m.begin(next)?;
        for (incoming, value, ty) in patches {
            m.b.copy_object(ty, Some(incoming), self.get(value))?;
        }
        m.b.branch(header)?;
        m.begin(merge)
    }

    fn node(&mut self, m: &mut Module, id: Id) -> Built<Word> {
        let graph = self.graph();
        let ty = graph.ty(id);
        match *graph.node(id) {
            Node::Const(bits) => Ok(m.constant(ty, bits)),
            Node::Input { index, part } => Ok(self.inputs[usize::from(index)][usize::from(part)]),
            Node::Scalar { slot } => Ok(self.scalars[usize::from(slot)][0]),
            Node::Unary(op, a) => unary(m, op, graph.ty(a), self.get(a)),
            Node::Binary(op, a, b) => binary(m, op, graph.ty(a), self.get(a), self.get(b)),
            Node::Select(c, a, b) => {
                let t = m.ty(ty);
                m.b.select(t, None, self.get(c), self.get(a), self.get(b))
            }
            Node::Convert(a) => convert(m, graph.ty(a), ty, self.get(a)),
            Node::Bitcast(a) => {
                let (from, to) = (m.ty(graph.ty(a)), m.ty(ty));
                m.bitcast(from, to, self.get(a))
            }
            Node::Lookup { table, index } => m.lookup(table, &graph.tables()[usize::from(table)], self.get(index)),
            // Set by `repeat`.
            Node::Param { .. } => Ok(self.get(id)),
            Node::Result { of, index } => Ok(self.get(graph.loops()[usize::from(of)].params[usize::from(index)])),
        }
    }
}

/// Forbids contraction: a product and a sum stay two roundings.
fn exact(m: &mut Module, ty: Ty, id: Word) -> Word {
    if ty.is_float() {
        m.b.decorate(id, Decoration::NoContraction, std::iter::empty::<Operand>());
    }
    id
}

fn unary(m: &mut Module, op: Unary, ty: Ty, a: Word) -> Built<Word> {
    let t = m.ty(ty);
    match op {
        Unary::Neg if ty.is_float() => {
            let id = m.b.f_negate(t, None, a)?;
            Ok(exact(m, ty, id))
        }
        Unary::Neg => m.b.s_negate(t, None, a),
        Unary::Not if ty == Ty::Bool => m.b.logical_not(t, None, a),
        Unary::Not => m.b.not(t, None, a),
        Unary::Abs => m.glsl(t, GlslStd450Op::FAbs, &[a]),
        Unary::Floor => m.glsl(t, GlslStd450Op::Floor, &[a]),
        Unary::Ceil => m.glsl(t, GlslStd450Op::Ceil, &[a]),
        Unary::Trunc => m.glsl(t, GlslStd450Op::Trunc, &[a]),
        Unary::RoundEven => m.glsl(t, GlslStd450Op::RoundEven, &[a]),
        Unary::Sqrt => m.glsl(t, GlslStd450Op::Sqrt, &[a]),
        Unary::BitCount => m.b.bit_count(t, None, a),
        Unary::FindMsb => m.glsl(t, GlslStd450Op::FindUMsb, &[a]),
    }
}

fn binary(m: &mut Module, op: Binary, ty: Ty, a: Word, b: Word) -> Built<Word> {
    let t = m.ty(ty);
    let bool = m.types.bool;
    if ty.is_float() {
        let id = match op {
            Binary::Add => m.b.f_add(t, None, a, b)?,
            Binary::Sub => m.b.f_sub(t, None, a, b)?,
            Binary::Mul => m.b.f_mul(t, None, a, b)?,
            Binary::Eq => return m.b.f_ord_equal(bool, None, a, b),
            Binary::Ne => return m.b.f_unord_not_equal(bool, None, a, b),
            Binary::Lt => return m.b.f_ord_less_than(bool, None, a, b),
            Binary::Le => return m.b.f_ord_less_than_equal(bool, None, a, b),
            _ => m.b.f_div(t, None, a, b)?,
        };
        return Ok(exact(m, ty, id));
    }
    if ty == Ty::Bool {
        return match op {
            Binary::And => m.b.logical_and(t, None, a, b),
            Binary::Or => m.b.logical_or(t, None, a, b),
            Binary::Eq => m.b.logical_equal(t, None, a, b),
            Binary::Lt => {
                let not_a = m.b.logical_not(t, None, a)?;
                m.b.logical_and(t, None, not_a, b)
            }
            Binary::Le => {
                let not_a = m.b.logical_not(t, None, a)?;
                m.b.logical_or(t, None, not_a, b)
            }
            _ => m.b.logical_not_equal(t, None, a, b),
        };
    }
    match (op, ty.is_signed()) {
        (Binary::Add, _) => m.b.i_add(t, None, a, b),
        (Binary::Sub, _) => m.b.i_sub(t, None, a, b),
        (Binary::Mul, _) => m.b.i_mul(t, None, a, b),
        (Binary::Div, true) => m.b.s_div(t, None, a, b),
        (Binary::Div, false) => m.b.u_div(t, None, a, b),
        (Binary::MulHi, _) => m.mul_hi(a, b),
        (Binary::And, _) => m.b.bitwise_and(t, None, a, b),
        (Binary::Or, _) => m.b.bitwise_or(t, None, a, b),
        (Binary::Xor, _) => m.b.bitwise_xor(t, None, a, b),
        (Binary::Shl, _) => m.b.shift_left_logical(t, None, a, b),
        (Binary::Shr, true) => m.b.shift_right_arithmetic(t, None, a, b),
        (Binary::Shr, false) => m.b.shift_right_logical(t, None, a, b),
        (Binary::Eq, _) => m.b.i_equal(bool, None, a, b),
        (Binary::Ne, _) => m.b.i_not_equal(bool, None, a, b),
        (Binary::Lt, true) => m.b.s_less_than(bool, None, a, b),
        (Binary::Lt, false) => m.b.u_less_than(bool, None, a, b),
        (Binary::Le, true) => m.b.s_less_than_equal(bool, None, a, b),
        (Binary::Le, false) => m.b.u_less_than_equal(bool, None, a, b),
    }
}

fn convert(m: &mut Module, from: Ty, to: Ty, a: Word) -> Built<Word> {
    let t = m.ty(to);
    if from == Ty::Bool {
        let (yes, no) = (m.constant(to, one(to)), m.constant(to, 0));
        return m.b.select(t, None, a, yes, no);
    }
    match (from.is_float(), to.is_float()) {
        (true, true) => m.b.f_convert(t, None, a),
        (true, false) if to.is_signed() => m.b.convert_f_to_s(t, None, a),
        (true, false) => m.b.convert_f_to_u(t, None, a),
        (false, true) if from.is_signed() => m.b.convert_s_to_f(t, None, a),
        (false, true) => m.b.convert_u_to_f(t, None, a),
        (false, false) if from.bits() == to.bits() => Ok(a),
        (false, false) if from.is_signed() => m.b.s_convert(t, None, a),
        (false, false) => m.b.u_convert(t, None, a),
    }
}

fn one(ty: Ty) -> u64 {
    crate::expr::eval::bits_of_f64(ty, 1.0)
}
