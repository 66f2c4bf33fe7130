// Rows of values combined by key, in the order of their positions: the keys come sorted, equal ones next to each other.
// An invocation walks `len` positions (a chunk) of one column. A run of one key that ends inside the chunk goes to the
// output; what crosses a chunk's edge is kept as a partial result, which the second phase combines in order.
// variants: T = ALL
#include "prelude.glsl"

layout(constant_id = 3) const uint PHASE = 0;   // 0: chunks, 1: what crosses edges
layout(constant_id = 4) const uint COMBINE = 0; // 0 sum, 1 product, 2 max, 3 min, 4 the last
layout(constant_id = 5) const uint APPLY = 0;   // 0 set, 1 add, 2 sub, 3 mul, 4 div, 5 max, 6 min
layout(constant_id = 6) const uint COLUMNS = 256; // columns of a workgroup; the rest of it is more chunks
layout(constant_id = 7) const uint SCALE = 0;   // 0 none, 1 by the number of positions, 2 by its square root
layout(constant_id = 8) const uint SCALAR = 0;  // 1: there is one value for all

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Words { uint v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Partials { T v[]; };

// `order` says which row of `values` a position has; absent: its own number. A row at or over `rows` counts as nothing, a
// key at or over `limit` goes nowhere. A chunk has two rows of partials: of a run that began before it, of one that goes on.
PUSH_ARGS {
    Words keys; Words order; READ(T, values); READ_WRITE(T, dst); Partials partials;
    uint n; uint inner; uint limit; uint len; uint chunks; uint rows; uint blocks;
} args;

#if T_IS_COMPLEX
T identity() { return COMBINE == 1u ? T(1, 0) : T(0); }
T times(T a, T b) { return T(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
T over(T a, T b) { return T(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y) / dot(b, b); }
T combine(T a, T b) { return COMBINE == 0u ? a + b : COMBINE == 1u ? times(a, b) : b; }
T larger(T a, T b) { return a; }
T smaller(T a, T b) { return a; }
#else
T identity() { return COMBINE == 1u ? T(1) : COMBINE == 2u ? T_LOWEST : COMBINE == 3u ? T_HIGHEST : T(0); }
T times(T a, T b) { return a * b; }
T over(T a, T b) {
#if T_IS_INTEGER
    if (b == T(0)) return T(0);
#endif
    return a / b;
}
// A NaN is not larger than anything.
T larger(T a, T b) { return a < b ? b : a; }
T smaller(T a, T b) { return b < a ? b : a; }
T combine(T a, T b) {
    return COMBINE == 0u ? a + b : COMBINE == 1u ? a * b : COMBINE == 2u ? larger(a, b) : COMBINE == 3u ? smaller(a, b) : b;
}
#endif

T value(uint j, uint x) {
    if (SCALAR != 0u) return LOAD(T, args.values, 0u);
    uint row = IS_NULL(args.order) ? j : args.order.v[j];
    if (row >= args.rows) return identity();
    return LOAD(T, AT(T, args.values, row, args.inner), x);
}

// The number of positions with this key.
uint run_length(uint key) {
    uint edge[2];
    for (uint side = 0u; side < 2u; side++) {
        uint lo = 0u, hi = args.n;
        while (lo < hi) {
            uint mid = (lo + hi) / 2u;
            bool before = side == 0u ? args.keys.v[mid] < key : args.keys.v[mid] <= key;
            if (before) lo = mid + 1u;
            else hi = mid;
        }
        edge[side] = lo;
    }
    return edge[1] - edge[0];
}

void finish(uint key, uint x, T acc) {
    if (key >= args.limit) return;
    T_Out row = AT_OUT(T, args.dst, key, args.inner);
#if T_IS_FLOAT || T_IS_COMPLEX
    if (SCALE == 1u) acc /= T(run_length(key));
    if (SCALE == 2u) acc /= sqrt(T(run_length(key)));
#elif T_IS_INTEGER
    if (SCALE == 1u) acc /= T(run_length(key));
#endif
    if (APPLY != 0u) {
        T old = LOAD_OUT(T, row, x);
        acc = APPLY == 1u ? old + acc
            : APPLY == 2u ? old - acc
            : APPLY == 3u ? times(old, acc)
            : APPLY == 4u ? over(old, acc)
            : APPLY == 5u ? larger(old, acc)
            : smaller(old, acc);
    }
    STORE(T, row, x, acc);
}

uint partial_at(uint chunk, uint which, uint x) {
    return (chunk * 2u + which) * args.inner + x;
}

void walk(uint c, uint x) {
    uint lo = c * args.len, hi = min(lo + args.len, args.n);
    uint key = args.keys.v[lo];
    bool began_before = lo > 0u && args.keys.v[lo - 1u] == key;
    T acc = combine(identity(), value(lo, x));
    for (uint j = lo + 1u; j < hi; j++) {
        uint k = args.keys.v[j];
        if (k != key) {
            if (began_before) args.partials.v[partial_at(c, 0u, x)] = acc;
            else finish(key, x, acc);
            key = k;
            began_before = false;
            acc = identity();
        }
        acc = combine(acc, value(j, x));
    }
    bool goes_on = hi < args.n && args.keys.v[hi] == key;
    if (began_before) args.partials.v[partial_at(c, 0u, x)] = acc;
    else if (goes_on) args.partials.v[partial_at(c, 1u, x)] = acc;
    else finish(key, x, acc);
}

// The run that begins in chunk c and goes on beyond it.
void join(uint c, uint x) {
    uint lo = c * args.len, hi = min(lo + args.len, args.n);
    if (hi >= args.n) return;
    uint key = args.keys.v[hi - 1u];
    if (args.keys.v[hi] != key) return;
    if (args.keys.v[lo] == key && lo > 0u && args.keys.v[lo - 1u] == key) return;
    T acc = args.partials.v[partial_at(c, 1u, x)];
    for (uint d = c + 1u; d < args.chunks; d++) {
        if (args.keys.v[d * args.len] != key) break;
        acc = combine(acc, args.partials.v[partial_at(d, 0u, x)]);
    }
    finish(key, x, acc);
}

void main() {
    uint group = group_index();
    uint x = group % args.blocks * COLUMNS + thread_index() % COLUMNS;
    uint c = group / args.blocks * (group_size() / COLUMNS) + thread_index() / COLUMNS;
    if (x >= args.inner || c >= args.chunks) return;
    if (PHASE == 0u) walk(c, x);
    else join(c, x);
}
