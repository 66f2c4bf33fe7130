// Strided copy, one invocation an element of SIZE bytes, in the destination's order.
// variants: SIZE = 1 2 4 8 16
#include "prelude.glsl"
#include "element.glsl"

layout(constant_id = 3) const uint RANK = 1;

PUSH_ARGS {
    Source src;
    Destination dst;
    int src_first;
    int dst_first;
    uint count;
    // Outermost first.
    uint n[8];
    int src_stride[8];
    int dst_stride[8];
} args;

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    int s = args.src_first;
    int d = args.dst_first;
    [[unroll]] for (uint k = RANK - 1; k > 0; k--) {
        uint q = i / args.n[k];
        int r = int(i - q * args.n[k]);
        s += r * args.src_stride[k];
        d += r * args.dst_stride[k];
        i = q;
    }
    s += int(i) * args.src_stride[0];
    d += int(i) * args.dst_stride[0];
    store(args.dst, d, load(args.src, s));
}
