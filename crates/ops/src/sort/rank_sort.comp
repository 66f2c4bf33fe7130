// A stable sort of few keys: each finds its place by counting those before it.
// variants: KEY = 4 8
#include "prelude.glsl"
#include "sort/key.glsl"

PUSH_ARGS { Keys keys; Keys sorted; Words order; uint n; } args;

shared KEY_TYPE tile[256];

void main() {
    uint i = global_index();
    KEY_TYPE key = args.keys.v[min(i, args.n - 1u)];
    uint rank = 0u;
    for (uint base = 0u; base < args.n; base += group_size()) {
        barrier();
        tile[thread_index()] = args.keys.v[min(base + thread_index(), args.n - 1u)];
        barrier();
        uint count = min(group_size(), args.n - base);
        for (uint k = 0u; k < count; k++) {
            bool before = key_less(tile[k], key) || (base + k < i && !key_less(key, tile[k]));
            rank += uint(before);
        }
    }
    if (i < args.n) {
        args.sorted.v[rank] = key;
        args.order.v[rank] = i;
    }
}
