// Matrix product of a batch on matrix units (VK_KHR_cooperative_matrix): f16 and bf16, accumulated in f32. Rows of eight
// elements must be aligned and complete; anything else is matmul.comp's.
//
// Operands go through shared memory, one step of K at a time; the next step's wait in registers.
// variants: TA = f16; TB = f16; TC = f16; TILE = 256 64
// variants: TA = bf16; TB = bf16; TC = bf16; TILE = 256 64
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_bfloat16 : require
#include "prelude.glsl"
#include "accumulate.glsl"
#include "epilogue.glsl"
#include "round.glsl"
#include "matmul_args.glsl"

layout(constant_id = 7) const bool C_EIGHTS = false;
// Whether every tile and every step of K is complete, and rows of C are aligned: nothing is checked then.
layout(constant_id = 11) const bool FULL = false;

#if TC_ID == DT_bf16
#define COMPONENT bfloat16_t
#else
#define COMPONENT float16_t
#endif

// Subgroups along m and n, and 16 x 16 matrices of each.
#if TILE == 256
#define SUBGROUPS_M 2
#define SUBGROUPS_N 4
#define MATRICES_M 4
#define MATRICES_N 4
#define BK 32
#else
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

shared uvec4 tile_a[BM * K_ROW];
shared uvec4 tile_b[BN * K_ROW];

layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Eights { uvec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) writeonly buffer EightsOut { uvec4 v[]; };

uvec4 next_a[A_SLOTS];
uvec4 next_b[B_SLOTS];
// Where a slot's eight lie in the matrix, for the first step, in eights; only if FULL.
uint first_a[A_SLOTS];
uint first_b[B_SLOTS];

// (outer index, k) of a slot's first element.
uvec2 slot_place(bool along_k, uint slot, uint outer) {
    uint e = slot * THREADS + thread_index();
    return along_k ? uvec2(e / (BK / 8), e % (BK / 8) * 8) : uvec2(e % (outer / 8) * 8, e / (outer / 8));
}

uint place_in_matrix(bool along_k, uint outer, uint k, uint row) {
    return (along_k ? outer * row + k : k * row + outer) / 8;
}

uvec4 eight(Eights p, bool along_k, uint outer, uint k, uint outer_n, uint row) {
    bool inside = outer < outer_n && k < k_end;
    return inside ? p.v[place_in_matrix(along_k, outer, k, row)] : uvec4(0);
}

void find_slots(uint m0, uint n0) {
    [[unroll]] for (uint s = 0; s < A_SLOTS; s++) {
        uvec2 p = slot_place(A_ALONG_K, s, BM);
        first_a[s] = place_in_matrix(A_ALONG_K, m0 + p.x, k_begin + p.y, args.a_row);
    }
    [[unroll]] for (uint s = 0; s < B_SLOTS; s++) {
        uvec2 p = slot_place(B_ALONG_K, s, BN);
        first_b[s] = place_in_matrix(B_ALONG_K, n0 + p.x, k_begin + p.y, args.b_row);
    }
}

void read_step(Eights a, Eights b, uint m0, uint n0, uint k0) {
    if (FULL) {
        uint ka = (k0 - k_begin) * (A_ALONG_K ? 1 : args.a_row) / 8;
        uint kb = (k0 - k_begin) * (B_ALONG_K ? 1 : args.b_row) / 8;
        [[unroll]] for (uint s = 0; s < A_SLOTS; s++) next_a[s] = a.v[first_a[s] + ka];
        [[unroll]] for (uint s = 0; s < B_SLOTS; s++) next_b[s] = b.v[first_b[s] + kb];
        return;
    }
    [[unroll]] for (uint s = 0; s < A_SLOTS; s++) {
        uvec2 p = slot_place(A_ALONG_K, s, BM);
        next_a[s] = eight(a, A_ALONG_K, m0 + p.x, k0 + p.y, args.m, args.a_row);
    }
    [[unroll]] for (uint s = 0; s < B_SLOTS; s++) {
        uvec2 p = slot_place(B_ALONG_K, s, BN);
        next_b[s] = eight(b, B_ALONG_K, n0 + p.x, k0 + p.y, args.n, args.b_row);
    }
}

void keep_step() {
    [[unroll]] for (uint s = 0; s < A_SLOTS; s++) {
        uvec2 p = slot_place(A_ALONG_K, s, BM);
        tile_a[A_ALONG_K ? p.x * K_ROW + p.y / 8 : p.y * A_ROW + p.x / 8] = next_a[s];
    }
    [[unroll]] for (uint s = 0; s < B_SLOTS; s++) {
        uvec2 p = slot_place(B_ALONG_K, s, BN);
        tile_b[B_ALONG_K ? p.x * K_ROW + p.y / 8 : p.y * B_ROW + p.x / 8] = next_b[s];
    }
}

#define MATRIX_A coopmat<COMPONENT, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>
#define MATRIX_B coopmat<COMPONENT, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>
#define MATRIX_C coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

