// Up to eight parts side by side in one tensor, joined or cut in one go. The whole is [rows, width] units of SIZE bytes, part
// p its columns from `first[p]` to `first[p + 1]`; the parts lie dense in memory of their own.
// variants: SIZE = 1 2 4 8 16
#include "prelude.glsl"
#include "copy/element.glsl"

// 1: from the whole to the parts.
layout(constant_id = 3) const uint CUT = 0;
layout(constant_id = 4) const uint UNROLL = 4;

PUSH_ARGS { Source whole; Source part[8]; uint first[9]; uint rows; uint width; } args;

void main() {
    uint begin = args.first[0], columns = args.first[8] - begin;
    uint count = args.rows * columns;
    uint base = group_index() * group_size() * UNROLL + thread_index();
    for (uint u = 0u; u < UNROLL; u++) {
        uint i = base + u * group_size();
        if (i >= count) return;
        uint row = i / columns, column = begin + i % columns;
        Source part = args.part[0];
        uint from = begin, to = args.first[1];
        [[unroll]] for (uint p = 1u; p < 8u; p++) {
            if (column >= args.first[p]) {
                part = args.part[p];
                from = args.first[p];
                to = args.first[p + 1u];
            }
        }
        int inner = int(row * (to - from) + column - from);
        int outer = int(row * args.width + column);
        if (CUT != 0u) store(Destination(uvec2(part)), inner, load(args.whole, outer));
        else store(Destination(uvec2(args.whole)), outer, load(part, inner));
    }
}
