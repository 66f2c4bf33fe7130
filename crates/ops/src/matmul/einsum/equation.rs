//! Einsum's equation and what it says about given shapes: per operand, the size and stride of every label. Pure.

use smallvec::SmallVec;
use tfvk_device::{Error, Result, Shape};

/// A label: a letter, or (from 1000 on) a dimension of the ellipsis, counted from the innermost.
pub type Label = u32;

const ELLIPSIS: Label = 1000;

/// One dimension of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// Its label.
    pub label: Label,
    /// Its size; never 1.
    pub n: i64,
    /// Elements from one index to the next. A label that occurs twice (a diagonal) has the sum of its strides.
    pub stride: i64,
}

/// The dimensions of one operand, outermost first, without those of size 1.
pub type View = SmallVec<[Dim; 8]>;

/// A subscript: labels, and where the ellipsis is.
#[derive(Clone, Debug, Default)]
struct Subscript {
    labels: Vec<Label>,
    ellipsis: Option<usize>,
}

/// A parsed equation.
#[derive(Clone, Debug)]
pub struct Equation {
    inputs: Vec<Subscript>,
    output: Subscript,
}

/// What an equation says about given shapes.
#[derive(Clone, Debug)]
pub struct Views {
    /// Of each input.
    pub inputs: Vec<View>,
    /// Of the output.
    pub output: View,
    /// The output's shape.
    pub shape: Shape,
}

fn invalid<T>(message: String) -> Result<T> {
    Err(Error::invalid_argument(message))
}

impl Subscript {
    fn parse(text: &str, equation: &str) -> Result<Self> {
        let mut s = Self::default();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("...") {
                if s.ellipsis.replace(s.labels.len()).is_some() {
                    return invalid(format!("equation: expected at most one ellipsis in '{text}' of '{equation}'"));
                }
                rest = after;
                continue;
            }
            if !c.is_ascii_alphabetic() {
                return invalid(format!("equation: expected letters and '...', got '{c}' in '{equation}'"));
            }
            s.labels.push(c as Label);
            rest = &rest[1..];
        }
        Ok(s)
    }

    /// A label for each of `rank` dimensions.
    fn expanded(&self, rank: usize) -> Option<Vec<Label>> {
        let inside = rank.checked_sub(self.labels.len())?;
        let Some(at) = self.ellipsis else { return (inside == 0).then(|| self.labels.clone()) };
        let mut all = self.labels.clone();
        all.splice(at..at, (0..inside as Label).rev().map(|i| ELLIPSIS + i));
        Some(all)
    }
}

impl Equation {
    /// Parses `inputs->output` for `n` inputs. Errors: another number of inputs; anything but letters and ellipses; an
    /// output label that no input has.
    pub fn parse(equation: &str, n: usize) -> Result<Self> {
        let text: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
        let Some((left, right)) = text.split_once("->") else {
            return invalid(format!("equation: expected inputs->output, got '{equation}'"));
        };
        let inputs = left.split(',').map(|s| Subscript::parse(s, equation)).collect::<Result<Vec<_>>>()?;
        let output = Subscript::parse(right, equation)?;
        if inputs.len() != n {
            return invalid(format!("Expected {n} input subscripts in equation {equation} but got: {}", inputs.len()));
        }
        if !(1..=2).contains(&n) {
            return Err(Error::unimplemented(format!("inputs: expected 1 or 2, got {n}")));
        }
        if let Some(l) = output.labels.iter().find(|l| !inputs.iter().any(|i| i.labels.contains(l))) {
            let letter = char::from_u32(*l).unwrap_or('?');
            return invalid(format!("equation: output label '{letter}' of '{equation}' is in no input"));
        }
        Ok(Self { inputs, output })
    }

