// Samples of gamma distributions, one by one as TensorFlow's CPU kernel draws them (Marsaglia and Tsang): a thread a sample, whose
// numbers begin 256 blocks after those of the sample before. Each two normals, or two uniform numbers, of a block are taken in
// reverse. D is what they are computed in; in f32 a sample is that of f64
// but for rounding (in the logarithm of small ones), and a rare other choice.
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

#if D_ID == DT_f64
#include "philox_f64.glsl"
#define PAIR dvec2
#define NOT_A_NUMBER NAN_F64
PAIR uniforms(uvec4 x) { return PAIR(uniform_f64(x.x, x.y), uniform_f64(x.z, x.w)); }
PAIR normals(uvec4 x) { return box_muller_f64(x); }
#else
#define PAIR vec2
#define NOT_A_NUMBER NAN_F32
// Rounded once; and its first 23 bits, which is what the angle takes.
float rounded(uint x0, uint x1) { return float(x0 & 0xFFFFFu) * uintBitsToFloat(0x35800000u) + float(x1) * uintBitsToFloat(0x25800000u); }
float leading(uint x0, uint x1) { return float((x0 & 0xFFFFFu) << 3 | x1 >> 29) * uintBitsToFloat(0x34000000u); }
PAIR uniforms(uvec4 x) { return PAIR(rounded(x.x, x.y), rounded(x.z, x.w)); }
PAIR normals(uvec4 x) { return box_muller_angle(leading(x.z, x.w)) * box_muller_radius(clamp(rounded(x.x, x.y), 1.0e-7, 0.99999994)); }
#endif

Philox stream;
PAIR normal_pair, uniform_pair;
uint normals_left, uniforms_left;

uvec4 next_block() {
    uvec4 x = philox_block(stream);
    philox_skip(stream, uvec2(1, 0));
    return x;
}
D next_normal() {
    if (normals_left == 0) {
        normal_pair = normals(next_block());
        normals_left = 2;
    }
    normals_left--;
    return normals_left == 1 ? normal_pair.y : normal_pair.x;
}
D next_uniform() {
    if (uniforms_left == 0) {
        uniform_pair = uniforms(next_block());
        uniforms_left = 2;
    }
    uniforms_left--;
    return uniforms_left == 1 ? uniform_pair.y : uniform_pair.x;
}

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
    stream = PHILOX_SOURCE();
    philox_skip(stream, uvec2(i << 8, i >> 24));
    normals_left = 0;
    uniforms_left = 0;
    STORE(T, args.y, sample_number * args.alphas + which, T(draw(D(LOAD(T, args.alpha, which)))));
}
