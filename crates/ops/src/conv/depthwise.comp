// Depthwise convolution, and the gradient of its input: each channel is convolved with its own filters. One invocation
// makes one element, or with FOURS four neighbouring channels.
// variants: TC = FLOAT; FOURS = 0 1
#include "prelude.glsl"
#include "divide.glsl"
#include "depthwise.glsl"

layout(constant_id = 3) const bool INPUT_GRADIENT = false;

PUSH_ARGS {
    // Input and filter, or gradient of the output and filter.
    READ(TC, source);
    READ(TC, filter_taps);
    WRITE(TC, result);
    uint count;
    uint source_h;
    uint source_w;
    // Of the result, by size: width, height, channels (in fours with FOURS).
    uvec2 width;
    uvec2 height;
    uvec2 channels;
    // Filters per input channel.
    uvec2 multiplier;
    uint source_channels;
    uint filter_row;
} args;

#if FOURS
#define VALUE TC_VEC4
#define GET(p, i) LOAD4(TC, p, i)
#define PUT(p, i, v) STORE4(TC, p, i, v)
#else
#define VALUE TC
#define GET(p, i) LOAD(TC, p, i)
#define PUT(p, i, v) STORE(TC, p, i, v)
#endif

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    uint w = divisor(args.width);
    uint h = divisor(args.height);
    uint c = divisor(args.channels);
    uint channel, x, y, image;
    if (CHANNELS_FIRST) {
        uint row = divide(i, args.width);
        x = i - row * w;
        uint plane = divide(row, args.height);
        y = row - plane * h;
        image = divide(plane, args.channels);
        channel = plane - image * c;
    } else {
        uint pixel = divide(i, args.channels);
        channel = i - pixel * c;
        uint row = divide(pixel, args.width);
        x = pixel - row * w;
        image = divide(row, args.height);
        y = row - image * h;
    }
    uint per_channel = divisor(args.multiplier);
    VALUE sum = VALUE(0);
    for (int fy = 0; fy < FILTER_H; fy++)
        for (int fx = 0; fx < FILTER_W; fx++) {
            int sy = int(y);
            int sx = int(x);
            if (INPUT_GRADIENT) {
                sy += PAD_H - fy * DILATION_H;
                sx += PAD_W - fx * DILATION_W;
                if (sy < 0 || sx < 0 || sy % STRIDE_H != 0 || sx % STRIDE_W != 0) continue;
                sy /= STRIDE_H;
                sx /= STRIDE_W;
            } else {
                sy = sy * STRIDE_H - PAD_H + fy * DILATION_H;
                sx = sx * STRIDE_W - PAD_W + fx * DILATION_W;
            }
            if (uint(sy) >= args.source_h || uint(sx) >= args.source_w) continue;
            uint tap = uint(fy * FILTER_W + fx) * args.filter_row;
            uint source_channel = INPUT_GRADIENT ? channel * per_channel : divide(channel, args.multiplier);
            for (uint q = 0; q < (INPUT_GRADIENT ? per_channel : 1); q++) {
                uint place = uint(sy) * args.source_w + uint(sx);
                uint at = CHANNELS_FIRST
                    ? (image * args.source_channels + source_channel + q) * (args.source_h * args.source_w) + place
                    : (image * (args.source_h * args.source_w) + place) * args.source_channels + source_channel + q;
                uint filter_channel = INPUT_GRADIENT ? source_channel + q : channel;
                sum = fma(GET(args.source, at), GET(args.filter_taps, tap + filter_channel), sum);
            }
        }
    PUT(args.result, i, sum);
}
