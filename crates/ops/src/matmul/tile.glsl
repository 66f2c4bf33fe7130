// The register-tiled product that MatMul and the convolutions share: one workgroup makes BM x BN elements of
//   C[m, n] = sum over k of A[m, k] * B[k, n].
// Operands pass through shared memory, the next step's are read while this one's are multiplied.
//
// TILE (a variant) is 128: 128 x 128 by 256 threads; 64: 64 x 64 by 256 threads; 32: 32 x 64 by 128 threads.
// The includer defines, before:
//   A_PLACE, B_PLACE              how a thread's four elements lie, and in which direction its neighbours' (constants):
#define QUAD_OUTER 0         //    four along m (n), neighbours too
#define QUAD_K 1             //    four along k, neighbours too
#define QUAD_K_LANES_OUTER 2 //    four along k, neighbours along m (n)
#define QUAD_OUTER_LANES_K 3 //    four along m (n), neighbours along k
#define ALONG_K(PLACE) ((PLACE) == QUAD_K || (PLACE) == QUAD_K_LANES_OUTER)
//   ACC4 load_a(slot, m, k)       A[m, k..k+3] or A[m..m+3, k]; zero from k_end on; slot is a constant, 0 to A_SLOTS - 1;
//                                 m - m0 and k - k0 depend on the slot alone
//   ACC4 load_b(slot, n, k)       B[k..k+3, n] or B[k, n..n+3]
//   void store_quad(m, n, v)      C[m, n..n+3]; checks the bounds
// and calls tile_product(m0, n0, k_begin, k_end).
#if TILE == 128
#define TM 8
#define GY 16
#else
#define TM 4
#define GY (TILE / 4)
#endif
#define TN TM
#define GX 16
#define BM (GY * TM)
#define BN (GX * TN)
#define BK (64 >> ACC_LOG2)
#define THREADS (GX * GY)
#define A_QUADS (BM * BK / 4)
#define B_QUADS (BN * BK / 4)
#define A_SLOTS ((A_QUADS + THREADS - 1) / THREADS)
#define B_SLOTS ((B_QUADS + THREADS - 1) / THREADS)
// Rows of shared memory, in fours; the odd one keeps columns on different banks.
#define A_ROW (BM / 4 + 1)
#define B_ROW (BN / 4 + 1)

// The small tile keeps one step only and does not unroll: it is for weak devices, and for software ones, whose compilers
// take seconds for the large loops.
// The large one keeps one step too, so that two workgroups fit on a multiprocessor: 47 TFLOP/s for 39 on an H200.
#if TILE == 32
#define STEPS_KEPT 1
#define UNROLL_K [[dont_unroll]]
#elif TILE == 128
#define STEPS_KEPT 1
#define UNROLL_K [[unroll]]
#else
#define STEPS_KEPT 2
#define UNROLL_K [[unroll]]
#endif

shared ACC4 tile_a[STEPS_KEPT * BK * A_ROW];
shared ACC4 tile_b[STEPS_KEPT * BK * B_ROW];

// Which element (outer index, k) of the tile a thread's slot starts at.
uvec2 slot_place(uint how, uint slot, uint outer) {
    uint e = slot * THREADS + thread_index();
    switch (how) {
    case QUAD_K: return uvec2(e / (BK / 4), e % (BK / 4) * 4);
    case QUAD_K_LANES_OUTER: return uvec2(e % outer, e / outer * 4);
    case QUAD_OUTER_LANES_K: return uvec2(e / BK * 4, e % BK);
    }
    return uvec2(e % (outer / 4) * 4, e / (outer / 4));
}
bool slot_used(uint slot, uint quads) { return quads % THREADS == 0 || slot * THREADS + thread_index() < quads; }

// The thread's column and row among the GX x GY: warps of 32 are 8 wide and 4 high, which reads shared memory least.
uvec2 thread_place() {
    uint t = thread_index();
    uint w = t / 32;
    return uvec2(w % 2 * 8 + t % 8, w / 2 * 4 + t / 8 % 4);
}

ACC4 load_a(uint slot, uint m, uint k);
ACC4 load_b(uint slot, uint n, uint k);
void store_quad(uint m, uint n, ACC4 v);

ACC4 next_a[A_SLOTS];
ACC4 next_b[B_SLOTS];
ACC4 sum[TM * TN / 4];

