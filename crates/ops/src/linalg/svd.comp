// Singular values by one-sided Jacobi rotations of the rows of W = A^T (or of A, whichever has fewer rows): pairs of rows are
// made orthogonal, round after round; then their lengths are the singular values. See eig.comp for rounds and sweeps.
//   start    a workgroup a matrix: W scaled, turns = 1
//   round    a workgroup for each pair of rows
//   lengths  a workgroup for each row
//   finish   a workgroup for each row: its place in descending order; the left vectors, not yet complete
//   signs    a thread for each element of the left vectors, which a QR factorisation completed and maybe negated
// variants: T = f32 f64; U = u32; KIND = start round lengths finish signs
#include "prelude.glsl"
#include "group.glsl"
#define R T
#define R_ID T_ID
#include "number.glsl"

PUSH_ARGS {
    READ_WRITE(T, w);       // [batch, n, width]; start: the input is x
    READ_WRITE(T, x);       // start: [batch, width, n] or [batch, n, width]; finish: left [batch, width, n]; signs: R [batch, r_rows, n]
    READ_WRITE(T, turns);   // [batch, n, n], the right vectors in rows; absent if vectors are not asked for
    READ_WRITE(T, scale);   // [batch]
    READ_WRITE(T, sizes);   // [batch, n]: lengths of the rows
    READ_WRITE(U, rotated); // [sweeps, batch]
    WRITE(T, s);            // [batch, n]
    WRITE(T, right);        // finish: [batch, n, n], a vector a column; signs: left [batch, width, columns]
    uint batch, n, width, m, sweep, round, columns, transposed;
    T least;
} args;

T plus(T a, T b) { return a + b; }

#if KIND == KIND_start
GROUP_REDUCE(group_high, T, larger)

void main() {
    uint g = group_index(), n = args.n, all = n * args.width;
    if (g >= args.batch) return;
    T_Out from = AT_OUT(T, args.x, g, all), to = AT_OUT(T, args.w, g, all);
    T high = T(0);
    for (uint i = thread_index(); i < all; i += group_size()) high = larger(high, abs(LOAD_OUT(T, from, i)));
    T scale = power_of_two(group_high(high, LANES_X));
    for (uint i = thread_index(); i < all; i += group_size()) {
        uint place = args.transposed != 0 ? i % n * args.width + i / n : i;
        STORE(T, to, place, LOAD_OUT(T, from, i) / scale);
    }
    if (!IS_NULL(args.turns)) {
        for (uint i = thread_index(); i < n * n; i += group_size()) STORE(T, AT_OUT(T, args.turns, g, n * n), i, T(i / n == i % n ? 1 : 0));
    }
    if (thread_index() == 0) STORE(T, args.scale, g, scale);
}

#elif KIND == KIND_round
GROUP_REDUCE(group_sum, T, plus)

uvec2 pair(uint k) {
    uint others = args.m - 1, first = args.round % others;
    if (k == 0) return uvec2(first, others);
    uvec2 two = uvec2((first + k) % others, (first + others - k) % others);
    return uvec2(min(two.x, two.y), max(two.x, two.y));
}

void turn(T_Out rows, uvec2 p, uint width, T c, T s) {
    for (uint i = thread_index(); i < width; i += group_size()) {
        T x = LOAD_OUT(T, rows, p.x * width + i), y = LOAD_OUT(T, rows, p.y * width + i);
        STORE(T, rows, p.x * width + i, c * x - s * y);
        STORE(T, rows, p.y * width + i, s * x + c * y);
    }
}

void main() {
    uint pairs = args.m / 2, g = group_index() / pairs, length = args.width;
    if (g >= args.batch || (args.sweep > 0 && LOAD_OUT(U, args.rotated, (args.sweep - 1) * args.batch + g) == 0)) return;
    uvec2 p = pair(group_index() % pairs);
    if (p.y >= args.n) return;
    T_Out w = AT_OUT(T, args.w, g, args.n * length);
    T xx = T(0), yy = T(0), xy = T(0);
    for (uint i = thread_index(); i < length; i += group_size()) {
        T x = LOAD_OUT(T, w, p.x * length + i), y = LOAD_OUT(T, w, p.y * length + i);
        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    xx = group_sum(xx, LANES_X);
    yy = group_sum(yy, LANES_X);
    xy = group_sum(xy, LANES_X);
    T size = abs(xy), limit = args.least * sqrt(xx) * sqrt(yy);
    if (!(size > limit)) return;
    if (thread_index() == 0) STORE(U, args.rotated, args.sweep * args.batch + g, 1);
    T tau = (yy - xx) / (T(2) * xy);
    T t = (tau < T(0) ? T(-1) : T(1)) / (abs(tau) + sqrt(T(1) + tau * tau));
    T c = T(1) / sqrt(T(1) + t * t), s = t * c;
    turn(w, p, length, c, s);
    if (!IS_NULL(args.turns)) turn(AT_OUT(T, args.turns, g, args.n * args.n), p, args.n, c, s);
}

#elif KIND == KIND_lengths
GROUP_REDUCE(group_sum, T, plus)

void main() {
    uint row = group_index();
    if (row >= args.batch * args.n) return;
    T_Out w = AT_OUT(T, args.w, row, args.width);
    T sum = T(0);
    for (uint i = thread_index(); i < args.width; i += group_size()) {
        T x = LOAD_OUT(T, w, i);
        sum += x * x;
    }
    sum = group_sum(sum, LANES_X);
    if (thread_index() == 0) STORE(T, args.sizes, row, sqrt(sum));
}

#elif KIND == KIND_finish
uint count(uint a, uint b) { return a + b; }
GROUP_REDUCE(group_count, uint, count)

void main() {
    uint n = args.n, g = group_index() / n, i = group_index() % n, length = args.width;
    if (g >= args.batch) return;
    T mine = LOAD_OUT(T, args.sizes, g * n + i);
    uint larger_ones = 0;
    for (uint k = thread_index(); k < n; k += group_size()) {
        T other = LOAD_OUT(T, args.sizes, g * n + k);
        bool before = other > mine || (is_nan(mine) && !is_nan(other));
        bool equal = !before && !(mine > other || (is_nan(other) && !is_nan(mine)));
        if (before || (equal && k < i)) larger_ones++;
    }
    uint place = group_count(larger_ones, LANES_X);
    if (thread_index() == 0) STORE(T, args.s, g * n + place, mine * LOAD_OUT(T, args.scale, g));
    if (IS_NULL(args.turns)) return;
    T_Out turns = AT_OUT(T, args.turns, g, n * n), right = AT_OUT(T, args.right, g, n * n);
    for (uint k = thread_index(); k < n; k += group_size()) STORE(T, right, k * n + place, LOAD_OUT(T, turns, i * n + k));
    T_Out w = AT_OUT(T, args.w, g, n * length), left = AT_OUT(T, args.x, g, n * length);
    for (uint k = thread_index(); k < length; k += group_size()) {
        STORE(T, left, k * n + place, mine > T(0) ? LOAD_OUT(T, w, i * length + k) / mine : T(0));
    }
}

#else
void main() {
    uint each = args.width * args.columns, g = global_index() / each, at = global_index() % each, column = at % args.columns;
    if (g >= args.batch || column >= args.n) return;
    // m: rows of the triangular factor.
    T diagonal = LOAD_OUT(T, AT_OUT(T, args.x, g, args.m * args.n), column * args.n + column);
    if (diagonal < T(0)) {
        T_Out q = AT_OUT(T, args.right, g, each);
        STORE(T, q, at, -LOAD_OUT(T, q, at));
    }
}
#endif
