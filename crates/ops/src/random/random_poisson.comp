// Samples of Poisson distributions, one by one as TensorFlow's CPU kernel draws them, a thread each: by counting (Knuth) where the
// rate is below 10, else by transformed rejection (Hormann). D is what they are computed in.
// variants: T = f16 f32 f64; O = f16 f32 f64 i32 i64; D = f64 f32
#include "prelude.glsl"
#include "philox.glsl"
#include "math.glsl"

PUSH_ARGS {
    uvec2 a, b;     // see philox_source.glsl
    READ(T, rate);  // [rates]
    WRITE(O, y);    // [samples, rates]
    uint rates, samples;
    uvec4 counter;
    uvec2 key;
} args;
#include "philox_source.glsl"
#include "philox_stream.glsl"

// log(k!), k a whole number.
D log_factorial(D k) {
    if (k < D(16)) {
        D product = D(1);
        for (D i = D(2); i <= k; i += D(1)) product *= i;
        return tf_log(product);
    }
    D z = k + D(1), w = D(1) / (z * z);
    D tail = D(8.4175084175084175084e-4lf) * w - D(5.9523809523809523810e-4lf);
    tail = (tail * w + D(7.9365079365079365079e-4lf)) * w - D(2.7777777777777777778e-3lf);
    tail = (tail * w + D(8.3333333333333333333e-2lf)) / z;
    return (z - D(0.5)) * tf_log(z) - z + D(0.91893853320467274178lf) + tail;
}

D draw(D rate) {
    if (!(rate >= D(0)) || is_inf(rate)) return D(NOT_A_NUMBER);
    if (rate < D(10)) {
        D limit = tf_exp(-rate), product = D(1), count = D(0);
        for (uint tries = 0; tries < 1000; tries++) {
            product *= next_uniform();
            if (product <= limit) return count;
            count += D(1);
        }
        return count;
    }
    D log_rate = tf_log(rate);
    D b = D(0.931lf) + D(2.53lf) * sqrt(rate), a = D(-0.059lf) + D(0.02483lf) * b;
    D inverse_alpha = D(1.1239lf) + D(1.1328lf) / (b - D(3.4lf));
    // Three tries in four are taken, or more.
    for (uint tries = 0; tries < 250; tries++) {
        D u = next_uniform() - D(0.5), v = next_uniform();
        D inside = D(0.5) - abs(u);
        D k = floor((D(2) * a / inside + b) * u + rate + D(0.43lf));
        if (inside >= D(0.07lf) && v <= D(0.9277lf) - D(3.6224lf) / (b - D(2))) return k;
        if (k < D(0) || (inside < D(0.013lf) && v > inside)) continue;
        D s = tf_log(v * inverse_alpha / (a / (inside * inside) + b)), t = -rate + k * log_rate - log_factorial(k);
        if (s <= t) return k;
    }
    return rate;
}

void main() {
    uint i = global_index();
    if (i / args.samples >= args.rates) return;
    uint which = i / args.samples, sample_number = i % args.samples;
    stream_from(PHILOX_SOURCE(), i);
    STORE(O, args.y, sample_number * args.rates + which, O(draw(D(LOAD(T, args.rate, which)))));
}