#define LOAD_MATRICES(A, B, K)                                                                                    \
    [[unroll]] for (uint i = 0; i < MATRICES_M; i++) {                                                            \
        uint m = sub_m + i * 16;                                                                                  \
        if (A_ALONG_K) coopMatLoad(A[i], tile_a, m * K_ROW + (K) / 8, K_ROW, gl_CooperativeMatrixLayoutRowMajor); \
        else coopMatLoad(A[i], tile_a, (K) * A_ROW + m / 8, A_ROW, gl_CooperativeMatrixLayoutColumnMajor);        \
    }                                                                                                             \
    [[unroll]] for (uint i = 0; i < MATRICES_N; i++) {                                                            \
        uint n = sub_n + i * 16;                                                                                  \
        if (B_ALONG_K) coopMatLoad(B[i], tile_b, n * K_ROW + (K) / 8, K_ROW, gl_CooperativeMatrixLayoutColumnMajor); \
        else coopMatLoad(B[i], tile_b, (K) * B_ROW + n / 8, B_ROW, gl_CooperativeMatrixLayoutRowMajor);           \
    }
#define MULTIPLY(A, B)                                                                                            \
    [[unroll]] for (uint i = 0; i < MATRICES_M; i++)                                                              \
        [[unroll]] for (uint j = 0; j < MATRICES_N; j++)                                                          \
            sum[i * MATRICES_N + j] = coopMatMulAdd(A[i], B[j], sum[i * MATRICES_N + j]);

// Where a subgroup turns a matrix into rows: 16 rows of 16 and 4, in fours, in what A's tile no longer needs.
#define OUT_ROW 5
#define staging tile_a

// Eight results of one row.
void store_eight(uint m, uint n, float v[8]) {
    if (!FULL && (m >= args.m || n >= args.n)) return;
    uint at = m * args.c_row + n;
    if (PARTS && C_EIGHTS) {
        EightsOut out_fours = EightsOut(uvec2(c_part));
        out_fours.v[at / 4] = floatBitsToUint(vec4(v[0], v[1], v[2], v[3]));
        out_fours.v[at / 4 + 1] = floatBitsToUint(vec4(v[4], v[5], v[6], v[7]));
        return;
    }
    if (PARTS) {
        [[unroll]] for (uint i = 0; i < 8; i++)
            if (n + i < args.n) c_part.v[at + i] = v[i];
        return;
    }
    [[unroll]] for (uint i = 0; i < 8; i++) {
        uint j = FULL ? n + i : min(n + i, args.n - 1);
        if (BIAS != BIAS_NONE) v[i] += LOAD(TC, args.bias, BIAS == BIAS_N ? j : m);
        v[i] = activate(v[i], args.alpha);
    }
    if (C_EIGHTS) {
        EightsOut(uvec2(c_matrix)).v[at / 8] = round_eight(v);
        return;
    }
    [[unroll]] for (uint i = 0; i < 8; i++)
        if (n + i < args.n) STORE(TC, c_matrix, at + i, v[i]);
}

void main() {
    uint m0, n0;
    if (!find_tile(BM, BN, m0, n0)) return;
    Eights pa = Eights(uvec2(a_matrix));
    Eights pb = Eights(uvec2(b_matrix));
    uint sub_m = gl_SubgroupID % SUBGROUPS_M * (MATRICES_M * 16);
    uint sub_n = gl_SubgroupID / SUBGROUPS_M * (MATRICES_N * 16);

    MATRIX_C sum[MATRICES_M * MATRICES_N];
    [[unroll]] for (uint i = 0; i < MATRICES_M * MATRICES_N; i++) sum[i] = MATRIX_C(0.0);
    MATRIX_A a[MATRICES_M];
    MATRIX_B b[MATRICES_N];

    if (FULL) find_slots(m0, n0);
    if (k_begin < k_end) {
        read_step(pa, pb, m0, n0, k_begin);
        keep_step();
        barrier();
        for (uint k0 = k_begin + BK; k0 < k_end; k0 += BK) {
            read_step(pa, pb, m0, n0, k0);
            [[unroll]] for (uint k = 0; k < BK; k += 16) {
                LOAD_MATRICES(a, b, k)
                MULTIPLY(a, b)
            }
            // Faster than storing among the last multiplications: 297 TFLOP/s for 259 at 4096 on an H200.
            barrier();
            keep_step();
            barrier();
        }
        [[unroll]] for (uint k = 0; k < BK; k += 16) {
            LOAD_MATRICES(a, b, k)
            MULTIPLY(a, b)
        }
        barrier();
    }

    uint stage = gl_SubgroupID * 16 * OUT_ROW;
    uint lane = gl_SubgroupInvocationID;
    [[unroll]] for (uint i = 0; i < MATRICES_M; i++)
        [[unroll]] for (uint j = 0; j < MATRICES_N; j++) {
            coopMatStore(sum[i * MATRICES_N + j], staging, stage, OUT_ROW, gl_CooperativeMatrixLayoutRowMajor);
            subgroupBarrier();
            vec4 low = uintBitsToFloat(staging[stage + lane / 2 * OUT_ROW + lane % 2 * 2]);
            vec4 high = uintBitsToFloat(staging[stage + lane / 2 * OUT_ROW + lane % 2 * 2 + 1]);
            subgroupBarrier();
            float v[8] = float[8](low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w);
            store_eight(m0 + sub_m + i * 16 + lane / 2, n0 + sub_n + j * 16 + lane % 2 * 8, v);
        }
}
