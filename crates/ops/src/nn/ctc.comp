// The loss of connectionist temporal classification, in four launches:
//   norm      log sum exp of the classes of every (time, sequence), a workgroup each
//   paths     log probabilities of all beginnings (workgroup 2 b) and all ends (2 b + 1) of the paths of sequence b
//   loss      a workgroup a sequence
//   gradient  a workgroup for every (time, sequence)
// A path goes through `states`: blank, label, blank, ..., label, blank.
// variants: T = f32 f64; U = i32; KIND = norm paths loss gradient
#include "prelude.glsl"
#include "math.glsl"
#include "group.glsl"

layout(constant_id = 3) const uint MERGE = 1; // a label repeated in time is the same label
layout(constant_id = 4) const uint KEPT = 1;  // rows of so many states are kept in shared memory; 1: they are not

PUSH_ARGS {
    READ(T, x);           // [time, batch, classes]
    READ_WRITE(T, norm);  // [time, batch]
    READ_WRITE(T, begun); // [batch, time, most]: log probability of the labels up to state u at time t
    READ_WRITE(T, ended); // the same, after t
    WRITE(T, loss);       // [batch]
    WRITE(T, gradient);   // as x
    // For each sequence: states and times (0: it is left out), then [batch, most] classes, then [batch, most] links:
    // the next state of the same class (0: none), plus FIRST for the class's first.
    READ(U, plan);
    uint time, batch, classes, most, blank;
} args;

#define FIRST 0x40000000
#define NONE T_LOWEST

uint states(uint b) { return uint(LOAD(U, args.plan, 2 * b)); }
uint times(uint b) { return uint(LOAD(U, args.plan, 2 * b + 1)); }
uint class_of(uint b, uint u) { return uint(LOAD(U, args.plan, 2 * args.batch + b * args.most + u)); }
int link(uint b, uint u) { return LOAD(U, args.plan, (2 + args.most) * args.batch + b * args.most + u); }

// log(exp(a) + exp(b))
T either(T a, T b) {
    T high = max(a, b), low = min(a, b);
    return low == NONE ? high : high + tf_log1p(tf_exp(low - high));
}
T larger(T a, T b) { return (a > b || is_nan(a)) ? a : b; }
T plus(T a, T b) { return a + b; }

#if KIND == KIND_norm
GROUP_REDUCE(group_high, T, larger)
GROUP_REDUCE(group_sum, T, plus)

void main() {
    uint row = group_index();
    if (row >= args.time * args.batch) return;
    T_In x = AT(T, args.x, row, args.classes);
    T high = NONE, sum = T(0);
    for (uint i = thread_index(); i < args.classes; i += group_size()) high = larger(high, LOAD(T, x, i));
    high = group_high(high, LANES_X);
    for (uint i = thread_index(); i < args.classes; i += group_size()) sum += tf_exp(LOAD(T, x, i) - high);
    sum = group_sum(sum, LANES_X);
    if (thread_index() == 0) STORE(T, args.norm, row, high + tf_log(sum));
}

#elif KIND == KIND_paths
shared T kept[2 * KEPT];

// Log probability of class c at time t.
T likely(uint t, uint b, uint c) {
    uint row = t * args.batch + b;
    return LOAD(T, AT(T, args.x, row, args.classes), c) - LOAD_OUT(T, args.norm, row);
}

// The row before, in the order of the sweep; `odd` says which of the two kept ones.
T before(T_Out rows, uint t, uint odd, uint u) {
    if (KEPT > 1) return kept[odd * KEPT + u];
    return LOAD_OUT(T, rows, t * args.most + u);
}

// Whether a path may go from state u to u + 2.
bool skips(uint b, uint u) {
    uint c = class_of(b, u + 2);
    return c != args.blank && !(MERGE != 0 && c == class_of(b, u));
}
// Whether a path may stay in state u.
bool stays(uint b, uint u) { return MERGE != 0 || class_of(b, u) == args.blank; }

