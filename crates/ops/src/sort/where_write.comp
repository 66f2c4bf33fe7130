// The coordinates of the flagged elements, in order, as int64.
#include "prelude.glsl"

layout(constant_id = 3) const uint RANK = 1;

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Words { uint v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) writeonly buffer Longs { uvec2 v[]; };
// `places` are the prefix sums of the flags, `count` is their total.
PUSH_ARGS { Words places; Words total; Longs dst; uint n; uint dims[8]; } args;

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    uint place = args.places.v[i];
    uint next = i + 1u < args.n ? args.places.v[i + 1u] : args.total.v[0];
    if (next == place) return;
    uint rest = i;
    for (int k = int(RANK) - 1; k >= 0; k--) {
        args.dst.v[place * RANK + uint(k)] = uvec2(rest % args.dims[k], 0u);
        rest /= args.dims[k];
    }
}
