// Strided copy where the contiguous dimension of the source (a) is not that of the destination (b): square tiles go
// through shared memory, so that both sides move whole lines.
// variants: SIZE = 1 2 4 8 16
#include "prelude.glsl"
#include "element.glsl"

layout(constant_id = 3) const uint TILE = 32;
// Dimensions besides a and b.
layout(constant_id = 4) const uint RANK = 0;

PUSH_ARGS {
    Source src;
    Destination dst;
    int src_first;
    int dst_first;
    uint a;
    uint b;
    int a_dst;
    int b_src;
    uint tiles_a;
    uint tiles_b;
    uint groups;
    // Outermost first.
    uint n[6];
    int src_stride[6];
    int dst_stride[6];
} args;

// The odd row length spreads a column over the banks.
shared WORD tile[TILE * (TILE + 1)];

void main() {
    uint g = group_index();
    if (g >= args.groups) return;
    uint q = g / args.tiles_b;
    uint b0 = (g - q * args.tiles_b) * TILE;
    uint rest = q / args.tiles_a;
    uint a0 = (q - rest * args.tiles_a) * TILE;
    int s = args.src_first;
    int d = args.dst_first;
    [[unroll]] for (uint k = RANK; k-- > 0;) {
        uint next = rest / args.n[k];
        int r = int(rest - next * args.n[k]);
        s += r * args.src_stride[k];
        d += r * args.dst_stride[k];
        rest = next;
    }
    uint x = thread_index() % TILE;
    uint y = thread_index() / TILE;
    uint step = gl_WorkGroupSize.x / TILE;
    [[unroll]] for (uint r = 0; r < TILE; r += step) {
        uint ia = a0 + x;
        uint ib = b0 + y + r;
        if (ia < args.a && ib < args.b) tile[(y + r) * (TILE + 1) + x] = load(args.src, s + int(ia) + int(ib) * args.b_src);
    }
    barrier();
    [[unroll]] for (uint r = 0; r < TILE; r += step) {
        uint ib = b0 + x;
        uint ia = a0 + y + r;
        if (ia < args.a && ib < args.b) store(args.dst, d + int(ib) + int(ia) * args.a_dst, tile[x * (TILE + 1) + y + r]);
    }
}
