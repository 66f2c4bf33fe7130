// What the batch-normalisation kernels share. x is [outer, channels, inner] (channels first) or [outer, channels] (channels
// last, inner 1); a piece is an element, or four neighbours. All statistics are f32.
layout(constant_id = 3) const uint LAST = 0;   // channels are the last axis
layout(constant_id = 4) const uint VECTOR = 0; // pieces of four: of the channels if they are last, else of the inner axis

vec4 load_piece(T_In x, uint i) {
    vec4 v = vec4(0);
    if (VECTOR == 1) v = LOAD4(T, x, i);
    else v.x = LOAD(T, x, i);
    return v;
}
void store_piece(T_Out y, uint i, vec4 v) {
    if (VECTOR == 1) STORE4(T, y, i, v);
    else STORE(T, y, i, v.x);
}
// A per-channel value for the piece whose first channel is c.
vec4 per_channel(F_In p, uint c) {
    if (LAST == 1 && VECTOR == 1) return vec4(LOAD(F, p, c), LOAD(F, p, c + 1), LOAD(F, p, c + 2), LOAD(F, p, c + 3));
    return vec4(LOAD(F, p, c));
}
