// Eigenvalues and -vectors of Hermitian matrices by Jacobi's rotations. A round zeroes m / 2 elements that share no row or
// column; m rounds, of which the last repeats the first, are a sweep. A sweep that finds nothing to rotate is the last.
//   start    a workgroup a matrix: a scaled and made Hermitian from its lower half, vectors = 1
//   round    a -> b, a thread for each 2 x 2 block (pair i of rows, pair j of columns) and each element of a pair of vectors
//   finish   a workgroup for each eigenvalue: its place in ascending order
// variants: T = f32; R = f32; U = u32; KIND = start round finish
// variants: T = f64; R = f64; U = u32; KIND = start round finish
// variants: T = c64; R = f32; U = u32; KIND = start round finish
// variants: T = c128; R = f64; U = u32; KIND = start round finish
#include "prelude.glsl"
#include "group.glsl"
#include "number.glsl"

PUSH_ARGS {
    READ_WRITE(T, a);       // [batch, n, n]; start, finish: the working matrix
    READ_WRITE(T, b);       // the same; start: the input
    READ_WRITE(T, vectors); // [batch, n, n], a vector a row; absent if they are not asked for
    READ_WRITE(R, scale);   // [batch]
    READ_WRITE(U, rotated);          // [sweeps, batch]: whether a sweep found something to rotate
    WRITE(T, e);            // [batch, n]
    WRITE(T, v);            // [batch, n, n], a vector a column
    uint batch, n, m, sweep, round;
    R least;                // what is zero beside 1
} args;

#if KIND == KIND_start
GROUP_REDUCE(group_high, R, larger)

void main() {
    uint g = group_index(), n = args.n;
    if (g >= args.batch) return;
    T_Out to = AT_OUT(T, args.a, g, n * n), from = AT_OUT(T, args.b, g, n * n);
    R high = R(0);
    for (uint i = thread_index(); i < n * n; i += group_size()) {
        if (i / n >= i % n) high = larger(high, magnitude(LOAD_OUT(T, from, i)));
    }
    R scale = power_of_two(group_high(high, LANES_X));
    for (uint i = thread_index(); i < n * n; i += group_size()) {
        uint row = i / n, column = i % n;
        T x = row >= column ? LOAD_OUT(T, from, i) : conjugate(LOAD_OUT(T, from, column * n + row));
        if (row == column) x = of_real(real_part(x));
        STORE(T, to, i, x / scale);
        if (!IS_NULL(args.vectors)) STORE(T, AT_OUT(T, args.vectors, g, n * n), i, of_real(R(row == column ? 1 : 0)));
    }
    if (thread_index() == 0) STORE(R, args.scale, g, scale);
}

#elif KIND == KIND_round
struct Rotation {
    R c, s, t, size; // size: of the element that becomes zero
    T phase;
};

// The rows that meet as pair k of this round; one may be n where n is odd.
uvec2 pair(uint k) {
    uint others = args.m - 1, first = args.round % others;
    if (k == 0) return uvec2(first, others);
    uvec2 two = uvec2((first + k) % others, (first + others - k) % others);
    return uvec2(min(two.x, two.y), max(two.x, two.y));
}

Rotation rotation(T_Out a, uvec2 p) {
    Rotation r = Rotation(R(1), R(0), R(0), R(0), of_real(R(1)));
    if (p.y >= args.n) return r;
    T across = LOAD_OUT(T, a, p.x * args.n + p.y);
    r.size = magnitude(across);
    if (!(r.size > args.least * args.least)) return r;
    R difference = real_part(LOAD_OUT(T, a, p.y * args.n + p.y)) - real_part(LOAD_OUT(T, a, p.x * args.n + p.x));
    R tau = difference / (R(2) * r.size);
    r.t = (tau < R(0) ? R(-1) : R(1)) / (abs(tau) + sqrt(R(1) + tau * tau));
    r.c = R(1) / sqrt(R(1) + r.t * r.t);
    r.s = r.t * r.c;
    r.phase = conjugate(across) / r.size;
    return r;
}

T element(T_Out a, uint row, uint column) {
    return row < args.n && column < args.n ? LOAD_OUT(T, a, row * args.n + column) : of_real(R(0));
}

