// Philox 4x32-10, TensorFlow's key derivation, and the distributions' maths.
//
// Included by the shaders of this folder after the prelude. Integer work is exact everywhere; the Box-Muller transform
// in f32 is written so that each step is rounded once, in compensated arithmetic (`precise` keeps compilers from fusing
// or reordering it): it then agrees with a C library's logf, sinf and cosf in all but about one result in fifty, and
// with those by one unit in the last place.

struct Philox {
    uvec4 counter;
    uvec2 key;
};

uvec4 philox_block(Philox p) {
    uvec4 c = p.counter;
    uvec2 k = p.key;
    [[unroll]] for (int round = 0; round < 10; round++) {
        uint hi0, lo0, hi1, lo1;
        umulExtended(0xD2511F53u, c.x, hi0, lo0);
        umulExtended(0xCD9E8D57u, c.z, hi1, lo1);
        c = uvec4(hi1 ^ c.y ^ k.x, lo1, hi0 ^ c.w ^ k.y, lo0);
        k += uvec2(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}

// Advances by the 64-bit number `blocks` (low word first).
void philox_skip(inout Philox p, uvec2 blocks) {
    uint carry;
    p.counter.x = uaddCarry(p.counter.x, blocks.x, carry);
    uint carry2, carry3;
    uint hi = uaddCarry(blocks.y, carry, carry2);
    p.counter.y = uaddCarry(p.counter.y, hi, carry3);
    p.counter.z = uaddCarry(p.counter.z, carry2 + carry3, carry);
    p.counter.w += carry;
}

// TensorFlow's stateless ops: two 64-bit seeds to a key and a counter.
Philox philox_from_seed(uvec2 seed0, uvec2 seed1) {
    uvec4 mix = philox_block(Philox(uvec4(seed0, seed1), uvec2(0x3EC8F720u, 0x02461E29u)));
    return Philox(uvec4(0u, 0u, mix.zw), mix.xy);
}

// [0, 1) from the low 23 bits.
float uniform_f32(uint x) {
    return float(x & 0x7FFFFFu) * uintBitsToFloat(0x34000000u);
}

// [0, 1) from 52 bits, as the words of a double (low first); exact, without 64-bit floats.
uvec2 uniform_f64_bits(uint x0, uint x1) {
    uint hi = x0 & 0xFFFFFu;
    if ((hi | x1) == 0u) return uvec2(0u);
    int msb = hi != 0u ? findMSB(hi) + 32 : findMSB(x1);
    uint shift = uint(52 - msb); // 1 to 52
    uvec2 m = shift >= 32u ? uvec2(0u, x1 << (shift - 32u)) : uvec2(x1 << shift, (hi << shift) | (x1 >> (32u - shift)));
    return uvec2(m.x, (m.y & 0xFFFFFu) | ((1023u - shift) << 20));
}

float head(float a) {
    return uintBitsToFloat(floatBitsToUint(a) & 0xFFFFF000u);
}

// a + b as a rounded sum and its error.
vec2 two_sum(float a, float b) {
    precise float s = a + b;
    precise float t = s - a;
    precise float e = (a - (s - t)) + (b - t);
    return vec2(s, e);
}

// a * b as a rounded product and its error.
vec2 two_product(float a, float b) {
    precise float p = a * b;
    float ah = head(a), bh = head(b);
    precise float al = a - ah;
    precise float bl = b - bh;
    precise float e = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    return vec2(p, e);
}

// sqrt(-2 log(u)) for u in [1e-7, 1).
float box_muller_radius(float u) {
    int bits = floatBitsToInt(u);
    int e = (bits - 0x3F3504F3) >> 23;
    precise float k = float(e);
    precise float f = intBitsToFloat(bits - (e << 23)) - 1.0; // [sqrt(1/2) - 1, sqrt(2) - 1)
    vec2 h = two_product(f, f);
    // log(1 + f) = f - f^2 / 2 + f^3 P(f)
    precise float p = 0.06675271689891815;
    p = p * f + -0.11646434664726257;
    p = p * f + 0.1190471202135086;
    p = p * f + -0.12411268800497055;
    p = p * f + 0.14217890799045563;
    p = p * f + -0.16667643189430237;
    p = p * f + 0.20002204179763794;
    p = p * f + -0.25000014901161194;
    p = p * f + 0.3333331048488617;
    precise float tail = f * h.x * p;
    precise float kh = k * uintBitsToFloat(0x3F317000u); // log(2), upper bits: the product is exact
    vec2 a = two_sum(kh, f);
    precise float half_square = -0.5 * h.x;
    vec2 b = two_sum(a.x, half_square);
    precise float low = (a.y + b.y) + (k * uintBitsToFloat(0x3805FDF4u) + (tail - 0.5 * h.y));
    precise float log_u = b.x + low;
    precise float t = -2.0 * log_u;
    if (t == 0.0) return 0.0;
    float y = sqrt(t); // good to a few units in the last place: one Newton step on the exact residual rounds it right
    vec2 yy = two_product(y, y);
    precise float r = y + ((t - yy.x) - yy.y) * (0.5 / y);
    return r;
}

// (sin, cos) of the f32 that 2 pi u rounds to, u in [0, 1) with at most 23 bits.
vec2 box_muller_angle(float u) {
    vec2 v2 = two_product(u, uintBitsToFloat(0x40C90FDBu));
    precise float v = v2.x + (v2.y + u * uintBitsToFloat(0xB43BBD2Eu));
    precise float n = floor(v * uintBitsToFloat(0x3F22F983u) + 0.5);
    // pi / 2 in three parts; the products with n are exact.
    precise float t = v - n * uintBitsToFloat(0x3FC90F00u);
    precise float y = -(n * uintBitsToFloat(0x37DAA200u));
    vec2 r2 = two_sum(t, y);
    precise float r = r2.x;
    precise float rl = r2.y - n * uintBitsToFloat(0x2E85A300u);
    vec2 zz = two_product(r, r);
    precise float z = zz.x;
    precise float ps = uintBitsToFloat(0xBE2AAAABu) + z * (8.3333310e-03 + z * (-1.9840874e-04 + z * 2.7525562e-06));
    precise float s = r + (rl + r * (z * ps));
    precise float hz = 0.5 * z;
    precise float w = 1.0 - hz;
    precise float pc = uintBitsToFloat(0x3D2AAAABu)
        + z * (uintBitsToFloat(0xBAB60B61u) + z * (uintBitsToFloat(0x37D00D01u) + z * uintBitsToFloat(0xB493F27Eu)));
    precise float c = w + (((1.0 - w) - hz) + (z * z * pc - (r * rl + 0.5 * zz.y)));
    int q = int(n) & 3;
    vec2 sc = (q & 1) == 0 ? vec2(s, c) : vec2(c, -s);
    return q >= 2 ? -sc : sc;
}

// Two standard normals from two words.
vec2 box_muller(uint x0, uint x1) {
    float radius = box_muller_radius(max(uniform_f32(x0), 1.0e-7));
    vec2 sc = box_muller_angle(uniform_f32(x1));
    precise vec2 normals = sc * radius;
    return normals;
}
