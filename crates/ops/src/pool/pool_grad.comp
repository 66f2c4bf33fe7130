// The gradient of pooling: each input element sums over the windows that it is in, in their order.
// variants: T = REAL
#include "prelude.glsl"
#include "pool/window.glsl"

// 0: max, found again in x (the first of equals); 1: mean; 2: max, at the given places.
layout(constant_id = 4) const uint MODE = 0;
layout(constant_id = 5) const uint PLACE = 8;
layout(constant_id = 6) const uint WITH_BATCH = 0;

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Places { uint v[]; };
PUSH_ARGS { READ(T, x); READ(T, dy); WRITE(T, dx); Places places; uint n; Window w; } args;

// Whether element `self` is the largest of output o's window.
bool is_largest(Place p, uint self, ivec3 o) {
    Window w = args.w;
    ivec3 first, last;
    window_of(w, o, first, last);
    bool found = false;
    uint best = 0u;
    T acc = T(0);
    for (int d = first.x; d <= last.x; d++) {
        for (int h = first.y; h <= last.y; h++) {
            for (int v = first.z; v <= last.z; v++) {
                uint at = index_of(p, ivec3(d, h, v), w.size, w.channels);
                T x = LOAD(T, args.x, at);
                if (!found || acc < x) {
                    acc = x;
                    best = at;
                    found = true;
                }
            }
        }
    }
    return best == self;
}

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    Window w = args.w;
    Place p = place_of(i, w.size, w.channels);
    ivec3 first, last;
    outputs_of(w, p.at, first, last);
    uint place = WITH_BATCH != 0u ? i : i - p.batch * uint(w.size.x * w.size.y * w.size.z) * w.channels;
    T sum = T(0);
    for (int d = first.x; d <= last.x; d++) {
        for (int h = first.y; h <= last.y; h++) {
            for (int v = first.z; v <= last.z; v++) {
                ivec3 o = ivec3(d, h, v);
                uint at = index_of(p, o, w.pooled, w.channels);
                if (MODE == 1u) {
                    ivec3 f, l;
                    window_of(w, o, f, l);
                    ivec3 extent = l - f + 1;
                    sum += LOAD(T, args.dy, at) / T(extent.x * extent.y * extent.z);
                } else if (MODE == 2u) {
                    if (args.places.v[PLACE == 8u ? 2u * at : at] == place) sum += LOAD(T, args.dy, at);
                } else if (is_largest(p, i, o)) {
                    sum += LOAD(T, args.dy, at);
                }
            }
        }
    }
    STORE(T, args.dx, i, sum);
}
