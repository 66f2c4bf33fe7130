// Batch normalisation, second pass: the splits' moments become the op's per-channel outputs. One workgroup a channel.
// variants: F = f32; KIND = forward backward
#include "prelude.glsl"
#include "group.glsl"

#if KIND == KIND_forward
// A split stands for `each` elements, the last for the rest of `count`. The last row of parts becomes what the mean as f32
// lacks of the mean.
PUSH_ARGS {
    READ_WRITE(F, parts); READ(F, old_mean); READ(F, old_variance);
    WRITE(F, batch_mean); WRITE(F, batch_variance); WRITE(F, saved_mean); WRITE(F, saved_variance);
    uint channels; uint splits; uint each; uint count; float factor;
} args;
#else
PUSH_ARGS {
    READ(F, parts); READ(F, variance); WRITE(F, scale_gradient); WRITE(F, offset_gradient);
    uint channels; uint splits; float epsilon;
} args;
#endif

#if KIND == KIND_forward
#define PART(row) LOAD_OUT(F, args.parts, (row) * args.channels + c)
#else
#define PART(row) LOAD(F, args.parts, (row) * args.channels + c)
#endif

struct State {
    float a, b, n;
};
State join(State p, State q) {
#if KIND == KIND_forward
    float n = p.n + q.n;
    float share = n > 0.0 ? q.n / n : 0.0;
    float d = q.a - p.a;
    return State(p.a + d * share, p.b + q.b + d * d * (p.n * share), n);
#else
    return State(p.a + q.a, p.b + q.b, 0.0);
#endif
}
GROUP_REDUCE(join_group, State, join)

void main() {
    uint c = group_index();
    if (c >= args.channels) return;
    State t = State(0.0, 0.0, 0.0);
    for (uint s = gl_LocalInvocationID.x; s < args.splits; s += gl_WorkGroupSize.x) {
        float a = PART(s), b = PART(args.splits + s);
#if KIND == KIND_forward
        t = join(t, State(a, b, float(min(args.each, args.count - s * args.each))));
#else
        t = join(t, State(a, b, 0.0));
#endif
    }
    t = join_group(t, LANES_X);
    if (gl_LocalInvocationID.x != 0) return;
#if KIND == KIND_forward
    float variance = t.b / t.n;
    float unbiased = t.b / max(t.n - 1.0, 1.0);
    float f = args.factor;
    bool mixed = f != 1.0;
    precise float base = PART(2 * args.splits);
    precise float mean = base + t.a;
    precise float rest = t.a - (mean - base);
    STORE(F, args.parts, (2 * args.splits + 1) * args.channels + c, rest);
    STORE(F, args.saved_mean, c, mean);
    STORE(F, args.saved_variance, c, variance);
    STORE(F, args.batch_mean, c, mixed ? (1.0 - f) * LOAD(F, args.old_mean, c) + f * mean : mean);
    STORE(F, args.batch_variance, c, mixed ? (1.0 - f) * LOAD(F, args.old_variance, c) + f * unbiased : unbiased);
#else
    STORE(F, args.offset_gradient, c, t.a);
    STORE(F, args.scale_gradient, c, t.b / sqrt(LOAD(F, args.variance, c) + args.epsilon));
#endif
}
