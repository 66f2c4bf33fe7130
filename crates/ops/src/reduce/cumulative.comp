// Running sums, products and log-sum-exps along the middle axis of [outer, n, inner]: a workgroup a line, or an invocation a line.
// variants: T = NUMBER
#include "prelude.glsl"
#include "math.glsl"

PUSH_ARGS { READ(T, x); WRITE(T, y); uint lines; uint n; uint inner; } args;

layout(constant_id = 3) const uint OP = 0; // 0: sum, 1: product, 2: log-sum-exp
layout(constant_id = 4) const uint EXCLUSIVE = 0;
layout(constant_id = 5) const uint REVERSE = 0;
layout(constant_id = 6) const uint SERIAL = 0;
const uint ITEMS = 4;

shared T cumulative_shared[256];

T identity() {
#if T_IS_COMPLEX
    return OP == 1 ? T(1, 0) : T(0);
#elif T_IS_FLOAT
    return OP == 0 ? T(0) : (OP == 1 ? T(1) : T(T_LOWEST));
#else
    return OP == 1 ? T(1) : T(0);
#endif
}

T combine(T a, T b) {
    if (OP == 0) return a + b;
#if T_IS_COMPLEX
    return T(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
#else
    if (OP == 1) return a * b;
#if T_IS_FLOAT
    if (is_nan(a) || is_nan(b)) return a + b;
    T low = min(a, b), high = max(a, b);
    // Also keeps inf - inf out.
    if (low == high && is_inf(low)) return low;
    return high + tf_log1p(tf_exp(low - high));
#else
    return a;
#endif
#endif
}

// Where the p-th element of the line, in the order of the scan, is.
uint place(uint base, uint p) { return base + (REVERSE == 1 ? args.n - 1 - p : p) * args.inner; }

void serial(uint base) {
    T sum = identity();
    for (uint p = 0; p < args.n; p++) {
        uint at = place(base, p);
        T next = combine(sum, LOAD(T, args.x, at));
        STORE(T, args.y, at, EXCLUSIVE == 1 ? sum : next);
        sum = next;
    }
}

// The combination of the totals of all invocations before this one, and of all of them.
T scan_group(T mine, out T total) {
    uint t = thread_index(), size = group_size();
    cumulative_shared[t] = mine;
    barrier();
    for (uint d = 1; d < size; d *= 2) {
        T before = t >= d ? cumulative_shared[t - d] : identity();
        barrier();
        if (t >= d) cumulative_shared[t] = combine(before, cumulative_shared[t]);
        barrier();
    }
    total = cumulative_shared[size - 1];
    T before = t == 0 ? identity() : cumulative_shared[t - 1];
    barrier();
    return before;
}

void cooperative(uint base) {
    uint step = group_size() * ITEMS;
    T carry = identity();
    for (uint first = 0; first < args.n; first += step) {
        uint start = first + thread_index() * ITEMS;
        T values[ITEMS];
        T mine = identity();
        for (uint i = 0; i < ITEMS; i++) {
            values[i] = start + i < args.n ? LOAD(T, args.x, place(base, start + i)) : identity();
            mine = combine(mine, values[i]);
        }
        T total;
        T sum = combine(carry, scan_group(mine, total));
        for (uint i = 0; i < ITEMS; i++) {
            T next = combine(sum, values[i]);
            if (start + i < args.n) STORE(T, args.y, place(base, start + i), EXCLUSIVE == 1 ? sum : next);
            sum = next;
        }
        carry = combine(carry, total);
    }
}

void main() {
    uint line = SERIAL == 1 ? global_index() : group_index();
    if (line >= args.lines) return;
    uint base = line / args.inner * args.n * args.inner + line % args.inner;
    if (SERIAL == 1) serial(base);
    else cooperative(base);
}
