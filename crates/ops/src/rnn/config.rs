//! What a recurrent op is told: its attributes, and the sizes that its inputs' shapes give. Launches nothing.

use tfvk_device::{DType, Error, Result, Shape, Tensor};

use crate::{Inputs, OpKernelConstruction};

/// The kind of cell; the number is the shaders'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// Gates input, forget, cell, output.
    Lstm = 0,
    /// Gates reset, update, candidate; the reset applies after the product.
    Gru = 1,
    /// tanh(x W + h R + b).
    Tanh = 2,
    /// max(x W + h R + b, 0).
    Relu = 3,
}

impl Mode {
    /// Matrices of the input, and as many of the state.
    pub fn gates(self) -> u64 {
        match self {
            Mode::Lstm => 4,
            Mode::Gru => 3,
            Mode::Tanh | Mode::Relu => 1,
        }
    }
}

/// A node's attributes.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Element type.
    pub dtype: DType,
    /// Kind of cell.
    pub mode: Mode,
    /// Directions: 1, or 2 for a bidirectional layer.
    pub directions: u64,
    /// Probability of a zero between layers while training.
    pub dropout: f32,
    /// Whether tensors are [time, batch, ..], or else [batch, time, ..].
    pub time_major: bool,
}

impl Config {
    /// Errors: an unknown `rnn_mode`, `input_mode` or `direction`; `skip_input`; a projection.
    pub fn new(node: &dyn OpKernelConstruction) -> Result<Self> {
        let mode = match node.string("rnn_mode")?.as_str() {
            "lstm" => Mode::Lstm,
            "gru" => Mode::Gru,
            "rnn_tanh" => Mode::Tanh,
            "rnn_relu" => Mode::Relu,
            other => return Err(one_of("rnn_mode", "lstm, gru, rnn_tanh or rnn_relu", other)),
        };
        let directions = match node.string("direction")?.as_str() {
            "unidirectional" => 1,
            "bidirectional" => 2,
            other => return Err(one_of("direction", "unidirectional or bidirectional", other)),
        };
        match node.string("input_mode")?.as_str() {
            "linear_input" => (),
            other @ ("skip_input" | "auto_select") => {
                return Err(Error::unimplemented(format!("input_mode: only linear_input is served, got {other}")));
            }
            other => return Err(one_of("input_mode", "linear_input, skip_input or auto_select", other)),
        }
        let projection = if node.has("num_proj") { node.i64("num_proj")? } else { 0 };
        if projection != 0 {
            return Err(Error::unimplemented(format!("num_proj: only 0 (no projection) is served, got {projection}")));
        }
        let dropout = node.f32("dropout")?;
        if !(0.0..=1.0).contains(&dropout) {
            return Err(Error::invalid_argument(format!("dropout: expected a probability, got {dropout}")));
        }
        let time_major = !node.has("time_major") || node.bool("time_major")?;
        Ok(Self { dtype: node.dtype("T")?, mode, directions, dropout, time_major })
    }

    /// The type that sums and cell states are kept in.
    pub fn wide(&self) -> DType {
        if self.dtype == DType::F64 { DType::F64 } else { DType::F32 }
    }
}

fn one_of(name: &str, expected: &str, got: &str) -> Error {
    Error::invalid_argument(format!("{name}: expected {expected}, got {got}"))
}

/// The sizes of one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Steps.
    pub time: u64,
    /// Sequences.
    pub batch: u64,
    /// Elements of an input of the first layer.
    pub input: u64,
    /// Elements of a state.
    pub units: u64,
    /// Layers, each with all directions.
    pub layers: u64,
    /// Directions.
    pub directions: u64,
    /// Gates.
    pub gates: u64,
    /// Whether rows are [time, batch].
    pub time_major: bool,
}

