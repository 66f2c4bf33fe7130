// LU factors of matrices [n, n] with partial pivoting, a workgroup each, in place; and the row that each row came from.
// variants: T = f32; R = f32
// variants: T = f64; R = f64
// variants: T = c64; R = f32
// variants: T = c128; R = f64
#include "prelude.glsl"
#include "number.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Ints { int v[]; };

PUSH_ARGS {
    READ_WRITE(T, a);
    Ints from; // [batch, n]
    uint batch, n;
    uint adjoint; // a is read as its conjugate transpose (and left so)
    uint first, end; // the steps that this launch does
} args;

shared R best[128];
shared uint where[128];

void swap(T_Out a, uint i, uint j) {
    T x = LOAD_OUT(T, a, i);
    STORE(T, a, i, LOAD_OUT(T, a, j));
    STORE(T, a, j, x);
}

void main() {
    uint b = group_index(), t = thread_index(), n = args.n;
    if (b >= args.batch) return;
    T_Out a = AT_OUT(T, args.a, b, n * n);
    if (args.first == 0) {
        for (uint i = t; i < n; i += group_size()) args.from.v[b * n + i] = int(i);
    }
    if (args.first == 0 && args.adjoint != 0) {
        for (uint i = t; i < n * n; i += group_size()) {
            uint row = i / n, column = i % n, mirrored = column * n + row;
            if (row > column) continue;
            T x = LOAD_OUT(T, a, i), y = LOAD_OUT(T, a, mirrored);
            STORE(T, a, i, conjugate(y));
            STORE(T, a, mirrored, conjugate(x));
        }
    }
    for (uint k = args.first; k < args.end; k++) {
        memoryBarrierBuffer();
        barrier();
        R top = R(-1);
        uint at = k;
        for (uint i = k + t; i < n; i += group_size()) {
            R x = magnitude(LOAD_OUT(T, a, i * n + k));
            if (x > top) {
                top = x;
                at = i;
            }
        }
        best[t] = top;
        where[t] = at;
        for (uint step = group_size() / 2; step > 0; step /= 2) {
            barrier();
            if (t < step && (best[t + step] > best[t] || (best[t + step] == best[t] && where[t + step] < where[t]))) {
                best[t] = best[t + step];
                where[t] = where[t + step];
            }
        }
        barrier();
        uint pivot = where[0];
        if (pivot != k) {
            for (uint j = t; j < n; j += group_size()) swap(a, k * n + j, pivot * n + j);
            if (t == 0) {
                int x = args.from.v[b * n + k];
                args.from.v[b * n + k] = args.from.v[b * n + pivot];
                args.from.v[b * n + pivot] = x;
            }
        }
        memoryBarrierBuffer();
        barrier();
        T d = LOAD_OUT(T, a, k * n + k);
        if (d == T(0)) continue;
        for (uint i = k + 1 + t; i < n; i += group_size()) STORE(T, a, i * n + k, quotient(LOAD_OUT(T, a, i * n + k), d));
        memoryBarrierBuffer();
        barrier();
        uint left = n - k - 1;
        for (uint x = t; x < left * left; x += group_size()) {
            uint i = k + 1 + x / left, j = k + 1 + x % left;
            STORE(T, a, i * n + j, LOAD_OUT(T, a, i * n + j) - product(LOAD_OUT(T, a, i * n + k), LOAD_OUT(T, a, k * n + j)));
        }
    }
}
