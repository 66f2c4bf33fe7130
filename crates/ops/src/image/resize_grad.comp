// The gradients of ResizeBilinear and ResizeBicubic: float [batch, height, width, channels] back to
// [batch, in_height, in_width, channels]. Each input pixel gathers from the output pixels that it went into, in order.
// variants: MODE = bilinear bicubic; T = FLOAT
#include "prelude.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Floats { float v[]; };

PUSH_ARGS {
    Floats dy;
    WRITE(T, dx);
    uint count; // elements of dx
    uint in_height, in_width, height, width, channels;
    float y_scale, x_scale;
} args;
#include "sample.glsl"

#if MODE == MODE_bilinear
#define REACH 1.0
// How much of output pixel `i` came from input pixel `at`.
float share(uint i, int at, float scale, uint size) {
    Pair p = bilinear_pair(i, scale, size);
    return (p.lower == at ? 1.0 - p.part : 0.0) + (p.upper == at ? p.part : 0.0);
}
#else
#define REACH 3.0
float share(uint i, int at, float scale, uint size) {
    Quad q = bicubic_quad(i, scale, size);
    vec4 w = mix(vec4(0.0), q.weight, equal(q.pixel, ivec4(at)));
    return w.x + w.y + w.z + w.w;
}
#endif

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    uint c = i % args.channels, at = i / args.channels;
    uint column = at % args.in_width, row = at / args.in_width;
    uint batch = row / args.in_height;
    row %= args.in_height;
    uvec2 rows = touching(int(row), args.y_scale, args.height, REACH);
    uvec2 columns = touching(int(column), args.x_scale, args.width, REACH);
    float sum = 0.0;
    for (uint r = rows.x; r < rows.y; r++) {
        float v = share(r, int(row), args.y_scale, args.in_height);
        if (v == 0.0) continue;
        for (uint k = columns.x; k < columns.y; k++) {
            float h = share(k, int(column), args.x_scale, args.in_width);
            if (h != 0.0) sum += v * h * args.dy.v[((batch * args.height + r) * args.width + k) * args.channels + c];
        }
    }
    STORE(T, args.dx, i, T(sum));
}
