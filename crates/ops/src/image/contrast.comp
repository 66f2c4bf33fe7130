// AdjustContrastv2: (x - mean) * factor + mean, the mean over the pixels of a channel of an image. A workgroup a channel.
// variants: T = f16 f32
#include "prelude.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Floats { float v[]; };

PUSH_ARGS {
    READ(T, x); // [images, pixels, channels]
    WRITE(T, y);
    Floats factor;
    uint groups, pixels, channels;
} args;

shared T partial[128];

void main() {
    uint g = group_index(), t = thread_index();
    if (g >= args.groups) return;
    uint c = g % args.channels;
    T_In x = AT(T, args.x, g / args.channels, args.pixels * args.channels);
    T_Out y = AT_OUT(T, args.y, g / args.channels, args.pixels * args.channels);
    T sum = T(0);
    for (uint i = t; i < args.pixels; i += group_size()) sum += LOAD(T, x, i * args.channels + c);
    partial[t] = sum;
    for (uint step = group_size() / 2; step > 0; step /= 2) {
        barrier();
        if (t < step) partial[t] += partial[t + step];
    }
    barrier();
    T mean = partial[0] / T(args.pixels), factor = T(args.factor.v[0]);
    for (uint i = t; i < args.pixels; i += group_size()) {
        STORE(T, y, i * args.channels + c, (LOAD(T, x, i * args.channels + c) - mean) * factor + mean);
    }
}
