// Indices of IX bytes (4: int32, 8: int64, 1: uint8) without 64-bit integers. What is below 0 or does not fit 31 bits
// comes as -1.
#if IX == 8
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Indices { ivec2 v[]; };
int load_index(Indices p, uint i) {
    ivec2 w = p.v[i];
    return w.y == 0 && w.x >= 0 ? w.x : -1;
}
#elif IX == 1
layout(buffer_reference, scalar, buffer_reference_align = 1) readonly buffer Indices { uint8_t v[]; };
int load_index(Indices p, uint i) { return int(uint(p.v[i])); }
#else
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Indices { int v[]; };
int load_index(Indices p, uint i) { return max(p.v[i], -1); }
#endif
