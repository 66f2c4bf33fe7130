// One step of a block LSTM, one thread a unit and sequence: gates, cell state and output from the products of input and
// state.
// variants: T = f32 f16; A = f32
#include "prelude.glsl"
#include "math.glsl"

layout(constant_id = 3) const uint AT_CELL = 1;   // which quarter of the sums is the cell input's, and the forget gate's
layout(constant_id = 4) const uint AT_FORGET = 2;

PUSH_ARGS {
    READ(A, x);         // [batch, 4 units]: x W
    READ(A, recurrent); // [batch, 4 units]: h W
    READ(T, b);         // [4 units]
    READ(T, cs_prev);   // [batch, units]
    READ(T, wci);       // [units], the peepholes; absent
    READ(T, wcf);
    READ(T, wco);
    WRITE(T, i);        // [batch, units], as all that follow
    WRITE(T, cs);
    WRITE(T, f);
    WRITE(T, o);
    WRITE(T, ci);
    WRITE(T, co);
    WRITE(T, h);
    uint count;         // batch x units
    uint units;
    float forget_bias;
    float cell_clip;    // 0 or less: none
} args;

float sigmoid(float x) { return 1.0 / (1.0 + tf_exp(-x)); }

float gate(uint at) { return LOAD(A, args.x, at) + LOAD(A, args.recurrent, at); }

void main() {
    uint k = global_index();
    if (k >= args.count) return;
    uint j = k % args.units, row = (k / args.units) * 4 * args.units;
    float s[4];
    [[unroll]] for (uint q = 0; q < 4; q++) {
        uint column = q * args.units + j;
        s[q] = gate(row + column) + LOAD(T, args.b, column);
    }
    bool peephole = !IS_NULL(args.wci);
    float before = LOAD(T, args.cs_prev, k);
    float forget = s[AT_FORGET] + args.forget_bias;
    float i = sigmoid(peephole ? s[0] + before * LOAD(T, args.wci, j) : s[0]);
    float f = sigmoid(peephole ? forget + before * LOAD(T, args.wcf, j) : forget);
    float ci = tf_tanh(s[AT_CELL]);
    float cs = i * ci + f * before;
    if (args.cell_clip > 0.0 && !is_nan(cs)) cs = clamp(cs, -args.cell_clip, args.cell_clip);
    float o = sigmoid(peephole ? s[3] + cs * LOAD(T, args.wco, j) : s[3]);
    float co = tf_tanh(cs);
    STORE(T, args.i, k, i);
    STORE(T, args.cs, k, cs);
    STORE(T, args.f, k, f);
    STORE(T, args.o, k, o);
    STORE(T, args.ci, k, ci);
    STORE(T, args.co, k, co);
    STORE(T, args.h, k, o * co);
}
