// Weighted sums of neighbours along one axis: element k of the result is the sum over j of weights[k, j] x[starts[k] + j], where an
// index past the end is that of the last element.
// variants: T = i8 u8 i16 u16 i32 i64 f16 bf16 f32 f64; F = f32; I = i32
#include "prelude.glsl"

PUSH_ARGS {
    READ(T, x);       // [outer, size, inner]
    READ(I, starts);  // [results]
    READ(F, weights); // [results, span]
    WRITE(F, y);      // [outer, results, inner]
    uint count, size, results, span, inner; // count: elements of y
} args;

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    uint inner = i % args.inner, k = i / args.inner % args.results, outer = i / args.inner / args.results;
    uint start = uint(LOAD(I, args.starts, k));
    precise float sum = 0.0;
    for (uint j = 0; j < args.span; j++) {
        float weight = LOAD(F, args.weights, k * args.span + j);
        uint at = min(start + j, args.size - 1);
        if (weight != 0.0) sum += weight * float(LOAD(T, args.x, (outer * args.size + at) * args.inner + inner));
    }
    STORE(F, args.y, i, sum);
}
