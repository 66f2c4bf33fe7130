//! Which launches of a plan become one: reductions of the same rows with all that comes before, between and after them, such
//! as a normalisation. Each row is read again for every reduction, but from a cache; what is computed is the same, to the
//! last bit. All but the launch is pure.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tfvk_device::{Args, DType, Kernel, Result, Shape, Tensor};

use super::plan::{From, Homes, Known, Place, cone, copying};
use crate::expr::spirv::{RowInput, RowPart, RowParts, RowPlace, graft_rows};
use crate::expr::{self, Chain, Operand, Program, Step, broadcast_strides};
use crate::reduce::{Combine, axes, row_launch};
use crate::{Compute, shader};

/// The longest row: a few threads have it.
const MAX_ROW: i64 = 8192;
/// Reductions in one launch, and instructions in the shader for an element: what compiles quickly.
const MAX_STAGES: usize = 4;
const MAX_COST: usize = 640;
/// Operands: what the kernel has room for, and what fits into push constants.
const MAX_OPERANDS: usize = 48;
const PUSHED: usize = 15;

/// The launch.
pub struct Rows {
    /// How many rows of how many elements.
    pub rows: i64,
    /// Elements of one.
    pub n: i64,
    /// How many reductions.
    pub stages: u32,
    /// A bit for each: whether it is a mean.
    pub means: u32,
    /// What is read, in the order of the arguments.
    pub reads: Vec<Place>,
    /// What is written, after that.
    pub writes: Vec<Place>,
    /// The kernel.
    pub kernel: Arc<Kernel>,
}

/// Launches it. The tensors are aligned to what four elements take.
pub fn launch(ctx: &Compute<'_>, rows: &Rows, reads: &[Tensor], writes: &[Tensor]) -> Result<()> {
    let (threads, groups, vector) = row_launch(ctx, rows.rows, rows.n)?;
    let constants = [threads[0], threads[1], 1, 0, 0, vector.into(), Combine::Sum as u32, rows.stages, rows.means];
    let mut args = Args::new();
    args.u32(rows.rows as u32).u32(rows.n as u32);
    reads.iter().try_for_each(|t| args.read(t).map(drop))?;
    writes.iter().try_for_each(|t| args.write(t).map(drop))?;
    ctx.stream().launch_linear(&rows.kernel, &constants, &args, groups)
}

/// The groups that become one launch, and the launch.
pub fn find(types: &Types<'_>, groups: &[Vec<usize>]) -> Result<Option<(Vec<usize>, Rows)>> {
    for group in groups {
        let Some(g) = Geometry::of(&types.steps[group[0]]) else { continue };
        let all: Vec<usize> = (0..groups.len()).filter(|&i| g.fits(types.steps, &groups[i])).collect();
        // Without what comes before all reductions, if that is too much.
        let later = |&i: &usize| types.steps[groups[i][0]].phase > 0;
        for set in [all.clone(), all.into_iter().filter(later).collect()] {
            let set = convex(types, groups, set);
            let reductions = set.iter().filter(|&&i| types.steps[groups[i][0]].reduction.is_some()).count();
            if set.len() < 2 || !(1..=MAX_STAGES).contains(&reductions) {
                continue;
            }
            if let Some(rows) = Builder::new(types, groups, &set, &g).build()? {
                return Ok(Some((set, rows)));
            }
        }
    }
    Ok(None)
}

/// What a plan knows when it asks.
pub struct Types<'a> {
    /// The steps.
    pub steps: &'a [Known<'a>],
    /// Where results go that are kept.
    pub homes: &'a Homes,
    /// The operands' types and shapes.
    pub inputs: Vec<(DType, &'a Shape)>,
}

/// The rows of a reduction.
struct Geometry {
    shape: Shape,
    reduced: SmallVec<[bool; 8]>,
    rows: i64,
    n: i64,
    /// The shape of what is one in a row, with and without the reduced axes, and of what is the same in all rows.
    row: [Shape; 2],
    column: Shape,
}

