// What is not finite in x: bit 0 -Inf, bit 1 +Inf, bit 2 NaN, together in one word. A bit is only ever set.
// variants: T = FLOAT; U = u32
#include "prelude.glsl"

PUSH_ARGS { READ(T, x); READ_WRITE(U, found); uint n; uint threads; } args;

void main() {
    uint bits = 0;
    for (uint i = global_index(); i < args.n; i += args.threads) {
        T v = LOAD(T, args.x, i);
        if (is_nan(v)) bits |= 4u;
        else if (is_inf(v)) bits |= v > T(0) ? 2u : 1u;
    }
    if (bits != 0) atomicOr(args.found.v[0], bits);
}
