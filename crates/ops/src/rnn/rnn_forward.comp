// One step of a recurrent layer, one thread a unit and sequence: the gates from the products of input and state, then the
// new state. `A` is what sums are kept in.
// variants: T = f32; A = f32; I = i32
// variants: T = f16; A = f32; I = i32
// variants: T = bf16; A = f32; I = i32
// variants: T = f64; A = f64; I = i32
#include "prelude.glsl"
#include "math.glsl"
#include "rnn.glsl"

PUSH_ARGS {
    READ_WRITE(A, gates);  // [rows, G units]: x W; what the gates came to, after
    READ(A, recurrent);    // [batch, G units]: h R
    READ(T, bias);         // [2, G, units]
    READ_WRITE(T, h);      // [batch, units]
    READ_WRITE(A, c);      // [batch, units], of an LSTM
    WRITE(T, h_before);    // [rows, units]; absent where nothing is kept, as the next two
    WRITE(A, c_after);     // [rows, units], of an LSTM
    WRITE(A, candidate);   // [rows, units], of a GRU: h R + b of its candidate
    WRITE(T, y);           // [rows, y_row], from this direction's column on
    READ(I, lengths);      // [batch]; absent where all sequences are whole
    uint batch;
    uint units;
    uint t;
    uint row_0;    // the row of sequence 0
    uint row_step; // rows from one sequence to the next
    uint y_row;
} args;

void main() {
    uint i = global_index();
    if (i >= args.batch * args.units) return;
    uint b = i / args.units, j = i % args.units;
    uint row = args.row_0 + b * args.row_step;
    uint n = GATES * args.units;
    T h = LOAD_OUT(T, args.h, i);
    if (!IS_NULL(args.h_before)) STORE(T, args.h_before, row * args.units + j, h);
    bool live = IS_NULL(args.lengths) || args.t < uint(LOAD(I, args.lengths, b));
    if (!live) {
        // The state is carried through; the output of a step past the end is 0.
        STORE(T, args.y, row * args.y_row + j, T(0));
        if (MODE == LSTM && !IS_NULL(args.c_after)) STORE(A, args.c_after, row * args.units + j, LOAD_OUT(A, args.c, i));
        return;
    }

    A x[4], r[4];
    [[unroll]] for (uint g = 0; g < GATES; g++) {
        uint at = g * args.units + j;
        x[g] = LOAD_OUT(A, args.gates, row * n + at) + A(LOAD(T, args.bias, at));
        r[g] = LOAD(A, args.recurrent, b * n + at) + A(LOAD(T, args.bias, n + at));
    }
    A state;
    if (MODE == LSTM) {
        A input_gate = sigmoid(x[0] + r[0]), forget = sigmoid(x[1] + r[1]);
        A cell = tf_tanh(x[2] + r[2]), out_gate = sigmoid(x[3] + r[3]);
        A c = forget * LOAD_OUT(A, args.c, i) + input_gate * cell;
        STORE(A, args.c, i, c);
        if (!IS_NULL(args.c_after)) STORE(A, args.c_after, row * args.units + j, c);
        x[0] = input_gate;
        x[1] = forget;
        x[2] = cell;
        x[3] = out_gate;
        state = out_gate * tf_tanh(c);
    } else if (MODE == GRU) {
        A reset = sigmoid(x[0] + r[0]), update = sigmoid(x[1] + r[1]);
        A candidate = tf_tanh(x[2] + reset * r[2]);
        if (!IS_NULL(args.candidate)) STORE(A, args.candidate, row * args.units + j, r[2]);
        x[0] = reset;
        x[1] = update;
        x[2] = candidate;
        state = update * A(h) + (A(1) - update) * candidate;
    } else {
        A sum = x[0] + r[0];
        state = MODE == TANH ? tf_tanh(sum) : (sum > A(0) || is_nan(sum) ? sum : A(0));
        x[0] = state;
    }
    [[unroll]] for (uint g = 0; g < GATES; g++) STORE(A, args.gates, row * n + g * args.units + j, x[g]);
    STORE(T, args.h, i, T(state));
    STORE(T, args.y, row * args.y_row + j, T(state));
}
