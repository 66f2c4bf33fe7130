//! Evaluates a [`Program`] on the host: for tensors that TensorFlow keeps in host memory, for devices that lack the arithmetic
//! (`lacking.rs`), and as the tests' oracle.

use tfvk_device::{DType, Result, Shape, Tensor};

use super::graph::{Id, Node};
use super::plan::{Strides, broadcast_strides};
use super::{Program, eval, storage};

/// Elements evaluated at a time: one pass over the nodes serves all of them.
const CHUNK: usize = 128;

/// An operand: its bytes, and its stride along each dimension of the result, in elements.
pub struct Operand {
    dtype: DType,
    bytes: Vec<u8>,
    strides: Strides,
}

impl Operand {
    /// A tensor's bytes, for results of shape `shape`.
    pub fn new(t: &Tensor, bytes: Vec<u8>, shape: &Shape) -> Result<Self> {
        Ok(Self { dtype: t.dtype, bytes, strides: broadcast_strides(&t.shape, shape)? })
    }
}

/// Computes `outputs` (all of one shape) from `inputs` (which broadcast to it), all in host memory, and `scalars` (bits of
/// their compute types). An output may share memory with inputs.
pub fn run(program: &Program, inputs: &[Tensor], scalars: &[u64], outputs: &mut [Tensor]) -> Result<()> {
    let Some(shape) = outputs.first().map(|o| o.shape.clone()) else { return Ok(()) };
    let operands = inputs
        .iter()
        .enumerate()
        .map(|(i, t)| {
            let bytes = if program.reads(i) { as_bytes(t).host::<u8>()?.to_vec() } else { Vec::new() };
            Operand::new(t, bytes, &shape)
        })
        .collect::<Result<Vec<_>>>()?;
    for (output, bytes) in outputs.iter().zip(values(program, &operands, scalars, &shape)) {
        as_bytes(output).host_mut::<u8>()?.copy_from_slice(&bytes);
    }
    Ok(())
}

/// The bytes of each result, of shape `shape`.
pub fn values(program: &Program, operands: &[Operand], scalars: &[u64], shape: &Shape) -> Vec<Vec<u8>> {
    let n = shape.num_elements() as usize;
    let mut results: Vec<Vec<u8>> = program.outputs().iter().map(|o| vec![0; n * o.dtype.size()]).collect();
    let mut machine = Machine::new(program, scalars);
    let mut start = 0;
    while start < n {
        let len = CHUNK.min(n - start);
        machine.load(operands, shape, start, len);
        machine.range(0, program.graph().nodes().len() as Id, len);
        for (out, bytes) in program.outputs().iter().zip(&mut results) {
            for lane in 0..len {
                storage::store(out.dtype, bytes, start + lane, 0, machine.get(out.re)[lane]);
                if out.dtype.is_complex() {
                    storage::store(out.dtype, bytes, start + lane, 1, machine.get(out.im)[lane]);
                }
            }
        }
        start += len;
    }
    results
}

/// A tensor's elements as bytes.
pub fn as_bytes(t: &Tensor) -> Tensor {
    t.with(DType::U8, [t.bytes() as i64].into())
}

struct Machine<'p> {
    program: &'p Program,
    scalars: &'p [u64],
    values: Vec<[u64; CHUNK]>,
}

impl<'p> Machine<'p> {
    fn new(program: &'p Program, scalars: &'p [u64]) -> Self {
        Self { program, scalars, values: vec![[0; CHUNK]; program.graph().nodes().len()] }
    }

    fn get(&self, id: Id) -> &[u64; CHUNK] {
        &self.values[id as usize]
    }

    fn load(&mut self, operands: &[Operand], shape: &[i64], start: usize, len: usize) {
        for (id, (node, _)) in self.program.graph().nodes().iter().enumerate() {
            let Node::Input { index, part } = node else { continue };
            let Some(o) = operands.get(usize::from(*index)) else { continue };
            for lane in 0..len {
                let at = offset(start + lane, shape, &o.strides);
                self.values[id][lane] = storage::load(o.dtype, &o.bytes, at, usize::from(*part));
            }
        }
    }

