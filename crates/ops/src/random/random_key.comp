// Scrambles a seed into a key and a counter, as TensorFlow's stateless ops do. One thread.
#include "prelude.glsl"
#include "philox.glsl"

PUSH_ARGS {
    uvec2 key_out, counter_out;
    uvec2 a, b; // see philox_source.glsl
    uvec4 counter;
    uvec2 key;
} args;
#include "philox_source.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer WordsOut { uint v[]; };

void main() {
    if (global_index() != 0) return;
    Philox p = PHILOX_SOURCE();
    WordsOut key = WordsOut(args.key_out), counter = WordsOut(args.counter_out);
    [[unroll]] for (int i = 0; i < 2; i++) key.v[i] = p.key[i];
    [[unroll]] for (int i = 0; i < 4; i++) counter.v[i] = p.counter[i];
}
