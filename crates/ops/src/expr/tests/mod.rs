//! Tests of the compiler: the interpreter against known values, and every generated module against spirv-val.

mod shaders;
