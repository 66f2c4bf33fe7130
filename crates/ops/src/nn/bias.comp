// y = x + bias by channel, x being [outer, channels, inner]; one thread a piece (an element, or four neighbours).
// variants: T = i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128
#include "prelude.glsl"

layout(constant_id = 3) const uint LAST = 0;   // inner is 1
layout(constant_id = 4) const uint VECTOR = 0;

PUSH_ARGS { READ(T, x); READ(T, bias); WRITE(T, y); uint pieces; uint channels; uint inner; } args;

void main() {
    uint i = global_index();
    if (i >= args.pieces) return;
#if T_HAS_VEC4
    if (VECTOR == 1) {
        T_VEC4 b;
        if (LAST == 1) {
            uint c = 4 * (i % (args.channels / 4));
            [[unroll]] for (uint k = 0; k < 4; k++) b[k] = LOAD(T, args.bias, c + k);
        } else {
            b = T_VEC4(LOAD(T, args.bias, i / (args.inner / 4) % args.channels));
        }
        STORE4(T, args.y, i, LOAD4(T, args.x, i) + b);
        return;
    }
#endif
    uint c = (LAST == 1 ? i : i / args.inner) % args.channels;
    STORE(T, args.y, i, LOAD(T, args.x, i) + LOAD(T, args.bias, c));
}
