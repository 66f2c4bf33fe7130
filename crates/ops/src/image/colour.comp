// Colour arithmetic on pixels of three channels.
// variants: KIND = hue saturation; T = f16 f32
// variants: KIND = rgb_to_hsv hsv_to_rgb; T = FLOAT
#include "prelude.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Floats { float v[]; };

PUSH_ARGS {
    READ(T, x);
    WRITE(T, y);
    Floats amount; // of hue and saturation
    uint pixels;
} args;

#if T_ID == DT_f64
#define T3 dvec3
#else
#define T3 vec3
#endif

T fraction(int a, int b) {
    return T(a) / T(b);
}

T3 to_hsv(T3 rgb) {
    T top = max(rgb.x, max(rgb.y, rgb.z));
    T range = top - min(rgb.x, min(rgb.y, rgb.z));
    T s = top > T(0) ? range / top : T(0);
    T h = T(0);
    if (range > T(0)) {
        T norm = fraction(1, 6) / range;
        if (rgb.x == top) h = norm * (rgb.y - rgb.z);
        else if (rgb.y == top) h = norm * (rgb.z - rgb.x) + fraction(2, 6);
        else h = norm * (rgb.x - rgb.y) + fraction(4, 6);
        if (h < T(0)) h += T(1);
    }
    return T3(h, s, top);
}

T3 from_hsv(T3 hsv) {
    T h = hsv.x * T(6);
    T3 d = T3(abs(h - T(3)) - T(1), T(2) - abs(h - T(2)), T(2) - abs(h - T(4)));
    d = clamp(d, T3(T(0)), T3(T(1)));
    return (T3(T(1) - hsv.y) + hsv.y * d) * hsv.z;
}

#if KIND == KIND_hue
T3 change(T3 rgb, T amount) {
    T low = min(rgb.x, min(rgb.y, rgb.z)), high = max(rgb.x, max(rgb.y, rgb.z));
    if (low == high) return rgb;
    T middle = max(min(rgb.x, rgb.y), min(max(rgb.x, rgb.y), rgb.z));
    int kind;
    if (rgb.x < rgb.y) kind = rgb.z < rgb.x ? 1 : (rgb.z > rgb.y ? 3 : 2);
    else kind = rgb.z < rgb.y ? 0 : (rgb.z > rgb.x ? 4 : 5);
    T ratio = (middle - low) / (high - low);
    T h = T(kind) + ((kind & 1) == 0 ? ratio : T(1) - ratio) + amount * T(6);
    h -= T(6) * floor(h / T(6));
    kind = min(int(h), 5);
    ratio = h - T(kind);
    middle = low + ((kind & 1) == 0 ? ratio : T(1) - ratio) * (high - low);
    switch (kind) {
    case 0: return T3(high, middle, low);
    case 1: return T3(middle, high, low);
    case 2: return T3(low, high, middle);
    case 3: return T3(low, middle, high);
    case 4: return T3(middle, low, high);
    }
    return T3(high, low, middle);
}
#elif KIND == KIND_saturation
T3 change(T3 rgb, T amount) {
    T3 hsv = to_hsv(rgb);
    hsv.y = clamp(hsv.y * amount, T(0), T(1));
    return from_hsv(hsv);
}
#elif KIND == KIND_rgb_to_hsv
T3 change(T3 rgb, T amount) { return to_hsv(rgb); }
#else
T3 change(T3 hsv, T amount) { return from_hsv(hsv); }
#endif

void main() {
    uint i = global_index();
    if (i >= args.pixels) return;
    T amount = T(IS_NULL(args.amount) ? 0.0 : args.amount.v[0]);
    T3 p = change(T3(LOAD(T, args.x, 3 * i), LOAD(T, args.x, 3 * i + 1), LOAD(T, args.x, 3 * i + 2)), amount);
    STORE(T, args.y, 3 * i, p.x);
    STORE(T, args.y, 3 * i + 1, p.y);
    STORE(T, args.y, 3 * i + 2, p.z);
}
