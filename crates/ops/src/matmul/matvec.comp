// A row times a matrix, C[0, n] = sum over k of A[0, k] B[k, n]: reads B once, as fast as memory gives it.
//
// B along k: 32 invocations share one column; otherwise each has four columns, and four of them share these.
// variants: TA = f32; TB = f32; TC = f32
// variants: TA = f16; TB = f16; TC = f16
// variants: TA = bf16; TB = bf16; TC = bf16
// variants: TA = f64; TB = f64; TC = f64
#include "prelude.glsl"
#include "accumulate.glsl"
#include "epilogue.glsl"
#include "matmul_args.glsl"

layout(constant_id = 5) const bool A_FOURS = false;
layout(constant_id = 6) const bool B_FOURS = false;

// 128 invocations.
#define LANES 32
#define ROWS 4
// Columns of a workgroup.
#define COLUMNS (B_ALONG_K ? ROWS : LANES * 4)

shared ACC4 sums[LANES * ROWS];

ACC a_at(uint k) { return ACC(LOAD(TA, a_matrix, A_ALONG_K ? k : k * args.a_row)); }

void store(uint n, ACC x) {
    if (n >= args.n) return;
    if (PARTS) {
        c_part.v[n] = x;
        return;
    }
    if (BIAS != BIAS_NONE) x += LOAD(TC, args.bias, BIAS == BIAS_N ? n : 0);
    STORE(TC, c_matrix, n, activate(x, args.alpha));
}

// Four of the row of column n; the caller saw to it that k is inside.
ACC4 along_k(ACC4 sum, uint n, uint k) {
    uint at = n * args.b_row + k;
    if (A_FOURS && B_FOURS) return fma(ACC4(LOAD4(TA, a_matrix, k / 4)), ACC4(LOAD4(TB, b_matrix, at / 4)), sum);
    [[unroll]] for (uint i = 0; i < 4; i++)
        if (k + i < k_end) sum[i] = madd(a_at(k + i), ACC(LOAD(TB, b_matrix, at + i)), sum[i]);
    return sum;
}

ACC4 across(ACC4 sum, uint n, uint k) {
    uint at = k * args.b_row + n;
    if (B_FOURS) return madd4(a_at(k), ACC4(LOAD4(TB, b_matrix, at / 4)), sum);
    [[unroll]] for (uint i = 0; i < 4; i++)
        if (n + i < args.n) sum[i] = madd(a_at(k), ACC(LOAD(TB, b_matrix, at + i)), sum[i]);
    return sum;
}

void main() {
    uint m0, n0;
    if (!find_tile(1, COLUMNS, m0, n0)) return;
    uint t = thread_index();
    uint lane = t % LANES;
    uint row = t / LANES;
    ACC4 sum = acc4(ACC_ZERO);
    if (B_ALONG_K) {
        uint n = n0 + row;
        if (n < args.n)
            for (uint k = k_begin + lane * 4; k < k_end; k += LANES * 4) sum = along_k(sum, n, k);
        sums[t] = sum;
        barrier();
        for (uint h = LANES / 2; h > 0; h /= 2) {
            if (lane < h) sums[t] += sums[t + h];
            barrier();
        }
        ACC4 s = sums[t];
        if (lane == 0) store(n, (s[0] + s[1]) + (s[2] + s[3]));
    } else {
        uint n = n0 + lane * 4;
        if (n < args.n)
            for (uint k = k_begin + row; k < k_end; k += ROWS) sum = across(sum, n, k);
        sums[t] = sum;
        barrier();
        if (row == 0) {
            ACC4 s = (sums[lane] + sums[lane + LANES]) + (sums[lane + 2 * LANES] + sums[lane + 3 * LANES]);
            [[unroll]] for (uint i = 0; i < 4; i++) store(n + i, s[i]);
        }
    }
}
