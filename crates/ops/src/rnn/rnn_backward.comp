// One step of a recurrent layer's gradient, one thread a unit and sequence: from the gradient of the state after the step
// to those of the gates' sums. Steps come in the reverse of the forward order.
// variants: T = f32; A = f32; I = i32
// variants: T = f16; A = f32; I = i32
// variants: T = bf16; A = f32; I = i32
// variants: T = f64; A = f64; I = i32
#include "prelude.glsl"
#include "math.glsl"
#include "rnn.glsl"

PUSH_ARGS {
    READ(A, gates);       // [rows, G units]: what the gates came to
    READ(A, c_after);     // [rows, units], of an LSTM
    READ(T, c_0);         // [batch, c_row]: the first cell state, where this is the first step; else absent
    READ(T, h_before);    // [rows, units]
    READ(A, candidate);   // [rows, units], of a GRU
    READ(T, dy);          // [rows, y_row], from this direction's column on
    READ(A, through);     // [batch, units]: what comes through the gates of the step after; absent at the last step
    READ_WRITE(A, dh);    // [batch, units]: what comes past them
    READ_WRITE(A, dc);    // [batch, units], of an LSTM
    WRITE(T, d_gates);    // [rows, G units]: the gradient of x W
    WRITE(T, d_recurrent);// [rows, G units], of a GRU: the gradient of h R
    READ(I, lengths);     // [batch]; absent where all sequences are whole
    uint batch;
    uint units;
    uint t;
    uint row_0;    // the row of sequence 0
    uint row_step; // rows from one sequence to the next
    uint back;     // rows back to the step before, in two's complement
    uint y_row;
    uint c_row;
} args;

void main() {
    uint i = global_index();
    if (i >= args.batch * args.units) return;
    uint b = i / args.units, j = i % args.units;
    uint row = args.row_0 + b * args.row_step;
    uint n = GATES * args.units;
    A dh = LOAD_OUT(A, args.dh, i);
    if (!IS_NULL(args.through)) dh += LOAD(A, args.through, i);
    bool live = IS_NULL(args.lengths) || args.t < uint(LOAD(I, args.lengths, b));
    if (!live) {
        STORE(A, args.dh, i, dh);
        [[unroll]] for (uint g = 0; g < GATES; g++) {
            STORE(T, args.d_gates, row * n + g * args.units + j, T(0));
            if (MODE == GRU) STORE(T, args.d_recurrent, row * n + g * args.units + j, T(0));
        }
        return;
    }
    dh += A(LOAD(T, args.dy, row * args.y_row + j));

    A gate[4], d[4];
    [[unroll]] for (uint g = 0; g < GATES; g++) gate[g] = LOAD(A, args.gates, row * n + g * args.units + j);
    A past = A(0);
    if (MODE == LSTM) {
        A input_gate = gate[0], forget = gate[1], cell = gate[2], out_gate = gate[3];
        A squashed = tf_tanh(LOAD(A, args.c_after, row * args.units + j));
        A before;
        if (IS_NULL(args.c_0)) before = LOAD(A, args.c_after, (row + args.back) * args.units + j);
        else before = A(LOAD(T, args.c_0, b * args.c_row + j));
        A dc = LOAD_OUT(A, args.dc, i) + dh * out_gate * (A(1) - squashed * squashed);
        d[0] = dc * cell * input_gate * (A(1) - input_gate);
        d[1] = dc * before * forget * (A(1) - forget);
        d[2] = dc * input_gate * (A(1) - cell * cell);
        d[3] = dh * squashed * out_gate * (A(1) - out_gate);
        STORE(A, args.dc, i, dc * forget);
    } else if (MODE == GRU) {
        A reset = gate[0], update = gate[1], candidate = gate[2];
        A h = A(LOAD(T, args.h_before, row * args.units + j));
        A d_candidate = dh * (A(1) - update) * (A(1) - candidate * candidate);
        d[0] = d_candidate * LOAD(A, args.candidate, row * args.units + j) * reset * (A(1) - reset);
        d[1] = dh * (h - candidate) * update * (A(1) - update);
        d[2] = d_candidate;
        past = dh * update;
        STORE(T, args.d_recurrent, row * n + j, T(d[0]));
        STORE(T, args.d_recurrent, row * n + args.units + j, T(d[1]));
        STORE(T, args.d_recurrent, row * n + 2 * args.units + j, T(d_candidate * reset));
    } else {
        d[0] = MODE == TANH ? dh * (A(1) - gate[0] * gate[0]) : (gate[0] > A(0) ? dh : A(0));
    }
    STORE(A, args.dh, i, past);
    [[unroll]] for (uint g = 0; g < GATES; g++) STORE(T, args.d_gates, row * n + g * args.units + j, T(d[g]));
}
