// Determinants from LU factors, a workgroup each: the value, or its sign and the logarithm of its magnitude.
// variants: T = f32; R = f32; KIND = value log
// variants: T = f64; R = f64; KIND = value log
// variants: T = c64; R = f32; KIND = value log
// variants: T = c128; R = f64; KIND = value log
#include "prelude.glsl"
#include "math.glsl"
#include "number.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Ints { int v[]; };

PUSH_ARGS {
    READ(T, lu);
    Ints from;       // [batch, n]: a permutation
    WRITE(T, y);     // value, or sign
    WRITE(T, log_y);
    uint batch, n;
} args;

shared uint odd[128];

void main() {
    uint b = group_index(), t = thread_index(), n = args.n;
    if (b >= args.batch) return;
    // The sign of a permutation: -1 for each pair in the wrong order.
    uint wrong = 0;
    for (uint k = t; k < n; k += group_size()) {
        for (uint j = k + 1; j < n; j++) wrong += args.from.v[b * n + j] < args.from.v[b * n + k] ? 1 : 0;
    }
    odd[t] = wrong;
    barrier();
    if (t != 0) return;
    for (uint i = 1; i < group_size(); i++) wrong += odd[i];
    T_In lu = AT(T, args.lu, b, n * n);
    T value = of_real(R((wrong & 1) != 0 ? -1 : 1));
    R log_value = R(0);
    for (uint k = 0; k < n; k++) {
        T d = LOAD(T, lu, k * n + k);
#if KIND == KIND_value
        value = product(value, d);
#else
        R size = magnitude(d);
        value = size == R(0) ? of_real(R(0)) : product(value, d / size);
        log_value += tf_log(size);
#endif
    }
    STORE(T, args.y, b, value);
#if KIND == KIND_log
    STORE(T, args.log_y, b, of_real(log_value));
#endif
}
