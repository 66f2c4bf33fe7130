//! From a chain and the shapes of its tensors to launches: what several element-wise ops, run as one, really do.
//!
//! Results of one shape that hang together are one launch; smaller ones that are costly and used by larger ones are computed
//! first, once. A reduction is a launch that computes its operand while it reads. Variables are written in place, unless a
//! later launch still needs the old value. Pure: knows no device.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;
use tfvk_device::{DType, Error, Result, Shape, Tensor};

use super::reductions::{self, Reduction};
use super::rows::{self, Rows};
use crate::expr::{self, ASSIGN, AttrValue, Chain, Memo, Operand, Program, READ, ShapeRule, Step, broadcast};
use crate::reduce::Reducer;

/// So many instructions more than needed are still cheaper than a launch of its own and the way through memory.
const CHEAP: i64 = 1 << 24;

/// What the execution at hand is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The shapes of the operands.
    pub inputs: Vec<Shape>,
    /// The shapes of the variables.
    pub variables: Vec<Shape>,
    /// For each variable the first that is the same one.
    pub same: Vec<usize>,
    /// The axes of reductions.
    pub axes: Axes,
}

/// The axes of reductions, tensor by tensor.
pub type Axes = SmallVec<[SmallVec<[i64; 8]>; 2]>;

impl Given {
    /// Whether these are what is given too, in order.
    pub fn is(&self, inputs: &[Tensor], variables: &[Tensor], same: &[usize], axes: &Axes) -> bool {
        let equal = |shapes: &[Shape], tensors: &[Tensor]| {
            shapes.len() == tensors.len() && shapes.iter().zip(tensors).all(|(s, t)| *s == t.shape)
        };
        equal(&self.inputs, inputs) && equal(&self.variables, variables) && self.same == same && self.axes == *axes
    }

    /// What these are.
    pub fn of(inputs: &[Tensor], variables: &[Tensor], same: &[usize], axes: Axes) -> Self {
        let shapes = |tensors: &[Tensor]| tensors.iter().map(|t| t.shape.clone()).collect();
        Self { inputs: shapes(inputs), variables: shapes(variables), same: same.to_vec(), axes }
    }
}

/// A tensor of the execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An operand.
    Input(usize),
    /// A variable's memory.
    Variable(usize),
    /// A result.
    Output(usize),
    /// Scratch memory.
    Temp(usize),
}

/// One launch.
pub struct Launch {
    /// Its program. None of a reduction whose operand is in memory.
    pub program: Option<Arc<(Chain, Program)>>,
    /// The reduction of the program's result, or of the one operand.
    pub reduction: Option<(Reducer, Reduction)>,
    /// The operands.
    pub reads: Vec<Place>,
    /// The results.
    pub writes: Vec<Place>,
    /// What its last execution worked out.
    pub memo: Memo,
}

/// Launches of which some are one.
pub struct ByRows {
    /// What comes before that one, among the plan's launches.
    pub before: Vec<usize>,
    /// That one.
    pub rows: Rows,
    /// What comes after it.
    pub then: Vec<usize>,
    /// Of the scratch memory, what is used.
    pub temps: Vec<bool>,
}

/// The launches of an execution.
pub struct Plan {
    /// The results' shapes.
    pub outputs: Vec<Shape>,
    /// Types and shapes of the scratch memory.
    pub temps: Vec<(DType, Shape)>,
    /// In this order.
    pub launches: Vec<Launch>,
    /// The same where some of them are one.
    pub by_rows: Option<ByRows>,
    /// Scratch memory (by number) that is copied to variables after that.
    pub copies: Vec<(usize, usize)>,
}

/// Where a value comes from: variables are resolved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum From {
    /// An operand.
    Input(usize),
    /// The value that it has before the execution.
    Variable(usize),
    /// The result of a step.
    Step(usize),
}

/// Where the results of steps go that are kept.
pub type Homes = HashMap<usize, Vec<Place>>;

