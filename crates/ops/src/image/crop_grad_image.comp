// CropAndResizeGradImage: each pixel of [batch, in_height, in_width, channels] gathers from the crops that it went into, in
// order. `dy` is float [boxes, height, width, channels].
// variants: T = f16 f32 f64
#include "prelude.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Floats { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Ints { int v[]; };

PUSH_ARGS {
    Floats dy;
    Floats boxes;
    Ints image;
    WRITE(T, dx);
    uint count; // elements of dx
    uint boxes_count, in_height, in_width, height, width, channels;
} args;
#include "crop.glsl"

// How much of crop pixel i came from image pixel `at`; 0 for a crop pixel outside the image.
float share(uint i, uint count, float from, float to, int at, uint size) {
    float position = crop_position(i, count, from, to, size);
    if (!inside(position, size)) return 0.0;
    Pair p = crop_pair(position);
    return (p.lower == at ? 1.0 - p.part : 0.0) + (p.upper == at ? p.part : 0.0);
}

// The crop pixels that may touch image pixel `at`: a superset.
uvec2 touching(uint count, float from, float to, int at, uint size) {
    float last = float(size - 1);
    float step = count > 1 ? (to - from) * last / float(count - 1) : 0.0;
    if (!(abs(step) > 1e-6)) return uvec2(0, count);
    float one = (float(at) - 1.0 - from * last) / step, two = (float(at) + 1.0 - from * last) / step;
    float low = min(one, two) - 2.0, high = max(one, two) + 2.0;
    if (!(low < float(count)) || !(high >= 0.0)) return uvec2(0, 0);
    return uvec2(uint(max(low, 0.0)), uint(min(high, float(count - 1))) + 1);
}

void main() {
    uint i = global_index();
    if (i >= args.count) return;
    uint c = i % args.channels, at = i / args.channels;
    int column = int(at % args.in_width);
    uint row_of_all = at / args.in_width;
    int batch = int(row_of_all / args.in_height), row = int(row_of_all % args.in_height);
    float sum = 0.0;
    for (uint box = 0; box < args.boxes_count; box++) {
        if (args.image.v[box] != batch) continue;
        vec4 b = vec4(args.boxes.v[4 * box], args.boxes.v[4 * box + 1], args.boxes.v[4 * box + 2], args.boxes.v[4 * box + 3]);
        uvec2 rows = touching(args.height, b.x, b.z, row, args.in_height);
        uvec2 columns = touching(args.width, b.y, b.w, column, args.in_width);
        for (uint r = rows.x; r < rows.y; r++) {
            float v = share(r, args.height, b.x, b.z, row, args.in_height);
            if (v == 0.0) continue;
            for (uint k = columns.x; k < columns.y; k++) {
                float h = share(k, args.width, b.y, b.w, column, args.in_width);
                if (h != 0.0) sum += v * h * args.dy.v[((box * args.height + r) * args.width + k) * args.channels + c];
            }
        }
    }
    STORE(T, args.dx, i, T(sum));
}
