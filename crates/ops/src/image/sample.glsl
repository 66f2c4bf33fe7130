// Where the pixels of a resized image lie in the original; included after the prelude. Positions decide which pixels are
// read, so every step is rounded as TensorFlow's CPU kernels round it: `precise` keeps products and sums apart.

layout(constant_id = 3) const uint HALF_PIXEL = 0;
layout(constant_id = 4) const uint ALIGN_CORNERS = 0;

// Half away from zero, as C's roundf; x >= 0.
float round_half_up(float x) {
    float f = floor(x);
    return x - f >= 0.5 ? f + 1.0 : f;
}

float source_position(uint i, float scale) {
    precise float at = float(i);
    if (HALF_PIXEL != 0) {
        at = at + 0.5;
        at = at * scale;
        at = at - 0.5;
    } else {
        at = at * scale;
    }
    return at;
}

// The nearest pixel of `size`.
int nearest_pixel(uint i, float scale, uint size) {
    precise float at = float(i);
    if (HALF_PIXEL != 0) at = at + 0.5;
    at = at * scale;
    int p = ALIGN_CORNERS != 0 ? int(round_half_up(at)) : int(floor(at));
    return clamp(p, 0, int(size) - 1);
}

// The pixels on both sides, and how far it is from the first.
struct Pair {
    int lower, upper;
    float part;
};

Pair bilinear_pair(uint i, float scale, uint size) {
    float at = source_position(i, scale);
    float below = floor(at);
    precise float part = at - below;
    return Pair(max(int(below), 0), min(int(ceil(at)), int(size) - 1), part);
}

// Four pixels and their weights. The weights are TensorFlow's, a table of 1/1024 steps.
struct Quad {
    ivec4 pixel;
    vec4 weight;
};

float cubic_near(float x) {
    float a = HALF_PIXEL != 0 ? -0.5 : -0.75;
    return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
}

float cubic_far(float x) { // of 1 + x
    float a = HALF_PIXEL != 0 ? -0.5 : -0.75;
    float y = x + 1.0;
    return ((a * y - 5.0 * a) * y + 8.0 * a) * y - 4.0 * a;
}

Quad bicubic_quad(uint i, float scale, uint size) {
    float at = source_position(i, scale);
    float below = floor(at);
    precise float part = (at - below) * 1024.0;
    float x = roundEven(part) * (1.0 / 1024.0);
    ivec4 wanted = int(below) + ivec4(-1, 0, 1, 2);
    Quad q;
    q.pixel = clamp(wanted, ivec4(0), ivec4(int(size) - 1));
    q.weight = vec4(cubic_far(x), cubic_near(x), cubic_near(1.0 - x), cubic_far(1.0 - x));
    if (HALF_PIXEL != 0) {
        q.weight = mix(vec4(0.0), q.weight, equal(q.pixel, wanted));
        float sum = q.weight.x + q.weight.y + q.weight.z + q.weight.w;
        if (abs(sum) >= 1000.0 * 1.17549435e-38) q.weight /= sum;
    }
    return q;
}

// The output pixels, of `size`, that may touch input pixel `at` or one up to `reach` beside it: a superset.
uvec2 touching(int at, float scale, uint size, float reach) {
    if (scale <= 0.0) return uvec2(0, size);
    float low = (float(at) - reach - 1.0) / scale - 2.0, high = (float(at) + reach + 1.0) / scale + 2.0;
    return uvec2(uint(clamp(low, 0.0, float(size))), uint(clamp(high, 0.0, float(size - 1))) + 1);
}
