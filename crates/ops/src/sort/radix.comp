// One pass of a stable radix sort by 4 bits: count the digits of each block, then (after a prefix sum over all counts)
// move keys and payload to their places. Nothing depends on the subgroup size.
// variants: KEY = 4 8; PHASE = count move
#include "prelude.glsl"
#include "sort/key.glsl"

#define ITEMS 8u
#define DIGITS 16u

// Digit d of block b is counted in counts[d * blocks + b]. An absent payload is the key's number.
PUSH_ARGS { Keys keys; Words payload; Keys sorted; Words order; Words counts; uint n; uint blocks; uint shift; } args;

#if PHASE == PHASE_count
shared uint histogram[DIGITS];

void main() {
    uint block = group_index();
    if (block >= args.blocks) return;
    for (uint d = thread_index(); d < DIGITS; d += group_size()) histogram[d] = 0u;
    barrier();
    uint first = block * group_size() * ITEMS;
    for (uint k = 0u; k < ITEMS; k++) {
        uint i = first + k * group_size() + thread_index();
        if (i < args.n) atomicAdd(histogram[key_digit(args.keys.v[i], args.shift, DIGITS - 1u)], 1u);
    }
    barrier();
    for (uint d = thread_index(); d < DIGITS; d += group_size()) args.counts.v[d * args.blocks + block] = histogram[d];
}
#else
#include "sort/group_scan.glsl"
// At most 128 invocations: 8 KiB.
shared uint place[DIGITS * 128u];

void main() {
    uint block = group_index();
    if (block >= args.blocks) return;
    uint t = thread_index(), threads = group_size();
    uint first = (block * threads + t) * ITEMS;
    [[unroll]] for (uint d = 0u; d < DIGITS; d++) place[d * threads + t] = 0u;
    KEY_TYPE key[ITEMS];
    for (uint k = 0u; k < ITEMS; k++) {
        if (first + k < args.n) {
            key[k] = args.keys.v[first + k];
            place[key_digit(key[k], args.shift, DIGITS - 1u) * threads + t]++;
        }
    }
    barrier();
    // Prefix sums over (digit, invocation): each invocation takes DIGITS neighbours.
    uint sum = 0u;
    for (uint d = 0u; d < DIGITS; d++) sum += place[t * DIGITS + d];
    uint all;
    uint before = group_scan(sum, all);
    for (uint d = 0u; d < DIGITS; d++) {
        uint c = place[t * DIGITS + d];
        place[t * DIGITS + d] = before;
        before += c;
    }
    barrier();
    // From places in the block to places in the whole.
    uint offset[DIGITS];
    [[unroll]] for (uint d = 0u; d < DIGITS; d++) {
        offset[d] = args.counts.v[d * args.blocks + block] - place[d * threads];
    }
    barrier();
    for (uint k = 0u; k < ITEMS; k++) {
        if (first + k < args.n) {
            uint d = key_digit(key[k], args.shift, DIGITS - 1u);
            uint at = place[d * threads + t]++ + offset[d];
            args.sorted.v[at] = key[k];
            args.order.v[at] = IS_NULL(args.payload) ? first + k : args.payload.v[first + k];
        }
    }
}
#endif
