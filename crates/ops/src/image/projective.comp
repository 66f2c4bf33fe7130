// ImageProjectiveTransform: each output pixel is read where a projection says, [batch, height, width, channels].
// variants: T = u8 i32 i64 f16 bf16 f32 f64
#include "prelude.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Floats { float v[]; };

PUSH_ARGS {
    READ(T, x);
    Floats transforms; // [batch or 1, 8]
    WRITE(T, y);
    uint count; // elements of y
    uint in_height, in_width, height, width, channels;
    uint stride; // of transforms: 8 or 0
    float fill;
} args;

layout(constant_id = 3) const uint BILINEAR = 0;
layout(constant_id = 4) const uint FILL_MODE = 0; // 0 constant, 1 reflect, 2 wrap, 3 nearest

float fold(float at, uint size) {
    float n = float(size);
    if (FILL_MODE == 0) return at;
    precise float p = at;
    if (FILL_MODE == 1) {
        if (p < 0.0) {
            if (size <= 1) {
                p = 0.0;
            } else {
                if (p < 2.0 * n) p = 2.0 * n * float(int(-p / (2.0 * n))) + p;
                p = p < -n ? p + 2.0 * n : -p - 1.0;
            }
        } else if (p > n - 1.0) {
            if (size <= 1) {
                p = 0.0;
            } else {
                p -= 2.0 * n * float(int(p / (2.0 * n)));
                if (p >= n) p = 2.0 * n - p - 1.0;
            }
        }
    } else if (FILL_MODE == 2) {
        if (p < 0.0) {
            p = size <= 1 ? 0.0 : p + n * float(int(-p / (n - 1.0)) + 1);
        } else if (p > n - 1.0) {
            p = size <= 1 ? 0.0 : p - n * float(int(p / (n - 1.0)));
        }
    }
    return clamp(p, 0.0, n - 1.0);
}

float load(T_In x, float row, float column, uint c) {
    if (!(row >= 0.0 && row < float(args.in_height) && column >= 0.0 && column < float(args.in_width))) return args.fill;
    return float(LOAD(T, x, (uint(row) * args.in_width + uint(column)) * args.channels + c));
}

// Half away from zero, as C's round.
float round_away(float x) {
    float a = abs(x), f = floor(a);
    float r = a - f >= 0.5 ? f + 1.0 : f;
    return x < 0.0 ? -r : r;
}

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    uint c = i % args.channels, at = i / args.channels;
    uint column = at % args.width, row = at / args.width;
    uint batch = row / args.height;
    row %= args.height;
    uint t = batch * args.stride;
    precise float w = args.transforms.v[t + 6] * float(column) + args.transforms.v[t + 7] * float(row) + 1.0;
    if (w == 0.0) {
        STORE(T, args.y, i, T(args.fill));
        return;
    }
    precise float px = args.transforms.v[t] * float(column) + args.transforms.v[t + 1] * float(row) + args.transforms.v[t + 2];
    precise float py = args.transforms.v[t + 3] * float(column) + args.transforms.v[t + 4] * float(row) + args.transforms.v[t + 5];
    float in_x = fold(w == 1.0 ? px : px / w, args.in_width), in_y = fold(w == 1.0 ? py : py / w, args.in_height);
    T_In x = AT(T, args.x, batch, args.in_height * args.in_width * args.channels);
    if (BILINEAR == 0) {
        float r = round_away(in_y), k = round_away(in_x);
        bool hit = r >= 0.0 && r < float(args.in_height) && k >= 0.0 && k < float(args.in_width);
        T value = hit ? LOAD(T, x, (uint(r) * args.in_width + uint(k)) * args.channels + c) : T(args.fill);
        STORE(T, args.y, i, value);
        return;
    }
    float y0 = floor(in_y), x0 = floor(in_x);
    float y1 = y0 + 1.0, x1 = x0 + 1.0;
    precise float above = (x1 - in_x) * load(x, y0, x0, c) + (in_x - x0) * load(x, y0, x1, c);
    precise float below = (x1 - in_x) * load(x, y1, x0, c) + (in_x - x0) * load(x, y1, x1, c);
    precise float value = (y1 - in_y) * above + (in_y - y0) * below;
    STORE(T, args.y, i, T(value));
}
