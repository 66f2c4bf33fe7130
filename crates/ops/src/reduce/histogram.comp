// Counts of values in bins of one width; those outside count in the first and the last bin, NaN in none. `D` is what places are
// computed in.
// variants: T = f32; D = f32 f64; U = i32
// variants: T = f64; D = f64; U = i32
#include "prelude.glsl"

#define KEPT 1024u
PUSH_ARGS { READ(T, x); READ_WRITE(U, counts); T low; D step; uint n; uint bins; uint threads; } args;

shared uint kept[KEPT];

void main() {
    bool few = args.bins <= KEPT;
    for (uint i = thread_index(); i < KEPT; i += group_size()) kept[i] = 0u;
    barrier();
    for (uint i = global_index(); i < args.n; i += args.threads) {
        T v = LOAD(T, args.x, i);
        if (is_nan(v)) continue;
        T above = max(v, args.low) - args.low;
        uint bin = uint(min(D(above) / args.step, D(args.bins - 1)));
        if (few) {
            atomicAdd(kept[bin], 1u);
        } else {
            atomicAdd(args.counts.v[bin], 1);
        }
    }
    barrier();
    if (!few) return;
    for (uint i = thread_index(); i < args.bins; i += group_size()) {
        if (kept[i] != 0u) atomicAdd(args.counts.v[i], int(kept[i]));
    }
}
