// Convolutions on matrix units, f16 and bf16, as products whose one operand is gathered from an image (implicit im2col): 2-D,
// channels last and whole eights of them, in one group; any stride, dilation and padding. conv.comp has all the others.
//
//   pass            rows x columns of the product, its sums run over      gathered   other
//   forward         pixels x out channels,          taps and in channels  input      filter
//   input gradient  input pixels x in channels,     taps and out channels gradient   filter
//   filter gradient taps and in channels x out channels,   pixels         input      gradient
// The host describes any of them by where a pixel's window starts and how far a tap is from there; of a strided input
// gradient one launch makes the pixels that see the same taps.
// variants: TC = f16 bf16; TILE = 256 128 129 96 64; UNITS = matrix
// variants: TC = f16 bf16; TILE = 64; UNITS = none
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_bfloat16 : require
#include "prelude.glsl"
#include "divide.glsl"
#include "matmul/accumulate.glsl"
#include "matmul/epilogue.glsl"
#include "matmul/round.glsl"

#define FORWARD 0
#define INPUT_GRADIENT 1
#define FILTER_GRADIENT 2
layout(constant_id = 3) const uint PASS = FORWARD;
// Whether the result's pixels lie apart (of a strided input gradient).
layout(constant_id = 4) const bool APART = false;
// Whether K runs over the taps of a step of channels before the next such step, not over all channels of a tap: what
// neighbouring taps share stays in cache. Channels must be whole steps.
layout(constant_id = 5) const bool TAPS_FIRST = false;
// How much of a tap's last eight channels counts: the rest need not be zeros.
layout(constant_id = 6) const uint LAST_EIGHT = 8;
// Sums of parts of K go to partial results, each laid out as the result is.
layout(constant_id = 10) const bool PARTS = false;
layout(constant_id = 18) const float ALPHA = 0;

PUSH_ARGS {
    READ(TC, source);
    READ(TC, other);
    WRITE(TC, c);
    READ(TC, bias);
    uint m;
    uint n;
    uint k;
    // K of one part, a multiple of BK.
    uint k_part;
    // Pairs of 16 bits are height, then width; these are the gathered images' size.
    uint source_size;
    // Elements from a gathered pixel to the next in the row, the row, the image.
    int source_steps[3];
    // The pixels that are the product's rows (or that the sums run over), by size: width, height.
    uvec2 pixels_w;
    uvec2 pixels_h;
    // Channels in taps-and-channels; taps in a row.
    uvec2 tap_channels;
    uvec2 taps_w;
    // Pairs of signed 16 bits: from pixel to pixel, the first pixel's window, from tap to tap.
    int stride;
    int first;
    int tap_step;
    // Pairs: which taps of the filter these are: the first one and from row to row; from one to the next.
    uint filter_taps;
    uint filter_tap_step;
    // As source_steps, of the result; if APART.
    int c_steps[3];
} args;

#define A_ALONG_K (PASS != FILTER_GRADIENT)
#define B_ALONG_K (PASS == INPUT_GRADIENT)
#include "matmul/coop_tile.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Eights { uvec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) writeonly buffer EightsOut { uvec4 v[]; };

uint m_first;
uint n_first;
uint k_limit;
Partial c_part;

ivec2 pair(int packed) { return ivec2(packed << 16, packed) >> 16; }

// image, row and column of a pixel.
uvec3 pixel_of(uint p) {
    uint row = divide(p, args.pixels_w);
    uint image = divide(row, args.pixels_h);
    return uvec3(image, row - image * divisor(args.pixels_h), p - row * divisor(args.pixels_w));
}
int place_of(int image, ivec2 at) {
    return image * args.source_steps[2] + at.x * args.source_steps[1] + at.y * args.source_steps[0];
}
bool inside(ivec2 at) {
    return uint(at.x) < (args.source_size & 0xffffu) && uint(at.y) < args.source_size >> 16;
}

// Tap-and-channel: the tap's place in the window, its number in the filter, and the channel.
struct Tap {
    ivec2 at;
    uint number;
    uint channel;
};
Tap tap_at(uint row, uint column, uint channel) {
    uint number = (args.filter_taps & 0xffffu) + row * (args.filter_taps >> 16) + column * args.filter_tap_step;
    return Tap(ivec2(row, column) * pair(args.tap_step), number, channel);
}
Tap tap_of(uint k) {
    uint tap = divide(k, args.tap_channels);
    uint row = divide(tap, args.taps_w);
    return tap_at(row, tap - row * divisor(args.taps_w), k - tap * divisor(args.tap_channels));
}

// What a slot's eight of A are gathered from does not change from step to step: the pixel, or, of filter gradients, the tap,
// which a thread's slots share.
ivec2 slot_at[A_SLOTS];
int slot_place_in_source[A_SLOTS];
// Of B the first step's place, in eights.
uint slot_b[B_SLOTS];
// What the slots of a step share.
Tap step_tap;
int step_place;
bool step_used;

void find_slots() {
    if (PASS == FILTER_GRADIENT) {
        uint m = m_first + a_place(0).x;
        step_tap = tap_of(m);
        step_place = place_of(0, step_tap.at) + int(step_tap.channel);
        step_used = m < args.m;
    } else {
        [[unroll]] for (uint s = 0; s < A_SLOTS; s++) {
            uint m = m_first + a_place(s).x;
            uvec3 p = pixel_of(m);
            ivec2 at = ivec2(p.yz) * pair(args.stride) + pair(args.first);
            slot_place_in_source[s] = place_of(int(p.x), at);
            // No tap leads back into the image from there.
            slot_at[s] = m < args.m ? at : ivec2(-0x40000000);
        }
    }
    [[unroll]] for (uint s = 0; s < B_SLOTS; s++) {
        uint n = n_first + b_place(s).x;
        slot_b[s] = B_ALONG_K ? n * divisor(args.tap_channels) : (b_place(s).y * args.n + n) / 8;
    }
}

