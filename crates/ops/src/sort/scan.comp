// An exclusive prefix sum of uint32 over the whole device: the sum of each block, their prefix sums (one workgroup), the
// blocks themselves. A block is ITEMS consecutive elements an invocation.
// variants: PHASE = sums spine blocks
#include "prelude.glsl"
#include "sort/group_scan.glsl"

#define ITEMS 8u

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint v[]; };

// `sums` has one element a block; the total goes to `total`, unless that is absent. May be done in place.
PUSH_ARGS { Words src; Words dst; Words sums; Words total; uint n; } args;

void main() {
#if PHASE == PHASE_spine
    uint carry = 0u;
    for (uint base = 0u; base < args.n; base += group_size()) {
        uint i = base + thread_index();
        uint all;
        uint before = group_scan(i < args.n ? args.sums.v[i] : 0u, all);
        if (i < args.n) args.sums.v[i] = carry + before;
        carry += all;
    }
    if (thread_index() == 0u && !IS_NULL(args.total)) args.total.v[0] = carry;
#else
    uint block = group_index();
    uint first = (block * group_size() + thread_index()) * ITEMS;
    if (block * group_size() * ITEMS >= args.n) return;
    uint x[ITEMS];
    uint sum = 0u;
    [[unroll]] for (uint k = 0u; k < ITEMS; k++) {
        x[k] = first + k < args.n ? args.src.v[first + k] : 0u;
        sum += x[k];
    }
    uint all;
    uint before = group_scan(sum, all);
#if PHASE == PHASE_sums
    if (thread_index() == 0u) args.sums.v[block] = all;
#else
    before += args.sums.v[block];
    [[unroll]] for (uint k = 0u; k < ITEMS; k++) {
        if (first + k < args.n) args.dst.v[first + k] = before;
        before += x[k];
    }
#endif
#endif
}
