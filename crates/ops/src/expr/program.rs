//! A [`Program`]: a graph with its operands and results, the unit that is compiled, cached, interpreted and launched.

use std::sync::atomic::{AtomicU64, Ordering};

use tfvk_device::{DType, Error, Result};

use super::graph::{Graph, Id, Node};
use super::{Builder, Value};
use crate::run::names;

/// One result.
#[derive(Clone, Copy, Debug)]
pub struct Out {
    /// Its element type.
    pub dtype: DType,
    /// The node of its (real) value.
    pub re: Id,
    /// The node of its imaginary part; `re` unless complex.
    pub im: Id,
}

/// An element-wise computation: `inputs` elements and `scalars` numbers in, `outputs` elements out.
pub struct Program {
    name: String,
    id: u64,
    graph: Graph,
    live: Vec<bool>,
    cost: usize,
    reads: Vec<bool>,
    inputs: Vec<DType>,
    scalars: Vec<DType>,
    outputs: Vec<Out>,
    pub(super) modules: super::cache::Modules,
}

impl Program {
    /// The program that `build` writes: it gets the operands and the launch-time scalars and returns the results.
    /// Fails where an operation has no meaning for its types.
    pub fn build<F>(name: impl Into<String>, inputs: &[DType], scalars: &[DType], build: F) -> Result<Self>
    where
        F: for<'a> FnOnce(&'a Builder, &[Value<'a>], &[Value<'a>]) -> Result<Vec<Value<'a>>>,
    {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let builder = Builder::new();
        let operands: Vec<_> = inputs.iter().enumerate().map(|(i, &d)| builder.input(i as u16, d)).collect();
        let numbers: Vec<_> = scalars.iter().enumerate().map(|(i, &d)| builder.scalar(i as u16, d)).collect();
        let results = build(&builder, &operands, &numbers)?;
        let outputs: Vec<Out> = results
            .iter()
            .map(|v| {
                let (re, im) = v.ids();
                Out { dtype: v.dtype(), re, im }
            })
            .collect();
        let graph = builder.finish()?;
        if outputs.is_empty() {
            return Err(Error::internal("an element-wise program without results"));
        }
        let live = graph.live(outputs.iter().flat_map(|o| [o.re, o.im]));
        let free = |n: &Node| matches!(n, Node::Const(_) | Node::Input { .. } | Node::Scalar { .. });
        let used = || graph.nodes().iter().zip(&live).filter(|(_, live)| **live).map(|((n, _), _)| n);
        let cost = used().filter(|n| !free(n)).count();
        let is_read = |i: usize| used().any(|n| matches!(n, Node::Input { index, .. } if usize::from(*index) == i));
        let reads = (0..inputs.len()).map(is_read).collect();
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}({} -> {})", name.into(), names(inputs.iter().copied()), names(outputs.iter().map(|o| o.dtype)));
        let (inputs, scalars) = (inputs.to_vec(), scalars.to_vec());
        Ok(Self { name, id, graph, live, cost, reads, inputs, scalars, outputs, modules: Default::default() })
    }

    /// What it is called in error messages and profiles: `Cast(bool -> int64)`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A number that no other program of this process has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Whether a node is needed for the results.
    pub fn is_live(&self, id: Id) -> bool {
        self.live[id as usize]
    }

    /// Number of nodes needed for one element.
    pub fn cost(&self) -> usize {
        self.cost
    }

    /// Whether an operand's elements are read at all.
    pub fn reads(&self, index: usize) -> bool {
        self.reads.get(index).copied().unwrap_or(false)
    }

    /// The operands' element types.
    pub fn inputs(&self) -> &[DType] {
        &self.inputs
    }

    /// The launch-time scalars' types.
    pub fn scalars(&self) -> &[DType] {
        &self.scalars
    }

    /// The results.
    pub fn outputs(&self) -> &[Out] {
        &self.outputs
    }
}