    /// The views of these inputs and of the output. Errors: ranks or sizes that do not fit the equation.
    pub fn views(&self, shapes: &[&Shape]) -> Result<Views> {
        let mut sizes: Vec<(Label, i64)> = Vec::new();
        let mut inputs = Vec::new();
        let mut ellipsis = 0;
        for (i, (subscript, shape)) in self.inputs.iter().zip(shapes).enumerate() {
            let Some(labels) = subscript.expanded(shape.rank()) else {
                return invalid(format!(
                    "inputs[{i}]: expected rank {} of the equation, got shape {shape}",
                    subscript.labels.len()
                ));
            };
            ellipsis = ellipsis.max(labels.len() - subscript.labels.len());
            for (&label, &n) in labels.iter().zip(shape.dims()) {
                match sizes.iter_mut().find(|(l, _)| *l == label) {
                    Some((_, known)) if *known == n => {}
                    Some((_, known)) if label >= ELLIPSIS && *known == 1 => *known = n,
                    Some(_) if label >= ELLIPSIS && n == 1 => {}
                    Some((_, known)) => {
                        return invalid(format!(
                            "inputs[{i}]: Expected dimension {known} but got {n} for a label, shape {shape}"
                        ));
                    }
                    None => sizes.push((label, n)),
                }
            }
            inputs.push(view(&labels, shape));
        }
        let rank = self.output.labels.len() + if self.output.ellipsis.is_some() { ellipsis } else { 0 };
        let labels = self.output.expanded(rank).unwrap_or_default();
        let size = |label: &Label| sizes.iter().find(|(l, _)| l == label).map_or(1, |(_, n)| *n);
        let shape: Shape = labels.iter().map(size).collect();
        Ok(Views { inputs, output: view(&labels, &shape), shape })
    }
}

/// The view of a dense tensor with these labels.
fn view(labels: &[Label], shape: &Shape) -> View {
    let mut out = View::new();
    for ((&label, &n), &stride) in labels.iter().zip(shape.dims()).zip(&shape.strides()) {
        match out.iter_mut().find(|d| d.label == label) {
            Some(d) => d.stride += stride,
            None if n != 1 => out.push(Dim { label, n, stride }),
            None => {}
        }
    }
    out
}

/// The view of a dense tensor of these dimensions.
pub fn dense(dims: impl IntoIterator<Item = Dim>) -> View {
    let mut out: View = dims.into_iter().collect();
    let mut stride = 1;
    for d in out.iter_mut().rev() {
        d.stride = stride;
        stride *= d.n;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn views(equation: &str, shapes: &[&[i64]]) -> Result<Views> {
        let shapes: Vec<Shape> = shapes.iter().map(|s| Shape::new(s)).collect();
        Equation::parse(equation, shapes.len())?.views(&shapes.iter().collect::<Vec<_>>())
    }

    #[test]
    fn shapes_ellipses_diagonals() {
        assert_eq!(views("abc,cd->abd", &[&[2, 3, 4], &[4, 6]]).unwrap().shape, Shape::from([2, 3, 6]));
        assert_eq!(views("...ij,...jk->...ik", &[&[5, 1, 3, 4], &[7, 4, 2]]).unwrap().shape, Shape::from([5, 7, 3, 2]));
        let v = views("ii->i", &[&[4, 4]]).unwrap();
        assert_eq!((v.shape, v.inputs[0][0].stride), (Shape::from([4]), 5));
        assert_eq!(views("a,a->", &[&[3], &[3]]).unwrap().shape, Shape::scalar());
        assert_eq!(views("i->ii", &[&[3]]).unwrap().shape, Shape::from([3, 3]));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (equation, shapes) in [
            ("ab,bc", vec![&[2, 2][..], &[2, 2]]),
            ("ab,bc->ad", vec![&[2, 2], &[2, 2]]),
            ("ab,bc->ac", vec![&[2, 3], &[4, 2]]),
            ("ab->a", vec![&[2, 3, 4]]),
            ("a1->a", vec![&[2, 3]]),
            ("ab->a", vec![&[2, 3], &[2]]),
        ] {
            assert!(views(equation, &shapes).is_err(), "{equation}");
        }
    }
}
