// Convolutions as products whose one operand is gathered from an image (implicit im2col), 2-D (depth 1) and 3-D, any
// stride, dilation and padding, in groups, channels last or first; forward, gradient of the input, gradient of the filter.
//
//   pass            rows x columns of the product, its sums run over      gathered   other
//   forward         pixels x out channels,          taps and in channels  input      filter
//   input gradient  input pixels x in channels,     taps and out channels gradient   filter
//   filter gradient taps and in channels x out channels,   pixels         input      gradient
// With channels first, forward and input gradient are transposed (channels x pixels), so that neighbours stay neighbours.
// variants: TC = f32 f16 bf16; TILE = 128 64 32
// variants: TC = f64; TILE = 64 32
// variants: TC = i32; TILE = 32
#include "prelude.glsl"
#include "divide.glsl"
#include "matmul/accumulate.glsl"
#include "matmul/epilogue.glsl"

#define FORWARD 0
#define INPUT_GRADIENT 1
#define FILTER_GRADIENT 2
layout(constant_id = 3) const uint PASS = FORWARD;
layout(constant_id = 4) const bool CHANNELS_FIRST = false;
// Whether four elements along channels (of the gathered, of the other operand, of the result) are aligned and complete.
layout(constant_id = 5) const bool SOURCE_FOURS = false;
layout(constant_id = 6) const bool OTHER_FOURS = false;
layout(constant_id = 7) const bool OUT_FOURS = false;
// Whether four taps-and-channels in a row share a tap.
layout(constant_id = 8) const bool TAP_FOURS = false;
// Sums of parts of K go to partial results, each laid out as the result is.
layout(constant_id = 10) const bool PARTS = false;
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
    READ(TC, source);
    READ(TC, other);
    WRITE(TC, c);
    READ(TC, bias);
    uint m;
    uint n;
    uint k;
    // The gathered images: depth, height, width, channels (of all groups).
    uint source_size[3];
    uint source_channels;
    // The pixels that are products' rows (or that the sums run over), by size: width, height, depth.
    uvec2 pixels_w;
    uvec2 pixels_h;
    uvec2 pixels_d;
    // Channels of a group in taps-and-channels.
    uvec2 tap_channels;
    // Channels of the other operand: row length of the filter or of the gradient.
    uint other_row;
    // Channels of the result.
    uint out_row;
    uint tiles_m;
    uint tiles_n;
    uint groups;
    uint k_part;
    float alpha;
} args;

#define A_PLACE (PASS == FILTER_GRADIENT ? (CHANNELS_FIRST ? QUAD_OUTER_LANES_K : QUAD_OUTER)                             \
                                         : (CHANNELS_FIRST ? (PASS == FORWARD ? QUAD_OUTER : QUAD_K) : QUAD_K))
#define B_PLACE (PASS == FILTER_GRADIENT ? (CHANNELS_FIRST ? QUAD_OUTER_LANES_K : QUAD_OUTER)                             \
                                         : (CHANNELS_FIRST ? QUAD_K_LANES_OUTER : (PASS == FORWARD ? QUAD_OUTER : QUAD_K)))
#include "matmul/tile.glsl"

// First channel of the group: of the gathered operand, of the other, of the result.
uint source_first;
uint other_first;
uint out_first;
uint k_end;
Partial c_part;

struct Pixel {
    uint image;
    // Index in its image.
    uint index;
    // Where its window starts in the gathered image (input gradient: where it ends).
    ivec3 at;
};

Pixel pixel_of(uint p) {
    uint row = divide(p, args.pixels_w);
    uint plane = divide(row, args.pixels_h);
    uint image = divide(plane, args.pixels_d);
    uint w = divisor(args.pixels_w);
    uint h = divisor(args.pixels_h);
    uint d = divisor(args.pixels_d);
    ivec3 at = ivec3(plane - image * d, row - plane * h, p - row * w);
    ivec3 pad = ivec3(PAD_D, PAD_H, PAD_W);
    at = PASS == INPUT_GRADIENT ? at + pad : at * ivec3(STRIDE_D, STRIDE_H, STRIDE_W) - pad;
    return Pixel(image, p - image * (d * h * w), at);
}

struct Tap {
    uint index;
    uint channel;
    ivec3 at;
};

Tap tap_of(uint k) {
    uint tap = divide(k, args.tap_channels);
    int t = int(tap);
    ivec3 at = ivec3(t / (FILTER_H * FILTER_W), t / FILTER_W % FILTER_H, t % FILTER_W);
    return Tap(tap, k - tap * divisor(args.tap_channels), at * ivec3(DILATION_D, DILATION_H, DILATION_W));
}

