// Batch normalisation, last pass, one thread a piece.
// KIND forward: y = (x - mean) * scale / sqrt(variance + epsilon) + offset (+ side), then relu if asked for; the mean is
// mean + rest.
// KIND backward: the gradient of x. TRAINING: mean and variance depend on x; `count` elements a channel.
// variants: T = FLOAT_NN; F = f32; KIND = forward backward
#include "prelude.glsl"
#include "batch_norm.glsl"

layout(constant_id = 5) const uint RELU = 0;
layout(constant_id = 6) const uint TRAINING = 0;

#if KIND == KIND_forward
PUSH_ARGS {
    READ(T, x); READ(F, mean); READ(F, variance); READ(F, scale); READ(F, offset); READ(T, side); READ(F, rest); WRITE(T, y);
    uint pieces; uint channels; uint inner; float epsilon;
} args;
#else
PUSH_ARGS {
    READ(T, dy); READ(T, x); READ(F, mean); READ(F, variance); READ(F, scale);
    READ(F, scale_gradient); READ(F, offset_gradient); READ(T, mask); WRITE(T, dx); WRITE(T, dside);
    uint pieces; uint channels; uint inner; float epsilon; float count;
} args;
#endif

void main() {
    uint i = global_index();
    if (i >= args.pieces) return;
    uint c;
    if (LAST == 1) c = VECTOR == 1 ? 4 * (i % (args.channels / 4)) : i % args.channels;
    else c = i / (VECTOR == 1 ? args.inner / 4 : args.inner) % args.channels;
    vec4 deviation = sqrt(per_channel(args.variance, c) + args.epsilon);
    vec4 factor = per_channel(args.scale, c) / deviation;
#if KIND == KIND_forward
    precise vec4 distance = load_piece(args.x, i) - per_channel(args.mean, c);
    if (!IS_NULL(args.rest)) distance -= per_channel(args.rest, c);
    vec4 y = distance * factor + per_channel(args.offset, c);
    if (!IS_NULL(args.side)) y += load_piece(args.side, i);
    // A NaN stays one.
    if (RELU == 1) y = mix(y, vec4(0), lessThan(y, vec4(0)));
    store_piece(args.y, i, y);
#else
    vec4 g = load_piece(args.dy, i);
    if (!IS_NULL(args.mask)) g = mix(vec4(0), g, greaterThan(load_piece(args.mask, i), vec4(0)));
    if (!IS_NULL(args.dside)) store_piece(args.dside, i, g);
    if (TRAINING == 1) {
        vec4 hat = (load_piece(args.x, i) - per_channel(args.mean, c)) / deviation;
        g -= (per_channel(args.offset_gradient, c) + hat * per_channel(args.scale_gradient, c)) / args.count;
    }
    store_piece(args.dx, i, g * factor);
#endif
}
