// Advances the counter of a generator's state by `blocks`, and gives the state from before, as RngReadAndSkip does.
#include "prelude.glsl"
#include "philox.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint v[]; };

PUSH_ARGS {
    uvec2 state;  // counter, key
    uvec2 before; // or null
    uvec2 blocks;
} args;

void main() {
    if (global_index() != 0) return;
    Words state = Words(args.state);
    Philox p = Philox(uvec4(state.v[0], state.v[1], state.v[2], state.v[3]), uvec2(state.v[4], state.v[5]));
    if (!IS_NULL(args.before)) {
        Words before = Words(args.before);
        [[unroll]] for (int i = 0; i < 4; i++) before.v[i] = p.counter[i];
        [[unroll]] for (int i = 0; i < 2; i++) before.v[4 + i] = p.key[i];
    }
    philox_skip(p, args.blocks);
    [[unroll]] for (int i = 0; i < 4; i++) state.v[i] = p.counter[i];
}