/// A step of which operands and shape are known.
pub struct Known<'a> {
    /// The step.
    pub step: &'a Step,
    /// Its operands.
    pub args: Vec<From>,
    /// The result's type and shape.
    pub dtype: DType,
    /// The result's shape.
    pub shape: Shape,
    /// Which axes are reduced, if any are.
    pub reduction: Option<Reduction>,
    /// Twice the reductions on the longest way to here, this one counted once: launches come in this order.
    pub phase: usize,
}

impl Known<'_> {
    /// The shape in which the operands are wanted.
    fn wants(&self) -> &Shape {
        self.reduction.as_ref().map_or(&self.shape, |r| &r.shape)
    }
}

/// The element type of each step's result; that of a `read` or `assign` is its variable's. Errors: what no execution can do.
pub fn types(chain: &Chain) -> Result<Vec<DType>> {
    let mut types: Vec<DType> = Vec::new();
    for step in &chain.steps {
        let of = |a: &Operand| match *a {
            Operand::Input(i) => chain.inputs.get(i).copied(),
            Operand::Step(i) => types.get(i).copied(),
            Operand::Variable(i) => chain.variables.get(i).copied(),
            Operand::Axes(_) => None,
        };
        let missing = || Error::invalid_argument(format!("{}: an operand does not exist", step.op));
        if reductions::is_reduction(step) {
            let dtype = of(&reductions::parts(step)?.0).ok_or_else(missing)?;
            if !reductions::reduces(&step.op, dtype) {
                return Err(Error::invalid_argument(format!("{} of {dtype} cannot be a step", step.op)));
            }
            types.push(dtype);
            continue;
        }
        let args = step.args.iter().map(|a| of(a).ok_or_else(missing)).collect::<Result<Vec<_>>>()?;
        let dtype = match (step.op.as_str(), &step.args[..], &args[..]) {
            (READ, [Operand::Variable(_)], &[dtype]) => dtype,
            (ASSIGN, [Operand::Variable(_), Operand::Step(_)], &[to, from]) if to == from => to,
            (READ | ASSIGN, _, _) => return Err(Error::invalid_argument(format!("{}: wrong operands or types", step.op))),
            _ => {
                let program = alone(step, args)?;
                program.1.outputs().first().map(|o| o.dtype).ok_or_else(|| Error::internal("an op without a result"))?
            }
        };
        types.push(dtype);
    }
    match chain.outputs.iter().find(|&&o| o >= types.len()) {
        Some(o) => Err(Error::invalid_argument(format!("there is no step {o}"))),
        None => Ok(types),
    }
}

/// The shape of one op's result. Operands that must be of one shape may not broadcast, nor be of another rank.
fn shape(op: &str, operands: &[&Shape]) -> Result<Shape> {
    let [first, rest @ ..] = operands else { return Err(Error::internal("an op without operands")) };
    let same = expr::expression(op).is_some_and(|e| matches!(e.shape, ShapeRule::Same));
    if let Some(other) = rest.iter().find(|s| same && s != &first) {
        return Err(Error::invalid_argument(format!("expected operands of one shape, got {first} and {other}")));
    }
    rest.iter().try_fold((*first).clone(), |shape, s| broadcast(&shape, s))
}

/// A step whose operands have these types, as a chain of its own.
fn alone(step: &Step, args: Vec<DType>) -> Result<Arc<(Chain, Program)>> {
    let operands = (0..args.len()).map(Operand::Input).collect();
    let steps = vec![Step { args: operands, ..step.clone() }];
    expr::chain(&Chain { inputs: args, steps, outputs: vec![0], ..Chain::default() }.to_string())
}

/// The chain with everything that the shapes decide.
struct Resolved<'a> {
    steps: Vec<Known<'a>>,
    outputs: Vec<From>,
    /// What variables are at the end, by the first of the same.
    assigned: HashMap<usize, From>,
}

/// The cast that copies a value, without its operand.
pub fn copying(dtype: DType) -> Step {
    Step { op: "Cast".into(), attrs: vec![AttrValue::Type(dtype), AttrValue::Bool(false)], args: Vec::new() }
}