    /// Evaluates the live nodes `from..to`; loops among them run when their first result is met.
    fn range(&mut self, from: Id, to: Id, len: usize) {
        let graph = self.program.graph();
        let mut id = from;
        while id < to {
            // A body is evaluated by its loop; the outermost loop that starts here comes last.
            if let Some((of, l)) = graph.loops().iter().enumerate().rev().find(|(_, l)| l.start == id && l.end <= to) {
                if self.program.is_live(l.params[0]) {
                    self.run_loop(of, len);
                }
                id = l.end;
                continue;
            }
            if self.program.is_live(id) {
                self.node(id, len);
            }
            id += 1;
        }
    }

    fn node(&mut self, id: Id, len: usize) {
        let graph = self.program.graph();
        let ty = graph.ty(id);
        let lanes = |f: &dyn Fn(usize) -> u64| std::array::from_fn(|i| if i < len { f(i) } else { 0 });
        let out: [u64; CHUNK] = match graph.node(id) {
            Node::Const(bits) => [*bits; CHUNK],
            Node::Scalar { slot } => [self.scalars.get(usize::from(*slot)).copied().unwrap_or(0); CHUNK],
            Node::Input { .. } | Node::Param { .. } => return,
            Node::Unary(op, a) => {
                let (ty, a) = (graph.ty(*a), self.get(*a));
                lanes(&|i| eval::unary(*op, ty, a[i]))
            }
            Node::Binary(op, a, b) => {
                let (ty, a, b) = (graph.ty(*a), self.get(*a), self.get(*b));
                lanes(&|i| eval::binary(*op, ty, a[i], b[i]))
            }
            Node::Select(c, a, b) => {
                let (c, a, b) = (self.get(*c), self.get(*a), self.get(*b));
                lanes(&|i| if c[i] != 0 { a[i] } else { b[i] })
            }
            Node::Convert(a) => {
                let (from, a) = (graph.ty(*a), self.get(*a));
                lanes(&|i| eval::convert(from, ty, a[i]))
            }
            Node::Lookup { table, index } => {
                let (table, index) = (&graph.tables()[usize::from(*table)], self.get(*index));
                lanes(&|i| table.get(index[i] as usize).copied().unwrap_or(0).into())
            }
            Node::Bitcast(a) => *self.get(*a),
            Node::Result { of, index } => *self.get(graph.loops()[usize::from(*of)].params[usize::from(*index)]),
        };
        self.values[id as usize] = out;
    }

    fn run_loop(&mut self, of: usize, len: usize) {
        let l = self.program.graph().loops()[of].clone();
        for (p, init) in l.params.iter().zip(&l.init) {
            self.values[*p as usize] = *self.get(*init);
        }
        let mut active = [true; CHUNK];
        loop {
            let first = l.params.last().map_or(l.start, |p| p + 1);
            self.range(first, l.end, len);
            let mut any = false;
            for (lane, on) in active.iter_mut().enumerate().take(len) {
                *on &= self.get(l.cond)[lane] != 0;
                any |= *on;
            }
            if !any {
                return;
            }
            let next: Vec<[u64; CHUNK]> = l.next.iter().map(|n| *self.get(*n)).collect();
            for (p, new) in l.params.iter().zip(&next) {
                for lane in (0..len).filter(|&i| active[i]) {
                    self.values[*p as usize][lane] = new[lane];
                }
            }
        }
    }
}

/// The element of an operand that belongs to element `linear` of the result.
fn offset(linear: usize, shape: &[i64], strides: &[i64]) -> usize {
    let (mut rest, mut at) = (linear as i64, 0);
    for (&d, &s) in shape.iter().zip(strides).rev() {
        at += rest % d * s;
        rest /= d;
    }
    at as usize
}
