// Where each value belongs in its row of sorted numbers: before the first that is not less, or (UPPER) that is greater.
// variants: T = REAL
#include "prelude.glsl"

layout(constant_id = 3) const uint UPPER = 0;
// Bytes of a result.
layout(constant_id = 4) const uint RESULT = 4;

layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer Words { uint v[]; };
PUSH_ARGS { READ(T, numbers); READ(T, values); Words dst; uint n; uint width; uint per_row; } args;

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    T value = LOAD(T, args.values, i);
    T_In row = AT(T, args.numbers, i / args.per_row, args.width);
    uint lo = 0u, hi = args.width;
    while (lo < hi) {
        uint mid = (lo + hi) / 2u;
        T x = LOAD(T, row, mid);
        bool before = UPPER != 0u ? !(value < x) : x < value;
        if (before) lo = mid + 1u;
        else hi = mid;
    }
    if (RESULT == 8u) {
        args.dst.v[2u * i] = lo;
        args.dst.v[2u * i + 1u] = 0u;
    } else {
        args.dst.v[i] = lo;
    }
}
