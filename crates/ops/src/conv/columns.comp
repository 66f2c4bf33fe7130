// The last half of an input gradient that was made as a product: adds what each output pixel's taps gave to the input
// pixels that they see, in the order of the taps (col2im). One invocation an element of the result.
// variants: TC = f32 f16 bf16 f64 i32
#include "prelude.glsl"
#include "divide.glsl"
#include "matmul/accumulate.glsl"

layout(constant_id = 4) const bool CHANNELS_FIRST = false;
layout(constant_id = 18) const int FILTER_D = 1;
layout(constant_id = 19) const int FILTER_H = 1;
layout(constant_id = 20) const int FILTER_W = 1;
layout(constant_id = 21) const int STRIDE_D = 1;
layout(constant_id = 22) const int STRIDE_H = 1;
layout(constant_id = 23) const int STRIDE_W = 1;
layout(constant_id = 24) const int DILATION_D = 1;
layout(constant_id = 25) const int DILATION_H = 1;
layout(constant_id = 26) const int DILATION_W = 1;
layout(constant_id = 27) const int PAD_D = 0;
layout(constant_id = 28) const int PAD_H = 0;
layout(constant_id = 29) const int PAD_W = 0;

PUSH_ARGS {
    // [image, output pixel, tap, channel].
    Partial columns;
    WRITE(TC, c);
    uint count;
    // Of the result, by size.
    uvec2 width;
    uvec2 height;
    uvec2 depth;
    uvec2 channels;
    // Of the output.
    int out_width;
    int out_height;
    int out_depth;
} args;

// The output pixel along one dimension that has its tap at `at` (padding included), or -1.
int pixel(int at, int stride, int size) {
    int q = at / stride;
    return at >= 0 && q * stride == at && q < size ? q : -1;
}

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    uint channels = divisor(args.channels);
    uint area = divisor(args.width) * divisor(args.height) * divisor(args.depth);
    // Without the channel: image and pixel, which lies around it where channels come first.
    uint outer = divide(i, args.channels);
    uint channel = i - outer * channels;
    if (CHANNELS_FIRST) {
        uint plane = divide(divide(divide(i, args.width), args.height), args.depth);
        uint image = divide(plane, args.channels);
        channel = plane - image * channels;
        outer = image * area + i - plane * area;
    }
    uint row = divide(outer, args.width);
    uint plane = divide(row, args.height);
    uint image = divide(plane, args.depth);
    int x = int(outer - row * divisor(args.width)) + PAD_W;
    int y = int(row - plane * divisor(args.height)) + PAD_H;
    int z = int(plane - image * divisor(args.depth)) + PAD_D;
    int taps = FILTER_D * FILTER_H * FILTER_W;

    ACC sum = ACC_ZERO;
    for (int d = 0; d < FILTER_D; d++) {
        int qz = pixel(z - d * DILATION_D, STRIDE_D, args.out_depth);
        if (qz < 0) continue;
        for (int h = 0; h < FILTER_H; h++) {
            int qy = pixel(y - h * DILATION_H, STRIDE_H, args.out_height);
            if (qy < 0) continue;
            int line = ((int(image) * args.out_depth + qz) * args.out_height + qy) * args.out_width;
            for (int w = 0; w < FILTER_W; w++) {
                int qx = pixel(x - w * DILATION_W, STRIDE_W, args.out_width);
                if (qx < 0) continue;
                int tap = (d * FILTER_H + h) * FILTER_W + w;
                sum += args.columns.v[((line + qx) * taps + tap) * int(channels) + int(channel)];
            }
        }
    }
    STORE(TC, args.c, i, sum);
}