impl Geometry {
    fn of(step: &Known<'_>) -> Option<Self> {
        let r =
            step.reduction.as_ref().filter(|_| step.dtype == DType::F32 && matches!(step.step.op.as_str(), "Sum" | "Mean"))?;
        let (rows, n) = match axes::runs(&r.shape, &r.reduced)[..] {
            [n] if n.reduced => (1, n.size),
            [rows, n] if n.reduced => (rows.size, n.size),
            _ => return None,
        };
        let column: Shape = r.shape.iter().zip(&r.reduced).map(|(&d, &reduced)| if reduced { d } else { 1 }).collect();
        let row = [true, false].map(|keep| axes::output_shape(&r.shape, &r.reduced, keep));
        // A single row of odd length is read in another way.
        let fits = (2..=MAX_ROW).contains(&n) && rows.checked_mul(n)? < 1 << 30 && (n % 4 == 0 || rows > 1);
        fits.then(|| Self { shape: r.shape.clone(), reduced: r.reduced.clone(), rows, n, row, column })
    }

    fn fits(&self, steps: &[Known<'_>], group: &[usize]) -> bool {
        let first = &steps[group[0]];
        match &first.reduction {
            Some(r) => Self::of(first).is_some() && r.shape == self.shape && r.reduced == self.reduced,
            None => first.shape == self.shape || self.row.contains(&first.shape),
        }
    }

    /// Which element of a tensor of shape `from` goes with an element of one of shape `to`: all rows or one element a row.
    fn place(&self, from: &Shape, to: &Shape) -> Option<RowPlace> {
        let strides = broadcast_strides(from, to).ok()?;
        let like = |shape: &Shape| broadcast_strides(shape, to).is_ok_and(|s| s == strides);
        match () {
            () if strides.iter().all(|&s| s == 0) => Some(RowPlace::One),
            () if *to != self.shape => like(to).then_some(RowPlace::Row),
            () if like(to) => Some(RowPlace::Full),
            () if like(&self.row[0]) => Some(RowPlace::Row),
            () if like(&self.column) => Some(RowPlace::Column),
            () => None,
        }
    }
}

/// For each group, which others must come before it.
fn after(steps: &[Known<'_>], homes: &Homes, groups: &[Vec<usize>]) -> Vec<Vec<bool>> {
    let of: HashMap<usize, usize> = groups.iter().enumerate().flat_map(|(i, g)| g.iter().map(move |&s| (s, i))).collect();
    // Groups come in an order in which each finds what it reads.
    let mut after: Vec<Vec<bool>> = Vec::new();
    for (i, group) in groups.iter().enumerate() {
        let mut before = vec![false; groups.len()];
        for a in cone(steps, homes, group).iter().flat_map(|&s| &steps[s].args) {
            if let Some(&j) = if let From::Step(o) = a { of.get(o) } else { None } {
                if j < i {
                    before[j] = true;
                    (0..j).for_each(|k| before[k] |= after[j][k]);
                }
            }
        }
        after.push(before);
    }
    after
}

/// The groups outside of the set that come before its launch, and those that come after it.
pub fn around(steps: &[Known<'_>], homes: &Homes, groups: &[Vec<usize>], set: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let after = after(steps, homes, groups);
    let others = (0..groups.len()).filter(|i| !set.contains(i));
    others.partition(|&i| !set.iter().any(|&member| after[i][member]))
}

/// The set without what must come after something that must come after a part of it.
fn convex(types: &Types<'_>, groups: &[Vec<usize>], mut set: Vec<usize>) -> Vec<usize> {
    let after = after(types.steps, types.homes, groups);
    let outside =
        |set: &[usize], b: usize| (0..b).any(|x| !set.contains(&x) && after[b][x] && set.iter().any(|&a| a < x && after[x][a]));
    while let Some(at) = set.iter().position(|&b| outside(&set, b)) {
        set.remove(at);
    }
    set
}

struct Builder<'a> {
    types: &'a Types<'a>,
    groups: &'a [Vec<usize>],
    set: &'a [usize],
    geometry: &'a Geometry,
    reads: Vec<Place>,
    writes: Vec<Place>,
    /// The reductions' steps.
    stages: Vec<usize>,
}

/// A program that is being written.
#[derive(Default)]
struct Part {
    chain: Chain,
    inputs: Vec<RowInput>,
    done: HashMap<(usize, Shape), Operand>,
    writes: Vec<Place>,
}

/// A program that is written.
struct Made {
    program: Arc<(Chain, Program)>,
    inputs: Vec<RowInput>,
    writes: Vec<Place>,
}

impl Made {
    fn of(part: Part) -> Result<Self> {
        Ok(Self { program: expr::chain(&part.chain.to_string())?, inputs: part.inputs, writes: part.writes })
    }

    fn part<'a>(&'a self, outputs: &'a [usize]) -> RowPart<'a> {
        RowPart { program: &self.program.1, inputs: &self.inputs, outputs }
    }

    /// Whether four elements of an operand or result are more than a load or store.
    fn is_wide(&self) -> bool {
        let walked = |i: &RowInput| matches!(i, RowInput::Operand(_, RowPlace::Full | RowPlace::Column));
        let inputs = self.program.1.inputs().iter().zip(&self.inputs).filter(|(_, i)| walked(i)).map(|(d, _)| d);
        inputs.copied().chain(self.program.1.outputs().iter().map(|o| o.dtype)).any(|d| d.size() > 4)
    }
}

impl<'a> Builder<'a> {
    fn new(types: &'a Types<'a>, groups: &'a [Vec<usize>], set: &'a [usize], geometry: &'a Geometry) -> Self {
        let stages = set.iter().map(|&i| groups[i][0]).filter(|&s| types.steps[s].reduction.is_some()).collect();
        Self { types, groups, set, geometry, reads: Vec::new(), writes: Vec::new(), stages }
    }

    fn build(mut self) -> Result<Option<Rows>> {
        let Some((stages, full, row)) = self.parts() else { return Ok(None) };
        let stages = stages.into_iter().map(Made::of).collect::<Result<Vec<_>>>()?;
        let written = |part: Part| if part.writes.is_empty() { Ok(None) } else { Made::of(part).map(Some) };
        let (full, row) = (written(full)?, written(row)?);
        let vector = self.geometry.n % 4 == 0;
        let cost = |m: &Made| m.program.1.cost();
        // A reduction's loop is written out for several elements at a time.
        let cost = 5 * stages.iter().map(cost).sum::<usize>() + full.iter().chain(&row).map(cost).sum::<usize>();
        let operands = self.reads.len() + self.writes.len();
        if cost > MAX_COST || operands > MAX_OPERANDS || (vector && stages.iter().chain(&full).any(Made::is_wide)) {
            return Ok(None);
        }
        let number = |place: &Place| self.writes.iter().position(|w| w == place).map_or(0, |i| self.reads.len() + i);
        let [full_outputs, row_outputs] = [&full, &row].map(|m| m.iter().flat_map(|m| &m.writes).map(number).collect::<Vec<_>>());
        let parts = RowParts {
            stages: stages.iter().map(|m| m.part(&[])).collect(),
            full: full.as_ref().map(|m| m.part(&full_outputs)),
            row: row.as_ref().map(|m| m.part(&row_outputs)),
            lanes: if vector { 4 } else { 1 },
        };
        let text = |m: &Made| format!("{} {:?}", m.program.0, m.inputs);
        let [stage_texts, full_text, row_text] =
            [&stages[..], full.as_slice(), row.as_slice()].map(|list| list.iter().map(text).collect::<Vec<_>>());
        let key = format!("{stage_texts:?} {full_text:?} {full_outputs:?} {row_text:?} {row_outputs:?} {vector} {operands}");
        let kernel = kernel(key, &parts, operands > PUSHED)?;
        let means = self.stages.iter().enumerate().filter(|(_, s)| self.types.steps[**s].step.op == "Mean");
        let means = means.fold(0, |bits, (i, _)| bits | 1 << i);
        let (stages, &Geometry { rows, n, .. }) = (self.stages.len() as u32, self.geometry);
        Ok(Some(Rows { rows, n, stages, means, reads: self.reads, writes: self.writes, kernel }))
    }

    /// The programs of the reductions, of what is written of all elements, and of rows.
    fn parts(&mut self) -> Option<(Vec<Part>, Part, Part)> {
        let steps = self.types.steps;
        let mut stages = Vec::new();
        for s in self.stages.clone() {
            let mut part = Part::default();
            let operand = self.operand(&mut part, steps[s].args[0], &self.geometry.shape)?;
            self.result(&mut part, operand, DType::F32);
            stages.push(part);
        }
        let [mut full, mut row] = [Part::default(), Part::default()];
        for &i in self.set {
            for &s in &self.groups[i] {
                let homes: Vec<Place> = self.types.homes.get(&s).into_iter().flatten().copied().collect();
                let wanted = homes.into_iter().filter(|h| matches!(h, Place::Output(_)) || self.is_read(s));
                for home in wanted.collect::<Vec<_>>() {
                    let shape = &steps[s].shape;
                    let part = if steps[s].reduction.is_none() && *shape == self.geometry.shape { &mut full } else { &mut row };
                    let operand = self.operand(part, From::Step(s), shape)?;
                    self.result(part, operand, steps[s].dtype);
                    part.writes.push(home);
                    self.writes.push(home);
                }
            }
        }
        Some((stages, full, row))
    }

    /// Whether a launch that is not of the set reads a step's result.
    fn is_read(&self, s: usize) -> bool {
        let others = (0..self.groups.len()).filter(|i| !self.set.contains(i));
        let read = |i: usize| {
            let cone = cone(self.types.steps, self.types.homes, &self.groups[i]);
            cone.iter().any(|&c| self.types.steps[c].args.contains(&From::Step(s)))
        };
        others.into_iter().any(read)
    }

    /// Makes an operand of a part a result of it.
    fn result(&self, part: &mut Part, operand: Operand, dtype: DType) {
        let step = match operand {
            Operand::Step(step) => step,
            other => {
                part.chain.steps.push(Step { args: vec![other], ..copying(dtype) });
                part.chain.steps.len() - 1
            }
        };
        part.chain.outputs.push(step);
    }

    fn operand(&mut self, part: &mut Part, from: From, shape: &Shape) -> Option<Operand> {
        let steps = self.types.steps;
        match from {
            From::Input(i) => {
                let (dtype, own) = *self.types.inputs.get(i)?;
                self.read(part, Place::Input(i), dtype, own, shape)
            }
            From::Variable(_) => None,
            From::Step(s) => {
                if let Some(number) = self.stages.iter().position(|&r| r == s) {
                    let place = self.geometry.place(&steps[s].shape, shape)?;
                    let fits = place == RowPlace::Row || (self.geometry.rows == 1 && place == RowPlace::One);
                    return fits.then(|| input(part, RowInput::Result(number), DType::F32));
                }
                if let Some(&home) = self.types.homes.get(&s).and_then(|h| h.first()) {
                    if !self.set.iter().any(|&i| self.groups[i].contains(&s)) {
                        return self.read(part, home, steps[s].dtype, &steps[s].shape, shape);
                    }
                }
                let key = (s, shape.clone());
                if let Some(&done) = part.done.get(&key) {
                    return Some(done);
                }
                let args = steps[s].args.iter().map(|&a| self.operand(part, a, shape)).collect::<Option<Vec<_>>>()?;
                part.chain.steps.push(Step { args, ..steps[s].step.clone() });
                let done = Operand::Step(part.chain.steps.len() - 1);
                part.done.insert(key, done);
                Some(done)
            }
        }
    }

    fn read(&mut self, part: &mut Part, place: Place, dtype: DType, own: &Shape, shape: &Shape) -> Option<Operand> {
        let which = self.geometry.place(own, shape)?;
        let number = self.reads.iter().position(|&r| r == place).unwrap_or_else(|| {
            self.reads.push(place);
            self.reads.len() - 1
        });
        Some(input(part, RowInput::Operand(number, which), dtype))
    }
}

fn input(part: &mut Part, what: RowInput, dtype: DType) -> Operand {
    Operand::Input(part.inputs.iter().position(|i| *i == what).unwrap_or_else(|| {
        part.inputs.push(what);
        part.chain.inputs.push(dtype);
        part.inputs.len() - 1
    }))
}

/// The kernel with these programs, which all nodes that have the same share.
fn kernel(key: String, parts: &RowParts<'_>, in_memory: bool) -> Result<Arc<Kernel>> {
    static KERNELS: Mutex<Option<HashMap<String, Arc<Kernel>>>> = Mutex::new(None);
    const MOST: usize = 1024;
    let lock = || KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lock().as_ref().and_then(|m| m.get(&key)) {
        return Ok(known.clone());
    }
    let where_ = if in_memory { "memory" } else { "push" };
    let base = shader::REDUCE_ROWS.get(&[DType::F32.into(), DType::F32.into(), where_.into()])?;
    let names: Vec<&str> = parts.stages.iter().chain(&parts.full).chain(&parts.row).map(|p| p.program.name()).collect();
    let name = format!("{} of {}", base.name, names.join("; "));
    let kernel = Arc::new(Kernel::from_words(name, graft_rows(&base.spirv, parts)?));
    let mut map = lock();
    let map = map.get_or_insert_default();
    if map.len() >= MOST {
        map.clear();
    }
    map.insert(key, kernel.clone());
    Ok(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elementwise::plan::{Axes, ByRows, Given, Plan, plan, types};

    /// Launches before, reads, writes, launches after; nothing if no launch is one of rows.
    fn told(text: &str, inputs: &[&[i64]], axes: &[&[i64]]) -> Option<String> {
        let chain: Chain = text.parse().unwrap();
        let axes: Axes = axes.iter().map(|a| SmallVec::from_slice(a)).collect();
        let inputs = inputs.iter().map(|d| Shape::new(d)).collect();
        let given = Given { inputs, variables: Vec::new(), same: Vec::new(), axes };
        let Plan { by_rows, .. } = plan(&chain, &types(&chain).unwrap(), &given).unwrap();
        let ByRows { before, rows: r, then, .. } = by_rows?;
        Some(format!("{before:?} {}x{} {} {:b} {:?} {:?} {then:?}", r.rows, r.n, r.stages, r.means, r.reads, r.writes))
    }

    const NORM: &str = "AddV2 %0 %1; Mean 0 @0 [b1]; SquaredDifference 0 1; Mean 2 @0 [b1]; Rsqrt 3; Sub 0 1; Mul 5 4; Mul 6 %2";

    #[test]
    fn a_normalisation_is_one_launch() {
        let text = format!("inputs float32 float32 float32; {NORM}; outputs 7 0 1");
        let got = told(&text, &[&[2, 6, 8], &[8], &[8]], &[&[2]]).unwrap();
        assert_eq!(got, "[] 12x8 2 11 [Input(0), Input(1), Input(2)] [Output(1), Output(2), Output(0)] []");
        // Not over other axes, nor over rows that are long.
        assert_eq!(told(&text, &[&[2, 6, 8], &[8], &[8]], &[&[1]]), None);
        assert_eq!(told(&text, &[&[2, 9000], &[9000], &[1]], &[&[1]]), None);
    }

    #[test]
    fn what_depends_on_other_launches_comes_after_them() {
        // A sum over columns of the normalised, and then one over rows of what follows from that.
        let text = format!("inputs float32 float32 float32; {NORM}; Sum 7 @1 [b0]; Mul 7 8; Sum 9 @0 [b1]; outputs 10 8");
        let got = told(&text, &[&[12, 8], &[8], &[8]], &[&[1], &[0]]).unwrap();
        assert!(got.starts_with("[] 12x8 2 11 ") && got.ends_with(']') && !got.ends_with(" []"), "{got}");
    }
}