/// The launch that copies a value.
fn copied(dtype: DType, from: Place, to: Place) -> Result<Launch> {
    let step = Step { args: vec![Operand::Input(0)], ..copying(dtype) };
    let chain = Chain { inputs: vec![dtype], steps: vec![step], outputs: vec![0], ..Chain::default() };
    let program = Some(expr::chain(&chain.to_string())?);
    Ok(Launch { program, reduction: None, reads: vec![from], writes: vec![to], memo: Memo::default() })
}

fn resolve<'a>(chain: &'a Chain, types: &[DType], given: &Given) -> Result<Resolved<'a>> {
    let missing = || Error::internal("an operand of a chain that does not exist");
    let first = |v: usize| given.same.get(v).copied().ok_or_else(missing);
    let mut steps: Vec<Known<'a>> = Vec::new();
    let mut assigned: HashMap<usize, From> = HashMap::new();
    // What each step of the chain is, and its shape.
    let mut values: Vec<(From, Shape)> = Vec::new();
    for (step, &dtype) in chain.steps.iter().zip(types) {
        let mut args = Vec::new();
        for a in &step.args {
            args.push(match *a {
                Operand::Input(i) => (From::Input(i), given.inputs.get(i).ok_or_else(missing)?.clone()),
                Operand::Step(i) => values.get(i).ok_or_else(missing)?.clone(),
                Operand::Variable(v) => (From::Variable(first(v)?), given.variables.get(v).ok_or_else(missing)?.clone()),
                Operand::Axes(_) => continue,
            });
        }
        let before = |steps: &[Known<'_>]| {
            let phase =
                |(from, _): &(From, Shape)| if let From::Step(s) = *from { steps[s].phase.next_multiple_of(2) } else { 0 };
            args.iter().map(phase).max().unwrap_or(0)
        };
        let value = match (step.op.as_str(), &args[..]) {
            (READ, [(From::Variable(v), shape)]) => (assigned.get(v).copied().unwrap_or(From::Variable(*v)), shape.clone()),
            (ASSIGN, [(From::Variable(v), old), (new, shape)]) => {
                if old != shape {
                    return Err(Error::invalid_argument(format!(
                        "Cannot update variable with shape {old} using a Tensor with shape {shape}, shapes must be equal."
                    )));
                }
                assigned.insert(*v, *new);
                (*new, shape.clone())
            }
            (op, [(from, operand)]) if reductions::is_reduction(step) => {
                let (_, axes, keep) = reductions::parts(step)?;
                let axes = given.axes.get(axes).ok_or_else(missing)?;
                let (reduction, shape) = reductions::reduction(operand, axes, keep).map_err(|e| e.context(op))?;
                let phase = before(&steps) + 1;
                steps.push(Known { step, args: vec![*from], dtype, shape: shape.clone(), reduction: Some(reduction), phase });
                (From::Step(steps.len() - 1), shape)
            }
            _ => {
                let shapes: Vec<&Shape> = args.iter().map(|(_, s)| s).collect();
                let shape = shape(&step.op, &shapes).map_err(|e| e.context(&step.op))?;
                let phase = before(&steps);
                let args = args.iter().map(|(from, _)| *from).collect();
                steps.push(Known { step, args, dtype, shape: shape.clone(), reduction: None, phase });
                (From::Step(steps.len() - 1), shape)
            }
        };
        values.push(value);
    }
    let outputs = chain.outputs.iter().map(|&o| values.get(o).map(|(from, _)| *from).ok_or_else(missing));
    Ok(Resolved { outputs: outputs.collect::<Result<_>>()?, steps, assigned })
}

