// Householder QR of matrices [rows, columns], a workgroup each, with the signs of LAPACK and Eigen: R's diagonal has the
// sign opposite to that of the column it came from.
// variants: T = f32; R = f32
// variants: T = f64; R = f64
// variants: T = c64; R = f32
// variants: T = c128; R = f64
#include "prelude.glsl"
#include "number.glsl"

PUSH_ARGS {
    READ_WRITE(T, a);   // the matrices; destroyed
    WRITE(T, tau);      // [batch, steps], scratch
    WRITE(T, q);        // [batch, rows, q_columns]
    WRITE(T, r);        // [batch, r_rows, columns]
    uint batch, rows, columns, q_columns, r_rows;
    uint first, end;     // the reflections that this launch finds
    uint write_r;        // whether it then writes r and begins q
    uint q_first, q_end; // the reflections that it then applies to q, last to first
} args;

#if R_ID == DT_f64
#define SMALLEST 2.2250738585072014e-308lf
#else
#define SMALLEST 1.17549435e-38
#endif

shared R partial[128];
shared T shared_scale, shared_tau;

// The sum of everyone's `x`, for all.
R total(uint t, R x) {
    barrier();
    partial[t] = x;
    for (uint step = group_size() / 2; step > 0; step /= 2) {
        barrier();
        if (t < step) partial[t] += partial[t + step];
    }
    barrier();
    return partial[0];
}

// Applies reflection k, whose vector is column k of `a` below the diagonal, to column j of `m`.
void reflect(T_Out a, T_Out m, uint width, uint k, uint j, T tau) {
    T dot = LOAD_OUT(T, m, k * width + j);
    for (uint i = k + 1; i < args.rows; i++) dot += product(conjugate(LOAD_OUT(T, a, i * args.columns + k)), LOAD_OUT(T, m, i * width + j));
    dot = product(dot, tau);
    STORE(T, m, k * width + j, LOAD_OUT(T, m, k * width + j) - dot);
    for (uint i = k + 1; i < args.rows; i++) {
        STORE(T, m, i * width + j, LOAD_OUT(T, m, i * width + j) - product(dot, LOAD_OUT(T, a, i * args.columns + k)));
    }
}

void main() {
    uint b = group_index(), t = thread_index();
    if (b >= args.batch) return;
    uint steps = min(args.rows, args.columns);
    T_Out a = AT_OUT(T, args.a, b, args.rows * args.columns);
    T_Out taus = AT_OUT(T, args.tau, b, steps);
    for (uint k = args.first; k < args.end; k++) {
        memoryBarrierBuffer();
        barrier();
        R tail = R(0);
        for (uint i = k + 1 + t; i < args.rows; i += group_size()) {
            T x = LOAD_OUT(T, a, i * args.columns + k);
            tail += real_part(product(conjugate(x), x));
        }
        tail = total(t, tail);
        if (t == 0) {
            T head = LOAD_OUT(T, a, k * args.columns + k);
            R real_head = real_part(head), beta = real_head;
            shared_tau = T(0);
            shared_scale = T(0);
#if T_IS_COMPLEX
            R turned = head.y * head.y;
#else
            R turned = R(0);
#endif
            if (tail > SMALLEST || turned > SMALLEST) {
                beta = sqrt(real_head * real_head + turned + tail);
                if (real_head >= R(0)) beta = -beta;
                shared_scale = quotient(of_real(R(1)), head - of_real(beta));
                shared_tau = conjugate(of_real(beta) - head) / beta;
            }
            STORE(T, a, k * args.columns + k, of_real(beta));
            STORE(T, taus, k, shared_tau);
        }
        barrier();
        T tau = shared_tau, scale = shared_scale;
        for (uint i = k + 1 + t; i < args.rows; i += group_size()) {
            STORE(T, a, i * args.columns + k, product(LOAD_OUT(T, a, i * args.columns + k), scale));
        }
        memoryBarrierBuffer();
        barrier();
        if (tau != T(0)) {
            for (uint j = k + 1 + t; j < args.columns; j += group_size()) reflect(a, a, args.columns, k, j, tau);
        }
    }
    memoryBarrierBuffer();
    barrier();
    T_Out r = AT_OUT(T, args.r, b, args.r_rows * args.columns);
    if (args.write_r != 0) {
        for (uint i = t; i < args.r_rows * args.columns; i += group_size()) {
            uint row = i / args.columns, column = i % args.columns;
            STORE(T, r, i, row <= column && row < steps ? LOAD_OUT(T, a, i) : T(0));
        }
    }
    // Q is the product of the reflections, applied to the identity from the last to the first; a thread owns columns.
    T_Out q = AT_OUT(T, args.q, b, args.rows * args.q_columns);
    for (uint j = t; j < args.q_columns; j += group_size()) {
        if (args.write_r != 0) {
            for (uint i = 0; i < args.rows; i++) STORE(T, q, i * args.q_columns + j, of_real(R(i == j ? 1 : 0)));
        }
        for (uint k = args.q_end; k-- > args.q_first;) {
            T tau = conjugate(LOAD_OUT(T, taus, k));
            if (tau != T(0)) reflect(a, q, args.q_columns, k, j, tau);
        }
    }
}
