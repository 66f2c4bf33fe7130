// Reduces rows: x is [rows, n], y is [rows, splits]; each row is dealt out to `splits` parts, as many elements in turn as a
// part has threads. (Contiguous parts start a power of two apart: all of them would wait for the same memory channels.)
// gl_WorkGroupSize.x threads share a part, gl_WorkGroupSize.y parts share a workgroup.
// variants: I = bool; O = bool; SOURCE = memory
// variants: I = i8; O = i8; SOURCE = memory
// variants: I = i16; O = i16; SOURCE = memory
// variants: I = i32; O = i32; SOURCE = memory
// variants: I = i64; O = i64; SOURCE = memory
// variants: I = u8; O = u8; SOURCE = memory
// variants: I = u16; O = u16; SOURCE = memory
// variants: I = u32; O = u32; SOURCE = memory
// variants: I = u64; O = u64; SOURCE = memory
// variants: I = f16; O = f16; SOURCE = memory
// variants: I = bf16; O = bf16; SOURCE = memory
// variants: I = f32; O = f32; SOURCE = memory
// variants: I = f64; O = f64; SOURCE = memory
// variants: I = c64; O = c64; SOURCE = memory
// variants: I = c128; O = c128; SOURCE = memory
// Partial results of the halves, and of means of integers.
// variants: I = f16 bf16; O = f32; SOURCE = memory
// variants: I = f32; O = f16 bf16; SOURCE = memory
// variants: I = i8 i16 i32 u8 u16 u32; O = i64; SOURCE = memory
// variants: I = i64; O = i8 i16 i32 u8 u16 u32; SOURCE = memory
// Elements that a chain of element-wise ops computes (expr/spirv/graft.rs).
// variants: I = f16; O = f16 f32; SOURCE = chain
// variants: I = bf16; O = bf16 f32; SOURCE = chain
// variants: I = f32; O = f32; SOURCE = chain
#include "prelude.glsl"
#include "reduce.glsl"

PUSH_ARGS { SOURCE_ARG WRITE(O, y); uint rows; uint n; uint splits; uint count; OPERANDS_ARG } args;

GROUP_REDUCE(reduce_group, A, combine)

#include "row.glsl"

void main() {
    uint job = group_index() * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    bool live = job < args.rows * args.splits;
    uint row = job / args.splits, split = job % args.splits;
    uint first = split * gl_WorkGroupSize.x + gl_LocalInvocationID.x, step = args.splits * gl_WorkGroupSize.x;
    Source x = SOURCE_AT(row, args.n);
    A acc = identity();
    if (live) {
#if I_HAS_VEC4
        if (VECTOR != 0) acc = reduce_vectors(x, first, step);
        else
#endif
            acc = reduce_scalars(x, first, step);
    }
    acc = reduce_group(acc, LANES_X);
    if (live && gl_LocalInvocationID.x == 0) STORE(O, args.y, job, O(finish(acc, args.count)));
}
