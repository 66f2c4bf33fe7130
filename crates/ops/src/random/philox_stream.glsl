// One sample's own numbers, in the order in which TensorFlow's CPU kernels take them: each two normals, or two uniform numbers, of
// a block in reverse. Included after philox.glsl and math.glsl; D is f64 or f32. In f32 a number is that of f64, rounded.
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
// Sample i begins 256 blocks after the one before.
void stream_from(Philox start, uint i) {
    stream = start;
    philox_skip(stream, uvec2(i << 8, i >> 24));
    normals_left = 0;
    uniforms_left = 0;
}
