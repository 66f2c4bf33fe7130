// ResizeBilinear and ResizeBicubic: [batch, in_height, in_width, channels] to float [batch, height, width, channels].
// variants: MODE = bilinear bicubic; T = i8 u8 i16 u16 i32 i64 f16 bf16 f32 f64
#include "prelude.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer Floats { float v[]; };

PUSH_ARGS {
    READ(T, x);
    Floats y;
    uint count; // elements of y
    uint in_height, in_width, height, width, channels;
    float y_scale, x_scale;
} args;
#include "sample.glsl"

float load(T_In x, uint row, uint column, uint c) {
    return float(LOAD(T, x, (row * args.in_width + column) * args.channels + c));
}

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    uint c = i % args.channels, at = i / args.channels;
    uint column = at % args.width, row = at / args.width;
    uint batch = row / args.height;
    row %= args.height;
    T_In x = AT(T, args.x, batch, args.in_height * args.in_width * args.channels);
#if MODE == MODE_bilinear
    Pair v = bilinear_pair(row, args.y_scale, args.in_height), h = bilinear_pair(column, args.x_scale, args.in_width);
    float top_left = load(x, v.lower, h.lower, c), top_right = load(x, v.lower, h.upper, c);
    float bottom_left = load(x, v.upper, h.lower, c), bottom_right = load(x, v.upper, h.upper, c);
    precise float top = top_left + (top_right - top_left) * h.part;
    precise float bottom = bottom_left + (bottom_right - bottom_left) * h.part;
    precise float y = top + (bottom - top) * v.part;
#else
    Quad v = bicubic_quad(row, args.y_scale, args.in_height), h = bicubic_quad(column, args.x_scale, args.in_width);
    vec4 columns;
    [[unroll]] for (int k = 0; k < 4; k++) {
        vec4 pixels;
        [[unroll]] for (int j = 0; j < 4; j++) pixels[j] = load(x, v.pixel[j], h.pixel[k], c);
        columns[k] = v.weight.x * pixels.x + v.weight.y * pixels.y + v.weight.z * pixels.z + v.weight.w * pixels.w;
    }
    float y = h.weight.x * columns.x + h.weight.y * columns.y + h.weight.z * columns.z + h.weight.w * columns.w;
#endif
    args.y.v[i] = y;
}
