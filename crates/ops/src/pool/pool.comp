// Pooling: the largest or the mean of each window, or what a gradient has at the largest.
// variants: T = REAL
#include "prelude.glsl"
#include "pool/window.glsl"

// 0: max, NaN ignored; 1: mean; 2: max with its place, a NaN that comes first stays; 3: `other` at that place.
layout(constant_id = 4) const uint MODE = 0;
// Bytes of a place; 1 where it counts from the start of the batch, not of the image.
layout(constant_id = 5) const uint PLACE = 8;
layout(constant_id = 6) const uint WITH_BATCH = 0;

layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer Places { uint v[]; };
PUSH_ARGS { READ(T, x); READ(T, other); WRITE(T, y); Places places; uint n; Window w; } args;

#if T_ID == DT_f32
#define LOWEST (-3.40282346638528859812e38)
#elif T_ID == DT_f16
#define LOWEST (-65504.0)
#elif T_ID == DT_bf16
#define LOWEST uintBitsToFloat(0xff7f0000u)
#elif T_ID == DT_f64
#define LOWEST packDouble2x32(uvec2(0xffffffffu, 0xffefffffu))
#else
#define LOWEST T_LOWEST
#endif

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    Window w = args.w;
    Place p = place_of(i, w.pooled, w.channels);
    ivec3 first, last;
    window_of(w, p.at, first, last);
    T acc = MODE == 1u ? T(0) : LOWEST;
    bool found = false;
    uint best = 0u;
    for (int d = first.x; d <= last.x; d++) {
        for (int h = first.y; h <= last.y; h++) {
            for (int v = first.z; v <= last.z; v++) {
                uint at = index_of(p, ivec3(d, h, v), w.size, w.channels);
                T x = LOAD(T, args.x, at);
                if (MODE == 1u) {
                    acc += x;
                } else if (acc < x || (MODE >= 2u && !found)) {
                    acc = x;
                    best = at;
                    found = true;
                }
            }
        }
    }
    if (MODE == 1u) {
        ivec3 extent = max(last - first + 1, ivec3(0));
        acc /= T(max(extent.x * extent.y * extent.z, 1));
    }
    if (MODE == 3u) acc = found ? LOAD(T, args.other, best) : T(0);
    STORE(T, args.y, i, acc);
    if (MODE == 2u) {
        if (WITH_BATCH == 0u) best -= p.batch * uint(w.size.x * w.size.y * w.size.z) * w.channels;
        if (PLACE == 8u) {
            args.places.v[2u * i] = best;
            args.places.v[2u * i + 1u] = 0u;
        } else {
            args.places.v[i] = best;
        }
    }
}