// Reads a step's operands into registers.
void read_step(uint m0, uint n0, uint k0) {
    [[unroll]] for (uint s = 0; s < A_SLOTS; s++) {
        uvec2 p = slot_place(A_PLACE, s, BM);
        if (slot_used(s, A_QUADS)) next_a[s] = load_a(s, m0 + p.x, k0 + p.y);
    }
    [[unroll]] for (uint s = 0; s < B_SLOTS; s++) {
        uvec2 p = slot_place(B_PLACE, s, BN);
        if (slot_used(s, B_QUADS)) next_b[s] = load_b(s, n0 + p.x, k0 + p.y);
    }
}

// Moves them to half `h` of shared memory.
void keep_step(uint h) {
    [[unroll]] for (uint s = 0; s < A_SLOTS; s++) {
        uvec2 p = slot_place(A_PLACE, s, BM);
        uint at = (h * BK + p.y) * A_ROW + p.x / 4;
        if (!slot_used(s, A_QUADS)) continue;
        if (ALONG_K(A_PLACE)) {
            [[unroll]] for (uint i = 0; i < 4; i++) tile_a[at + i * A_ROW][p.x % 4] = next_a[s][i];
        } else {
            tile_a[at] = next_a[s];
        }
    }
    [[unroll]] for (uint s = 0; s < B_SLOTS; s++) {
        uvec2 p = slot_place(B_PLACE, s, BN);
        uint at = (h * BK + p.y) * B_ROW + p.x / 4;
        if (!slot_used(s, B_QUADS)) continue;
        if (ALONG_K(B_PLACE)) {
            [[unroll]] for (uint i = 0; i < 4; i++) tile_b[at + i * B_ROW][p.x % 4] = next_b[s][i];
        } else {
            tile_b[at] = next_b[s];
        }
    }
}

void multiply_step(uint h, uvec2 place) {
    UNROLL_K for (uint k = 0; k < BK; k++) {
        ACC4 a[TM / 4];
        ACC4 b[TN / 4];
        [[unroll]] for (uint i = 0; i < TM / 4; i++) a[i] = tile_a[(h * BK + k) * A_ROW + i * GY + place.y];
        [[unroll]] for (uint j = 0; j < TN / 4; j++) b[j] = tile_b[(h * BK + k) * B_ROW + j * GX + place.x];
        [[unroll]] for (uint i = 0; i < TM; i++)
            [[unroll]] for (uint j = 0; j < TN / 4; j++)
                sum[i * (TN / 4) + j] = madd4(a[i / 4][i % 4], b[j], sum[i * (TN / 4) + j]);
    }
}

void tile_product(uint m0, uint n0, uint k_begin, uint k_end) {
    uvec2 place = thread_place();
    [[unroll]] for (uint i = 0; i < TM * TN / 4; i++) sum[i] = acc4(ACC_ZERO);
#if TILE == 128
    if (k_begin < k_end) {
        read_step(m0, n0, k_begin);
        keep_step(0);
        barrier();
        for (uint k0 = k_begin + BK; k0 < k_end; k0 += BK) {
            read_step(m0, n0, k0);
            multiply_step(0, place);
            barrier();
            keep_step(0);
            barrier();
        }
        multiply_step(0, place);
    }
#elif STEPS_KEPT == 1
    for (uint k0 = k_begin; k0 < k_end; k0 += BK) {
        read_step(m0, n0, k0);
        barrier();
        keep_step(0);
        barrier();
        multiply_step(0, place);
    }
#else
    if (k_begin < k_end) {
        read_step(m0, n0, k_begin);
        keep_step(0);
        barrier();
        uint h = 0;
        for (uint k0 = k_begin + BK; k0 < k_end; k0 += BK) {
            read_step(m0, n0, k0);
            multiply_step(h, place);
            // The other half was multiplied before the last barrier.
            h ^= 1;
            keep_step(h);
            barrier();
        }
        multiply_step(h, place);
    }
#endif
    [[unroll]] for (uint i = 0; i < TM; i++)
        [[unroll]] for (uint j = 0; j < TN / 4; j++)
            store_quad(m0 + (i / 4 * GY + place.y) * 4 + i % 4, n0 + (j * GX + place.x) * 4, sum[i * (TN / 4) + j]);
}
