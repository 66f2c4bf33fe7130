// Reduces columns: x is [outer, n, columns], y is [outer, splits, columns]; n is cut into `splits` chunks of `chunk`.
// gl_WorkGroupSize.x threads stand side by side (one column each, or four), gl_WorkGroupSize.y share a column's chunk.
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

PUSH_ARGS { SOURCE_ARG WRITE(O, y); uint outer; uint n; uint columns; uint splits; uint chunk; uint count; OPERANDS_ARG } args;

#if I_HAS_VEC4
GROUP_REDUCE(reduce_group, A_VEC4, combine4)

void columns4(Source x, O_Out y, uint column, uint length) {
    uint r = gl_LocalInvocationID.y, step = gl_WorkGroupSize.y, pitch = args.columns / 4;
    A_VEC4 acc = A_VEC4(identity());
    bool live = column < pitch;
    if (live) {
        for (; r + 3 * step < length; r += 4 * step) {
            A_VEC4 a = A_VEC4(FETCH4(x, r * pitch + column)), b = A_VEC4(FETCH4(x, (r + step) * pitch + column));
            A_VEC4 c = A_VEC4(FETCH4(x, (r + 2 * step) * pitch + column)), d = A_VEC4(FETCH4(x, (r + 3 * step) * pitch + column));
            acc = combine4(acc, combine4(combine4(prepare4(a), prepare4(b)), combine4(prepare4(c), prepare4(d))));
        }
        for (; r < length; r += step) acc = combine4(acc, prepare4(A_VEC4(FETCH4(x, r * pitch + column))));
    }
    acc = reduce_group(acc, LANES_Y);
    if (live && gl_LocalInvocationID.y == 0) {
        [[unroll]] for (uint k = 0; k < 4; k++) STORE(O, y, 4 * column + k, O(finish(acc[k], args.count)));
    }
}
#endif

GROUP_REDUCE(reduce_group1, A, combine)

void columns1(Source x, O_Out y, uint column, uint length) {
    A acc = identity();
    bool live = column < args.columns;
    if (live) {
        for (uint r = gl_LocalInvocationID.y; r < length; r += gl_WorkGroupSize.y)
            acc = combine(acc, prepare(A(FETCH(x, r * args.columns + column))));
    }
    acc = reduce_group1(acc, LANES_Y);
    if (live && gl_LocalInvocationID.y == 0) STORE(O, y, column, O(finish(acc, args.count)));
}

void main() {
    uint width = gl_WorkGroupSize.x * (VECTOR != 0 ? 4 : 1);
    uint blocks = (args.columns + width - 1) / width;
    uint job = group_index();
    uint block = job % blocks, rest = job / blocks;
    uint split = rest % args.splits, outer = rest / args.splits;
    if (outer >= args.outer) return;
    uint start = split * args.chunk;
    uint length = start < args.n ? min(args.chunk, args.n - start) : 0;
    Source x = SOURCE_AT(outer * args.n + start, args.columns);
    O_Out y = AT_OUT(O, args.y, outer * args.splits + split, args.columns);
    uint column = block * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
#if I_HAS_VEC4
    if (VECTOR != 0) {
        columns4(x, y, column, length);
        return;
    }
#endif
    columns1(x, y, column, length);
}
