// Bluestein's way, for lengths n with large primes: with c[j] = exp(-i pi j^2 / n), the transform is c times the convolution
// of x c with 1 / c, and the convolution of rows of m >= 2 n - 1 elements goes through transforms of a good length.
// variants: T = c64; R = f32; KIND = table before times after before_real after_real
// variants: T = c128; R = f64; KIND = table before times after before_real after_real
#include "prelude.glsl"
#include "twiddle.glsl"

layout(constant_id = 3) const uint INVERSE = 0; // both parts swapped before and after
layout(constant_id = 4) const uint MIRROR = 0;  // x is half of a conjugate-even sequence

// before: rows = (x c, zeros), a row for each (outer, inner); times: rows *= table; after: y = rows c.
PUSH_ARGS {
#if KIND == KIND_before_real
    READ(R, x);
#else
    READ(T, x);
#endif
#if KIND == KIND_after_real
    WRITE(R, y);
#else
    WRITE(T, y);
#endif
    READ_WRITE(T, chirp);         // c
    R scale;
    uint n, m, inner, given, wanted;
    uint rows;
} args;

// j^2 mod 2 n, exactly.
uint square(uint j) {
    uint by = 2 * args.n;
    if (j < 65536) return j * j % by;
    uint result = 0, add = j % by;
    for (uint bits = j; bits != 0; bits >>= 1) {
        if ((bits & 1u) != 0) result = (result + add) % by;
        add = (add + add) % by;
    }
    return result;
}

void main() {
    uint i = global_index();
#if KIND == KIND_table
    if (i >= args.m) return;
    uint j = min(i, args.m - i);
    T c = j < args.n ? twiddle(square(j), 2 * args.n) : T(0);
    if (i < args.n) STORE(T, args.chirp, i, c);
    STORE(T, args.y, i, T(c.x, -c.y));
#elif KIND == KIND_times
    uint row = i / args.m;
    if (row >= args.rows) return;
    STORE(T, args.y, i, times(LOAD_OUT(T, args.y, i), LOAD(T, args.x, i % args.m)));
#elif KIND == KIND_before || KIND == KIND_before_real
    // Neighbours are rows where the rows are neighbours in x.
    uint row = i / args.m, j = i % args.m;
    if (row >= args.rows) return;
    uint a = j;
    bool mirrored = MIRROR != 0 && j > args.n / 2;
    if (mirrored) a = args.n - j;
    T v = T(0);
    if (j < args.n && a < args.given) {
        uint at = (row / args.inner * args.given + a) * args.inner + row % args.inner;
#if KIND == KIND_before_real
        v = T(LOAD(R, args.x, at), 0);
#else
        v = LOAD(T, args.x, at);
#endif
        if (mirrored) v.y = -v.y;
        if (INVERSE != 0) v = v.yx;
        v = times(v, LOAD_OUT(T, args.chirp, j));
    }
    STORE(T, args.y, i, v);
#else
    uint inside = i % args.inner, k = i / args.inner % args.wanted, row = i / args.inner / args.wanted * args.inner + inside;
    if (row >= args.rows) return;
    T v = times(LOAD(T, args.x, row * args.m + k), LOAD_OUT(T, args.chirp, k)) * args.scale;
    if (INVERSE != 0) v = v.yx;
#if KIND == KIND_after_real
    STORE(R, args.y, i, v.x);
#else
    STORE(T, args.y, i, v);
#endif
#endif
}
