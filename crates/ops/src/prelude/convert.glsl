// How elements narrower than 32 bits become numbers and back. Rounding is to the nearest, ties to even, done in
// integers, because Vulkan leaves the rounding of narrowing conversions to the driver.

// The bits of the nearest f16.
uint tfvk_f16_bits(float x) {
    uint b = floatBitsToUint(x);
    uint a = b & 0x7fffffffu;
    uint r = (a + 0xc8000fffu + ((a >> 13) & 1u)) >> 13;
    if (a < 0x38800000u) { // below the smallest normal: 0.5's last bit is 2^-24
        precise float y = uintBitsToFloat(a) + 0.5;
        r = floatBitsToUint(y) - 0x3f000000u;
    }
    r = a >= 0x47800000u ? (a > 0x7f800000u ? 0x7e00u : 0x7c00u) : r;
    return ((b >> 16) & 0x8000u) | r;
}

// The bits of the nearest bf16; a NaN stays one.
uint tfvk_bf16_bits(float x) {
    uint b = floatBitsToUint(x);
    uint r = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
    return (b & 0x7fffffffu) > 0x7f800000u ? (((b >> 16) & 0x8000u) | 0x7fc0u) : r;
}

vec4 tfvk_f16x4(uvec2 w) { return vec4(unpackHalf2x16(w.x), unpackHalf2x16(w.y)); }
vec4 tfvk_bf16x4(uvec2 w) {
    return uintBitsToFloat(uvec4(w.x << 16, w.x & 0xffff0000u, w.y << 16, w.y & 0xffff0000u));
}
uvec4 tfvk_u16x4(uvec2 w) { return uvec4(w.x & 0xffffu, w.x >> 16, w.y & 0xffffu, w.y >> 16); }
ivec4 tfvk_i16x4(uvec2 w) { return ivec4(w.x << 16, w.x, w.y << 16, w.y) >> 16; }
uvec4 tfvk_u8x4(uint w) { return uvec4(w, w >> 8, w >> 16, w >> 24) & 0xffu; }
ivec4 tfvk_i8x4(uint w) { return ivec4(w << 24, w << 16, w << 8, w) >> 24; }
uint tfvk_pack8(uvec4 x) {
    x &= 0xffu;
    return x.x | (x.y << 8) | (x.z << 16) | (x.w << 24);
}
uvec2 tfvk_pack16(uvec4 x) {
    x &= 0xffffu;
    return uvec2(x.x | (x.y << 16), x.z | (x.w << 16));
}
uvec2 tfvk_pack_f16(vec4 x) {
    return tfvk_pack16(uvec4(tfvk_f16_bits(x.x), tfvk_f16_bits(x.y), tfvk_f16_bits(x.z), tfvk_f16_bits(x.w)));
}
uvec2 tfvk_pack_bf16(vec4 x) {
    return tfvk_pack16(uvec4(tfvk_bf16_bits(x.x), tfvk_bf16_bits(x.y), tfvk_bf16_bits(x.z), tfvk_bf16_bits(x.w)));
}

// address + row * stride * 2^log2size bytes, in 64 bits without 64-bit integers.
uvec2 tfvk_offset(uvec2 address, uint row, uint stride, uint log2size) {
    uint hi, lo, carry;
    umulExtended(row, stride, hi, lo);
    if (log2size > 0u) {
        hi = (hi << log2size) | (lo >> (32u - log2size));
        lo <<= log2size;
    }
    lo = uaddCarry(address.x, lo, carry);
    return uvec2(lo, address.y + hi + carry);
}

// The int nearest to a 64-bit integer.
int tfvk_narrow(ivec2 w) { return w.y == (w.x >> 31) ? w.x : (w.y < 0 ? -2147483647 - 1 : 2147483647); }
