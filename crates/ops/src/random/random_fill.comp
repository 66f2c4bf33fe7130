// Fills a tensor with random numbers, element for element as TensorFlow's CPU kernels do.
//
// A group is what one call of a distribution yields: the elements of one Philox block. Group g uses block g of the
// stream; a truncated normal draws pairs from block 64 g per element of a group on until the group is full.
// variants: KIND = uniform_f32 uniform_f16 uniform_bf16 uniform_f64 normal_f32 normal_f16 normal_bf16 normal_f64
// variants: KIND = truncated_f32 truncated_f16 truncated_bf16 truncated_f64 int_32 int_64 full
#include "prelude.glsl"
#include "philox.glsl"

PUSH_ARGS {
    uvec2 y;          // the output
    uvec2 a, b;       // see philox_source.glsl
    uint groups;
    uint tail;        // 32-bit (f16, bf16: 16-bit) words of the last group
    uvec2 low, range; // of integers
    uvec2 reciprocal; // of range
    uvec4 counter;
    uvec2 key;
} args;
#include "philox_source.glsl"

#define IS_HALF (KIND == KIND_uniform_f16 || KIND == KIND_uniform_bf16 || KIND == KIND_normal_f16 || KIND == KIND_normal_bf16 \
    || KIND == KIND_truncated_f16 || KIND == KIND_truncated_bf16)
#if KIND == KIND_uniform_f64 || KIND == KIND_normal_f64 || KIND == KIND_truncated_f64
#include "math.glsl"
#include "philox_f64.glsl"
#endif

