// Reduces rows: x is [rows, n], y is [rows, splits]; each row is dealt out to `splits` parts, as many elements in turn as a
// part has threads. (Contiguous parts start a power of two apart: all of them would wait for the same memory channels.)
// gl_WorkGroupSize.x threads share a part, gl_WorkGroupSize.y parts share a workgroup.
// variants: I = bool; O = bool
// variants: I = i8; O = i8
// variants: I = i16; O = i16
// variants: I = i32; O = i32
// variants: I = i64; O = i64
// variants: I = u8; O = u8
// variants: I = u16; O = u16
// variants: I = u32; O = u32
// variants: I = u64; O = u64
// variants: I = f16; O = f16
// variants: I = bf16; O = bf16
// variants: I = f32; O = f32
// variants: I = f64; O = f64
// variants: I = c64; O = c64
// variants: I = c128; O = c128
// Partial results of the halves, and of means of integers.
// variants: I = f16 bf16; O = f32
// variants: I = f32; O = f16 bf16
// variants: I = i8 i16 i32 u8 u16 u32; O = i64
// variants: I = i64; O = i8 i16 i32 u8 u16 u32
#include "prelude.glsl"
#include "reduce.glsl"

PUSH_ARGS { READ(I, x); WRITE(O, y); uint rows; uint n; uint splits; uint count; } args;

GROUP_REDUCE(reduce_group, A, combine)

A reduce_scalars(I_In x, uint first, uint step) {
    A acc = identity();
    for (uint i = first; i < args.n; i += step) acc = combine(acc, prepare(A(LOAD(I, x, i))));
    return acc;
}

#if I_HAS_VEC4
A reduce_vectors(I_In x, uint first, uint step) {
    uint n4 = args.n / 4, i = first;
    A_VEC4 acc = A_VEC4(identity());
    // Four loads under way before the first is used.
    for (; i + 3 * step < n4; i += 4 * step) {
        A_VEC4 a = A_VEC4(LOAD4(I, x, i)), b = A_VEC4(LOAD4(I, x, i + step));
        A_VEC4 c = A_VEC4(LOAD4(I, x, i + 2 * step)), d = A_VEC4(LOAD4(I, x, i + 3 * step));
        acc = combine4(acc, combine4(combine4(prepare4(a), prepare4(b)), combine4(prepare4(c), prepare4(d))));
    }
    for (; i < n4; i += step) acc = combine4(acc, prepare4(A_VEC4(LOAD4(I, x, i))));
    A one = combine(combine(acc.x, acc.y), combine(acc.z, acc.w));
    for (i = 4 * n4 + first; i < args.n; i += step) one = combine(one, prepare(A(LOAD(I, x, i))));
    return one;
}
#endif

void main() {
    uint job = group_index() * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    bool live = job < args.rows * args.splits;
    uint row = job / args.splits, split = job % args.splits;
    uint first = split * gl_WorkGroupSize.x + gl_LocalInvocationID.x, step = args.splits * gl_WorkGroupSize.x;
    I_In x = AT(I, args.x, row, args.n);
    A acc = identity();
    if (live) {
#if I_HAS_VEC4
        if (VECTOR == 1) acc = reduce_vectors(x, first, step);
        else
#endif
            acc = reduce_scalars(x, first, step);
    }
    acc = reduce_group(acc, LANES_X);
    if (live && gl_LocalInvocationID.x == 0) STORE(O, args.y, job, O(finish(acc, args.count)));
}