/// Plans an execution. `types` are the chain's [`types`].
pub fn plan(chain: &Chain, types: &[DType], given: &Given) -> Result<Plan> {
    let Resolved { steps, outputs, assigned } = resolve(chain, types, given)?;
    let mut plan = Plan { outputs: Vec::new(), temps: Vec::new(), launches: Vec::new(), by_rows: None, copies: Vec::new() };
    // Where results go that are kept.
    let mut homes = Homes::new();
    for (k, from) in outputs.iter().enumerate() {
        let (shape, dtype, source) = match *from {
            From::Step(s) => {
                homes.entry(s).or_default().push(Place::Output(k));
                plan.outputs.push(steps[s].shape.clone());
                continue;
            }
            From::Input(i) => (&given.inputs[i], chain.inputs[i], Place::Input(i)),
            From::Variable(v) => (&given.variables[v], chain.variables[v], Place::Variable(v)),
        };
        // A value that is passed through: a copy, before variables are written.
        plan.outputs.push(shape.clone());
        plan.launches.push(copied(dtype, source, Place::Output(k))?);
    }
    let mut assigned: Vec<(usize, From)> = assigned.into_iter().collect();
    assigned.sort_by_key(|(v, _)| *v);
    for (v, from) in assigned {
        match from {
            From::Step(s) => homes.entry(s).or_default().push(Place::Variable(v)),
            From::Variable(w) if v == w => {}
            _ => return Err(Error::internal("a variable that is assigned what no step computed")),
        }
    }
    let mut keep: Vec<usize> = (0..steps.len()).filter(|s| steps[*s].reduction.is_some() && !homes.contains_key(s)).collect();
    for s in keep.drain(..) {
        homes.insert(s, vec![Place::Temp(plan.temps.len())]);
        plan.temps.push((steps[s].dtype, steps[s].shape.clone()));
    }
    for s in worth_keeping(chain, &steps, &homes)? {
        homes.insert(s, vec![Place::Temp(plan.temps.len())]);
        plan.temps.push((steps[s].dtype, steps[s].shape.clone()));
    }
    let groups = groups(&steps, &homes);
    redirect(&groups, &mut homes, &steps, &mut plan);
    // Up to which launch each group goes.
    let (before, mut ends) = (plan.launches.len(), Vec::new());
    for group in &groups {
        plan.launches.push(launch(chain, &steps, &homes, group)?);
        // A reduction has one result.
        if let (Some(_), Some([first, others @ ..])) = (&steps[group[0]].reduction, homes.get(&group[0]).map(Vec::as_slice)) {
            for &other in others {
                plan.launches.push(copied(steps[group[0]].dtype, *first, other)?);
            }
        }
        ends.push(plan.launches.len());
    }
    if chain.variables.is_empty() {
        let inputs = chain.inputs.iter().copied().zip(&given.inputs).collect();
        if let Some((set, rows)) = rows::find(&rows::Types { steps: &steps, homes: &homes, inputs }, &groups)? {
            let launches = |groups: &[usize]| -> Vec<usize> {
                groups.iter().flat_map(|&g| if g == 0 { before } else { ends[g - 1] }..ends[g]).collect()
            };
            let (first, then) = rows::around(&steps, &homes, &groups, &set);
            let (before, then): (Vec<usize>, _) = ((0..before).chain(launches(&first)).collect(), launches(&then));
            let others = before.iter().chain(&then).flat_map(|&l| plan.launches[l].reads.iter().chain(&plan.launches[l].writes));
            let used: Vec<Place> = others.chain(&rows.reads).chain(&rows.writes).copied().collect();
            let temps = (0..plan.temps.len()).map(|t| used.contains(&Place::Temp(t))).collect();
            plan.by_rows = Some(ByRows { before, rows, then, temps });
        }
    }
    Ok(plan)
}

