// out[p, d, s] = indices[p, s] == d ? on : off.
// variants: SIZE = 1 2 4 8 16; IX = 1 4 8
#include "prelude.glsl"
#include "copy/element.glsl"
#include "gather/index.glsl"

// A one-byte index is signed.
layout(constant_id = 3) const uint SIGNED = 0;

PUSH_ARGS { Indices indices; Source on; Source off; Destination dst; uint n; uint depth; uint suffix; } args;

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    uint s = i % args.suffix;
    uint rest = i / args.suffix;
    int index = load_index(args.indices, rest / args.depth * args.suffix + s);
    if (SIGNED != 0u && index > 127) index = -1;
    WORD w = index == int(rest % args.depth) ? load(args.on, 0) : load(args.off, 0);
    store(args.dst, int(i), w);
}
