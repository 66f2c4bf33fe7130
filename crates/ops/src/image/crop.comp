// CropAndResize: boxes of [batch, in_height, in_width, channels] to float [boxes, height, width, channels].
// variants: T = i8 u8 i16 u16 i32 i64 f16 f32 f64
#include "prelude.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer FloatsOut { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Floats { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Ints { int v[]; };

PUSH_ARGS {
    READ(T, x);
    Floats boxes; // [boxes, 4]: y1, x1, y2, x2
    Ints image;    // [boxes]
    FloatsOut y;
    uint count; // elements of y
    uint batch, in_height, in_width, height, width, channels;
    float outside;
} args;
#include "crop.glsl"

float load(T_In x, int row, int column, uint c) {
    return float(LOAD(T, x, (uint(row) * args.in_width + uint(column)) * args.channels + c));
}

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    uint c = i % args.channels, at = i / args.channels;
    uint column = at % args.width, row = at / args.width;
    uint box = row / args.height;
    row %= args.height;
    int image = args.image.v[box];
    if (image < 0 || image >= int(args.batch)) {
        args.y.v[i] = 0.0;
        return;
    }
    vec4 b = vec4(args.boxes.v[4 * box], args.boxes.v[4 * box + 1], args.boxes.v[4 * box + 2], args.boxes.v[4 * box + 3]);
    float in_y = crop_position(row, args.height, b.x, b.z, args.in_height);
    float in_x = crop_position(column, args.width, b.y, b.w, args.in_width);
    float value = args.outside;
    if (inside(in_y, args.in_height) && inside(in_x, args.in_width)) {
        T_In x = AT(T, args.x, uint(image), args.in_height * args.in_width * args.channels);
        Pair v = crop_pair(in_y), h = crop_pair(in_x);
        float top_left = load(x, v.lower, h.lower, c), top_right = load(x, v.lower, h.upper, c);
        float bottom_left = load(x, v.upper, h.lower, c), bottom_right = load(x, v.upper, h.upper, c);
        precise float top = top_left + (top_right - top_left) * h.part;
        precise float bottom = bottom_left + (bottom_right - bottom_left) * h.part;
        precise float mixed = top + (bottom - top) * v.part;
        value = mixed;
    }
    args.y.v[i] = value;
}
