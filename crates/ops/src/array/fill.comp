// One element's bits everywhere: 16 bytes an invocation, the last invocation the rest.
// variants: SIZE = 1 2 4 8 16
#include "prelude.glsl"
#include "copy/element.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 16) writeonly buffer Wide { uvec4 v[]; };

// The value is at `src`, or else the bits of `value`. `words` is the number of whole 16-byte words, `tail` that of the
// elements after them.
PUSH_ARGS { Source src; Wide dst; uint words; uint tail; uvec4 value; } args;

void main() {
    uint i = global_index();
    if (i > args.words) return;
#if SIZE == 16
    WORD one = args.value;
#elif SIZE == 8
    WORD one = args.value.xy;
#else
    WORD one = args.value.x;
#endif
    if (!IS_NULL(args.src)) one = load(args.src, 0);
    if (i == args.words) {
        Destination rest = Destination(tfvk_offset(uvec2(args.dst), args.words, 1u, 4u));
        for (uint k = 0u; k < args.tail; k++) store(rest, int(k), one);
        return;
    }
#if SIZE == 1
    uvec4 all = uvec4((one & 0xffu) * 0x01010101u);
#elif SIZE == 2
    uvec4 all = uvec4((one & 0xffffu) * 0x00010001u);
#elif SIZE == 4
    uvec4 all = uvec4(one);
#elif SIZE == 8
    uvec4 all = one.xyxy;
#else
    uvec4 all = one;
#endif
    args.dst.v[i] = all;
}
