//! Diag, DiagPart and the MatrixDiag family: diagonals of matrices, in and out. One move a diagonal.

use smallvec::SmallVec;
use tfvk_device::{Error, Result, Shape};

use super::mover::{Mover, Moving, Place, Program, Step, Value};
use super::view::{Axes, Move, View};
use crate::{Inputs, OpKernel, OpKernelConstruction};

struct Diag {
    part: bool,
}

/// The kernel of Diag: `[d..]` to `[d.., d..]`.
pub fn diag(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Diag { part: false })))
}

/// The kernel of DiagPart: `[d.., d..]` to `[d..]`.
pub fn diag_part(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(Diag { part: true })))
}

impl Mover for Diag {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        if self.part {
            let half = x.rank() / 2;
            if x.rank() == 0 || x.rank() % 2 != 0 || x[..half] != x[half..] {
                return Err(Error::invalid_argument(format!(
                    "The rank of the tensor should be even and positive, its halves equal: got {x}"
                )));
            }
            let d = Shape::new(&x[..half]);
            let n = d.num_elements();
            let view = View { offset: 0, strides: Axes::from_slice(&[n + 1]) };
            return Ok(Program::new(d).moving(0, Move::new(&[n], view, View::dense(&[n]))));
        }
        if x.rank() == 0 {
            return Err(Error::invalid_argument("Input must be at least rank 1, got 0"));
        }
        let n = x.num_elements();
        let shape: Shape = x.iter().chain(x.iter()).copied().collect();
        let view = View { offset: 0, strides: Axes::from_slice(&[n + 1]) };
        Ok(Program::new(shape).fill(Value::Zero).moving(0, Move::new(&[n], View::dense(&[n]), view)))
    }
}

/// How shorter diagonals lie in their rows of the packed form.
#[derive(Clone, Copy, Debug)]
struct Align {
    /// Diagonals above the main one end at the right.
    upper_right: bool,
    /// Diagonals below it do.
    lower_right: bool,
}

/// Which of the three generations an op is of.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// The main diagonal only, no arguments.
    V1,
    /// Any band, with arguments.
    Band(Align),
}

fn form(node: &dyn OpKernelConstruction) -> Result<Form> {
    let op = node.op();
    if op.ends_with("V3") {
        let align = node.string("align")?;
        let Some((upper, lower)) = align.split_once('_') else {
            return Err(Error::invalid_argument(format!("align: got {align}")));
        };
        return Ok(Form::Band(Align { upper_right: upper == "RIGHT", lower_right: lower == "RIGHT" }));
    }
    Ok(if op.ends_with("V2") { Form::Band(Align { upper_right: false, lower_right: false }) } else { Form::V1 })
}

/// The diagonals `lower..=upper` of a `rows` by `cols` matrix.
struct Band {
    lower: i64,
    upper: i64,
    rows: i64,
    cols: i64,
    align: Align,
}

impl Band {
    fn new(lower: i64, upper: i64, rows: i64, cols: i64, align: Align) -> Self {
        Self { lower, upper, rows, cols, align }
    }

    fn count(&self) -> i64 {
        self.upper - self.lower + 1
    }

    /// Elements of diagonal `d`.
    fn len(&self, d: i64) -> i64 {
        (self.rows + d.min(0)).min(self.cols - d.max(0)).max(0)
    }

    /// Elements of the longest diagonal: a row of the packed form.
    fn longest(&self) -> i64 {
        (self.rows + self.upper.min(0)).min(self.cols - self.lower.max(0)).max(0)
    }

    fn check(&self) -> Result<()> {
        let (rows, cols) = (self.rows, self.cols);
        let valid = |d: i64| (-rows < d && d < cols) || d == 0;
        if self.lower > self.upper || !valid(self.lower) || !valid(self.upper) {
            return Err(Error::invalid_argument(format!(
                "k: diagonals {} to {} of a {rows} by {cols} matrix are out of bounds or out of order",
                self.lower, self.upper
            )));
        }
        Ok(())
    }

    /// Shape of the packed form of `batch` matrices.
    fn packed(&self, batch: &[i64]) -> Shape {
        let mut s = Shape::new(batch);
        if self.count() > 1 {
            s.push(self.count());
        }
        s.push(self.longest());
        s
    }

    /// For each diagonal, the walk over it in `batch` matrices and in the packed form.
    fn walks(&self, batch: i64) -> impl Iterator<Item = ([i64; 2], View, View)> + '_ {
        (self.lower..=self.upper).rev().map(move |d| {
            let len = self.len(d);
            let right = if d >= 0 { self.align.upper_right } else { self.align.lower_right };
            let row = self.upper - d;
            let start = if right { self.longest() - len } else { 0 };
            let matrix = View {
                offset: if d >= 0 { d } else { -d * self.cols },
                strides: Axes::from_slice(&[self.rows * self.cols, self.cols + 1]),
            };
            let packed =
                View { offset: row * self.longest() + start, strides: Axes::from_slice(&[self.count() * self.longest(), 1]) };
            ([batch, len], matrix, packed)
        })
    }
}

