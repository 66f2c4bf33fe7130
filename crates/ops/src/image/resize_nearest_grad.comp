// The gradient of ResizeNearestNeighbor: each input pixel adds up, in order, the output pixels that were copied from it.
// variants: T = i8 u8 i32 f16 bf16 f32 f64
#include "prelude.glsl"

PUSH_ARGS {
    READ(T, dy);
    WRITE(T, dx);
    uint count; // elements of dx
    uint in_height, in_width, height, width, channels;
    float y_scale, x_scale;
} args;
#include "sample.glsl"

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    uint c = i % args.channels, at = i / args.channels;
    uint column = at % args.in_width, row = at / args.in_width;
    uint batch = row / args.in_height;
    row %= args.in_height;
    uvec2 rows = touching(int(row), args.y_scale, args.height, 1.0);
    uvec2 columns = touching(int(column), args.x_scale, args.width, 1.0);
    T sum = T(0);
    for (uint r = rows.x; r < rows.y; r++) {
        if (nearest_pixel(r, args.y_scale, args.in_height) != int(row)) continue;
        for (uint k = columns.x; k < columns.y; k++) {
            if (nearest_pixel(k, args.x_scale, args.in_width) != int(column)) continue;
            sum += LOAD(T, args.dy, ((batch * args.height + r) * args.width + k) * args.channels + c);
        }
    }
    STORE(T, args.dx, i, sum);
}
