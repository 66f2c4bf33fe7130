// ExtractImagePatches: moves elements of 1, 2 or 4 bytes (of larger ones: several of 4).
// variants: T = u8 u16 u32
#include "prelude.glsl"

PUSH_ARGS {
    READ(T, x);
    WRITE(T, y);
    uint count; // elements of y
    uint in_height, in_width, height, width, channels;
    uint kernel_height, kernel_width;
    uvec2 stride, rate;
    ivec2 pad; // above, left
} args;

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    uint c = i % args.channels, at = i / args.channels;
    uint kx = at % args.kernel_width;
    at /= args.kernel_width;
    uint ky = at % args.kernel_height;
    at /= args.kernel_height;
    uint column = at % args.width, row = at / args.width;
    uint batch = row / args.height;
    int r = int(row % args.height * args.stride.x + ky * args.rate.x) - args.pad.x;
    int k = int(column * args.stride.y + kx * args.rate.y) - args.pad.y;
    bool hit = r >= 0 && r < int(args.in_height) && k >= 0 && k < int(args.in_width);
    T value = hit ? LOAD(T, args.x, ((batch * args.in_height + uint(r)) * args.in_width + uint(k)) * args.channels + c) : T(0);
    STORE(T, args.y, i, value);
}
