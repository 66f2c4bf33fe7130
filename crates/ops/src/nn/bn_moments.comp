// Batch normalisation, first pass: per channel and split, partial moments: parts is [2 * splits + 2, channels].
// KIND forward: the mean and the sum of squared distances from it. Elements are taken relative to the channel's first one
// (row 2 * splits of parts), so a mean far from zero costs no digits; each thread then measures from its own first element
// and the threads' moments are merged pairwise, so an outlier at the front costs none either.
// KIND backward: the sums of dy and of dy * (x - mean).
// variants: T = FLOAT_NN; F = f32; KIND = forward backward
#include "prelude.glsl"
#include "group.glsl"
#include "batch_norm.glsl"

#if KIND == KIND_forward
#define GRADIENT
#else
#define GRADIENT READ(T, dy); READ(F, mean); READ(T, mask);
#endif
// `total` elements of a channel are cut into splits of `chunk`; all three are in pieces where channels are first.
PUSH_ARGS {
    READ(T, x); GRADIENT WRITE(F, parts);
    uint channels; uint inner; uint total; uint splits; uint chunk;
} args;

struct State {
    vec4 a;  // forward: means; backward: sums of dy
    vec4 b;  // forward: squared distances; backward: sums of dy * (x - mean)
    float n; // how many elements each of the four stands for
};

State join(State p, State q) {
#if KIND == KIND_forward
    float n = p.n + q.n;
    float share = n > 0.0 ? q.n / n : 0.0;
    vec4 d = q.a - p.a;
    return State(p.a + d * share, p.b + q.b + d * d * (p.n * share), n);
#else
    return State(p.a + q.a, p.b + q.b, p.n + q.n);
#endif
}
GROUP_REDUCE(join_group, State, join)

// Running sums of one thread. `base` is the channel's first element.
vec4 base = vec4(0), origin = vec4(0), sum = vec4(0), sum2 = vec4(0);
float seen = 0.0;

void take(uint i) {
#if KIND == KIND_forward
    // precise: else a driver may subtract the sum of both at once.
    precise vec4 v = load_piece(args.x, i) - base;
    if (seen == 0.0) origin = v;
    v -= origin;
    sum += v;
    sum2 += v * v;
#else
    vec4 v = load_piece(args.x, i), g = load_piece(args.dy, i);
    if (!IS_NULL(args.mask)) g = mix(vec4(0), g, greaterThan(load_piece(args.mask, i), vec4(0)));
    sum += g;
    sum2 += g * (v - origin);
#endif
    seen += 1.0;
}

State state() {
#if KIND == KIND_forward
    if (seen == 0.0) return State(vec4(0), vec4(0), 0.0);
    vec4 m = sum / seen;
    vec4 squares = sum2 - sum * m;
    return State(origin + m, mix(squares, vec4(0), lessThan(squares, vec4(0))), seen);
#else
    return State(sum, sum2, seen);
#endif
}

// The four of a piece, all of the same channel, as one in .x.
State fold(State s) {
    if (VECTOR == 0) return s;
    State p = join(State(s.a.xxxx, s.b.xxxx, s.n), State(s.a.yyyy, s.b.yyyy, s.n));
    State q = join(State(s.a.zzzz, s.b.zzzz, s.n), State(s.a.wwww, s.b.wwww, s.n));
    return join(p, q);
}

void put(uint split, uint c, float a, float b) {
    STORE(F, args.parts, split * args.channels + c, a);
    STORE(F, args.parts, (args.splits + split) * args.channels + c, b);
}

void put_base(uint c, float a) {
    STORE(F, args.parts, 2 * args.splits * args.channels + c, a);
}

void channels_last() {
    uint pitch = VECTOR == 1 ? args.channels / 4 : args.channels;
    uint blocks = (pitch + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
    uint block = group_index() % blocks, split = group_index() / blocks;
    if (split >= args.splits) return;
    uint column = block * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint c = VECTOR == 1 ? 4 * column : column;
    bool live = column < pitch;
    if (live) {
#if KIND == KIND_backward
        origin = per_channel(args.mean, c);
#else
        base = load_piece(args.x, column);
#endif
        uint end = min(args.total, (split + 1) * args.chunk);
        for (uint r = split * args.chunk + gl_LocalInvocationID.y; r < end; r += gl_WorkGroupSize.y) take(r * pitch + column);
    }
    State s = join_group(state(), LANES_Y);
    if (live && gl_LocalInvocationID.y == 0)
        for (uint k = 0; k < (VECTOR == 1 ? 4 : 1); k++) {
            put(split, c + k, s.a[k], s.b[k]);
            if (KIND == KIND_forward && split == 0) put_base(c + k, base[k]);
        }
}

void channels_first() {
    uint blocks = (args.channels + gl_WorkGroupSize.y - 1) / gl_WorkGroupSize.y;
    uint block = group_index() % blocks, split = group_index() / blocks;
    if (split >= args.splits) return;
    uint c = block * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    bool live = c < args.channels;
    uint pitch = VECTOR == 1 ? args.inner / 4 : args.inner;
    if (live) {
#if KIND == KIND_backward
        origin = per_channel(args.mean, c);
#else
        base = vec4(LOAD(T, args.x, c * args.inner));
#endif
        uint end = min(args.total, (split + 1) * args.chunk);
        for (uint e = split * args.chunk + gl_LocalInvocationID.x; e < end; e += gl_WorkGroupSize.x)
            take((e / pitch * args.channels + c) * pitch + e % pitch);
    }
    State s = join_group(fold(state()), LANES_X);
    if (live && gl_LocalInvocationID.x == 0) {
        put(split, c, s.a.x, s.b.x);
        if (KIND == KIND_forward && split == 0) put_base(c, base.x);
    }
}

void main() {
    if (LAST == 1) channels_last();
    else channels_first();
}
