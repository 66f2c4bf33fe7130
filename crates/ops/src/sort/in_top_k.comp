// Whether fewer than k predictions of a row are larger than the target's. False where that cannot be said: a target out of
// range, a prediction that is not finite.
// variants: IX = 4 8
#include "prelude.glsl"
#include "gather/index.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Floats { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 1) writeonly buffer Bools { uint8_t v[]; };
PUSH_ARGS { Floats predictions; Indices targets; Bools dst; uint rows; uint width; int k; } args;

void main() {
    uint row = global_index();
    if (row >= args.rows) return;
    int target = load_index(args.targets, row);
    bool known = target >= 0 && target < int(args.width);
    uint first = row * args.width;
    float mine = known ? args.predictions.v[first + uint(target)] : 0.0;
    int larger = 0;
    for (uint c = 0u; c < args.width && known; c++) {
        float p = args.predictions.v[first + c];
        known = !is_nan(p) && !is_inf(p);
        larger += int(p > mine);
    }
    args.dst.v[row] = uint8_t(known && larger < args.k ? 1u : 0u);
}
