// Matrix product of a batch, C = A B, any strides and transpositions, bias and activation at the end.
// variants: TA = f32; TB = f32; TC = f32; TILE = 128 64 32
// variants: TA = f16; TB = f16; TC = f16; TILE = 128 64 32
// variants: TA = bf16; TB = bf16; TC = bf16; TILE = 128 64 32
// variants: TA = f64; TB = f64; TC = f64; TILE = 64 32
// variants: TA = i32; TB = i32; TC = i32; TILE = 64 32
// variants: TA = u32; TB = u32; TC = u32; TILE = 32
// variants: TA = i64; TB = i64; TC = i64; TILE = 64 32
// variants: TA = u64; TB = u64; TC = u64; TILE = 32
// variants: TA = i16; TB = i16; TC = i16; TILE = 32
// variants: TA = u16; TB = u16; TC = u16; TILE = 32
// variants: TA = u8; TB = u8; TC = u8; TILE = 32
// variants: TA = i8 u8; TB = i8 u8; TC = i32; TILE = 32
// variants: TA = c64; TB = c64; TC = c64; TILE = 64 32
// variants: TA = c128; TB = c128; TC = c128; TILE = 32
#include "prelude.glsl"
#include "accumulate.glsl"
#include "epilogue.glsl"

// Whether rows of four elements are aligned and complete.
layout(constant_id = 5) const bool A_FOURS = false;
layout(constant_id = 6) const bool B_FOURS = false;
layout(constant_id = 7) const bool C_FOURS = false;
layout(constant_id = 8) const bool CONJ_A = false;
layout(constant_id = 9) const bool CONJ_B = false;
#include "matmul_args.glsl"

#define A_PLACE (A_ALONG_K ? QUAD_K : QUAD_OUTER)
#define B_PLACE (B_ALONG_K ? QUAD_K : QUAD_OUTER)
#include "tile.glsl"

#if TC_IS_COMPLEX
#define CONJ_IF(value, flag) ((flag) ? ACC((value).x, -(value).y) : (value))
#else
#define CONJ_IF(value, flag) ACC(value)
#endif

// Four elements of a matrix whose rows have `row` elements, from (outer, inner) on; zeros from `outer_n`, `inner_n` on.
#if TC_HAS_VEC4
#define QUAD_LOADER(NAME, P)                                                                                               \
    ACC4 NAME(P##_In p, uint outer, uint inner, uint outer_n, uint inner_n, uint row, bool fours, bool conj) {             \
        ACC4 q = acc4(ACC_ZERO);                                                                                           \
        if (outer >= outer_n || inner >= inner_n) return q;                                                                \
        uint at = outer * row + inner;                                                                                     \
        if (fours) return ACC4(P##_vload4(P##_In4(uvec2(p)), at / 4));                                                     \
        [[unroll]] for (uint i = 0; i < 4; i++)                                                                            \
            if (inner + i < inner_n) q[i] = CONJ_IF(P##_load(p, at + i), conj);                                            \
        return q;                                                                                                          \
    }
#else
#define QUAD_LOADER(NAME, P)                                                                                               \
    ACC4 NAME(P##_In p, uint outer, uint inner, uint outer_n, uint inner_n, uint row, bool fours, bool conj) {             \
        ACC4 q = acc4(ACC_ZERO);                                                                                           \
        if (outer >= outer_n || inner >= inner_n) return q;                                                                \
        uint at = outer * row + inner;                                                                                     \
        [[unroll]] for (uint i = 0; i < 4; i++)                                                                            \
            if (inner + i < inner_n) q[i] = CONJ_IF(P##_load(p, at + i), conj);                                            \
        return q;                                                                                                          \
    }
#endif
QUAD_LOADER(quad_a, TA)
QUAD_LOADER(quad_b, TB)

ACC4 load_a(uint slot, uint m, uint k) {
    if (A_ALONG_K) return quad_a(a_matrix, m, k, args.m, k_end, args.a_row, A_FOURS, CONJ_A);
    return quad_a(a_matrix, k, m, k_end, args.m, args.a_row, A_FOURS, CONJ_A);
}

ACC4 load_b(uint slot, uint n, uint k) {
    if (B_ALONG_K) return quad_b(b_matrix, n, k, args.n, k_end, args.b_row, B_FOURS, CONJ_B);
    return quad_b(b_matrix, k, n, k_end, args.n, args.b_row, B_FOURS, CONJ_B);
}

void store_quad(uint m, uint n, ACC4 v) {
    if (m >= args.m || n >= args.n) return;
    uint at = m * args.c_row + n;
    if (PARTS) {
        [[unroll]] for (uint i = 0; i < 4; i++)
            if (n + i < args.n) c_part.v[at + i] = v[i];
        return;
    }
#if TC_IS_FLOAT
    [[unroll]] for (uint i = 0; i < 4; i++) {
        uint j = min(n + i, args.n - 1);
        if (BIAS != BIAS_NONE) v[i] += LOAD(TC, args.bias, BIAS == BIAS_N ? j : m);
        v[i] = activate(v[i], args.alpha);
    }
#endif
#if TC_HAS_VEC4
    if (C_FOURS) {
        STORE4(TC, c_matrix, at / 4, v);
        return;
    }
#endif
    [[unroll]] for (uint i = 0; i < 4; i++)
        if (n + i < args.n) STORE(TC, c_matrix, at + i, v[i]);
}

void main() {
    uint m0, n0;
    if (find_tile(BM, BN, m0, n0)) tile_product(m0, n0, k_begin, k_end);
}
