// ResizeNearestNeighbor: moves elements of 1, 2 or 4 bytes (of 8: two of 4).
// variants: T = u8 u16 u32
#include "prelude.glsl"

PUSH_ARGS {
    READ(T, x);
    WRITE(T, y);
    uint count; // elements of y
    uint in_height, in_width, height, width, channels;
    float y_scale, x_scale;
} args;
#include "sample.glsl"

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    uint c = i % args.channels, at = i / args.channels;
    uint column = at % args.width, row = at / args.width;
    uint batch = row / args.height;
    uint r = uint(nearest_pixel(row % args.height, args.y_scale, args.in_height));
    uint k = uint(nearest_pixel(column, args.x_scale, args.in_width));
    STORE(T, args.y, i, LOAD(T, args.x, ((batch * args.in_height + r) * args.in_width + k) * args.channels + c));
}
