// Rows that index tuples name, as uint32; `limit` for a tuple that is out of range.
// variants: IX = 4 8
#include "prelude.glsl"
#include "gather/index.glsl"

layout(constant_id = 3) const uint DEPTH = 1;

layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer Words { uint v[]; };
PUSH_ARGS { Indices indices; Words keys; uint n; uint limit; uint per_row; int dims[8]; } args;

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    int row = args.per_row != 0u ? int(i / args.per_row) : 0;
    bool inside = true;
    for (uint k = 0u; k < DEPTH; k++) {
        int x = load_index(args.indices, i * DEPTH + k);
        inside = inside && x >= 0 && x < args.dims[k];
        row = row * args.dims[k] + x;
    }
    args.keys.v[i] = inside ? uint(row) : args.limit;
}
