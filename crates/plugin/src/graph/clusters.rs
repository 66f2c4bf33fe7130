//! Which nodes become one: first trees of operators whose results nobody else uses, then, in graphs where that is safe,
//! whatever is connected: several results, reads and updates of variables, reductions.
//!
//! A tree waits for nothing that its last operator did not wait for anyway. More than that can change when things happen,
//! though never against the graph's edges: a fused node is one of the orders that the graph allows. That is not done
//! where nodes wait for each other without an edge (collectives, queues, sends) or may not run at all (in control flow).

use std::collections::HashSet;

use tfvk_ops::OpKernelConstruction;

use crate::graph::contraction::Contraction;
use crate::graph::flow::Flow;
use crate::graph::member::{Member, member};
use crate::graph::model::{Graph, Use, tensor};

/// Operators in one: what compiles quickly and keeps its values in registers.
const MAX_STEPS: usize = 40;
/// Tensors and variables that one reads.
const MAX_INPUTS: usize = 24;

/// A result that more than so many sets use goes into none of them: they would hang together by it.
const MAX_SETS: usize = 8;
/// Sets with updates that become one although nothing connects them, and the elements of all their variables: a launch each,
/// but one node. Large variables are left alone, for all gradients are held until the last of them is there.
const MAX_TOGETHER: usize = 32;
const MAX_ELEMENTS: i64 = 1 << 20;

/// Parts of names of operators that wait for others without an edge.
const WAIT: [&str; 9] = ["Collective", "Nccl", "Send", "Recv", "Queue", "Barrier", "Stage", "Unstage", "MutexLock"];

/// Whether a graph has operators that wait for each other without an edge.
fn waits(graph: &Graph) -> bool {
    let waits = |op: &str| op.starts_with("Stack") || WAIT.iter().any(|part| op.contains(part));
    (0..graph.end()).filter_map(|i| graph.node(i)).any(|n| waits(n.def.op()))
}

/// The sets of nodes, each in an order in which they can run, with what each node is; sets of one node are left out.
pub fn find(graph: &Graph) -> Vec<Vec<(usize, Member)>> {
    let mut flow = Flow::of(graph);
    if waits(graph) {
        flow.plain.fill(false);
    }
    let mut members: Vec<Option<Member>> = (0..graph.end()).map(|i| graph.node(i).and_then(member)).collect();
    for (m, plain) in members.iter_mut().zip(&flow.plain) {
        *m = m.take().filter(|m| *plain || matches!(m, Member::Op(_)));
    }
    // What turns out not to fit is left out, and all is done again.
    for attempt in 0..4 {
        let mut clusters = Clusters::new(graph, &members, &flow);
        clusters.trees();
        clusters.variables();
        clusters.results();
        clusters.variables();
        clusters.updates_together();
        clusters.reductions();
        let wrong = clusters.wrong(attempt == 3);
        if wrong.is_empty() {
            let sets = clusters.sets();
            let mut take = |i: usize| members[i].take().map(|m| (i, m));
            return sets.into_iter().map(|s| s.into_iter().filter_map(&mut take).collect()).collect();
        }
        wrong.into_iter().for_each(|i| members[i] = None);
    }
    Vec::new()
}

struct Clusters<'a> {
    graph: &'a Graph,
    members: &'a [Option<Member>],
    /// Plain nodes may be in more than a tree.
    flow: &'a Flow,
    sets: Contraction,
}

impl<'a> Clusters<'a> {
    fn new(graph: &'a Graph, members: &'a [Option<Member>], flow: &'a Flow) -> Self {
        Self { graph, members, flow, sets: Contraction::new(&flow.order, flow.after.clone()) }
    }

    /// The set that all users of a node's result are in, if they are in one.
    fn users(&self, node: usize) -> Option<usize> {
        let mut sets = self.graph.uses(node).iter().filter_map(|u| match u {
            Use::Data(user, _) => Some((*user, self.sets.set(*user))),
            Use::Control(_) => None,
        });
        let (user, first) = sets.next()?;
        (self.members[user].is_some() && sets.all(|(_, set)| set == first)).then_some(first)
    }

    /// Operators into what alone uses them.
    fn trees(&mut self) {
        for &node in self.flow.order.iter().rev() {
            let alone = !self.graph.is_preserved(node) && self.graph.uses(node).iter().all(|u| matches!(u, Use::Data(..)));
            if let (Some(Member::Op(op)), true, Some(set)) = (&self.members[node], alone, self.users(node)) {
                if !op.reduces && !self.reduces(set) {
                    self.join(&[node, set]);
                }
            }
        }
    }

