// Where the windows of a pooling lie. Tensors are [n, d, h, w, c] or, with the channels first, [n, c, d, h, w].

// 1 where the channels come before the space axes.
layout(constant_id = 3) const uint CHANNELS_FIRST = 0;

struct Window {
    uint channels;
    ivec3 size;   // of the input: depth, height, width
    ivec3 pooled; // of the output
    ivec3 window;
    ivec3 stride;
    ivec3 before; // padding
};

struct Place {
    uint batch;
    uint channel;
    ivec3 at;
};

// Element i of a tensor of this space size.
Place place_of(uint i, ivec3 size, uint channels) {
    Place p;
    if (CHANNELS_FIRST == 0u) {
        p.channel = i % channels;
        i /= channels;
    }
    p.at.z = int(i % uint(size.z));
    i /= uint(size.z);
    p.at.y = int(i % uint(size.y));
    i /= uint(size.y);
    p.at.x = int(i % uint(size.x));
    i /= uint(size.x);
    if (CHANNELS_FIRST != 0u) {
        p.channel = i % channels;
        i /= channels;
    }
    p.batch = i;
    return p;
}

// The element at `at` of the same batch and channel.
uint index_of(Place p, ivec3 at, ivec3 size, uint channels) {
    uint space = uint((at.x * size.y + at.y) * size.z + at.z);
    uint all = uint(size.x * size.y * size.z);
    return CHANNELS_FIRST == 0u ? (p.batch * all + space) * channels + p.channel : (p.batch * channels + p.channel) * all + space;
}

// The part of output `o`'s window that lies inside the input.
void window_of(Window w, ivec3 o, out ivec3 first, out ivec3 last) {
    ivec3 start = o * w.stride - w.before;
    first = max(start, ivec3(0));
    last = min(start + w.window, w.size) - 1;
}

// The outputs whose windows have input `at`.
void outputs_of(Window w, ivec3 at, out ivec3 first, out ivec3 last) {
    ivec3 p = at + w.before;
    // Rounded up; a negative numerator would be rounded up by the division itself.
    first = max((p - w.window + w.stride) / w.stride, ivec3(0));
    first = mix(first, ivec3(0), lessThan(p - w.window + 1, ivec3(0)));
    last = min(p / w.stride, w.pooled - 1);
}