void main() {
    uint b = group_index() / 2;
    bool backward = group_index() % 2 != 0;
    if (b >= args.batch) return;
    uint n = states(b), duration = times(b);
    T_Out rows = backward ? AT_OUT(T, args.ended, b, args.time * args.most) : AT_OUT(T, args.begun, b, args.time * args.most);
    for (uint step = 0; step < duration; step++) {
        uint t = backward ? duration - 1 - step : step, last = backward ? t + 1 : t - 1, odd = step % 2;
        for (uint u = thread_index(); u < n; u += group_size()) {
            T v = NONE;
            if (backward) {
                if (step == 0) {
                    v = u + 2 >= n ? T(0) : NONE;
                } else {
                    if (stays(b, u)) v = before(rows, last, odd, u) + likely(last, b, class_of(b, u));
                    if (u + 1 < n) v = either(v, before(rows, last, odd, u + 1) + likely(last, b, class_of(b, u + 1)));
                    if (u + 2 < n && skips(b, u)) v = either(v, before(rows, last, odd, u + 2) + likely(last, b, class_of(b, u + 2)));
                }
            } else {
                if (step > 0) {
                    if (stays(b, u)) v = before(rows, last, odd, u);
                    if (u > 0) v = either(v, before(rows, last, odd, u - 1));
                    if (u > 1 && skips(b, u - 2)) v = either(v, before(rows, last, odd, u - 2));
                } else if (u < 2) {
                    v = T(0);
                }
                v += likely(t, b, class_of(b, u));
            }
            STORE(T, rows, t * args.most + u, v);
            if (KEPT > 1) kept[(1 - odd) * KEPT + u] = v;
        }
        memoryBarrierBuffer();
        barrier();
    }
}

#elif KIND == KIND_loss
GROUP_REDUCE(group_either, T, either)

void main() {
    uint b = group_index();
    if (b >= args.batch) return;
    uint n = times(b) > 0 ? states(b) : 0;
    T_Out begun = AT_OUT(T, args.begun, b, args.time * args.most), ended = AT_OUT(T, args.ended, b, args.time * args.most);
    T p = NONE;
    for (uint u = thread_index(); u < n; u += group_size()) p = either(p, LOAD_OUT(T, begun, u) + LOAD_OUT(T, ended, u));
    p = group_either(p, LANES_X);
    if (thread_index() == 0) STORE(T, args.loss, b, times(b) > 0 ? -p : T(0));
}

#else
GROUP_REDUCE(group_either, T, either)

void main() {
    uint row = group_index();
    if (row >= args.time * args.batch) return;
    uint t = row / args.batch, b = row % args.batch;
    bool live = t < times(b);
    uint n = live ? states(b) : 0;
    T_In x = AT(T, args.x, row, args.classes);
    T_Out g = AT_OUT(T, args.gradient, row, args.classes);
    T norm = LOAD_OUT(T, args.norm, row), p = live ? -LOAD_OUT(T, args.loss, b) : NONE;
    for (uint i = thread_index(); i < args.classes; i += group_size()) STORE(T, g, i, live ? tf_exp(LOAD(T, x, i) - norm) : T(0));
    memoryBarrierBuffer();
    barrier();
    // Without any path the gradient is the probabilities alone.
    if (p == NONE) n = 0;
    T_Out begun = AT_OUT(T, AT_OUT(T, args.begun, b, args.time * args.most), t, args.most);
    T_Out ended = AT_OUT(T, AT_OUT(T, args.ended, b, args.time * args.most), t, args.most);
    T blank = NONE;
    for (uint u = 2 * thread_index(); u < n; u += 2 * group_size()) blank = either(blank, LOAD_OUT(T, begun, u) + LOAD_OUT(T, ended, u));
    blank = group_either(blank, LANES_X);
    for (uint u = 1 + 2 * thread_index(); u < n; u += 2 * group_size()) {
        if ((link(b, u) & FIRST) == 0) continue;
        T sum = NONE;
        for (uint v = u; v != 0; v = uint(link(b, v) & (FIRST - 1))) sum = either(sum, LOAD_OUT(T, begun, v) + LOAD_OUT(T, ended, v));
        uint c = class_of(b, u);
        STORE(T, g, c, LOAD_OUT(T, g, c) - tf_exp(sum - p));
    }
    if (n > 0 && thread_index() == 0) STORE(T, g, args.blank, LOAD_OUT(T, g, args.blank) - tf_exp(blank - p));
}
#endif
