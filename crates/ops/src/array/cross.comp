// Cross products of vectors of three, a thread each.
// variants: T = REAL
#include "prelude.glsl"

PUSH_ARGS { READ(T, a); READ(T, b); WRITE(T, y); uint n; } args;

T part(uint at, uint i, uint j) {
    precise T x = LOAD(T, args.a, at + i) * LOAD(T, args.b, at + j);
    precise T y = LOAD(T, args.a, at + j) * LOAD(T, args.b, at + i);
    return x - y;
}

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    STORE(T, args.y, 3 * i, part(3 * i, 1, 2));
    STORE(T, args.y, 3 * i + 1, part(3 * i, 2, 0));
    STORE(T, args.y, 3 * i + 2, part(3 * i, 0, 1));
}
