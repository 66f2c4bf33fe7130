// The product on matrix units (VK_KHR_cooperative_matrix) that convolutions use: one workgroup makes BM x BN elements of
//   C[m, n] = sum over k of A[m, k] * B[k, n]
// of 16-bit operands, accumulated in f32. Operands pass through shared memory, one step of K at a time; the next step's wait
// in registers, eight elements (16 bytes) a slot.
//
// TILE (a variant) says the tile; UNITS (a variant) is `matrix`, or `none`: the same with plain arithmetic, slow, for testing
// the rest of it where there are no matrix units.
// The includer defines, before:
//   A_ALONG_K, B_ALONG_K       whether a slot's eight lie along k (else along m, n); constants
//   void begin_step(k0)        whatever all slots of a step share
//   uvec4 load_a(slot, k0)     the eight of a slot (a constant) of the step from k0 on, zeros outside of A
//   uvec4 load_b(slot, k0)
//   void store_eight(m, n, v)  C[m, n..n+7]; checks the bounds
// and calls coop_product(m0, n0, k_begin, k_end). a_place, b_place say where in the tile a slot's first element is.

// Subgroups along m and n, 16 x 16 matrices of each, and a step of K.
#if TILE == 256 // 128 x 256 x 32, 8 subgroups of 64 x 64
#define SUBGROUPS_M 2
#define SUBGROUPS_N 4
#define MATRICES_M 4
#define MATRICES_N 4
#define BK 32
#elif TILE == 128 // 128 x 128 x 32, 4 subgroups of 64 x 64
#define SUBGROUPS_M 2
#define SUBGROUPS_N 2
#define MATRICES_M 4
#define MATRICES_N 4
#define BK 32
#elif TILE == 129 // 128 x 128 x 64, 8 subgroups of 64 x 32
#define SUBGROUPS_M 2
#define SUBGROUPS_N 4
#define MATRICES_M 4
#define MATRICES_N 2
#define BK 64
#elif TILE == 96 // 128 x 64 x 32, 4 subgroups of 64 x 32
#define SUBGROUPS_M 2
#define SUBGROUPS_N 2
#define MATRICES_M 4
#define MATRICES_N 2
#define BK 32
#else // 64 x 64 x 64, 4 subgroups of 32 x 32
#define SUBGROUPS_M 2
#define SUBGROUPS_N 2
#define MATRICES_M 2
#define MATRICES_N 2
#define BK 64
#endif
#define BM (SUBGROUPS_M * MATRICES_M * 16)
#define BN (SUBGROUPS_N * MATRICES_N * 16)
#define THREADS (SUBGROUPS_M * SUBGROUPS_N * 32)
#define A_SLOTS (BM * BK / 8 / THREADS)
#define B_SLOTS (BN * BK / 8 / THREADS)
// Rows of shared memory, in eights; the odd one keeps rows on different banks.
#define K_ROW (BK / 8 + 1)
#define A_ROW (BM / 8 + 1)
#define B_ROW (BN / 8 + 1)

// A's part of shared memory, then B's.
#define A_SIZE (BM * K_ROW)
#define B_SIZE (BN * K_ROW)
#define SHARED_OPERANDS (A_SIZE + B_SIZE)
// In the end, in the same place, each subgroup turns STRIP matrices side by side into rows: 16 of them, in fours and one.
#if MATRICES_N % 4 == 0 && SHARED_OPERANDS >= SUBGROUPS_M * SUBGROUPS_N * 16 * 17
#define STRIP 4
#else
#define STRIP 2
#endif
#define OUT_ROW (STRIP * 4 + 1)
#define SHARED_OUT (SUBGROUPS_M * SUBGROUPS_N * 16 * OUT_ROW)
shared uvec4 tile[SHARED_OPERANDS > SHARED_OUT ? SHARED_OPERANDS : SHARED_OUT];