// The index of the element that a tap sees from a pixel, or -1 outside of the image.
int gather(Pixel p, Tap t) {
    ivec3 q = p.at + (PASS == INPUT_GRADIENT ? -t.at : t.at);
    bool inside = true;
    if (PASS == INPUT_GRADIENT) {
        ivec3 stride = ivec3(STRIDE_D, STRIDE_H, STRIDE_W);
        inside = q.x >= 0 && q.y >= 0 && q.z >= 0;
        ivec3 whole = q / stride;
        inside = inside && q == whole * stride;
        q = whole;
    }
    ivec3 size = ivec3(args.source_size[0], args.source_size[1], args.source_size[2]);
    inside = inside && uint(q.x) < uint(size.x) && uint(q.y) < uint(size.y) && uint(q.z) < uint(size.z);
    int place = (q.x * size.y + q.y) * size.z + q.z;
    int area = size.x * size.y * size.z;
    int channels = int(args.source_channels);
    int channel = int(source_first + t.channel);
    int at = CHANNELS_FIRST ? (int(p.image) * channels + channel) * area + place
                            : (int(p.image) * area + place) * channels + channel;
    return inside ? at : -1;
}

ACC source_at(int at) { return at < 0 ? ACC_ZERO : LOAD(TC, args.source, at); }
// Elements step apart, from `at` on.
ACC4 source_quad(int at, int step) {
    ACC4 q = acc4(ACC_ZERO);
    if (at < 0) return q;
    if (SOURCE_FOURS) return LOAD4(TC, args.source, at / 4);
    [[unroll]] for (int i = 0; i < 4; i++) q[i] = LOAD(TC, args.source, at + i * step);
    return q;
}
int channel_step() {
    return CHANNELS_FIRST ? int(args.source_size[0] * args.source_size[1] * args.source_size[2]) : 1;
}

// One pixel, four taps-and-channels from k on, none from `end` on.
ACC4 gather_quad(Pixel p, uint k, uint end) {
    if (TAP_FOURS) return k < end ? source_quad(gather(p, tap_of(k)), channel_step()) : acc4(ACC_ZERO);
    ACC4 q = acc4(ACC_ZERO);
    [[unroll]] for (uint i = 0; i < 4; i++)
        if (k + i < end) q[i] = source_at(gather(p, tap_of(k + i)));
    return q;
}

// What does not change from step to step: the pixel of each slot.
#define SLOTS (A_SLOTS > B_SLOTS ? A_SLOTS : B_SLOTS)
Pixel slot_pixel[SLOTS];
// The row (column) of pixels that a slot gathers for is used at all.
ACC4 gather_slot(uint slot, uint pixel, uint pixels, uint k) {
    return pixel < pixels ? gather_quad(slot_pixel[slot], k, k_end) : acc4(ACC_ZERO);
}

// Four elements of a row of the other operand that end at `limit`.
ACC4 other_quad(uint at, uint index, uint limit) {
    if (OTHER_FOURS) return LOAD4(TC, args.other, at / 4);
    ACC4 q = acc4(ACC_ZERO);
    [[unroll]] for (uint i = 0; i < 4; i++)
        if (index + i < limit) q[i] = LOAD(TC, args.other, at + i);
    return q;
}

// Filter[k, channel..channel+3], of `channels`.
ACC4 filter_forward(uint k, uint channel, uint channels) {
    if (k >= k_end || channel >= channels) return acc4(ACC_ZERO);
    return other_quad(k * args.other_row + other_first + channel, channel, channels);
}

// Filter[tap, in channel, out channel], the last two from k..k+3.
ACC4 filter_backward(uint k, uint in_channel, uint in_channels) {
    ACC4 q = acc4(ACC_ZERO);
    if (in_channel >= in_channels) return q;
    [[unroll]] for (uint i = 0; i < 4; i++) {
        if (k + i >= k_end) return q;
        Tap t = tap_of(k + i);
        uint at = (t.index * in_channels + in_channel) * args.other_row + other_first + t.channel;
        if (OTHER_FOURS) return LOAD4(TC, args.other, at / 4);
        q[i] = LOAD(TC, args.other, at);
    }
    return q;
}

ACC4 load_a(uint slot, uint m, uint k) {
    if (PASS == FILTER_GRADIENT) return k < k_end ? gather_quad(pixel_of(k), m, args.m) : acc4(ACC_ZERO);
    if (!CHANNELS_FIRST) return gather_slot(slot, m, args.m, k);
    return PASS == FORWARD ? filter_forward(k, m, args.m) : filter_backward(k, m, args.m);
}

