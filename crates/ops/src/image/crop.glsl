// Where the pixels of a crop lie in the image; included after the prelude. Rounded step by step, as on TensorFlow's CPU.

layout(constant_id = 3) const uint NEAREST = 0;

// a / b, b a small positive integer: correctly rounded but for rare ties.
float quotient(float a, float b) {
    precise float q = a / b;
    float head = uintBitsToFloat(floatBitsToUint(q) & 0xFFFFF000u);
    precise float tail = q - head;
    precise float rest = (a - head * b) - tail * b;
    precise float r = q + rest / b;
    return isinf(q) || is_nan(q) ? q : r;
}

// Position in an axis of `size` pixels of pixel i of `count` between the box's edges.
float crop_position(uint i, uint count, float from, float to, uint size) {
    precise float last = float(size - 1);
    precise float at;
    if (count > 1) {
        precise float extent = (to - from) * last;
        precise float step = quotient(extent, float(count - 1));
        precise float start = from * last;
        precise float offset = float(i) * step;
        at = start + offset;
    } else {
        precise float middle = 0.5 * (from + to);
        at = middle * last;
    }
    return at;
}

bool inside(float at, uint size) {
    return at >= 0.0 && at <= float(size - 1);
}

// Half away from zero, as C's roundf; x >= 0.
int round_half_up(float x) {
    float f = floor(x);
    return int(x - f >= 0.5 ? f + 1.0 : f);
}

struct Pair {
    int lower, upper;
    float part;
};

Pair crop_pair(float at) {
    if (NEAREST != 0) {
        int p = round_half_up(at);
        return Pair(p, p, 0.0);
    }
    float below = floor(at);
    precise float part = at - below;
    return Pair(int(below), int(ceil(at)), part);
}
