// For each row that `indices` names: the first and the last place where it does. `first` starts as all ones, `last` as 0.
#include "prelude.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint v[]; };

PUSH_ARGS {
    uvec2 indices;     // int32 or int64 [count]
    uvec2 first, last; // uint32 [rows]
    uint count, rows;
    uint wide;         // indices are int64
} args;

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    Words indices = Words(args.indices);
    uint row = args.wide != 0 ? (indices.v[2 * i + 1] == 0 ? indices.v[2 * i] : ~0u) : indices.v[i];
    if (row >= args.rows) return;
    atomicMin(Words(args.first).v[row], i);
    atomicMax(Words(args.last).v[row], i);
}
