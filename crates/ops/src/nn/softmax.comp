// Softmax, or its logarithm, of each row of x [rows, n]. gl_WorkGroupSize.x threads share a row, .y rows share a workgroup.
// A row that fits in registers is read once; a longer one is read twice: for its maximum and sum, then for the result.
// variants: T = FLOAT
#include "prelude.glsl"
#include "math.glsl"
#include "group.glsl"

layout(constant_id = 3) const uint LOG = 0;
layout(constant_id = 4) const uint VECTOR = 0; // the row is read in fours
layout(constant_id = 5) const uint CACHED = 0; // the row fits: PER pieces a thread
layout(constant_id = 6) const uint PER = 1;

PUSH_ARGS { READ(T, x); WRITE(T, y); uint rows; uint n; } args;

T larger(T a, T b) { return (a > b || is_nan(a)) ? a : b; }
T plus(T a, T b) { return a + b; }
// Of a row that is not read in fours, .x alone counts. (Padding with infinities and computing with them is not safe: some
// compilers take infinity minus a number, as a constant, for anything.)
T_VEC4 exp4(T_VEC4 v) {
    return VECTOR == 1 ? T_VEC4(tf_exp(v.x), tf_exp(v.y), tf_exp(v.z), tf_exp(v.w)) : T_VEC4(tf_exp(v.x), T(0), T(0), T(0));
}
T largest(T_VEC4 v) { return VECTOR == 1 ? larger(larger(v.x, v.y), larger(v.z, v.w)) : v.x; }
T total(T_VEC4 v) { return VECTOR == 1 ? (v.x + v.y) + (v.z + v.w) : v.x; }

// The maximum of some elements and the sum of exp(element - maximum).
struct State {
    T high;
    T sum;
};
State join(State a, State b) {
    T high = larger(a.high, b.high);
    // exp(-inf - -inf) would be NaN where one side has seen nothing yet.
    T fa = a.high == high ? T(1) : tf_exp(a.high - high);
    T fb = b.high == high ? T(1) : tf_exp(b.high - high);
    return State(high, a.sum * fa + b.sum * fb);
}

GROUP_REDUCE(group_high, T, larger)
GROUP_REDUCE(group_sum, T, plus)
GROUP_REDUCE(group_state, State, join)

// Fours of a row; a row that is not read in fours gives the same element four times.
T_VEC4 piece(T_In x, uint i) {
    if (VECTOR == 1) return LOAD4(T, x, i);
    return T_VEC4(LOAD(T, x, i));
}
void put(T_Out y, uint i, T_VEC4 v) {
    if (VECTOR == 1) STORE4(T, y, i, v);
    else STORE(T, y, i, v.x);
}

void cached(T_In x, T_Out y, uint pieces, bool live) {
    T_VEC4 v[PER];
    T high = T_LOWEST;
    [[unroll]] for (uint k = 0; k < PER; k++) {
        uint i = gl_LocalInvocationID.x + k * gl_WorkGroupSize.x;
        v[k] = T_VEC4(T_LOWEST);
        if (live && i < pieces) v[k] = piece(x, i);
        high = larger(high, largest(v[k]));
    }
    high = group_high(high, LANES_X);
    T sum = T(0);
    [[unroll]] for (uint k = 0; k < PER; k++) {
        uint i = gl_LocalInvocationID.x + k * gl_WorkGroupSize.x;
        if (!live || i >= pieces) continue;
        v[k] -= high;
        T_VEC4 e = exp4(v[k]);
        sum += total(e);
        if (LOG == 0) v[k] = e;
    }
    sum = group_sum(sum, LANES_X);
    T last = LOG == 1 ? tf_log(sum) : T(1) / sum;
    [[unroll]] for (uint k = 0; k < PER; k++) {
        uint i = gl_LocalInvocationID.x + k * gl_WorkGroupSize.x;
        if (live && i < pieces) put(y, i, LOG == 1 ? v[k] - last : v[k] * last);
    }
}

void streamed(T_In x, T_Out y, uint pieces, bool live) {
    State s = State(T_LOWEST, T(0));
    for (uint i = gl_LocalInvocationID.x; live && i < pieces; i += gl_WorkGroupSize.x) {
        T_VEC4 v = piece(x, i);
        T high = larger(s.high, largest(v));
        // Nothing but -inf so far: the sum is NaN in the end if that stays so, and must not be NaN before.
        T_VEC4 e = high == T_LOWEST ? T_VEC4(0) : exp4(v - high);
        s = State(high, (s.high == high ? s.sum : s.sum * tf_exp(s.high - high)) + total(e));
    }
    s = group_state(s, LANES_X);
    if (s.high == T_LOWEST) s.sum = s.high - s.high;
    T last = LOG == 1 ? tf_log(s.sum) : T(1) / s.sum;
    for (uint i = gl_LocalInvocationID.x; live && i < pieces; i += gl_WorkGroupSize.x) {
        T_VEC4 v = piece(x, i) - s.high;
        put(y, i, LOG == 1 ? v - last : exp4(v) * last);
    }
}

void main() {
    uint row = group_index() * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    bool live = row < args.rows;
    T_In x = AT(T, args.x, row, args.n);
    T_Out y = AT_OUT(T, args.y, row, args.n);
    uint pieces = VECTOR == 1 ? args.n / 4 : args.n;
    if (CACHED == 1) cached(x, y, pieces, live);
    else streamed(x, y, pieces, live);
}
