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

// Whether A lies [m, k] (else [k, m]) and B lies [n, k] (else [k, n]).
layout(constant_id = 3) const bool A_ALONG_K = true;
layout(constant_id = 4) const bool B_ALONG_K = false;
// Whether rows of four elements are aligned and complete.
layout(constant_id = 5) const bool A_FOURS = false;
layout(constant_id = 6) const bool B_FOURS = false;
layout(constant_id = 7) const bool C_FOURS = false;
layout(constant_id = 8) const bool CONJ_A = false;
layout(constant_id = 9) const bool CONJ_B = false;
// Sums of parts of K go to partial results, each laid out as C is; C is dense as a whole then.
layout(constant_id = 10) const bool PARTS = false;

PUSH_ARGS {
    READ(TA, a);
    READ(TB, b);
    WRITE(TC, c);
    READ(TC, bias);
    uint m;
    uint n;
    uint k;
    // Elements from one row (as it lies) to the next.
    uint a_row;
    uint b_row;
    uint c_row;
    uint groups;
    // K of one part, a multiple of BK.
    uint k_part;
    // The batch: up to three dimensions, outermost first; strides in units of so many elements.
    uint batch1;
    uint batch2;
    uint a_unit;
    uint b_unit;
    uint c_unit;
    uint a_batch[3];
    uint b_batch[3];
    uint c_batch[3];
    float alpha;
} args;

TA_In a_matrix;
TB_In b_matrix;
TC_Out c_matrix;
Partial c_part;
uint k_end;

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
    uint g = group_index();
    if (g >= args.groups) return;
    uint tiles_m = (args.m + BM - 1) / BM;
    uint tiles_n = (args.n + BN - 1) / BN;
    uint tiles = tiles_m * tiles_n;
    uint matrix = g / tiles;
    uint t = g - matrix * tiles;
    uint batches = args.groups / tiles;
    uint part = 0;
    if (PARTS) {
        batches = batches / ((args.k + args.k_part - 1) / args.k_part);
        part = matrix / batches;
    }
    uint batch = matrix - part * batches;
    uint i2 = batch % args.batch2;
    uint i1 = batch / args.batch2 % args.batch1;
    uint i0 = batch / args.batch2 / args.batch1;
    uint ic = i0 * args.c_batch[0] + i1 * args.c_batch[1] + i2 * args.c_batch[2];
    a_matrix = AT(TA, args.a, i0 * args.a_batch[0] + i1 * args.a_batch[1] + i2 * args.a_batch[2], args.a_unit);
    b_matrix = AT(TB, args.b, i0 * args.b_batch[0] + i1 * args.b_batch[1] + i2 * args.b_batch[2], args.b_unit);
    if (PARTS) c_part = partial_at(partial_at(Partial(uvec2(args.c)), part, batches * args.m * args.n), ic, args.c_unit);
    else c_matrix = AT_OUT(TC, args.c, ic, args.c_unit);

    // Eight rows of tiles at a time, column by column: what a wave of workgroups reads stays in cache.
    uint band = t / (8 * tiles_n);
    uint high = min(8, tiles_m - band * 8);
    uint in_band = t - band * 8 * tiles_n;
    uint tm = band * 8 + in_band % high;
    uint tn = in_band / high;

    uint k_begin = part * args.k_part;
    k_end = PARTS ? min(k_begin + args.k_part, args.k) : args.k;
    tile_product(tm * BM, tn * BN, k_begin, k_end);
}
