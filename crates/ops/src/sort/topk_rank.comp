// The largest k of each row, where rows are short: every element finds its rank by counting. Of equals the first wins.
// A workgroup takes a stretch of one row.
// variants: T = REAL
#include "prelude.glsl"
#include "sort/topk_order.glsl"

layout(constant_id = 3) const uint RESULT = 4;

PUSH_ARGS { READ(T, x); WRITE(T, values); Words indices; uint rows; uint width; uint k; uint stretches; } args;

shared T tile[256];

void main() {
    uint row = group_index() / args.stretches;
    if (row >= args.rows) return;
    uint i = group_index() % args.stretches * group_size() + thread_index();
    T_In src = AT(T, args.x, row, args.width);
    T mine = LOAD(T, src, min(i, args.width - 1u));
    uint rank = 0u;
    for (uint base = 0u; base < args.width; base += group_size()) {
        barrier();
        tile[thread_index()] = LOAD(T, src, min(base + thread_index(), args.width - 1u));
        barrier();
        uint count = min(group_size(), args.width - base);
        for (uint j = 0u; j < count; j++) {
            rank += uint(before(tile[j], mine) || (base + j < i && !before(mine, tile[j])));
        }
    }
    if (i < args.width && rank < args.k) {
        STORE(T, AT_OUT(T, args.values, row, args.k), rank, mine);
        store_index(args.indices, RESULT, row * args.k + rank, i);
    }
}
