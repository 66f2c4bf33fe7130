//! What the forward pass keeps for the backward pass, and where it lies in `reserve_space`. Launches nothing.

use tfvk_device::{DType, Error, Result, Tensor};

use super::config::{Config, Mode, Sizes};

/// Every piece starts at a multiple of this many bytes, so that it can be read in fours.
const ALIGN: u64 = 64;

/// What one layer keeps of one direction.
#[derive(Clone, Debug)]
pub struct Cell {
    /// [rows, gates x units]: what the gates came to.
    pub gates: Tensor,
    /// [rows, units]: the state before each step.
    pub h_before: Option<Tensor>,
    /// [rows, units]: the cell state after each step, of an LSTM.
    pub c_after: Option<Tensor>,
    /// [rows, units]: the state's product of a GRU's candidate.
    pub candidate: Option<Tensor>,
}

/// What one layer keeps of its output, except the last.
#[derive(Clone, Debug)]
pub struct Between {
    /// [rows, width]: the next layer's input.
    pub y: Tensor,
    /// [rows, width]: the factors that the output was multiplied by.
    pub mask: Option<Tensor>,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Reserve {
    /// By layer, then direction.
    pub cells: Vec<Cell>,
    /// By layer.
    pub between: Vec<Between>,
}

/// The next place; with memory to cut it from, also a tensor there.
struct Cutter<'a> {
    memory: Option<&'a Tensor>,
    bytes: u64,
}

impl Cutter<'_> {
    fn next(&mut self, dtype: DType, rows: u64, n: u64) -> Tensor {
        let first = self.bytes;
        let dims = [rows as i64, n as i64];
        self.bytes += (rows * n * dtype.size() as u64).next_multiple_of(ALIGN);
        match self.memory {
            Some(m) => m.slice((first / m.dtype.size() as u64) as i64, dims).with(dtype, dims.into()),
            None => Tensor::on_device(dtype, dims.into(), tfvk_device::DevicePtr(0)),
        }
    }
}

fn cut(config: &Config, s: &Sizes, cutter: &mut Cutter<'_>) -> Reserve {
    let (rows, wide) = (s.rows(), config.wide());
    let cells = (0..s.layers * s.directions)
        .map(|_| Cell {
            gates: cutter.next(wide, rows, s.gates * s.units),
            h_before: Some(cutter.next(config.dtype, rows, s.units)),
            c_after: (config.mode == Mode::Lstm).then(|| cutter.next(wide, rows, s.units)),
            candidate: (config.mode == Mode::Gru).then(|| cutter.next(wide, rows, s.units)),
        })
        .collect();
    let between = (1..s.layers)
        .map(|_| Between {
            y: cutter.next(config.dtype, rows, s.width()),
            mask: (config.dropout > 0.0).then(|| cutter.next(config.dtype, rows, s.width())),
        })
        .collect();
    Reserve { cells, between }
}

impl Reserve {
    /// Elements that `reserve_space` needs.
    pub fn elements(config: &Config, s: &Sizes) -> u64 {
        let mut cutter = Cutter { memory: None, bytes: 0 };
        cut(config, s, &mut cutter);
        cutter.bytes / config.dtype.size() as u64
    }

    /// The pieces of `reserve_space`. Errors: it has another size.
    pub fn of(config: &Config, s: &Sizes, memory: &Tensor) -> Result<Self> {
        let (expected, got) = (Self::elements(config, s), memory.num_elements());
        if got as u64 != expected {
            return Err(Error::invalid_argument(format!(
                "reserve_space: expected {expected} elements (of a forward op with is_training), got {got}"
            )));
        }
        Ok(cut(config, s, &mut Cutter { memory: Some(memory), bytes: 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_overlap() {
        let config = Config { dtype: DType::F16, mode: Mode::Gru, directions: 2, dropout: 0.5, time_major: true };
        let s = Sizes { time: 3, batch: 5, input: 7, units: 3, layers: 2, directions: 2, gates: 3, time_major: true };
        let n = Reserve::elements(&config, &s);
        let memory = Tensor::on_device(DType::F16, [n as i64].into(), tfvk_device::DevicePtr(4096));
        let r = Reserve::of(&config, &s, &memory).unwrap();
        let mut pieces: Vec<Tensor> = Vec::new();
        for c in r.cells {
            pieces.extend([Some(c.gates), c.h_before, c.c_after, c.candidate].into_iter().flatten());
        }
        for b in r.between {
            pieces.extend([Some(b.y), b.mask].into_iter().flatten());
        }
        assert_eq!(pieces.len(), 4 * 3 + 2);
        let mut end = 4096;
        for p in pieces {
            let start = p.device_ptr().unwrap().0;
            assert!(start >= end && start % ALIGN == 0);
            end = start + p.bytes();
        }
        assert!(end <= 4096 + memory.bytes());
        assert!(Reserve::of(&config, &s, &memory.slice(0, [n as i64 - 1])).is_err());
    }
}
