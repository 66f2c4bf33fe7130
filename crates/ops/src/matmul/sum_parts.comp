// Adds the parts of a product whose K was split, in order, then bias and activation.
// variants: TC = f32 f16 bf16 f64 i16 i32 i64 u8 u16 u32 u64 c64 c128
#include "prelude.glsl"
#include "accumulate.glsl"
#define EPILOGUE_ERF
#include "epilogue.glsl"

PUSH_ARGS {
    Partial parts;
    WRITE(TC, c);
    READ(TC, bias);
    uint count;
    uint part_count;
    // Row length of c, and rows of one matrix.
    uint n;
    uint m;
    float alpha;
} args;

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    ACC x = args.parts.v[i];
    for (uint p = 1; p < args.part_count; p++) x += partial_at(args.parts, p, args.count).v[i];
#if TC_IS_FLOAT
    if (BIAS == BIAS_N) x += LOAD(TC, args.bias, i % args.n);
    if (BIAS == BIAS_M) x += LOAD(TC, args.bias, i / args.n % args.m);
    x = activate(x, args.alpha);
#endif
    STORE(TC, args.c, i, x);
}