/// The steps whose results larger ones would compute again and again, and that are too costly for that.
fn worth_keeping(chain: &Chain, steps: &[Known<'_>], homes: &Homes) -> Result<Vec<usize>> {
    let mut keep: Vec<usize> = Vec::new();
    // How often each is computed, all launches together.
    let mut times: Vec<i64> = vec![0; steps.len()];
    for group in groups(steps, homes) {
        let n = steps[group[0]].wants().num_elements();
        cone(steps, homes, &group).into_iter().for_each(|s| times[s] = times[s].saturating_add(n));
    }
    // What each costs with all that it alone needs.
    let mut costs: Vec<i64> = Vec::with_capacity(steps.len());
    for (i, s) in steps.iter().enumerate() {
        let below: i64 = s.args.iter().map(|a| if let From::Step(o) = *a { costs[o] } else { 0 }).sum();
        let dtype = |from: &From| match *from {
            From::Input(i) => chain.inputs[i],
            From::Variable(v) => chain.variables[v],
            From::Step(o) => steps[o].dtype,
        };
        let itself = match s.reduction {
            Some(_) => 0,
            None => alone(s.step, s.args.iter().map(dtype).collect())?.1.cost() as i64,
        };
        let own = (itself + below).min(1 << 20);
        let kept = homes.contains_key(&i);
        let again = times[i].saturating_sub(s.shape.num_elements()).saturating_mul(own);
        // Where the next step has this shape too, that one is kept instead.
        let last = steps.iter().skip(i + 1).any(|u| u.args.contains(&From::Step(i)) && *u.wants() != s.shape);
        if !kept && ((last && again > CHEAP) || is_read_often(steps, homes, i)) {
            keep.push(i);
        }
        costs.push(if kept || keep.last() == Some(&i) { 0 } else { own });
    }
    Ok(keep)
}

/// Whether several reductions of a step's result would read more than writing it and reading it again costs.
fn is_read_often(steps: &[Known<'_>], homes: &Homes, s: usize) -> bool {
    let users = || steps.iter().skip(s + 1).filter(|u| u.args.contains(&From::Step(s)));
    let reductions = users().filter(|u| u.reduction.is_some()).count();
    let launches = reductions + usize::from(users().any(|u| u.reduction.is_none()));
    if reductions == 0 || launches < 2 {
        return false;
    }
    let mut cone = Vec::new();
    walk(steps, homes, s, (&steps[s].shape, usize::MAX), &mut cone);
    let mut read: Vec<From> = cone.iter().flat_map(|&c| &steps[c].args).copied().collect();
    read.retain(|from| !matches!(from, From::Step(o) if cone.contains(o) || steps[*o].shape != steps[s].shape));
    read.sort_unstable();
    read.dedup();
    (launches - 1) * read.len() > launches + 1
}

/// The steps that one launch keeps, launch by launch, in an order in which each finds what it reads.
fn groups(steps: &[Known<'_>], homes: &Homes) -> Vec<Vec<usize>> {
    let mut kept: Vec<usize> = homes.keys().copied().collect();
    kept.sort_unstable();
    // Of equal shape by what they share: a set with its cone.
    let mut sets: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    for s in kept {
        let (mut members, mut all) = (vec![s], cone(steps, homes, &[s]));
        let alike = |a: &Known<'_>, b: &Known<'_>| a.shape == b.shape && a.phase == b.phase && b.reduction.is_none();
        let shares = |(m, c): &(Vec<usize>, Vec<usize>)| alike(&steps[m[0]], &steps[s]) && c.iter().any(|x| all.contains(x));
        let (joined, apart): (Vec<_>, Vec<_>) = sets.into_iter().partition(shares);
        sets = apart;
        for (m, c) in joined {
            members.extend(m);
            all.extend(c);
        }
        members.sort_unstable();
        sets.push((members, all));
    }
    // Of one phase, a step's operands have at most as many elements and dimensions.
    sets.sort_by_key(|(m, _)| (steps[m[0]].phase, steps[m[0]].shape.num_elements(), steps[m[0]].shape.rank(), m[0]));
    sets.into_iter().map(|(m, _)| m).collect()
}

/// The steps that a launch computes for the steps of a group, which are among them, in order.
pub fn cone(steps: &[Known<'_>], homes: &Homes, group: &[usize]) -> Vec<usize> {
    let mut cone = Vec::new();
    for &s in group {
        for a in &steps[s].args {
            if let From::Step(o) = *a {
                walk(steps, homes, o, (steps[s].wants(), steps[s].phase), &mut cone);
            }
        }
        if !cone.contains(&s) {
            cone.push(s);
        }
    }
    cone.sort_unstable();
    cone
}

/// The steps that a launch of this shape and phase computes for step `s`: all back to what is kept in another.
fn walk(steps: &[Known<'_>], homes: &Homes, s: usize, launch: (&Shape, usize), cone: &mut Vec<usize>) {
    if cone.contains(&s) || (homes.contains_key(&s) && (&steps[s].shape, steps[s].phase) != launch) {
        return;
    }
    for a in &steps[s].args {
        if let From::Step(o) = *a {
            walk(steps, homes, o, launch, cone);
        }
    }
    cone.push(s);
}

/// A variable whose old value another launch reads later is not written in place, but copied at the end.
fn redirect(groups: &[Vec<usize>], homes: &mut Homes, steps: &[Known<'_>], plan: &mut Plan) {
    let reads: Vec<Vec<usize>> = groups.iter().map(|g| variables(steps, homes, g)).collect();
    for (i, group) in groups.iter().enumerate() {
        for s in group {
            for place in homes.get_mut(s).into_iter().flatten() {
                if let Place::Variable(v) = *place {
                    if reads.iter().skip(i + 1).any(|r| r.contains(&v)) {
                        plan.copies.push((plan.temps.len(), v));
                        *place = Place::Temp(plan.temps.len());
                        plan.temps.push((steps[*s].dtype, steps[*s].shape.clone()));
                    }
                }
            }
        }
    }
}

/// The variables whose old values a launch reads.
fn variables(steps: &[Known<'_>], homes: &Homes, group: &[usize]) -> Vec<usize> {
    let cone = cone(steps, homes, group);
    let old = |a: &From| if let From::Variable(v) = *a { Some(v) } else { None };
    cone.iter().flat_map(|&s| &steps[s].args).filter_map(old).collect()
}

/// The launch that computes the steps of a group.
fn launch(chain: &Chain, steps: &[Known<'_>], homes: &Homes, group: &[usize]) -> Result<Launch> {
    let mut cone = cone(steps, homes, group);
    let mut part = Chain::default();
    let mut reads: Vec<Place> = Vec::new();
    let reduction = match (group, group.first().map(|&s| &steps[s])) {
        (&[s], Some(known)) if known.reduction.is_some() => {
            cone.retain(|&c| c != s);
            known.reduction.clone().map(|r| Ok((reductions::reducer(&known.step.op, known.dtype)?, r))).transpose()?
        }
        _ => None,
    };
    let mut operand = |from: From, part: &mut Chain| {
        let (place, dtype) = match from {
            From::Input(i) => (Place::Input(i), chain.inputs[i]),
            From::Variable(v) => (Place::Variable(v), chain.variables[v]),
            From::Step(o) => match (cone.binary_search(&o), homes.get(&o).and_then(|h| h.first())) {
                (Ok(at), _) => return Ok(Operand::Step(at)),
                (Err(_), Some(&home)) => (home, steps[o].dtype),
                (Err(_), None) => return Err(Error::internal("a step that is neither computed nor kept")),
            },
        };
        let at = reads.iter().position(|&p| p == place).unwrap_or_else(|| {
            reads.push(place);
            part.inputs.push(dtype);
            reads.len() - 1
        });
        Ok(Operand::Input(at))
    };
    for &s in &cone {
        let args = steps[s].args.iter().map(|&a| operand(a, &mut part)).collect::<Result<_>>()?;
        part.steps.push(Step { args, ..steps[s].step.clone() });
    }
    let mut writes = Vec::new();
    if reduction.is_some() {
        let s = group[0];
        if let Operand::Step(at) = operand(steps[s].args[0], &mut part)? {
            part.outputs.push(at);
        }
        writes.extend(homes.get(&s).and_then(|h| h.first()));
    } else {
        for s in group {
            for &home in homes.get(s).into_iter().flatten() {
                part.outputs.extend(cone.binary_search(s).ok());
                writes.push(home);
            }
        }
    }
    let program = if part.steps.is_empty() { None } else { Some(expr::chain(&part.to_string())?) };
    Ok(Launch { program, reduction, reads, writes, memo: Memo::default() })
}

#[cfg(test)]
mod tests;
