// Rows picked by index: out row r is params row f(indices), or zeros where an index is out of range.
// A workgroup copies a tile of `tile_rows` rows by `tile_units` units of SIZE bytes.
// variants: SIZE = 1 2 4 8 16; IX = 4 8
#include "prelude.glsl"
#include "copy/element.glsl"
#include "gather/index.glsl"

// Indices per row, each into one of `dims`.
layout(constant_id = 3) const uint DEPTH = 1;
// Units that an invocation copies.
layout(constant_id = 4) const uint UNROLL = 4;

// Out is [batch, outer, n, units], indices [batch, n, DEPTH], params [batch, outer, product of dims, units].
PUSH_ARGS {
    Source params; Indices indices; Destination dst;
    uint rows; uint units; uint tile_rows; uint tile_units; uint tiles; uint outer; uint n; uint slab;
    int dims[8];
} args;

#define LOG2 (SIZE == 16 ? 4u : SIZE == 8 ? 3u : SIZE == 4 ? 2u : SIZE == 2 ? 1u : 0u)

// The row of params that out row `r` copies, or -1.
int source_row(uint r) {
    uint block = r / args.n;
    uint at = (block / args.outer * args.n + r % args.n) * DEPTH;
    int row = 0;
    bool inside = true;
    for (uint k = 0u; k < DEPTH; k++) {
        int i = load_index(args.indices, at + k);
        inside = inside && i >= 0 && i < args.dims[k];
        row = row * args.dims[k] + i;
    }
    return inside ? int(block * args.slab) + row : -1;
}

void main() {
    uint group = group_index();
    uint first_row = group / args.tiles * args.tile_rows;
    uint first_unit = group % args.tiles * args.tile_units;
    if (first_row >= args.rows) return;
    uint width = min(args.tile_units, args.units - first_unit);
    uint count = min(args.tile_rows, args.rows - first_row) * width;
    if (args.tile_rows == 1u) {
        int from = source_row(first_row);
        Source src = Source(tfvk_offset(uvec2(args.params), uint(max(from, 0)), args.units, LOG2));
        Destination dst = Destination(tfvk_offset(uvec2(args.dst), first_row, args.units, LOG2));
        [[unroll]] for (uint u = 0u; u < UNROLL; u++) {
            uint f = thread_index() + u * group_size();
            if (f < count) store(dst, int(first_unit + f), from < 0 ? WORD(0u) : load(src, int(first_unit + f)));
        }
        return;
    }
    for (uint u = 0u; u < UNROLL; u++) {
        uint f = thread_index() + u * group_size();
        if (f >= count) return;
        uint row = first_row + f / width, unit = first_unit + f % width;
        int from = source_row(row);
        Source src = Source(tfvk_offset(uvec2(args.params), uint(max(from, 0)), args.units, LOG2));
        Destination dst = Destination(tfvk_offset(uvec2(args.dst), row, args.units, LOG2));
        store(dst, int(unit), from < 0 ? WORD(0u) : load(src, int(unit)));
    }
}
