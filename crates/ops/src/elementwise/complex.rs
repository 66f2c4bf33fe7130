//! Complex numbers and their parts.

use super::sets::*;
use crate::KernelDef;
use crate::expr::{binary, unary};

/// Complex ops.
pub const COMPLEX: &[KernelDef] = &[
    binary("Complex", FLOAT_32_64, |re, im| re.complex(im)).forwards(&[]),
    unary("Real", COMPLEX_ONLY, |z| z.re()).forwards(&[]),
    unary("Imag", COMPLEX_ONLY, |z| z.im()).forwards(&[]),
    unary("Conj", COMPLEX_ONLY, |z| z.conj()),
    unary("ComplexAbs", COMPLEX_ONLY, |z| z.abs()).forwards(&[]),
    unary("Angle", COMPLEX_ONLY, |z| z.im().atan2(z.re())).forwards(&[]),
];