// If TAPS_FIRST: row and column of the step's tap, and its first channel.
uvec3 step_at;
uint tap_rows;

// To the step before the one from k0 on.
void find_step(uint k0) {
    uint taps = divide(args.k, args.tap_channels);
    tap_rows = divide(taps, args.taps_w);
    uint chunk = k0 / BK / taps;
    uint tap = k0 / BK - chunk * taps;
    uint row = divide(tap, args.taps_w);
    step_at = uvec3(row, tap - row * divisor(args.taps_w) - 1, chunk * BK);
}

void next_step() {
    if (++step_at.y == divisor(args.taps_w)) step_at.xy = uvec2(step_at.x + 1, 0);
    if (step_at.x == tap_rows) step_at.xz = uvec2(0, step_at.z + BK);
}

void begin_step(uint k0) {
    if (PASS == FILTER_GRADIENT) return;
    if (TAPS_FIRST) {
        next_step();
        step_tap = tap_at(step_at.x, step_at.y, step_at.z + a_place(0).y);
    } else {
        step_tap = tap_of(k0 + a_place(0).y);
    }
    step_place = place_of(0, step_tap.at) + int(step_tap.channel);
    step_used = k0 + a_place(0).y < k_limit;
}

uvec4 load_a(uint s, uint k0) {
    ivec2 at;
    int place;
    bool used = step_used;
    if (PASS == FILTER_GRADIENT) {
        uint k = k0 + a_place(s).y;
        uvec3 p = pixel_of(k);
        at = ivec2(p.yz) * pair(args.stride) + pair(args.first);
        place = place_of(int(p.x), at);
        used = used && k < k_limit;
    } else {
        at = slot_at[s];
        place = slot_place_in_source[s];
    }
    used = used && inside(at + step_tap.at);
    uvec4 v = used ? Eights(uvec2(args.source)).v[uint(place + step_place) / 8] : uvec4(0);
    // An infinity would not be nothing, times the filter's zero.
    if (LAST_EIGHT < 8 && PASS == FORWARD && step_tap.channel + 8 == divisor(args.tap_channels))
        [[unroll]] for (uint i = 0; i < 4; i++) v[i] &= LAST_EIGHT >= i * 2 + 2 ? ~0u : LAST_EIGHT == i * 2 + 1 ? 0xffffu : 0;
    return v;
}

uvec4 load_b(uint s, uint k0) {
    uvec2 p = b_place(s);
    bool used = n_first + p.x < args.n && k0 + p.y < k_limit;
    // Filter[tap, in channel, out channel], or rows of n elements.
    uint channels = divisor(args.tap_channels);
    uint k = k0;
    if (TAPS_FIRST) k = (step_at.x * divisor(args.taps_w) + step_at.y) * channels + step_at.z;
    uint at = B_ALONG_K ? (step_tap.number * args.n * channels + slot_b[s] + step_tap.channel) / 8 : slot_b[s] + k * args.n / 8;
    return used ? Eights(uvec2(args.other)).v[at] : uvec4(0);
}

void store_eight(uint m, uint n, float v[8]) {
    if (m >= args.m || n >= args.n) return;
    uint at = m * args.n + n;
    if (PARTS) {
        EightsOut fours = EightsOut(uvec2(c_part));
        fours.v[at / 4] = floatBitsToUint(vec4(v[0], v[1], v[2], v[3]));
        fours.v[at / 4 + 1] = floatBitsToUint(vec4(v[4], v[5], v[6], v[7]));
        return;
    }
    if (APART) {
        uvec3 p = pixel_of(m);
        at = p.x * args.c_steps[2] + p.y * args.c_steps[1] + p.z * args.c_steps[0] + n;
    }
    [[unroll]] for (uint i = 0; i < 8; i++) {
        if (BIAS != BIAS_NONE) v[i] += LOAD(TC, args.bias, n + i);
        v[i] = activate(v[i], ALPHA);
    }
    EightsOut(uvec2(args.c)).v[at / 8] = round_eight(v);
}

void main() {
    uint tiles_m = (args.m + BM - 1) / BM;
    uint tiles_n = (args.n + BN - 1) / BN;
    uint tiles = tiles_m * tiles_n;
    uint part = group_index() / tiles;
    uint t = group_index() - part * tiles;
    uint k_first = part * args.k_part;
    if (k_first >= max(args.k, 1)) return;
    k_limit = PARTS ? min(k_first + args.k_part, args.k) : args.k;
    if (PARTS) c_part = partial_at(Partial(uvec2(args.c)), part, args.m * args.n);
    // Eight rows of tiles at a time, column by column: what a wave of workgroups reads stays in cache.
    uint band = t / (8 * tiles_n);
    uint high = min(8, tiles_m - band * 8);
    uint in_band = t - band * 8 * tiles_n;
    m_first = (band * 8 + in_band % high) * BM;
    n_first = in_band / high * BN;
    find_slots();
    if (TAPS_FIRST) find_step(k_first);
    coop_product(m_first, n_first, k_first, k_limit);
}
