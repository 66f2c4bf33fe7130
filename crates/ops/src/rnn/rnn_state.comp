// y = x (+ z), rows of n elements with gaps, from one element type to another: states in and out, sums of two directions,
// and x * z for a dropout mask.
// variants: S = f32; D = f32
// variants: S = f64; D = f64
// variants: S = f16; D = f16 f32
// variants: S = bf16; D = bf16 f32
// variants: S = f32; D = f16 bf16
#include "prelude.glsl"

layout(constant_id = 3) const uint PRODUCT = 0;

PUSH_ARGS {
    READ(S, x);
    READ(S, z); // may be absent
    WRITE(D, y);
    uint rows;
    uint n;
    uint x_row;
    uint z_row;
    uint y_row;
} args;

void main() {
    uint i = global_index();
    if (i >= args.rows * args.n) return;
    uint row = i / args.n, column = i % args.n;
    S v = LOAD(S, args.x, row * args.x_row + column);
    if (!IS_NULL(args.z)) {
        S z = LOAD(S, args.z, row * args.z_row + column);
        v = PRODUCT == 1 ? v * z : v + z;
    }
    STORE(D, args.y, row * args.y_row + column, D(v));
}