void put(T_Out a, uint row, uint column, T x) {
    if (row < args.n && column < args.n) {
        STORE(T, a, row * args.n + column, x);
        STORE(T, a, column * args.n + row, conjugate(x));
    }
}

void main() {
    uint n = args.n, pairs = args.m / 2, blocks = pairs * pairs, each = blocks + (IS_NULL(args.vectors) ? 0 : pairs * n);
    uint g = global_index() / each, at = global_index() % each;
    if (g >= args.batch || (args.sweep > 0 && LOAD_OUT(U, args.rotated, (args.sweep - 1) * args.batch + g) == 0)) return;
    T_Out a = AT_OUT(T, args.a, g, n * n), b = AT_OUT(T, args.b, g, n * n);
    if (at < blocks) {
        uint i = at / pairs, j = at % pairs;
        if (i > j) return; // the mirror image of another block
        uvec2 rows = pair(i), columns = pair(j);
        Rotation ri = rotation(a, rows);
        if (i == j) {
            R high = real_part(element(a, rows.x, rows.x)), low = real_part(element(a, rows.y, rows.y)), change = ri.t * ri.size;
            put(b, rows.x, rows.x, of_real(high - change));
            put(b, rows.y, rows.y, of_real(low + change));
            put(b, rows.x, rows.y, ri.t == R(0) ? element(a, rows.x, rows.y) : of_real(R(0)));
            if (ri.size > args.least) STORE(U, args.rotated, args.sweep * args.batch + g, 1);
            return;
        }
        Rotation rj = rotation(a, columns);
        T xx = element(a, rows.x, columns.x), xy = element(a, rows.x, columns.y);
        T yx = product(conjugate(ri.phase), element(a, rows.y, columns.x)), yy = product(conjugate(ri.phase), element(a, rows.y, columns.y));
        T top_x = ri.c * xx - ri.s * yx, top_y = product(rj.phase, ri.c * xy - ri.s * yy);
        T low_x = ri.s * xx + ri.c * yx, low_y = product(rj.phase, ri.s * xy + ri.c * yy);
        put(b, rows.x, columns.x, rj.c * top_x - rj.s * top_y);
        put(b, rows.x, columns.y, rj.s * top_x + rj.c * top_y);
        put(b, rows.y, columns.x, rj.c * low_x - rj.s * low_y);
        put(b, rows.y, columns.y, rj.s * low_x + rj.c * low_y);
        return;
    }
    uvec2 rows = pair((at - blocks) / n);
    if (rows.y >= n) return;
    uint k = (at - blocks) % n;
    Rotation r = rotation(a, rows);
    T_Out v = AT_OUT(T, args.vectors, g, n * n);
    T x = LOAD_OUT(T, v, rows.x * n + k), y = product(r.phase, LOAD_OUT(T, v, rows.y * n + k));
    STORE(T, v, rows.x * n + k, r.c * x - r.s * y);
    STORE(T, v, rows.y * n + k, r.s * x + r.c * y);
}

#else
uint plus(uint a, uint b) { return a + b; }
GROUP_REDUCE(group_count, uint, plus)

void main() {
    uint n = args.n, g = group_index() / n, i = group_index() % n;
    if (g >= args.batch) return;
    T_Out a = AT_OUT(T, args.a, g, n * n);
    R mine = real_part(LOAD_OUT(T, a, i * n + i));
    uint smaller = 0;
    for (uint k = thread_index(); k < n; k += group_size()) {
        R other = real_part(LOAD_OUT(T, a, k * n + k));
        // NaN comes last, and every place is taken once.
        bool before = other < mine || (is_nan(mine) && !is_nan(other));
        bool equal = !before && !(mine < other || (is_nan(other) && !is_nan(mine)));
        if (before || (equal && k < i)) smaller++;
    }
    uint place = group_count(smaller, LANES_X);
    if (thread_index() == 0) STORE(T, args.e, g * n + place, of_real(mine * LOAD_OUT(R, args.scale, g)));
    if (IS_NULL(args.vectors)) return;
    T_Out from = AT_OUT(T, args.vectors, g, n * n), to = AT_OUT(T, args.v, g, n * n);
    for (uint k = thread_index(); k < n; k += group_size()) STORE(T, to, k * n + place, LOAD_OUT(T, from, i * n + k));
}
#endif
