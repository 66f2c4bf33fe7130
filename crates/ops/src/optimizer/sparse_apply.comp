// The sparse optimiser updates: row indices[i] of the variables is updated with row i of the gradient. Where an index
// occurs more than once, the workgroup of its first occurrence applies them all, in order; so nothing depends on timing.
// Indices out of range are skipped.
// variants: KIND = adagrad adagrad_v2 adadelta proximal_adagrad proximal_gradient adagrad_da ftrl ftrl_v2 momentum keras_momentum rms_prop centered_rms_prop; T = FLOAT
#include "prelude.glsl"
#include "math.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Words { uint v[]; };

PUSH_ARGS {
    READ_WRITE(T, var);
    READ_WRITE(T, s1); // slots, in the order of the op's inputs
    READ_WRITE(T, s2);
    READ_WRITE(T, s3);
    READ(T, grad);
    uvec2 indices;
    uvec2 first, last;
    READ(T, p0); // scalars, in the order of the op's inputs
    READ(T, p1);
    READ(T, p2);
    READ(T, p3);
    READ(T, p4);
    uint rows, columns; // of the gradient
    uint var_rows;
    uint flags;  // 1: indices are int64; 2: the op's own flag
} args;

shared uint found[4];

uint row_at(uint i) {
    Words indices = Words(args.indices);
    if ((args.flags & 1u) == 0) return indices.v[i];
    return indices.v[2 * i + 1] == 0 ? indices.v[2 * i] : ~0u;
}

#define OWN_FLAG ((args.flags & 2u) != 0)
#define P0 LOAD(T, args.p0, 0)
#define P1 LOAD(T, args.p1, 0)
#define P2 LOAD(T, args.p2, 0)
#define P3 LOAD(T, args.p3, 0)
#define P4 LOAD(T, args.p4, 0)

T power(T x, T y) {
    return y == T(0.5) ? sqrt(x) : x == T(0) ? T(y > T(0) ? 0 : 1) : T(tf_exp(y * tf_log(x)));
}

T proximal(T v, T rate, T l1, T l2) {
    T shrink = T(1) + l2 * rate;
    return l1 > T(0) ? sign(v) * max(abs(v) - rate * l1, T(0)) / shrink : v / shrink;
}