// (outer index, k) of a slot's first element. Of eights along k a thread's slots share k, of others they share the outer
// index.
uvec2 slot_place(bool along_k, uint slot, uint outer) {
    uint e = slot * THREADS + thread_index();
    return along_k ? uvec2(e / (BK / 8), e % (BK / 8) * 8) : uvec2(e % (outer / 8) * 8, e / (outer / 8));
}
uvec2 a_place(uint slot) { return slot_place(A_ALONG_K, slot, BM); }
uvec2 b_place(uint slot) { return slot_place(B_ALONG_K, slot, BN); }

void begin_step(uint k0);
uvec4 load_a(uint slot, uint k0);
uvec4 load_b(uint slot, uint k0);
void store_eight(uint m, uint n, float v[8]);

uvec4 next_a[A_SLOTS];
uvec4 next_b[B_SLOTS];

void read_step(uint k0) {
    begin_step(k0);
    [[unroll]] for (uint s = 0; s < A_SLOTS; s++) next_a[s] = load_a(s, k0);
    [[unroll]] for (uint s = 0; s < B_SLOTS; s++) next_b[s] = load_b(s, k0);
}

void keep_step() {
    [[unroll]] for (uint s = 0; s < A_SLOTS; s++) {
        uvec2 p = a_place(s);
        tile[A_ALONG_K ? p.x * K_ROW + p.y / 8 : p.y * A_ROW + p.x / 8] = next_a[s];
    }
    [[unroll]] for (uint s = 0; s < B_SLOTS; s++) {
        uvec2 p = b_place(s);
        tile[A_SIZE + (B_ALONG_K ? p.x * K_ROW + p.y / 8 : p.y * B_ROW + p.x / 8)] = next_b[s];
    }
}

#if UNITS == UNITS_matrix
#if TC_ID == DT_bf16
#define COMPONENT bfloat16_t
#else
#define COMPONENT float16_t
#endif
#define SUBGROUP gl_SubgroupID
#define LANE gl_SubgroupInvocationID
#define MATRIX_A coopmat<COMPONENT, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>
#define MATRIX_B coopmat<COMPONENT, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>
#define MATRIX_C coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
#define MATRIX_ZERO MATRIX_C(0.0)
#define LOAD_A(A, M, K)                                                                                           \
    if (A_ALONG_K) coopMatLoad(A, tile, (M) * K_ROW + (K) / 8, K_ROW, gl_CooperativeMatrixLayoutRowMajor);      \
    else coopMatLoad(A, tile, (K) * A_ROW + (M) / 8, A_ROW, gl_CooperativeMatrixLayoutColumnMajor);
#define LOAD_B(B, N, K)                                                                                           \
    if (B_ALONG_K) coopMatLoad(B, tile, A_SIZE + (N) * K_ROW + (K) / 8, K_ROW, gl_CooperativeMatrixLayoutColumnMajor);   \
    else coopMatLoad(B, tile, A_SIZE + (K) * B_ROW + (N) / 8, B_ROW, gl_CooperativeMatrixLayoutRowMajor);
