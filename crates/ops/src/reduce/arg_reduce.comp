// The index of the largest (smallest) element along the middle axis of x [outer, n, columns]; the first of equals; NaNs are
// passed over, as in TensorFlow. Threads along x take columns, or, where columns is 1, share one row.
// An int64 index is written as two words, the second 0 (WIDE): not every device has 64-bit integers.
// variants: I = bool REAL; O = i32 i16 u16
#include "prelude.glsl"
#include "group.glsl"

layout(constant_id = 3) const uint ROW = 0;
layout(constant_id = 4) const uint SMALLEST = 0;
layout(constant_id = 5) const uint WIDE = 0;

PUSH_ARGS { READ(I, x); WRITE(O, y); uint outer; uint n; uint columns; } args;

struct Best {
    I value;
    uint index;
};

bool before(I a, I b) { return SMALLEST == 1 ? a < b : a > b; }

Best better(Best a, Best b) {
    bool second = before(b.value, a.value) || (b.value == a.value && b.index < a.index);
    return Best(second ? b.value : a.value, second ? b.index : a.index);
}

GROUP_REDUCE(best_of_group, Best, better)

void main() {
    uint side = ROW == 1 ? gl_WorkGroupSize.y : gl_WorkGroupSize.x; // outputs a workgroup
    uint lane = ROW == 1 ? gl_LocalInvocationID.x : gl_LocalInvocationID.y;
    uint lanes = ROW == 1 ? gl_WorkGroupSize.x : gl_WorkGroupSize.y;
    uint across = ROW == 1 ? args.outer : args.columns;
    uint blocks = (across + side - 1) / side;
    uint block = group_index() % blocks, rest = group_index() / blocks;
    uint item = block * side + (ROW == 1 ? gl_LocalInvocationID.y : gl_LocalInvocationID.x);
    uint outer = ROW == 1 ? item : rest;
    uint column = ROW == 1 ? 0 : item;
    bool live = outer < args.outer && column < args.columns && (ROW == 0 || rest == 0);
    // Index 0 with the worst value: what stays when there are only NaNs.
    Best best = Best(SMALLEST == 1 ? I_HIGHEST : I_LOWEST, 0);
    if (live) {
        I_In x = AT(I, args.x, outer * args.n, args.columns);
        for (uint r = lane; r < args.n; r += lanes) best = better(best, Best(LOAD(I, x, r * args.columns + column), r));
    }
    best = ROW == 1 ? best_of_group(best, LANES_X) : best_of_group(best, LANES_Y);
    if (live && lane == 0) {
        O_Out y = AT_OUT(O, args.y, outer, args.columns << WIDE);
        STORE(O, y, column << WIDE, O(best.index));
        if (WIDE == 1) STORE(O, y, 2 * column + 1, O(0));
    }
}
