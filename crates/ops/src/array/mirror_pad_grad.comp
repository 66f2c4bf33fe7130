// The gradient of a mirrored border: each element gets what was read of it. At most three places an axis, summed in order.
// variants: T = NUMBER
#include "prelude.glsl"

layout(constant_id = 3) const uint RANK = 1;
// 1 where the border leaves the edge element out.
layout(constant_id = 4) const int OFFSET = 0;

PUSH_ARGS { READ(T, dy); WRITE(T, dx); uint n; int dim[6]; int before[6]; int after[6]; } args;

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    int at[6];
    uint combinations = 1u;
    uint rest = i;
    for (int k = int(RANK) - 1; k >= 0; k--) {
        at[k] = int(rest % uint(args.dim[k]));
        rest /= uint(args.dim[k]);
        combinations *= 3u;
    }
    T sum = T(0);
    for (uint c = 0u; c < combinations; c++) {
        uint digits = c;
        int from = 0;
        bool valid = true;
        for (uint k = 0u; k < RANK; k++) {
            int b = args.before[k], d = args.dim[k], a = args.after[k];
            uint which = digits % 3u;
            digits /= 3u;
            int p = at[k] + b;
            if (which == 1u) {
                p = b - 1 + OFFSET - at[k];
                valid = valid && p >= 0 && p < b;
            } else if (which == 2u) {
                int q = d - 1 - OFFSET - at[k];
                p = b + d + q;
                valid = valid && q >= 0 && q < a;
            }
            from = from * (b + d + a) + p;
        }
        if (valid) sum += LOAD(T, args.dy, from);
    }
    STORE(T, args.dx, i, sum);
}
