//! Pure arithmetic on the lengths of Fourier transforms: which radices, which passes. Knows no device.

use smallvec::SmallVec;

/// Lengths of the passes over memory, the first first; their product is the length of the transform.
pub(super) type Passes = SmallVec<[u32; 3]>;

/// The longest transform: four times any index stays below 2^32.
pub(super) const LONGEST: i64 = 1 << 28;

/// Whether `n` has no prime factor above 7.
pub(super) fn is_smooth(mut n: u32) -> bool {
    for p in [2, 3, 5, 7] {
        while n % p == 0 && n > 1 {
            n /= p;
        }
    }
    n == 1
}

/// The radices of the stages of a transform of `n` points in shared memory, four bits each, the first lowest. `None`: `n` has
/// other prime factors, or takes more than eight stages.
pub(super) fn radices(mut n: u32) -> Option<u32> {
    let mut list = SmallVec::<[u32; 8]>::new();
    let twos = n.trailing_zeros();
    n >>= twos;
    // Fours rather than a two at the end.
    let (eights, rest) = match twos % 3 {
        1 if twos > 1 => (twos / 3 - 1, &[4, 4][..]),
        1 => (0, &[2][..]),
        2 => (twos / 3, &[4][..]),
        _ => (twos / 3, &[][..]),
    };
    list.extend((0..eights).map(|_| 8));
    list.extend(rest.iter().copied());
    for p in [7, 5, 3] {
        while n % p == 0 {
            list.push(p);
            n /= p;
        }
    }
    (n == 1 && list.len() <= 8).then(|| list.iter().rev().fold(0, |word, r| word << 4 | r))
}

/// The passes of a transform of `n` points, none longer than `most`: as few as do, and of lengths as equal as they come.
pub(super) fn passes(n: u32, most: u32) -> Option<Passes> {
    if n <= most {
        return radices(n).map(|_| Passes::from_slice(&[n]));
    }
    let fits = |d: &u32| *d <= most && radices(*d).is_some();
    let divisors: Vec<u32> = (2..=most.min(n)).filter(|d| n % d == 0).filter(fits).collect();
    let largest = |list: &[u32]| list.iter().copied().max().unwrap_or(u32::MAX);
    let two = divisors.iter().map(|&d| [d, n / d]).filter(|[_, e]| fits(e)).min_by_key(|pair| largest(pair));
    if let Some(pair) = two {
        return Some(Passes::from_slice(&pair));
    }
    let mut best: Option<[u32; 3]> = None;
    for &d in &divisors {
        for &e in divisors.iter().filter(|&&e| e <= d && (n / d) % e == 0) {
            let three = [d, e, n / d / e];
            if fits(&three[2]) && best.is_none_or(|b| largest(&three) < largest(&b)) {
                best = Some(three);
            }
        }
    }
    best.map(|three| Passes::from_slice(&three))
}

/// The smallest length of at least `n` that is 1, 3, 5 or 9 times a power of two.
pub(super) fn good_length(n: u32) -> u32 {
    let above = |odd: u32| odd * n.div_ceil(odd).next_power_of_two();
    [1, 3, 5, 9].into_iter().map(above).min().unwrap_or(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radices_multiply_to_the_length() {
        for n in 1..5000u32 {
            let Some(mut word) = radices(n) else {
                assert!(!is_smooth(n), "{n}");
                continue;
            };
            let mut product = 1;
            while word != 0 {
                product *= word & 15;
                word >>= 4;
            }
            assert_eq!(product, n);
        }
    }

    #[test]
    fn passes_multiply_to_the_length() {
        for n in [1, 2, 1000, 4096, 65536, 1 << 20, 1 << 24, 3 * 5 * 7 * 1024, 2187 * 49, 1 << 27] {
            for most in [520, 1024, 2880] {
                let list = passes(n, most).unwrap();
                assert_eq!(list.iter().product::<u32>(), n);
                assert!(list.iter().all(|&l| l <= most), "{n} {list:?}");
            }
        }
        assert_eq!(passes(65536, 512).unwrap().as_slice(), [256, 256]);
    }

    #[test]
    fn good_lengths_are_no_shorter() {
        for n in 1..3000 {
            let m = good_length(n);
            assert!(m >= n && m < 2 * n && is_smooth(m), "{n} {m}");
        }
    }
}
