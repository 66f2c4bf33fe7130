// Where key and counter of a stream come from; included after the prelude and philox.glsl.
// The shader's arguments have uvec2 a, b, key and uvec4 counter.

layout(constant_id = 3) const uint SOURCE = 0; // 0: arguments; 1: key a, counter b; 2, 3: int32, int64 seed a; 4: state a

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Words { uint v[]; };

uvec2 sign_extend(uint x) {
    return uvec2(x, uint(int(x) >> 31));
}

#define PHILOX_SOURCE() philox_source(args.a, args.b, Philox(args.counter, args.key))
Philox philox_source(uvec2 a, uvec2 b, Philox given) {
    if (SOURCE == 1) {
        Words key = Words(a), counter = Words(b);
        return Philox(uvec4(counter.v[0], counter.v[1], counter.v[2], counter.v[3]), uvec2(key.v[0], key.v[1]));
    }
    Words w = Words(a);
    if (SOURCE == 2) return philox_from_seed(sign_extend(w.v[0]), sign_extend(w.v[1]));
    if (SOURCE == 3) return philox_from_seed(uvec2(w.v[0], w.v[1]), uvec2(w.v[2], w.v[3]));
    if (SOURCE == 4) return Philox(uvec4(w.v[0], w.v[1], w.v[2], w.v[3]), uvec2(w.v[4], w.v[5]));
    return given;
}
