// Solves triangular systems [n, n] in place for right-hand sides [n, columns], a workgroup each.
// variants: T = f32; R = f32
// variants: T = f64; R = f64
// variants: T = c64; R = f32
// variants: T = c128; R = f64
#include "prelude.glsl"
#include "number.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Ints { int v[]; };

PUSH_ARGS {
    READ(T, a);    // [batch, n, n]
    READ(T, rhs);  // [batch, n, columns], or null: the identity
    Ints from;     // [batch, n], or null: row i of the right-hand side is taken from row from[i]
    WRITE(T, x);   // [batch, n, columns]
    uint batch, n, columns;
    uint start;    // 0: x already holds the right-hand side
    uint first, end; // the steps that this launch does
} args;

layout(constant_id = 3) const uint LOWER = 0;
layout(constant_id = 4) const uint ADJOINT = 0;
layout(constant_id = 5) const uint UNIT = 0; // the diagonal is one

T entry(T_In a, uint i, uint j) {
    return ADJOINT != 0 ? conjugate(LOAD(T, a, j * args.n + i)) : LOAD(T, a, i * args.n + j);
}

void main() {
    uint b = group_index(), t = thread_index(), n = args.n, columns = args.columns;
    if (b >= args.batch) return;
    T_In a = AT(T, args.a, b, n * n);
    T_Out x = AT_OUT(T, args.x, b, n * columns);
    if (args.start != 0) {
        for (uint i = t; i < n * columns; i += group_size()) {
            uint row = i / columns, column = i % columns;
            if (!IS_NULL(args.from)) row = uint(args.from.v[b * n + row]);
            T v = of_real(R(row == column ? 1 : 0));
            if (!IS_NULL(args.rhs)) v = LOAD(T, AT(T, args.rhs, b, n * columns), row * columns + column);
            STORE(T, x, i, v);
        }
    }
    // Transposing turns lower into upper.
    bool down = (LOWER != 0) != (ADJOINT != 0);
    for (uint s = args.first; s < args.end; s++) {
        uint k = down ? s : n - 1 - s;
        memoryBarrierBuffer();
        barrier();
        if (UNIT == 0) {
            T d = entry(a, k, k);
            for (uint c = t; c < columns; c += group_size()) STORE(T, x, k * columns + c, quotient(LOAD_OUT(T, x, k * columns + c), d));
            memoryBarrierBuffer();
            barrier();
        }
        uint left = n - 1 - s;
        for (uint i = t; i < left * columns; i += group_size()) {
            uint row = i / columns, c = i % columns;
            row = down ? k + 1 + row : row;
            T v = LOAD_OUT(T, x, row * columns + c) - product(entry(a, row, k), LOAD_OUT(T, x, k * columns + c));
            STORE(T, x, row * columns + c, v);
        }
    }
}
