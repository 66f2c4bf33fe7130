// Samples of gamma distributions, one by one as TensorFlow's CPU kernel draws them (Marsaglia and Tsang), a thread each. D is what
// they are computed in; in f32 a sample is that of f64 but for rounding, and a rare other choice.
// variants: T = f16 f32 f64; D = f64 f32
#include "prelude.glsl"
#include "philox.glsl"
#include "math.glsl"

PUSH_ARGS {
    uvec2 a, b;      // see philox_source.glsl
    READ(T, alpha);  // [alphas]
    WRITE(T, y);     // [samples, alphas]
    uint alphas, samples;
    uvec4 counter;
    uvec2 key;
} args;
#include "philox_source.glsl"

#include "philox_stream.glsl"

D draw(D alpha) {
    if (alpha == D(1)) return -tf_log1p(-next_uniform());
    bool small = alpha < D(1);
    D third = D(0.333333333333333333333lf), d = alpha + (small ? D(2.0lf) * third : -third), c = third / sqrt(d);
    // Nearly every try is taken. An alpha that is not positive never is.
    for (uint tries = 0; tries < 200; tries++) {
        D x = next_normal(), v = D(1) + c * x;
        if (v <= D(0)) continue;
        v = v * v * v;
        D u = next_uniform(), square = x * x;
        if (u < D(1) - D(0.0331lf) * square * square || tf_log(u) < D(0.5lf) * square + d * (D(1) - v + tf_log(v))) {
            D result = d * v;
            return small ? result * tf_exp(tf_log(next_uniform()) / alpha) : result;
        }
    }
    return NOT_A_NUMBER;
}

void main() {
    uint i = global_index();
    if (i / args.samples >= args.alphas) return;
    uint which = i / args.samples, sample_number = i % args.samples;
    stream_from(PHILOX_SOURCE(), i);
    STORE(T, args.y, sample_number * args.alphas + which, T(draw(D(LOAD(T, args.alpha, which)))));
}
