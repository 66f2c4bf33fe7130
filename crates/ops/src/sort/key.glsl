// Sort keys of KEY bytes (4 or 8) as unsigned numbers.
#if KEY == 8
#define KEY_TYPE uvec2
bool key_less(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }
uint key_digit(uvec2 k, uint shift, uint mask) { return (shift < 32u ? k.x >> shift : k.y >> (shift - 32u)) & mask; }
#else
#define KEY_TYPE uint
bool key_less(uint a, uint b) { return a < b; }
uint key_digit(uint k, uint shift, uint mask) { return (k >> shift) & mask; }
#endif
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Keys { KEY_TYPE v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint v[]; };
