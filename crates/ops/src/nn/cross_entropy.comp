// Softmax cross-entropy of each row, and its gradient: loss [rows], backprop [rows, n].
// KIND dense: labels are a distribution; both inputs may be broadcast along rows and columns.
// KIND sparse: labels are class numbers; one outside [0, n) gives NaN, as TensorFlow's GPU kernel does.
// variants: T = FLOAT; U = i32; KIND = dense sparse
// variants: T = FLOAT; U = x64; KIND = sparse
#include "prelude.glsl"
#include "math.glsl"
#include "group.glsl"

#if KIND == KIND_dense
#define LABELS READ(T, labels)
#else
#define LABELS READ(U, labels)
#endif
// Each stride is 0 where the input is broadcast along that axis, else 1; a width is the input's own number of columns.
PUSH_ARGS {
    READ(T, logits); LABELS; WRITE(T, loss); WRITE(T, backprop);
    uint rows; uint n;
    uint logits_row; uint logits_width; uint labels_row; uint labels_width;
} args;

T larger(T a, T b) { return (a > b || is_nan(a)) ? a : b; }
T plus(T a, T b) { return a + b; }
GROUP_REDUCE(group_high, T, larger)
GROUP_REDUCE(group_sum, T, plus)

T logit(T_In x, uint i) { return LOAD(T, x, args.logits_width == 1 ? 0 : i); }

void main() {
    uint row = group_index() * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    bool live = row < args.rows;
    uint n = live ? args.n : 0, first = gl_LocalInvocationID.x, step = gl_WorkGroupSize.x;
    T_In x = AT(T, args.logits, row * args.logits_row, args.logits_width);
    T_Out g = AT_OUT(T, args.backprop, row, args.n);
    T high = T_LOWEST;
    for (uint i = first; i < n; i += step) high = larger(high, logit(x, i));
    high = group_high(high, LANES_X);
    T sum = T(0);
    for (uint i = first; i < n; i += step) sum += tf_exp(logit(x, i) - high);
    sum = group_sum(sum, LANES_X);
    T log_sum = tf_log(sum);
#if KIND == KIND_dense
    T_In labels = AT(T, args.labels, row * args.labels_row, args.labels_width);
    T loss = T(0);
    for (uint i = first; i < n; i += step) {
        T v = logit(x, i) - high, label = LOAD(T, labels, args.labels_width == 1 ? 0 : i);
        loss += label * (log_sum - v);
        STORE(T, g, i, tf_exp(v) / sum - label);
    }
    loss = group_sum(loss, LANES_X);
    if (live && first == 0) STORE(T, args.loss, row, loss);
#else
    int label = live ? LOAD(U, args.labels, row) : 0;
    bool valid = label >= 0 && label < int(args.n);
#if T_ID == DT_f64
    T nan = NAN_F64;
#else
    T nan = NAN_F32;
#endif
    for (uint i = first; i < n; i += step) {
        T p = tf_exp(logit(x, i) - high) / sum;
        STORE(T, g, i, valid ? (i == uint(label) ? p - T(1) : p) : nan);
    }
    if (live && first == 0) STORE(T, args.loss, row, valid ? log_sum - (logit(x, uint(label)) - high) : nan);
#endif
}
