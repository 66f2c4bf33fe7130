// The largest k of one long row by sorting: keys that ascend as TopK's order does, and then what the sort found.
// variants: T = REAL; PHASE = keys emit
#include "prelude.glsl"
#include "sort/topk_order.glsl"

layout(constant_id = 3) const uint RESULT = 4;

// `first` is the row's first place among the indices.
PUSH_ARGS { READ(T, x); WRITE(T, values); Words indices; Words words; uint n; uint first; } args;

#if PHASE == PHASE_keys
// Bits whose unsigned order is that of the numbers, then turned over.
uint key32(uint bits) { return ~((bits >> 31) != 0u ? ~bits : bits | 0x80000000u); }
uvec2 key64(uvec2 bits) { return ~((bits.y >> 31) != 0u ? ~bits : uvec2(bits.x, bits.y | 0x80000000u)); }

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    T x = LOAD(T, args.x, i);
#if T_IS_FLOAT && T_SIZE == 8
    // Zeros are equal, NaNs are the largest.
    if (x == T(0)) x = T(0);
    uvec2 key = is_nan(x) ? uvec2(0u) : key64(unpackDouble2x32(x));
#elif T_IS_FLOAT
    if (x == T(0)) x = T(0);
    uint key = is_nan(x) ? 0u : key32(floatBitsToUint(x));
#elif T_SIZE == 8
    uvec2 bits = uvec2(uint(x & T(0xffffffffu)), uint(x >> 32));
#if T_IS_SIGNED
    bits.y ^= 0x80000000u;
#endif
    uvec2 key = ~bits;
#elif T_IS_SIGNED
    uint key = ~(uint(x) ^ 0x80000000u);
#else
    uint key = ~x;
#endif
#if T_SIZE == 8
    args.words.v[2u * i] = key.x;
    args.words.v[2u * i + 1u] = key.y;
#else
    args.words.v[i] = key;
#endif
}
#else
void main() {
    uint i = global_index();
    if (i >= args.n) return;
    uint from = args.words.v[i];
    STORE(T, args.values, args.first + i, LOAD(T, args.x, from));
    store_index(args.indices, RESULT, args.first + i, from);
}
#endif
