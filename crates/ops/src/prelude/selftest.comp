// Test kernel of the prelude: loads, converts and stores every element type, one by one and in fours.
// variants: T = ALL
#include "prelude.glsl"

PUSH_ARGS { READ(T, x); WRITE(T, y); uint n; } args;

void main() {
    uint i = global_index();
    if (i >= args.n) return;
#if T_HAS_VEC4
    if (4 * i + 3 < args.n) {
        STORE4(T, args.y, i, LOAD4(T, args.x, i));
        return;
    }
    uint last = args.n - args.n % 4;
    for (uint k = last; 4 * i == last && k < args.n; k++) STORE(T, args.y, k, LOAD(T, args.x, k));
#else
    STORE(T, args.y, i, LOAD(T, args.x, i));
#endif
}
