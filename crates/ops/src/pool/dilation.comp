// Dilation: the maximum over a window of x plus filter, and its gradients. TensorFlow's first of equal maxima counts.
//   forward  a thread for each result
//   winner   the same: which tap of the window won, for the gradients
//   image    a thread for each element of x: the gradients of the results that it won
//   filter   a workgroup for each element of the filter
// variants: T = FLOAT; U = u32; KIND = winner image filter
// variants: T = REAL; U = u32; KIND = forward
#include "prelude.glsl"
#include "group.glsl"

PUSH_ARGS {
    READ(T, x);             // [batch, size, channels]
    READ(T, weights);       // [window, channels]; image, filter: the gradient of y
    WRITE(T, y);            // [batch, pooled, channels]; image, filter: the gradient of x or of the filter
    READ_WRITE(U, winners); // as y of forward
    uint batch, channels;
    uvec2 size, pooled, window, stride, rate; // height and width
    ivec2 before;
} args;

#if T_IS_FLOAT
#define LEAST (T_ID == DT_f16 ? T(-65504.0) : T_ID == DT_bf16 ? T(-3.3895313892515355e38) : T_ID == DT_f32 ? T(-3.4028234663852886e38) : T(-1.7976931348623157e308lf))
#else
#define LEAST T_LOWEST
#endif

#if KIND == KIND_forward || KIND == KIND_winner
void main() {
    uint i = global_index(), c = i % args.channels, at = i / args.channels;
    uvec2 out_place = uvec2(at / args.pooled.y % args.pooled.x, at % args.pooled.y);
    uint b = at / args.pooled.y / args.pooled.x;
    if (b >= args.batch) return;
    ivec2 corner = ivec2(out_place * args.stride) - args.before;
    T best = LEAST;
    uint winner = 0xffffffffu, first = 0;
    bool any = false;
    for (uint tap = 0; tap < args.window.x * args.window.y; tap++) {
        ivec2 p = corner + ivec2(uvec2(tap / args.window.y, tap % args.window.y) * args.rate);
        if (p.x < 0 || p.y < 0 || p.x >= int(args.size.x) || p.y >= int(args.size.y)) continue;
        if (!any) first = tap;
        any = true;
        T v = LOAD(T, args.x, ((b * args.size.x + uint(p.x)) * args.size.y + uint(p.y)) * args.channels + c) + LOAD(T, args.weights, tap * args.channels + c);
        if (v > best) {
            best = v;
            winner = tap;
        }
    }
#if KIND == KIND_forward
    STORE(T, args.y, i, best);
#else
    STORE(U, args.winners, i, winner == 0xffffffffu ? first : winner);
#endif
}

#elif KIND == KIND_image
void main() {
    uint i = global_index(), c = i % args.channels, at = i / args.channels;
    ivec2 place = ivec2(at / args.size.y % args.size.x, at % args.size.y);
    uint b = at / args.size.y / args.size.x;
    if (b >= args.batch) return;
    T sum = T(0);
    for (uint tap = 0; tap < args.window.x * args.window.y; tap++) {
        // The result whose window has this element at this tap.
        ivec2 p = place + args.before - ivec2(uvec2(tap / args.window.y, tap % args.window.y) * args.rate), stride = ivec2(args.stride);
        if (p.x < 0 || p.y < 0 || p.x % stride.x != 0 || p.y % stride.y != 0) continue;
        p /= stride;
        if (p.x >= int(args.pooled.x) || p.y >= int(args.pooled.y)) continue;
        uint o = ((b * args.pooled.x + uint(p.x)) * args.pooled.y + uint(p.y)) * args.channels + c;
        if (LOAD_OUT(U, args.winners, o) == tap) sum += LOAD(T, args.weights, o);
    }
    STORE(T, args.y, i, sum);
}

#else
T plus(T a, T b) { return a + b; }
GROUP_REDUCE(group_sum, T, plus)

void main() {
    uint g = group_index(), c = g % args.channels, tap = g / args.channels;
    if (tap >= args.window.x * args.window.y) return;
    uint places = args.batch * args.pooled.x * args.pooled.y;
    T sum = T(0);
    for (uint i = thread_index(); i < places; i += group_size()) {
        uint o = i * args.channels + c;
        if (LOAD_OUT(U, args.winners, o) == tap) sum += LOAD(T, args.weights, o);
    }
    sum = group_sum(sum, LANES_X);
    if (thread_index() == 0) STORE(T, args.y, g, sum);
}
#endif
