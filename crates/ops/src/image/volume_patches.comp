// ExtractVolumePatches: moves elements of 1, 2 or 4 bytes (of larger ones: several of 4).
// variants: T = u8 u16 u32
#include "prelude.glsl"

PUSH_ARGS {
    READ(T, x);
    WRITE(T, y);
    uint count, channels; // count: elements of y
    uvec3 size, patches, window, stride;
    ivec3 before;
} args;

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    uint c = i % args.channels, at = i / args.channels;
    uvec3 tap, patch_place;
    for (int k = 2; k >= 0; k--) {
        tap[k] = at % args.window[k];
        at /= args.window[k];
    }
    for (int k = 2; k >= 0; k--) {
        patch_place[k] = at % args.patches[k];
        at /= args.patches[k];
    }
    ivec3 p = ivec3(patch_place * args.stride + tap) - args.before;
    bool inside = all(greaterThanEqual(p, ivec3(0))) && all(lessThan(p, ivec3(args.size)));
    uvec3 u = uvec3(p);
    T v = T(0);
    if (inside) v = LOAD(T, args.x, (((at * args.size.x + u.x) * args.size.y + u.y) * args.size.z + u.z) * args.channels + c);
    STORE(T, args.y, i, v);
}
