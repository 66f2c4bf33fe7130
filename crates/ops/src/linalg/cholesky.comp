// Cholesky factors of matrices [n, n], a workgroup each, in place; only the lower triangle is read. A matrix that is not
// positive definite becomes NaN.
// variants: T = f32; R = f32
// variants: T = f64; R = f64
// variants: T = c64; R = f32
// variants: T = c128; R = f64
#include "prelude.glsl"
#include "number.glsl"

PUSH_ARGS {
    READ_WRITE(T, a);
    uint batch, n;
    uint first, end; // the steps that this launch does
} args;

#if R_ID == DT_f64
#define NOT_A_NUMBER NAN_F64
#else
#define NOT_A_NUMBER NAN_F32
#endif

shared R pivot;

void main() {
    uint b = group_index(), t = thread_index(), n = args.n;
    if (b >= args.batch) return;
    T_Out a = AT_OUT(T, args.a, b, n * n);
    for (uint k = args.first; k < args.end; k++) {
        memoryBarrierBuffer();
        barrier();
        if (t == 0) {
            R d = real_part(LOAD_OUT(T, a, k * n + k));
            pivot = d > R(0) ? sqrt(d) : NOT_A_NUMBER;
            STORE(T, a, k * n + k, of_real(pivot));
        }
        barrier();
        R d = pivot;
        for (uint i = k + 1 + t; i < n; i += group_size()) {
            STORE(T, a, i * n + k, LOAD_OUT(T, a, i * n + k) / d);
            STORE(T, a, k * n + i, T(0));
        }
        memoryBarrierBuffer();
        barrier();
        for (uint j = k + 1 + t; j < n; j += group_size()) {
            T factor = conjugate(LOAD_OUT(T, a, j * n + k));
            for (uint i = j; i < n; i++) STORE(T, a, i * n + j, LOAD_OUT(T, a, i * n + j) - product(LOAD_OUT(T, a, i * n + k), factor));
        }
    }
}
