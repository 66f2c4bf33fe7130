// 1 where an element is not zero.
// variants: T = ALL
#include "prelude.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer Words { uint v[]; };
PUSH_ARGS { READ(T, x); Words flags; uint n; } args;

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    args.flags.v[i] = uint(LOAD(T, args.x, i) != T(0));
}
