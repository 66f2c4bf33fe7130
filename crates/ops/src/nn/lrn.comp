// Local response normalisation over the last axis of x [rows, depth], and its gradient; one thread an element.
// norm(d) = bias + alpha * (sum of x^2 within radius of d); y = x * norm^-beta.
// variants: T = FLOAT_NN; KIND = forward backward
#include "prelude.glsl"
#include "math.glsl"

#if KIND == KIND_forward
PUSH_ARGS { READ(T, x); WRITE(T, y); uint count; uint depth; int radius; float bias; float alpha; float beta; } args;
#else
PUSH_ARGS {
    READ(T, dy); READ(T, x); READ(T, y); WRITE(T, dx);
    uint count; uint depth; int radius; float bias; float alpha; float beta;
} args;
#endif

// x^p for x > 0; Vulkan's pow loses digits for large exponents.
float power(float x, float p) {
    if (p == -0.5) return 1.0 / sqrt(x);
    if (p == -1.0) return 1.0 / x;
    return tf_exp(p * tf_log(x));
}

float norm(uint row, int d) {
    float sum = 0.0;
    int end = min(int(args.depth) - 1, d + args.radius);
    for (int k = max(0, d - args.radius); k <= end; k++) {
        float v = LOAD(T, args.x, row + uint(k));
        sum += v * v;
    }
    return args.bias + args.alpha * sum;
}

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    int d = int(i % args.depth);
    uint row = i - uint(d);
    float n = norm(row, d);
#if KIND == KIND_forward
    STORE(T, args.y, i, LOAD(T, args.x, i) * power(n, -args.beta));
#else
    float sum = 0.0;
    int end = min(int(args.depth) - 1, d + args.radius);
    for (int k = max(0, d - args.radius); k <= end; k++)
        sum += LOAD(T, args.dy, row + uint(k)) * LOAD(T, args.y, row + uint(k)) / norm(row, k);
    float own = LOAD(T, args.dy, i) * power(n, -args.beta);
    STORE(T, args.dx, i, own - 2.0 * args.alpha * args.beta * LOAD(T, args.x, i) * sum);
#endif
}
