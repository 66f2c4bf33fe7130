// One step of a block LSTM's gradient, one thread a unit and sequence: from the gradients of cell state and output to those
// of the gates' sums and of the cell state before.
// variants: T = f32 f16; A = f32
#include "prelude.glsl"

layout(constant_id = 3) const uint AT_CELL = 1;
layout(constant_id = 4) const uint AT_FORGET = 2;

PUSH_ARGS {
    READ(T, cs_prev); // [batch, units], as most
    READ(T, i);
    READ(T, f);
    READ(T, o);
    READ(T, ci);
    READ(T, co);
    READ(T, wci);     // [units], the peepholes; absent
    READ(T, wcf);
    READ(T, wco);
    READ(T, cs_grad);
    READ(T, h_grad);
    READ(A, through); // what comes through the gates of the step after; absent at the last step
    READ_WRITE(A, dcs); // what comes through the cell state of the step after
    WRITE(T, d_gates); // [batch, 4 units]
    uint count;
    uint units;
} args;

void main() {
    uint k = global_index();
    if (k >= args.count) return;
    uint j = k % args.units, row = (k / args.units) * 4 * args.units;
    bool peephole = !IS_NULL(args.wci);
    float i = LOAD(T, args.i, k), f = LOAD(T, args.f, k), o = LOAD(T, args.o, k);
    float ci = LOAD(T, args.ci, k), co = LOAD(T, args.co, k);
    float dh = LOAD(T, args.h_grad, k);
    if (!IS_NULL(args.through)) dh += LOAD(A, args.through, k);
    float d_o = o * (1.0 - o) * dh * co;
    float dcs = (1.0 - co * co) * dh * o + (LOAD(T, args.cs_grad, k) + LOAD_OUT(A, args.dcs, k));
    if (peephole) dcs += d_o * LOAD(T, args.wco, j);
    float dci = (1.0 - ci * ci) * dcs * i;
    float df = f * (1.0 - f) * dcs * LOAD(T, args.cs_prev, k);
    float di = i * (1.0 - i) * dcs * ci;
    float past = dcs * f;
    if (peephole) past += di * LOAD(T, args.wci, j) + df * LOAD(T, args.wcf, j);
    STORE(A, args.dcs, k, past);
    STORE(T, args.d_gates, row + j, di);
    STORE(T, args.d_gates, row + AT_CELL * args.units + j, dci);
    STORE(T, args.d_gates, row + AT_FORGET * args.units + j, df);
    STORE(T, args.d_gates, row + 3 * args.units + j, d_o);
}