impl Sizes {
    /// From the inputs `input`, `input_h`, `input_c` (used by an LSTM) and `params`, which come first.
    ///
    /// Errors: ranks or sizes that do not fit each other.
    pub fn new(config: &Config, inputs: &Inputs<'_>) -> Result<Self> {
        let (x, h, c, params) = (inputs.shape(0)?, inputs.shape(1)?, inputs.shape(2)?, inputs.shape(3)?);
        let rank = |name: &str, s: &Shape, n: usize| match s.rank() == n {
            true => Ok(()),
            false => Err(Error::invalid_argument(format!("{name}: expected {n} dimensions, got shape {s}"))),
        };
        rank("input", x, 3)?;
        rank("input_h", h, 3)?;
        rank("params", params, 1)?;
        let swap = |a: i64, b: i64| if config.time_major { (a as u64, b as u64) } else { (b as u64, a as u64) };
        let (time, batch) = swap(x[0], x[1]);
        let (cells, h_batch) = swap(h[0], h[1]);
        let directions = config.directions;
        if h_batch != batch || cells == 0 || cells % directions != 0 || h[2] == 0 {
            return Err(Error::invalid_argument(format!(
                "input_h: expected {directions} x layers states for each of {batch} sequences, got shape {h} for input {x}"
            )));
        }
        if config.mode == Mode::Lstm && c != h {
            return Err(Error::invalid_argument(format!("input_c: expected the shape of input_h, {h}, got {c}")));
        }
        let s = Self {
            time,
            batch,
            input: x[2] as u64,
            units: h[2] as u64,
            layers: cells / directions,
            directions,
            gates: config.mode.gates(),
            time_major: config.time_major,
        };
        let expected = s.params();
        if params[0] as u64 != expected {
            return Err(Error::invalid_argument(format!("params: expected {expected} elements, got {}", params[0])));
        }
        let widest = s.rows() * (s.gates * s.units).max(s.width()).max(s.input);
        if widest >= i32::MAX as u64 {
            return Err(Error::unimplemented(format!("{} steps of {widest} elements in all; expected fewer than 2^31", s.time)));
        }
        Ok(s)
    }

    /// Steps of all sequences.
    pub fn rows(&self) -> u64 {
        self.time * self.batch
    }

    /// Elements of a layer's output.
    pub fn width(&self) -> u64 {
        self.directions * self.units
    }

    /// Elements of a layer's input.
    pub fn input_of(&self, layer: u64) -> u64 {
        if layer == 0 { self.input } else { self.width() }
    }

    /// Rows from a step to the next of the same sequence.
    pub fn step(&self) -> u64 {
        if self.time_major { self.batch } else { 1 }
    }

    /// Rows from a sequence to the next.
    pub fn sequence(&self) -> u64 {
        if self.time_major { 1 } else { self.time }
    }

    /// Elements of all weights and biases.
    pub fn params(&self) -> u64 {
        self.bias_at(self.layers, 0)
    }

    /// Where the matrices of a layer and direction begin in `params`: those of the input, then those of the state.
    pub fn weights_at(&self, layer: u64, direction: u64) -> u64 {
        let (state, n) = (self.units, self.gates * self.units);
        let first = layer.min(1) * self.directions * n * (self.input + state);
        let rest = layer.saturating_sub(1) * self.directions * n * (self.width() + state);
        first + rest + direction * n * (self.input_of(layer) + state)
    }

    /// Where the biases of a layer and direction begin in `params`, behind all matrices: the input's, then the state's.
    pub fn bias_at(&self, layer: u64, direction: u64) -> u64 {
        self.weights_at(self.layers, 0) + (layer * self.directions + direction) * 2 * self.gates * self.units
    }

    /// The shape of `output`.
    pub fn output(&self) -> Shape {
        self.swapped(self.time, self.batch, self.width())
    }

    /// The shape of the states.
    pub fn states(&self) -> Shape {
        self.swapped(self.layers * self.directions, self.batch, self.units)
    }

    fn swapped(&self, a: u64, b: u64, n: u64) -> Shape {
        let (a, b, n) = (a as i64, b as i64, n as i64);
        if self.time_major { Shape::from([a, b, n]) } else { Shape::from([b, a, n]) }
    }

    /// One cell's part of a tensor of states, and the elements from a sequence to the next.
    pub fn state(&self, t: &Tensor, layer: u64, direction: u64) -> (Tensor, u64) {
        let cell = layer * self.directions + direction;
        let (first, row) = if self.time_major {
            (cell * self.batch * self.units, self.units)
        } else {
            (cell * self.units, self.layers * self.width())
        };
        let left = (t.num_elements() as u64).saturating_sub(first);
        (t.slice(first as i64, [left as i64]), row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_of_two_bidirectional_layers() {
        let s = Sizes { time: 3, batch: 2, input: 5, units: 4, layers: 2, directions: 2, gates: 3, time_major: false };
        assert_eq!(s.weights_at(0, 1), 12 * 9);
        assert_eq!(s.weights_at(1, 0), 2 * 12 * 9);
        assert_eq!(s.weights_at(1, 1), 2 * 12 * 9 + 12 * 12);
        assert_eq!(s.bias_at(0, 0), 2 * 12 * 9 + 2 * 12 * 12);
        assert_eq!(s.bias_at(0, 1), s.bias_at(0, 0) + 24);
        assert_eq!(s.params(), s.bias_at(0, 0) + 4 * 24);
        assert_eq!((s.output(), s.states()), (Shape::from([2, 3, 8]), Shape::from([2, 4, 4])));
    }
}
