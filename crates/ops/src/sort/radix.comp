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
// At most 128 invocations: 8 KiB. Counts of each (digit, invocation); then the block's keys in order, and their payload.
shared uint place[DIGITS * 128u];
// From places in the block to places in the whole.
shared uint offset[DIGITS];

void put(uint at, uint key) { place[at] = key; }
void put(uint at, uvec2 key) { place[2u * at] = key.x; place[2u * at + 1u] = key.y; }
#if KEY == 8
uvec2 get(uint at) { return uvec2(place[2u * at], place[2u * at + 1u]); }
#else
uint get(uint at) { return place[at]; }
#endif

void main() {
    uint block = group_index();
    if (block >= args.blocks) return;
    uint t = thread_index(), threads = group_size();
    uint start = block * threads * ITEMS, first = start + t * ITEMS, here = min(args.n - start, threads * ITEMS);
    [[unroll]] for (uint d = 0u; d < DIGITS; d++) place[d * threads + t] = 0u;
    KEY_TYPE key[ITEMS];
    [[unroll]] for (uint k = 0u; k < ITEMS; k++) {
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
    for (uint d = t; d < DIGITS; d += threads) offset[d] = args.counts.v[d * args.blocks + block] - place[d * threads];
    barrier();
    uint rank[ITEMS];
    [[unroll]] for (uint k = 0u; k < ITEMS; k++)
        if (first + k < args.n) rank[k] = place[key_digit(key[k], args.shift, DIGITS - 1u) * threads + t]++;
    barrier();
    // In order first, so that neighbours write next to each other.
    [[unroll]] for (uint k = 0u; k < ITEMS; k++)
        if (first + k < args.n) put(rank[k], key[k]);
    barrier();
    uint to[ITEMS];
    [[unroll]] for (uint k = 0u; k < ITEMS; k++) {
        uint i = k * threads + t;
        if (i < here) {
            KEY_TYPE moved = get(i);
            to[k] = i + offset[key_digit(moved, args.shift, DIGITS - 1u)];
            args.sorted.v[to[k]] = moved;
        }
    }
    barrier();
    [[unroll]] for (uint k = 0u; k < ITEMS; k++)
        if (first + k < args.n) place[rank[k]] = IS_NULL(args.payload) ? first + k : args.payload.v[first + k];
    barrier();
    [[unroll]] for (uint k = 0u; k < ITEMS; k++) {
        uint i = k * threads + t;
        if (i < here) args.order.v[to[k]] = place[i];
    }
}
#endif