/// `k` as a range of diagonals.
fn band_input(inputs: &Inputs<'_>, index: usize) -> Result<(i64, i64)> {
    match inputs.host_ints(index)?.as_slice() {
        &[k] => Ok((k, k)),
        &[lower, upper] => Ok((lower, upper)),
        other => Err(Error::invalid_argument(format!("k: expected one or two elements, got {}", other.len()))),
    }
}

const MAIN: Align = Align { upper_right: false, lower_right: false };

fn batch_of(shape: &Shape, inner: usize) -> Result<(SmallVec<[i64; 8]>, i64)> {
    let Some(lead) = shape.rank().checked_sub(inner) else {
        return Err(Error::invalid_argument(format!("input must be at least {inner}-dim, received shape: {shape}")));
    };
    let batch = Axes::from_slice(&shape[..lead]);
    let n = Shape::new(&batch).num_elements();
    Ok((batch, n))
}

struct MatrixDiag(Form);

/// The kernel of MatrixDiag, MatrixDiagV2 and MatrixDiagV3.
pub fn matrix_diag(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(MatrixDiag(form(node)?))))
}

impl Mover for MatrixDiag {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let (lower, upper, align) = match self.0 {
            Form::V1 => (0, 0, MAIN),
            Form::Band(align) => {
                let (l, u) = band_input(inputs, 1)?;
                (l, u, align)
            }
        };
        let inner = if lower == upper { 1 } else { 2 };
        let (mut shape, batch) = batch_of(x, inner)?;
        let longest = x[x.rank() - 1];
        if inner == 2 && x[x.rank() - 2] != upper - lower + 1 {
            return Err(Error::invalid_argument(format!(
                "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index range: {x}"
            )));
        }
        let (mut rows, mut cols) = match self.0 {
            Form::V1 => (-1, -1),
            Form::Band(_) => (inputs.host_int(2)?, inputs.host_int(3)?),
        };
        let (least_rows, least_cols) = (longest - upper.min(0), longest + lower.max(0));
        match (rows, cols) {
            (-1, -1) => (rows, cols) = (least_rows.max(least_cols), least_rows.max(least_cols)),
            (-1, _) => rows = least_rows,
            (_, -1) => cols = least_cols,
            _ => {}
        }
        let band = Band::new(lower, upper, rows, cols, align);
        if rows < least_rows || cols < least_cols || (rows != least_rows && cols != least_cols) {
            return Err(Error::invalid_argument(format!(
                "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal: {rows} by {cols}"
            )));
        }
        if lower > upper {
            return Err(Error::invalid_argument(format!("k: lower diagonal {lower} above upper {upper}")));
        }
        shape.extend([rows, cols]);
        let value = if matches!(self.0, Form::V1) { Value::Zero } else { Value::Input(4) };
        let mut program = Program::new(Shape::new(&shape)).fill(value);
        for (dims, matrix, packed) in band.walks(batch) {
            program = program.moving(0, Move::new(&dims, packed, matrix));
        }
        Ok(program)
    }
}

struct MatrixDiagPart(Form);

/// The kernel of MatrixDiagPart, MatrixDiagPartV2 and MatrixDiagPartV3.
pub fn matrix_diag_part(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(MatrixDiagPart(form(node)?))))
}

impl Mover for MatrixDiagPart {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let (batch, n) = batch_of(x, 2)?;
        let (lower, upper, align) = match self.0 {
            Form::V1 => (0, 0, MAIN),
            Form::Band(align) => {
                let (l, u) = band_input(inputs, 1)?;
                (l, u, align)
            }
        };
        let band = Band::new(lower, upper, x[x.rank() - 2], x[x.rank() - 1], align);
        band.check()?;
        let mut program = Program::new(band.packed(&batch));
        // Shorter diagonals leave gaps.
        if (lower..=upper).any(|d| band.len(d) != band.longest()) {
            program = program.fill(Value::Input(2));
        }
        for (dims, matrix, packed) in band.walks(n) {
            program = program.moving(0, Move::new(&dims, matrix, packed));
        }
        Ok(program)
    }
}

struct MatrixSetDiag(Form);

/// The kernel of MatrixSetDiag, MatrixSetDiagV2 and MatrixSetDiagV3.
pub fn matrix_set_diag(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Moving(MatrixSetDiag(form(node)?))))
}

impl Mover for MatrixSetDiag {
    fn program(&self, inputs: &Inputs<'_>) -> Result<Program> {
        let x = inputs.shape(0)?;
        let (batch, n) = batch_of(x, 2)?;
        let (lower, upper, align) = match self.0 {
            Form::V1 => (0, 0, MAIN),
            Form::Band(align) => {
                let (l, u) = band_input(inputs, 2)?;
                (l, u, align)
            }
        };
        let band = Band::new(lower, upper, x[x.rank() - 2], x[x.rank() - 1], align);
        band.check()?;
        let expected = band.packed(&batch);
        if *inputs.shape(1)? != expected {
            return Err(Error::invalid_argument(format!("diagonal: expected shape {expected}, got {}", inputs.shape(1)?)));
        }
        let mut program = Program::new(x.clone());
        let all = Move::new(x, View::dense(x), View::dense(x));
        program.steps.push(Step::Move(Place::Input(0), Place::Output(0), all));
        for (dims, matrix, packed) in band.walks(n) {
            program = program.moving(1, Move::new(&dims, packed, matrix));
        }
        Ok(program)
    }
}