#if KIND == KIND_adagrad
#define SLOTS 1
void update(inout T v, inout T a, inout T b, inout T c, T g) {
    if (OWN_FLAG) a += g * g;
    v -= P0 * g / sqrt(a);
}
#elif KIND == KIND_adagrad_v2
#define SLOTS 1
void update(inout T v, inout T a, inout T b, inout T c, T g) {
    if (OWN_FLAG) a += g * g;
    v -= P0 * g / (sqrt(a) + P1);
}
#elif KIND == KIND_adadelta
#define SLOTS 2
void update(inout T v, inout T a, inout T b, inout T c, T g) {
    T lr = P0, rho = P1, epsilon = P2;
    a = a * rho + g * g * (T(1) - rho);
    T u = sqrt(b + epsilon) / sqrt(a + epsilon) * g;
    v -= u * lr;
    b = b * rho + u * u * (T(1) - rho);
}
#elif KIND == KIND_proximal_adagrad
#define SLOTS 1
void update(inout T v, inout T a, inout T b, inout T c, T g) {
    a += g * g;
    T rate = P0 / sqrt(a);
    v = proximal(v - g * rate, rate, P1, P2);
}
#elif KIND == KIND_proximal_gradient
#define SLOTS 0
void update(inout T v, inout T a, inout T b, inout T c, T g) {
    T rate = P0;
    v = proximal(v - g * rate, rate, P1, P2);
}
#elif KIND == KIND_adagrad_da
#define SLOTS 2
void update(inout T v, inout T a, inout T b, inout T c, T g) {
    Words words = Words(uvec2(args.p3));
    T time = T(words.v[0]) + T(int(words.v[1])) * T(4294967296.0), lr = P0, l1 = P1, l2 = P2;
    a += g;
    b += g * g;
    T x = l1 > T(0) ? sign(a) * max(abs(a) - time * l1, T(0)) : a;
    v = -x * lr / (l2 * time * lr + sqrt(b));
}
#elif KIND == KIND_ftrl || KIND == KIND_ftrl_v2
#define SLOTS 2
void update(inout T v, inout T a, inout T b, inout T c, T g) {
    T lr = P0, l1 = P1, l2 = P2;
#if KIND == KIND_ftrl_v2
    T gradient = g + T(2) * P3 * v, by = -P4;
#else
    T gradient = g, by = -P3;
#endif
    T new_a = a + g * g;
    T high = power(new_a, by), change = high - power(a, by);
    if (OWN_FLAG) {
        b += gradient * lr - change * v;
        v = (clamp(b, -l1 * lr, l1 * lr) - b) / (high + T(2) * l2 * lr);
    } else {
        b += gradient - change / lr * v;
        v = (clamp(b, -l1, l1) - b) / (high / lr + T(2) * l2);
    }
    a = new_a;
}
#elif KIND == KIND_momentum
#define SLOTS 1
void update(inout T v, inout T a, inout T b, inout T c, T g) {
    T lr = P0, momentum = P1;
    a = a * momentum + g;
    v -= OWN_FLAG ? g * lr + a * momentum * lr : a * lr;
}
#elif KIND == KIND_keras_momentum
#define SLOTS 1
void update(inout T v, inout T a, inout T b, inout T c, T g) {
    T lr = P0, momentum = P1;
    a = a * momentum - g * lr;
    v += OWN_FLAG ? a * momentum - g * lr : a;
}
#elif KIND == KIND_rms_prop
#define SLOTS 2
void update(inout T v, inout T a, inout T b, inout T c, T g) {
    T rho = P1;
    a = a * rho + g * g * (T(1) - rho);
    b = b * P2 + P0 * g / sqrt(a + P3);
    v -= b;
}
#else
#define SLOTS 3
void update(inout T v, inout T a, inout T b, inout T c, T g) {
    T rho = P1;
    b = b * rho + g * g * (T(1) - rho);
    a = a * rho + g * (T(1) - rho);
    c = c * P2 + P0 * g / sqrt((b + P3) - a * a);
    v -= c;
}
#endif

// One row of the variables with row i of the gradient.
void apply(uint row, uint i) {
    T_Out var = AT_OUT(T, args.var, row, args.columns);
    T_Out s1 = AT_OUT(T, args.s1, row, args.columns);
    T_Out s2 = AT_OUT(T, args.s2, row, args.columns);
    T_Out s3 = AT_OUT(T, args.s3, row, args.columns);
    T_In grad = AT(T, args.grad, i, args.columns);
    for (uint j = thread_index(); j < args.columns; j += group_size()) {
        T v = LOAD_OUT(T, var, j), a = T(0), b = T(0), c = T(0);
        if (SLOTS > 0) a = LOAD_OUT(T, s1, j);
        if (SLOTS > 1) b = LOAD_OUT(T, s2, j);
        if (SLOTS > 2) c = LOAD_OUT(T, s3, j);
        update(v, a, b, c, LOAD(T, grad, j));
        STORE(T, var, j, v);
        if (SLOTS > 0) STORE(T, s1, j, a);
        if (SLOTS > 1) STORE(T, s2, j, b);
        if (SLOTS > 2) STORE(T, s3, j, c);
    }
}

void main() {
    uint i = group_index(), t = thread_index();
    if (i >= args.rows) return;
    uint row = row_at(i);
    // `first` and `last` have an entry per row of the variable; row_at's ~0 is never among them.
    if (row >= args.var_rows || Words(args.first).v[row] != i) return;
    uint last = Words(args.last).v[row];
    apply(row, i);
    for (uint start = i + 1; start <= last; start += 128u) {
        barrier();
        if (t < 4) found[t] = 0;
        barrier();
        for (uint k = t; k < 128u; k += group_size()) {
            if (start + k <= last && row_at(start + k) == row) atomicOr(found[k >> 5], 1u << (k & 31u));
        }
        barrier();
        for (uint w = 0; w < 4; w++) {
            uint bits = found[w];
            while (bits != 0) {
                uint k = findLSB(bits);
                bits &= bits - 1;
                apply(row, start + w * 32u + k);
            }
        }
    }
}