#define MULTIPLY_ADD(A, B, C) coopMatMulAdd(A, B, C)
#define STORE_MATRIX(C, AT) coopMatStore(C, tile, AT, OUT_ROW, gl_CooperativeMatrixLayoutRowMajor)
#define STAGING_BARRIER subgroupBarrier
#else
#define SUBGROUP (thread_index() / 32)
#define LANE (thread_index() % 32)
// Operands are where they are in the tile, results half a row a lane.
#define MATRIX_A uvec2
#define MATRIX_B uvec2
struct Half { float v[8]; };
#define MATRIX_C Half
#define MATRIX_ZERO Half(float[8](0, 0, 0, 0, 0, 0, 0, 0))
#define LOAD_A(A, M, K) A = uvec2(M, K)
#define LOAD_B(B, N, K) B = uvec2(N, K)
float half_of(uint w, uint i) {
#if TC_ID == DT_bf16
    return uintBitsToFloat(i % 2 == 1 ? w & 0xffff0000u : w << 16);
#else
    return unpackHalf2x16(w)[i % 2];
#endif
}
float a_at(uint m, uint k) {
    uint i = A_ALONG_K ? k % 8 : m % 8;
    return half_of(tile[A_ALONG_K ? m * K_ROW + k / 8 : k * A_ROW + m / 8][i / 2], i);
}
float b_at(uint n, uint k) {
    uint i = B_ALONG_K ? k % 8 : n % 8;
    return half_of(tile[A_SIZE + (B_ALONG_K ? n * K_ROW + k / 8 : k * B_ROW + n / 8)][i / 2], i);
}
Half multiply_add(uvec2 a, uvec2 b, Half c) {
    for (uint k = 0; k < 16; k++)
        for (uint i = 0; i < 8; i++) c.v[i] += a_at(a.x + LANE / 2, a.y + k) * b_at(b.x + LANE % 2 * 8 + i, b.y + k);
    return c;
}
#define MULTIPLY_ADD(A, B, C) multiply_add(A, B, C)
void store_half(Half c, uint at) {
    at += LANE / 2 * OUT_ROW + LANE % 2 * 2;
    tile[at] = floatBitsToUint(vec4(c.v[0], c.v[1], c.v[2], c.v[3]));
    tile[at + 1] = floatBitsToUint(vec4(c.v[4], c.v[5], c.v[6], c.v[7]));
}
#define STORE_MATRIX(C, AT) store_half(C, AT)
#define STAGING_BARRIER barrier
#endif

#define MULTIPLY_STEP                                                                                             \
    [[unroll]] for (uint k = 0; k < BK; k += 16) {                                                                \
        [[unroll]] for (uint i = 0; i < MATRICES_M; i++) { LOAD_A(a[i], sub_m + i * 16, k); }                     \
        [[unroll]] for (uint j = 0; j < MATRICES_N; j++) { LOAD_B(b[j], sub_n + j * 16, k); }                     \
        [[unroll]] for (uint i = 0; i < MATRICES_M; i++)                                                          \
            [[unroll]] for (uint j = 0; j < MATRICES_N; j++)                                                      \
                sum[i * MATRICES_N + j] = MULTIPLY_ADD(a[i], b[j], sum[i * MATRICES_N + j]);                      \
    }

void coop_product(uint m0, uint n0, uint k_begin, uint k_end) {
    uint sub_m = SUBGROUP % SUBGROUPS_M * (MATRICES_M * 16);
    uint sub_n = SUBGROUP / SUBGROUPS_M * (MATRICES_N * 16);
    MATRIX_C sum[MATRICES_M * MATRICES_N];
    [[unroll]] for (uint i = 0; i < MATRICES_M * MATRICES_N; i++) sum[i] = MATRIX_ZERO;
    MATRIX_A a[MATRICES_M];
    MATRIX_B b[MATRICES_N];
    if (k_begin < k_end) {
        read_step(k_begin);
        keep_step();
        barrier();
        for (uint k0 = k_begin + BK; k0 < k_end; k0 += BK) {
            read_step(k0);
            MULTIPLY_STEP
            barrier();
            keep_step();
            barrier();
        }
        MULTIPLY_STEP
        barrier();
    }
    uint stage = SUBGROUP * 16 * OUT_ROW;
    [[unroll]] for (uint i = 0; i < MATRICES_M; i++)
        [[unroll]] for (uint j = 0; j < MATRICES_N; j += STRIP) {
            [[unroll]] for (uint q = 0; q < STRIP; q++) { STORE_MATRIX(sum[i * MATRICES_N + j + q], stage + q * 4); }
            STAGING_BARRIER();
            [[unroll]] for (uint q = 0; q < STRIP; q++) {
                uint e = q * 32 + LANE;
                uint row = e / (STRIP * 2);
                uint column = e % (STRIP * 2);
                vec4 low = uintBitsToFloat(tile[stage + row * OUT_ROW + column * 2]);
                vec4 high = uintBitsToFloat(tile[stage + row * OUT_ROW + column * 2 + 1]);
                float v[8] = float[8](low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w);
                store_eight(m0 + sub_m + i * 16 + row, n0 + sub_n + j * 16 + column * 8, v);
            }
            STAGING_BARRIER();
        }
}