    /// Reads of variables into what updates them; updates into what reads the variable after that.
    fn variables(&mut self) {
        for &node in &self.flow.order {
            match self.members[node] {
                Some(Member::Read(_)) if !self.graph.is_fetched(node) => {
                    if let Some(set) = self.users(node).filter(|&set| self.updates(set, node)) {
                        self.connect(&[self.sets.set(node), set]);
                    }
                }
                Some(Member::Update(..)) => {
                    for u in self.graph.uses(node) {
                        let user = u.user();
                        match self.members[user] {
                            Some(Member::Read(_)) if !self.graph.is_fetched(user) => {
                                if let Some(set) = self.users(user) {
                                    self.connect(&[self.sets.set(node), self.sets.set(user), set]);
                                }
                            }
                            Some(Member::Update(..)) => {
                                self.connect(&[self.sets.set(node), self.sets.set(user)]);
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Operators whose result others use too into those of their users that they can be one with.
    fn results(&mut self) {
        for &node in &self.flow.order {
            if !matches!(self.members[node], Some(Member::Op(_))) || self.reduces(node) {
                continue;
            }
            let users: HashSet<usize> = self.graph.uses(node).iter().map(|u| self.sets.set(u.user())).collect();
            if users.len() > MAX_SETS {
                continue;
            }
            for u in self.graph.uses(node) {
                if let Use::Data(user, _) = *u {
                    if matches!(self.members[user], Some(Member::Op(_) | Member::Update(..))) && !self.reduces(user) {
                        self.connect(&[self.sets.set(node), self.sets.set(user)]);
                    }
                }
            }
        }
    }

    /// Reductions with what makes their operand and with those of their users that they can be one with. After all else, and
    /// not with updates of variables: those come at the end, and would hold the operand until then.
    fn reductions(&mut self) {
        for &node in &self.flow.order {
            if !self.reduces(node) {
                continue;
            }
            let producer = self.graph.node(node).and_then(|n| self.graph.index(n.data_inputs().next()?.0));
            let users = self.graph.uses(node).iter().filter(|u| matches!(u, Use::Data(..))).map(|u| u.user());
            for other in producer.into_iter().chain(users) {
                if matches!(self.members[other], Some(Member::Op(_))) {
                    self.connect(&[self.sets.set(node), self.sets.set(other)]);
                }
            }
        }
    }

    fn reduces(&self, node: usize) -> bool {
        self.members[node].as_ref().is_some_and(Member::reduces)
    }

    /// Sets that update small variables, though they have nothing to do with each other.
    fn updates_together(&mut self) {
        let mut seen: HashSet<usize> = HashSet::new();
        let sets = self.flow.order.iter().map(|&i| self.sets.set(i)).filter(|&s| seen.insert(s)).collect::<Vec<_>>();
        // The set that is being filled, how many are in it, and their elements.
        let mut open: Option<(usize, usize, i64)> = None;
        for set in sets {
            let Some(elements) = self.updated_elements(set).filter(|&n| n <= MAX_ELEMENTS) else { continue };
            let joined = match open {
                Some((into, n, sum)) if n < MAX_TOGETHER && sum + elements <= MAX_ELEMENTS && self.are_apart(into, set) => {
                    self.sets.join(&[into, set]).then(|| (self.sets.set(into), n + 1, sum + elements))
                }
                _ => None,
            };
            open = Some(joined.unwrap_or((set, 1, elements)));
        }
    }

    /// The elements of the variables that a set updates, if it does and they are known.
    fn updated_elements(&self, set: usize) -> Option<i64> {
        let updates = |i: &usize| matches!(self.members[*i], Some(Member::Update(..)));
        let handles: HashSet<&str> =
            self.sets.members(set).iter().filter(|i| updates(i)).filter_map(|&i| self.handle(i)).collect();
        let elements = |handle: &str| {
            let (name, output) = tensor(handle);
            let node = self.graph.node(self.graph.index(name)?)?;
            let shape = match node.def.op() {
                "VarHandleOp" => node.def.shape("shape").ok()?,
                _ => node.def.shapes("_handle_shapes").ok()?.into_iter().nth(output)?,
            }?;
            shape.iter().all(|&d| d >= 0).then(|| shape.iter().product::<i64>())
        };
        if handles.is_empty() {
            return None;
        }
        handles.into_iter().try_fold(0i64, |sum, h| sum.checked_add(elements(h)?))
    }

    /// Whether two sets are of one device and no edge connects them.
    fn are_apart(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.sets.members(a), self.sets.members(b));
        let device = |m: &[usize]| m.first().and_then(|&i| self.graph.node(i)).map(|n| &n.device);
        let after =
            |from: &[usize], to: &[usize]| from.iter().any(|&i| self.graph.uses(i).iter().any(|u| to.contains(&u.user())));
        device(a) == device(b) && !after(a, b) && !after(b, a)
    }

    /// Joins sets to more than a tree, if that is allowed.
    fn connect(&mut self, sets: &[usize]) -> bool {
        sets.iter().all(|&s| self.sets.members(s).iter().all(|&i| self.flow.plain[i])) && self.join(sets)
    }

    /// Joins sets if that is allowed and not too much.
    fn join(&mut self, sets: &[usize]) -> bool {
        let mut distinct = sets.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let all: Vec<usize> = distinct.iter().flat_map(|&s| self.sets.members(s)).copied().collect();
        let device = |i: usize| self.graph.node(i).map(|n| &n.device);
        let steps = all.iter().filter(|&&i| !matches!(self.members[i], Some(Member::Read(_)))).count();
        let fetched = |&&i: &&usize| self.graph.is_preserved(i) && matches!(self.members[i], Some(Member::Op(_)));
        distinct.len() > 1
            && steps <= MAX_STEPS
            && all.iter().all(|&i| self.members[i].is_some() && device(i) == device(all[0]))
            && all.iter().filter(fetched).count() <= 1
            && !(all.iter().any(|&i| self.reduces(i)) && all.iter().any(|&i| !matches!(self.members[i], Some(Member::Op(_)))))
            && self.inputs(&all).len() <= MAX_INPUTS
            && self.sets.join(&distinct)
    }

    /// The tensors that come from outside, handles among them.
    fn inputs(&self, all: &[usize]) -> HashSet<&'a str> {
        let inputs = all.iter().filter_map(|&i| self.graph.node(i)).flat_map(|n| &n.inputs).filter(|i| !i.starts_with('^'));
        inputs.map(String::as_str).filter(|i| !self.graph.index(tensor(i).0).is_some_and(|f| all.contains(&f))).collect()
    }

    /// The handle of the variable that a node reads or updates.
    fn handle(&self, node: usize) -> Option<&'a str> {
        self.graph.node(node)?.inputs.first().map(String::as_str)
    }

    /// Whether a set updates the variable that `node` reads.
    fn updates(&self, set: usize, node: usize) -> bool {
        let updates = |&i: &usize| matches!(self.members[i], Some(Member::Update(..))) && self.handle(i) == self.handle(node);
        self.sets.members(set).iter().any(updates)
    }

    /// Nodes that must not be where they are: what is read of a variable without being updated there, and updates of a
    /// variable of which an earlier value is held from outside, for that would have to be copied each time. `all`: whatever
    /// has to do with variables, as soon as anything is wrong.
    fn wrong(&self, all: bool) -> Vec<usize> {
        let variable = |&i: &usize| matches!(self.members[i], Some(Member::Read(_) | Member::Update(..)));
        let mut wrong = Vec::new();
        for node in 0..self.members.len() {
            let set = self.sets.members(self.sets.set(node));
            if set.len() < 2 || self.members[node].is_none() {
                continue;
            }
            match self.members[node] {
                Some(Member::Read(_)) if !self.updates(self.sets.set(node), node) => wrong.push(node),
                Some(Member::Update(..)) => {
                    let held = |input: &&str| {
                        let source = self.graph.index(tensor(input).0);
                        source.is_some_and(|s| self.is_read(s) && self.handle(s) == self.handle(node))
                    };
                    if self.inputs(set).iter().any(held) {
                        wrong.push(node);
                    }
                }
                _ => {}
            }
        }
        if all && !wrong.is_empty() {
            return (0..self.members.len()).filter(variable).collect();
        }
        wrong
    }

    fn is_read(&self, node: usize) -> bool {
        self.graph.node(node).is_some_and(|n| n.def.op() == "ReadVariableOp")
    }

    /// The sets of more than one node.
    fn sets(&self) -> Vec<Vec<usize>> {
        let mut sets: Vec<Vec<usize>> = vec![Vec::new(); self.members.len()];
        self.flow.order.iter().for_each(|&node| sets[self.sets.set(node)].push(node));
        sets.retain(|s| s.len() > 1);
        sets
    }
}