ACC4 load_b(uint slot, uint n, uint k) {
    if (PASS == FILTER_GRADIENT) {
        if (k >= k_end || n >= args.n) return acc4(ACC_ZERO);
        if (!CHANNELS_FIRST) return other_quad(k * args.other_row + other_first + n, n, args.n);
        Pixel p = pixel_of(k);
        uint area = divisor(args.pixels_w) * divisor(args.pixels_h) * divisor(args.pixels_d);
        ACC4 q = acc4(ACC_ZERO);
        [[unroll]] for (uint i = 0; i < 4; i++)
            if (n + i < args.n) q[i] = LOAD(TC, args.other, (p.image * args.other_row + other_first + n + i) * area + p.index);
        return q;
    }
    if (CHANNELS_FIRST) return gather_slot(slot, n, args.n, k);
    return PASS == FORWARD ? filter_forward(k, n, args.n) : filter_backward(k, n, args.n);
}

void store_one(uint at, uint channel, ACC x) {
    if (PARTS) {
        c_part.v[at] = x;
        return;
    }
#if TC_IS_FLOAT
    if (BIAS != BIAS_NONE) x += LOAD(TC, args.bias, channel);
    x = activate(x, args.alpha);
#endif
    STORE(TC, args.c, at, x);
}

void store_quad(uint m, uint n, ACC4 v) {
    if (m >= args.m || n >= args.n) return;
    if (!CHANNELS_FIRST || PASS == FILTER_GRADIENT) {
        uint channel = out_first + n;
        uint at = m * args.out_row + channel;
        if (OUT_FOURS && !PARTS) {
#if TC_IS_FLOAT
            [[unroll]] for (uint i = 0; i < 4; i++) {
                if (BIAS != BIAS_NONE) v[i] += LOAD(TC, args.bias, channel + i);
                v[i] = activate(v[i], args.alpha);
            }
#endif
            STORE4(TC, args.c, at / 4, v);
            return;
        }
        [[unroll]] for (uint i = 0; i < 4; i++)
            if (n + i < args.n) store_one(at + i, channel + i, v[i]);
        return;
    }
    uint channel = out_first + m;
    uint area = divisor(args.pixels_w) * divisor(args.pixels_h) * divisor(args.pixels_d);
    if (OUT_FOURS && !PARTS) {
        Pixel p = pixel_of(n);
#if TC_IS_FLOAT
        [[unroll]] for (uint i = 0; i < 4; i++) {
            if (BIAS != BIAS_NONE) v[i] += LOAD(TC, args.bias, channel);
            v[i] = activate(v[i], args.alpha);
        }
#endif
        STORE4(TC, args.c, ((p.image * args.out_row + channel) * area + p.index) / 4, v);
        return;
    }
    [[unroll]] for (uint i = 0; i < 4; i++) {
        if (n + i >= args.n) return;
        Pixel p = pixel_of(n + i);
        store_one((p.image * args.out_row + channel) * area + p.index, channel, v[i]);
    }
}

void main() {
    uint g = group_index();
    if (g >= args.groups) return;
    uint tiles = args.tiles_m * args.tiles_n;
    uint q = g / tiles;
    uint t = g - q * tiles;
    uint conv_groups = args.groups / tiles;
    uint part = 0;
    if (PARTS) {
        conv_groups /= (args.k + args.k_part - 1) / args.k_part;
        part = q / conv_groups;
    }
    uint group = q - part * conv_groups;
    // Channels of a group: of taps-and-channels, and the product's own.
    uint own = CHANNELS_FIRST && PASS != FILTER_GRADIENT ? args.m : args.n;
    source_first = group * divisor(args.tap_channels);
    other_first = group * (PASS == INPUT_GRADIENT ? divisor(args.tap_channels) : own);
    out_first = group * own;
    uint area = divisor(args.pixels_w) * divisor(args.pixels_h) * divisor(args.pixels_d);
    // Elements of the result: rows of out_row channels, a row per pixel or per tap and channel.
    uint rows = PASS == FILTER_GRADIENT || !CHANNELS_FIRST ? args.m : args.n;
    if (PARTS) c_part = partial_at(Partial(uvec2(args.c)), part, rows * args.out_row);

    uint band = t / (8 * args.tiles_n);
    uint high = min(8, args.tiles_m - band * 8);
    uint in_band = t - band * 8 * args.tiles_n;
    uint m0 = (band * 8 + in_band % high) * BM;
    uint n0 = in_band / high * BN;

    if (PASS != FILTER_GRADIENT) {
        if (CHANNELS_FIRST) {
            [[unroll]] for (uint s = 0; s < B_SLOTS; s++) slot_pixel[s] = pixel_of(n0 + slot_place(B_PLACE, s, BN).x);
        } else {
            [[unroll]] for (uint s = 0; s < A_SLOTS; s++) slot_pixel[s] = pixel_of(m0 + slot_place(A_PLACE, s, BM).x);
        }
    }
    uint k_begin = part * args.k_part;
    k_end = PARTS ? min(k_begin + args.k_part, args.k) : args.k;
    tile_product(m0, n0, k_begin, k_end);
}
