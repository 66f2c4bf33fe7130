// CropAndResizeGradBoxes: a workgroup a box adds up what each crop pixel says about the box's edges.
// variants: T = i8 u8 i16 u16 i32 i64 f16 f32 f64
#include "prelude.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Floats { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer FloatsOut { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Ints { int v[]; };

PUSH_ARGS {
    Floats dy;  // [boxes, height, width, channels]
    READ(T, x); // [batch, in_height, in_width, channels]
    Floats boxes;
    Ints image;
    FloatsOut db; // [boxes, 4]
    uint boxes_count, batch, in_height, in_width, height, width, channels;
} args;
#include "crop.glsl"

shared vec4 partial[128];

float load(T_In x, int row, int column, uint c) {
    return float(LOAD(T, x, (uint(row) * args.in_width + uint(column)) * args.channels + c));
}

void main() {
    uint box = group_index(), t = thread_index();
    if (box >= args.boxes_count) return;
    int image = args.image.v[box];
    vec4 sum = vec4(0.0);
    if (image >= 0 && image < int(args.batch)) {
        vec4 b = vec4(args.boxes.v[4 * box], args.boxes.v[4 * box + 1], args.boxes.v[4 * box + 2], args.boxes.v[4 * box + 3]);
        T_In x = AT(T, args.x, uint(image), args.in_height * args.in_width * args.channels);
        float last_y = float(args.in_height - 1), last_x = float(args.in_width - 1);
        float y_ratio = args.height > 1 ? last_y / float(args.height - 1) : 0.0;
        float x_ratio = args.width > 1 ? last_x / float(args.width - 1) : 0.0;
        uint n = args.height * args.width * args.channels;
        for (uint i = t; i < n; i += group_size()) {
            uint c = i % args.channels, column = i / args.channels % args.width, row = i / args.channels / args.width;
            float in_y = crop_position(row, args.height, b.x, b.z, args.in_height);
            float in_x = crop_position(column, args.width, b.y, b.w, args.in_width);
            if (!inside(in_y, args.in_height) || !inside(in_x, args.in_width)) continue;
            Pair v = crop_pair(in_y), h = crop_pair(in_x);
            float top_left = load(x, v.lower, h.lower, c), top_right = load(x, v.lower, h.upper, c);
            float bottom_left = load(x, v.upper, h.lower, c), bottom_right = load(x, v.upper, h.upper, c);
            float g = args.dy.v[box * n + i];
            float dy = g * ((1.0 - h.part) * (bottom_left - top_left) + h.part * (bottom_right - top_right));
            float dx = g * ((1.0 - v.part) * (top_right - top_left) + v.part * (bottom_right - bottom_left));
            vec2 of_y = args.height > 1 ? vec2(last_y - float(row) * y_ratio, float(row) * y_ratio) : vec2(0.5 * last_y);
            vec2 of_x = args.width > 1 ? vec2(last_x - float(column) * x_ratio, float(column) * x_ratio) : vec2(0.5 * last_x);
            sum += vec4(dy * of_y.x, dx * of_x.x, dy * of_y.y, dx * of_x.y);
        }
    }
    partial[t] = sum;
    for (uint step = group_size() / 2; step > 0; step /= 2) {
        barrier();
        if (t < step) partial[t] += partial[t + step];
    }
    barrier();
    if (t < 4) args.db.v[4 * box + t] = partial[0][t];
}