#if IS_HALF
layout(buffer_reference, scalar, buffer_reference_align = 8) writeonly buffer Group { uvec2 v; };
layout(buffer_reference, scalar, buffer_reference_align = 2) writeonly buffer Element { uint16_t v[]; };
#define GROUP_LOG2 3
#else
layout(buffer_reference, scalar, buffer_reference_align = 16) writeonly buffer Group { uvec4 v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer Element { uint v[]; };
#define GROUP_LOG2 4
#endif

// Four numbers as 32-bit words: floats to be stored as f32, f16 or bf16 by `save`, or words to be stored as they are.
#if KIND == KIND_normal_f32 || KIND == KIND_normal_f16 || KIND == KIND_normal_bf16
uvec4 draw(Philox p) {
    uvec4 x = philox_block(p);
    return floatBitsToUint(vec4(box_muller(x.x, x.y), box_muller(x.z, x.w)));
}
#elif KIND == KIND_truncated_f32 || KIND == KIND_truncated_f16 || KIND == KIND_truncated_bf16
uvec4 draw(Philox p) {
    vec4 y = vec4(0);
    uint count = 0;
    while (count < 4) {
        uvec4 x = philox_block(p);
        vec4 n = vec4(box_muller(x.x, x.y), box_muller(x.z, x.w));
        [[unroll]] for (int i = 0; i < 4; i++) {
            if (abs(n[i]) < 2.0 && count < 4) {
                y = mix(y, vec4(n[i]), equal(uvec4(0, 1, 2, 3), uvec4(count)));
                count++;
            }
        }
        philox_skip(p, uvec2(1, 0));
    }
    return floatBitsToUint(y);
}
#elif KIND == KIND_normal_f64
uvec4 draw(Philox p) {
    dvec2 n = box_muller_f64(philox_block(p));
    return uvec4(unpackDouble2x32(n.x), unpackDouble2x32(n.y));
}
#elif KIND == KIND_truncated_f64
uvec4 draw(Philox p) {
    dvec2 y = dvec2(0);
    uint count = 0;
    while (count < 2) {
        dvec2 n = box_muller_f64(philox_block(p));
        if (abs(n.x) < 2.0lf) {
            if (count == 0) y.x = n.x; else y.y = n.x;
            count++;
        }
        if (abs(n.y) < 2.0lf && count < 2) {
            if (count == 0) y.x = n.y; else y.y = n.y;
            count++;
        }
        philox_skip(p, uvec2(1, 0));
    }
    return uvec4(unpackDouble2x32(y.x), unpackDouble2x32(y.y));
}
#elif KIND == KIND_uniform_f64
uvec4 draw(Philox p) {
    uvec4 x = philox_block(p);
    return uvec4(uniform_f64_bits(x.x, x.y), uniform_f64_bits(x.z, x.w));
}
#elif KIND == KIND_uniform_f32
uvec4 draw(Philox p) {
    return floatBitsToUint(vec4(philox_block(p) & 0x7FFFFFu) * uintBitsToFloat(0x34000000u));
}
#elif KIND == KIND_uniform_f16
uvec4 draw(Philox p) {
    return floatBitsToUint(vec4(philox_block(p) & 0x3FFu) * (1.0 / 1024.0));
}
#elif KIND == KIND_uniform_bf16
uvec4 draw(Philox p) {
    return floatBitsToUint(vec4(philox_block(p) & 0x7Fu) * (1.0 / 128.0));
}
#elif KIND == KIND_int_32
uvec4 draw(Philox p) {
    return args.low.x + philox_block(p) % args.range.x;
}
#elif KIND == KIND_int_64
uvec2 add(uvec2 a, uvec2 b) {
    uint carry;
    uint lo = uaddCarry(a.x, b.x, carry);
    return uvec2(lo, a.y + b.y + carry);
}
// The low 64 bits of a * b.
uvec2 multiply(uvec2 a, uvec2 b) {
    uint hi, lo;
    umulExtended(a.x, b.x, hi, lo);
    return uvec2(lo, hi + a.x * b.y + a.y * b.x);
}
// The high 64 bits of a * b.
uvec2 multiply_high(uvec2 a, uvec2 b) {
    uint h00, l00, h01, l01, h10, l10, h11, l11;
    umulExtended(a.x, b.x, h00, l00);
    umulExtended(a.x, b.y, h01, l01);
    umulExtended(a.y, b.x, h10, l10);
    umulExtended(a.y, b.y, h11, l11);
    uvec2 middle = add(add(uvec2(h00, 0), uvec2(l01, 0)), uvec2(l10, 0));
    return add(add(uvec2(l11, h11), uvec2(h01, 0)), add(uvec2(h10, 0), uvec2(middle.y, 0)));
}
// low + x % range. The quotient from the reciprocal is right or one too small.
uvec2 in_range(uvec2 x) {
    uvec2 q = multiply_high(x, args.reciprocal);
    uvec2 r = add(add(x, ~multiply(q, args.range)), uvec2(1, 0));
    if (r.y > args.range.y || (r.y == args.range.y && r.x >= args.range.x)) r = add(add(r, ~args.range), uvec2(1, 0));
    return add(args.low, r);
}
uvec4 draw(Philox p) {
    uvec4 x = philox_block(p);
    return uvec4(in_range(x.xy), in_range(x.zw));
}
#else
uvec4 draw(Philox p) {
    return philox_block(p);
}
#endif

#if KIND == KIND_uniform_f16 || KIND == KIND_normal_f16 || KIND == KIND_truncated_f16
uvec2 save(uvec4 x) { return tfvk_pack_f16(uintBitsToFloat(x)); }
#elif IS_HALF
uvec2 save(uvec4 x) { return tfvk_pack_bf16(uintBitsToFloat(x)); }
#else
uvec4 save(uvec4 x) { return x; }
#endif

// Blocks between the starts of two groups, as a power of two.
#if KIND == KIND_truncated_f64
#define SKIP_LOG2 7
#elif KIND == KIND_truncated_f32 || KIND == KIND_truncated_f16 || KIND == KIND_truncated_bf16
#define SKIP_LOG2 8
#else
#define SKIP_LOG2 0
#endif

void main() {
    Philox start = PHILOX_SOURCE();
    uint first = group_index() * (group_size() * 4u) + thread_index();
    [[unroll]] for (uint i = 0; i < 4; i++) {
        uint g = first + i * group_size();
        if (g >= args.groups) return;
        Philox p = start;
#if SKIP_LOG2 > 0
        philox_skip(p, uvec2(g << SKIP_LOG2, g >> (32 - SKIP_LOG2)));
#else
        philox_skip(p, uvec2(g, 0));
#endif
        uvec4 words = draw(p);
        uvec2 address = tfvk_offset(args.y, g, 1, GROUP_LOG2);
        if (g + 1 < args.groups || args.tail == 4) {
            Group(address).v = save(words);
        } else {
            Element e = Element(address);
#if IS_HALF
            uvec2 halves = save(words);
            for (uint j = 0; j < args.tail; j++) e.v[j] = uint16_t((halves[j >> 1] >> ((j & 1u) * 16u)) & 0xFFFFu);
#else
            for (uint j = 0; j < args.tail; j++) e.v[j] = words[j];
#endif
        }
    }
}
