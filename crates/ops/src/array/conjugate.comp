// Conjugates complex numbers in place.
// variants: T = c64 c128
#include "prelude.glsl"

PUSH_ARGS { READ_WRITE(T, y); uint n; } args;

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    T v = LOAD_OUT(T, args.y, i);
    STORE(T, args.y, i, T(v.x, -v.y));
}
