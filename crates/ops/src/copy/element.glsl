// Elements of SIZE bytes as opaque words: WORD in registers and shared memory; load(p, i), store(p, i, w).
#if SIZE == 1
#define STORED uint8_t
#define WORD uint
#elif SIZE == 2
#define STORED uint16_t
#define WORD uint
#elif SIZE == 4
#define STORED uint
#define WORD uint
#elif SIZE == 8
#define STORED uvec2
#define WORD uvec2
#else
#define STORED uvec4
#define WORD uvec4
#endif

layout(buffer_reference, scalar, buffer_reference_align = SIZE) readonly buffer Source { STORED v[]; };
layout(buffer_reference, scalar, buffer_reference_align = SIZE) writeonly buffer Destination { STORED v[]; };
WORD load(Source p, int i) { return WORD(p.v[i]); }
void store(Destination p, int i, WORD w) { p.v[i] = STORED(w); }
