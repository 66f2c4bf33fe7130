// The factors of a dropout: 0 with probability `rate`, else 1 / (1 - rate).
// variants: T = f16 bf16 f32 f64; U = f32
#include "prelude.glsl"

PUSH_ARGS { READ(U, uniform_); WRITE(T, mask); uint n; float rate; } args;

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    STORE(T, args.mask, i, LOAD(U, args.uniform_, i) < args.rate ? T(0) : T(1) / (T(1) - T(args.rate)));
}
