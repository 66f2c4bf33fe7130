// Gradient of a depthwise filter: for a tap and an output channel the sum over a part of all pixels. A workgroup has
// LANES neighbouring channels; its other invocations share their pixels. The parts are added up by sum_parts.comp.
// variants: TC = FLOAT
#include "prelude.glsl"
#include "divide.glsl"
#include "depthwise.glsl"
#include "matmul/accumulate.glsl"

layout(constant_id = 3) const uint LANES = 32;

PUSH_ARGS {
    READ(TC, image);
    READ(TC, gradient);
    Partial sums;
    uint groups;
    uint height;
    uint width;
    uint channels;
    // Of the gradient, by size.
    uvec2 out_width;
    uvec2 out_height;
    uvec2 multiplier;
    uint out_channels;
    uint pixels;
    // Pixels of one part.
    uint part;
} args;

shared ACC lane_sum[gl_WorkGroupSize.x];

void main() {
    uint g = group_index();
    if (g >= args.groups) return;
    uint blocks = (args.out_channels + LANES - 1) / LANES;
    uint taps = uint(FILTER_H * FILTER_W);
    uint block = g % blocks;
    uint tap = g / blocks % taps;
    uint part = g / blocks / taps;
    uint t = thread_index();
    uint rows = gl_WorkGroupSize.x / LANES;
    uint channel = block * LANES + t % LANES;
    uint out_area = divisor(args.out_width) * divisor(args.out_height);
    uint area = args.height * args.width;
    int fy = int(tap) / FILTER_W * DILATION_H - PAD_H;
    int fx = int(tap) % FILTER_W * DILATION_W - PAD_W;
    uint in_channel = divide(channel, args.multiplier);
    ACC sum = ACC_ZERO;
    uint end = min((part + 1) * args.part, args.pixels);
    if (channel < args.out_channels)
        for (uint p = part * args.part + t / LANES; p < end; p += rows) {
            uint row = divide(p, args.out_width);
            uint n = divide(row, args.out_height);
            int y = int(row - n * divisor(args.out_height)) * STRIDE_H + fy;
            int x = int(p - row * divisor(args.out_width)) * STRIDE_W + fx;
            if (uint(y) >= args.height || uint(x) >= args.width) continue;
            uint place = uint(y) * args.width + uint(x);
            uint in_at = CHANNELS_FIRST ? (n * args.channels + in_channel) * area + place : (n * area + place) * args.channels + in_channel;
            uint out_at = CHANNELS_FIRST ? (n * args.out_channels + channel) * out_area + p - n * out_area
                                         : p * args.out_channels + channel;
            sum = madd(LOAD(TC, args.image, in_at), LOAD(TC, args.gradient, out_at), sum);
        }
    lane_sum[t] = sum;
    barrier();
    for (uint half_rows = rows / 2; half_rows > 0; half_rows /= 2) {
        if (t / LANES < half_rows) lane_sum[t] += lane_sum[t + half_rows * LANES];
        barrier();
    }
    if (t < LANES && channel < args.out_channels) args.sums.v[(part * taps + tap) * args.out_channels + channel] = lane_sum[t];
}
