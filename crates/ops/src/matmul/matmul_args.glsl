// What matrix products share: constants, arguments, and which part of which matrix a workgroup makes. Needs TA, TB, TC,
// accumulate.glsl, epilogue.glsl.
// Whether A lies [m, k] (else [k, m]) and B lies [n, k] (else [k, n]).
layout(constant_id = 3) const bool A_ALONG_K = true;
layout(constant_id = 4) const bool B_ALONG_K = false;
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
uint k_begin;

// Finds the workgroup's tile of bm x bn and its part of K; false if there is none.
bool find_tile(uint bm, uint bn, out uint m0, out uint n0) {
    uint g = group_index();
    if (g >= args.groups) return false;
    uint tiles_m = (args.m + bm - 1) / bm;
    uint tiles_n = (args.n + bn - 1) / bn;
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
    m0 = tm * bm;
    n0 = tn * bn;
    k_begin = part * args.k_part;
    k_end = PARTS ? min(k_begin + args.k_part, args.k) : args.k;
    return true;
}
