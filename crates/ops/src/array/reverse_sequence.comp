// The first lengths[b] elements of each sequence reversed. The tensor is [.., outer, mid, inner, tail]; outer and inner
// are the batch and the sequence axis, in either order.
// variants: SIZE = 1 2 4 8 16; IX = 4 8
#include "prelude.glsl"
#include "copy/element.glsl"
#include "gather/index.glsl"

// The sequence axis is the inner one.
layout(constant_id = 3) const uint SEQ_INNER = 1;

PUSH_ARGS { Source src; Indices lengths; Destination dst; uint n; uint outer; uint mid; uint inner; uint tail; } args;

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    uint j = i / args.tail % args.inner;
    uint o = i / (args.tail * args.inner * args.mid) % args.outer;
    uint at = SEQ_INNER != 0u ? j : o;
    uint batch = SEQ_INNER != 0u ? o : j;
    uint step = SEQ_INNER != 0u ? args.tail : args.tail * args.inner * args.mid;
    int len = min(load_index(args.lengths, batch), int(SEQ_INNER != 0u ? args.inner : args.outer));
    int from = int(i);
    if (int(at) < len) from += (len - 1 - 2 * int(at)) * int(step);
    store(args.dst, int(i), load(args.src, from));
}
