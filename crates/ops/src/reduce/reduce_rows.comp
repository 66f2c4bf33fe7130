// Reduces rows of n elements again and again, each time other ones, and computes what follows from the results: a
// normalisation in one launch. Everything that reads and writes takes the place of functions here when it is known
// (expr/spirv/rows.rs). The geometry and the tree are those of reduce_row.comp with one part a row.
// variants: I = f32; O = f32; ARGS = push memory
#define ROWS
#include "prelude.glsl"
#include "reduce.glsl"

layout(constant_id = 7) const uint STAGES = 1; // how many reductions, at most four
layout(constant_id = 8) const uint MEANS = 0;  // a bit for each: whether it is divided by n

#if ARGS == ARGS_push
PUSH_ARGS { uint rows; uint n; uint operands[30]; } args;
#else
MEMORY_ARGS { uint rows; uint n; uint operands[96]; };
BIND_ARGS
#endif

// Which row, the place of its first element, which reduction it is for, and the results so far.
struct Source { uint row; uint first; uint stage; vec4 results; };

// Element i of the row, which is element `at` of all, and four of them.
A fetch(const uint row, const uint i, const uint at, const uint stage, const vec4 results) { return A(at) + results.x; }
A_VEC4 fetch4(const uint row, const uint i, const uint at, const uint stage, const vec4 results) { return A_VEC4(at) + results; }
// Writes what is one element in the row's each, or four; and what is one in each row. The types tell them apart.
void emit(const uint row, const uint i, const uint at, const vec4 results) {}
void emit4(const uint row, const uint i, const vec4 results, const uint at) {}
void emit_row(const uint row, const vec4 results) {}

#define FETCH(x, i) fetch((x).row, i, (x).first + (i), (x).stage, (x).results)
#define FETCH4(x, i) fetch4((x).row, i, (x).first / 4 + (i), (x).stage, (x).results)
GROUP_REDUCE(reduce_group, A, combine)
#include "row.glsl"

void main() {
    uint row = group_index() * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    bool live = row < args.rows;
    uint lane = gl_LocalInvocationID.x, step = gl_WorkGroupSize.x, first = row * args.n;
    vec4 results = vec4(0);
    for (uint stage = 0; stage < STAGES; stage++) {
        A acc = identity();
        Source x = Source(row, first, stage, results);
        if (live) {
            if (VECTOR == 1) acc = reduce_vectors(x, lane, step);
            else acc = reduce_scalars(x, lane, step);
        }
        acc = reduce_group(acc, LANES_X);
        results[stage] = (MEANS >> stage & 1) == 1 ? acc / A(args.n) : acc;
    }
    if (!live) return;
    if (lane == 0) emit_row(row, results);
    if (VECTOR == 1)
        for (uint i = lane; i < args.n / 4; i += step) emit4(row, i, results, first / 4 + i);
    else
        for (uint i = lane; i < args.n; i += step) emit(row, i, first + i, results);
}
