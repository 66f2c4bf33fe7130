// start + i * delta, each step rounded to the element type as TensorFlow does.
// variants: T = i64 FLOAT
#include "prelude.glsl"

// The bits of start and delta, from the lowest byte.
PUSH_ARGS { WRITE(T, dst); uvec2 start; uvec2 delta; uint n; } args;

#if T_ID == DT_f16
#define DECODE(b) unpackHalf2x16((b).x).x
#define ROUND(a) unpackHalf2x16(tfvk_f16_bits(a)).x
#elif T_ID == DT_bf16
#define DECODE(b) uintBitsToFloat((b).x << 16)
#define ROUND(a) uintBitsToFloat(tfvk_bf16_bits(a) << 16)
#elif T_ID == DT_f32
#define DECODE(b) uintBitsToFloat((b).x)
#define ROUND(a) (a)
#elif T_ID == DT_f64
#define DECODE(b) packDouble2x32(b)
#define ROUND(a) (a)
#elif T_ID == DT_i64
#define DECODE(b) packInt2x32(ivec2(b))
#define ROUND(a) (a)
#elif T_ID == DT_u64
#define DECODE(b) packUint2x32(b)
#define ROUND(a) (a)
#else
// Narrow integers wrap when stored.
#define DECODE(b) T((b).x)
#define ROUND(a) (a)
#endif

void main() {
    uint i = global_index();
    if (i >= args.n) return;
    precise T product = ROUND(T(i)) * DECODE(args.delta);
    product = ROUND(product);
    precise T sum = DECODE(args.start) + product;
    STORE(T, args.dst, i, sum);
}
