//! Philox 4x32-10 on the host: the state of TensorFlow's stateful random ops. Knows no tensor and no device.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Mutex;

use tfvk_device::{Args, Result};

use crate::OpKernelConstruction;

/// A place in a Philox stream: a 128-bit counter (low word first) and a 64-bit key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Philox {
    /// The counter.
    pub counter: [u32; 4],
    /// The key.
    pub key: [u32; 2],
}

impl Philox {
    /// The stream of two 64-bit seeds, as `tsl::random::PhiloxRandom(seed_lo, seed_hi)`.
    pub fn from_seeds(seed: u64, seed2: u64) -> Self {
        Self { counter: [0, 0, seed2 as u32, (seed2 >> 32) as u32], key: [seed as u32, (seed >> 32) as u32] }
    }

    /// Goes on by `blocks` blocks of four words.
    pub fn skip(&mut self, blocks: u64) {
        let counter = self.counter.iter().rev().fold(0u128, |n, &word| n << 32 | u128::from(word));
        let counter = counter.wrapping_add(u128::from(blocks));
        self.counter = [0, 32, 64, 96].map(|shift| (counter >> shift) as u32);
    }

    /// Adds counter and key to a shader's arguments.
    pub fn words(&self, args: &mut Args) {
        for word in self.counter.iter().chain(&self.key) {
            args.u32(*word);
        }
    }

    /// The block at this place.
    pub fn block(&self) -> [u32; 4] {
        let (mut c, mut k) = (self.counter, self.key);
        for _ in 0..10 {
            let a = u64::from(c[0]) * 0xD251_1F53;
            let b = u64::from(c[2]) * 0xCD9E_8D57;
            c = [(b >> 32) as u32 ^ c[1] ^ k[0], b as u32, (a >> 32) as u32 ^ c[3] ^ k[1], a as u32];
            k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
        }
        c
    }
}

/// A node's own generator: every execution takes the next part of its stream.
#[derive(Debug)]
pub struct Generator(Mutex<Philox>);

impl Generator {
    /// From the attributes `seed` and `seed2`; both 0 means a stream of its own, different every time.
    pub fn new(node: &dyn OpKernelConstruction) -> Result<Self> {
        let (seed, seed2) = (node.i64("seed")? as u64, node.i64("seed2")? as u64);
        let (seed, seed2) = if seed == 0 && seed2 == 0 { (entropy(), entropy()) } else { (seed, seed2) };
        Ok(Self(Mutex::new(Philox::from_seeds(seed, seed2))))
    }

    /// The stream's next `blocks` blocks.
    pub fn reserve(&self, blocks: u64) -> Philox {
        let mut place = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let here = *place;
        place.skip(blocks);
        here
    }
}

/// 64 bits that differ from call to call and from process to process.
pub fn entropy() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // The Random123 distribution's kat_vectors for philox4x32-10.
        let zero = Philox::default();
        assert_eq!(zero.block(), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = Philox { counter: [u32::MAX; 4], key: [u32::MAX; 2] };
        assert_eq!(ones.block(), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn skip_carries() {
        let mut p = Philox { counter: [u32::MAX, u32::MAX, u32::MAX, 0], key: [0; 2] };
        p.skip(1);
        assert_eq!(p.counter, [0, 0, 0, 1]);
        p.skip(1 << 32);
        assert_eq!(p.counter, [0, 1, 0, 1]);
    }

    #[test]
    fn entropy_differs() {
        assert_ne!(entropy(), entropy());
    }
}
