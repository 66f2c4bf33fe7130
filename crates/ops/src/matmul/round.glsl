// Eight sums as eight elements of TC, f16 or bf16, to the nearest, ties to even. In integers: NVIDIA's own conversion to
// bf16 (driver 580) cuts off.
uvec4 round_eight(float v[8]) {
#if TC_ID == DT_bf16
    uint largest = 0;
    [[unroll]] for (uint i = 0; i < 8; i++) largest = max(largest, floatBitsToUint(v[i]) & 0x7fffffffu);
    if (largest <= 0x7f800000u) {
        // No NaN is there that could be rounded into a number.
        uvec4 r;
        [[unroll]] for (uint i = 0; i < 4; i++) {
            uint low = floatBitsToUint(v[i * 2]);
            uint high = floatBitsToUint(v[i * 2 + 1]);
            low += 0x7fffu + ((low >> 16) & 1u);
            high += 0x7fffu + ((high >> 16) & 1u);
            r[i] = (low >> 16) | (high & 0xffff0000u);
        }
        return r;
    }
    return uvec4(tfvk_pack_bf16(vec4(v[0], v[1], v[2], v[3])), tfvk_pack_bf16(vec4(v[4], v[5], v[6], v[7])));
#else
    return uvec4(tfvk_pack_f16(vec4(v[0], v[1], v[2], v[3])), tfvk_pack_f16(vec4(v[4], v[5], v[6], v[7])));
#endif
}
