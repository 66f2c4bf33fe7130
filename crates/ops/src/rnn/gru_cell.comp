// The element-wise steps of a GRU block cell, one thread a unit and sequence.
// reset:     r, u from the sums [batch, 2 units] of both products and the bias; y = h_prev r
// update:    c from the sums [batch, units]; y = the new state
// candidate: y = the gradient of c's sum, from that of the state
// gates:     y [batch, 2 units] = the gradients of r's and u's sums, from the state's and that of h_prev r
// past:      y = the gradient of h_prev: what came through r's and u's sums, plus what came past them
// variants: T = f32; A = f32; STEP = reset update candidate gates past
#include "prelude.glsl"
#include "math.glsl"

PUSH_ARGS {
    READ(A, x);      // reset, update: x W; gates, past: the gradient of h_prev r
    READ(A, h);      // reset, update: h W; past: what came through the gates
    READ(T, b);
    READ(T, h_prev); // [batch, units]
    READ_WRITE(T, r);
    READ_WRITE(T, u);
    READ_WRITE(T, c);
    READ(T, dh);
    WRITE(T, y);
    uint count;
    uint units;
} args;

float sigmoid(float x) { return 1.0 / (1.0 + tf_exp(-x)); }

void main() {
    uint k = global_index();
    if (k >= args.count) return;
    uint j = k % args.units, wide = (k / args.units) * 2 * args.units + j;
#if STEP == STEP_reset
    float r = sigmoid(LOAD(A, args.x, wide) + LOAD(A, args.h, wide) + LOAD(T, args.b, j));
    uint at = wide + args.units;
    float u = sigmoid(LOAD(A, args.x, at) + LOAD(A, args.h, at) + LOAD(T, args.b, j + args.units));
    STORE(T, args.r, k, r);
    STORE(T, args.u, k, u);
    STORE(T, args.y, k, LOAD(T, args.h_prev, k) * r);
#elif STEP == STEP_update
    float c = tf_tanh(LOAD(A, args.x, k) + LOAD(A, args.h, k) + LOAD(T, args.b, j));
    float u = LOAD_OUT(T, args.u, k);
    STORE(T, args.c, k, c);
    STORE(T, args.y, k, u * LOAD(T, args.h_prev, k) + (1.0 - u) * c);
#elif STEP == STEP_candidate
    float u = LOAD_OUT(T, args.u, k), c = LOAD_OUT(T, args.c, k);
    STORE(T, args.y, k, LOAD(T, args.dh, k) * (1.0 - u) * (1.0 - c * c));
#elif STEP == STEP_gates
    float r = LOAD_OUT(T, args.r, k), u = LOAD_OUT(T, args.u, k), c = LOAD_OUT(T, args.c, k), h = LOAD(T, args.h_prev, k);
    STORE(T, args.y, wide, LOAD(A, args.x, k) * h * r * (1.0 - r));
    STORE(T, args.y, wide + args.units, LOAD(T, args.dh, k) * (h - c) * u * (1.0 - u));
#else
    float past = LOAD(A, args.x, k) * LOAD_OUT(T, args.r, k) + LOAD(T, args.dh, k) * LOAD_OUT(T, args.u, k);
    STORE(T, args.y, k, LOAD(A, args.h, k) + past);
#endif
}
