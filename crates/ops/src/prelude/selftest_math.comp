// Test kernel of math.glsl: y = f(x), by number.
// variants: T = f32 f64
#include "prelude.glsl"
#include "math.glsl"

layout(constant_id = 3) const uint FUNCTION = 0;

PUSH_ARGS { READ(T, x); WRITE(T, y); uint n; } args;

T apply(T x) {
    if (FUNCTION == 0) return tf_exp(x);
    if (FUNCTION == 1) return tf_log(x);
    if (FUNCTION == 2) return tf_log1p(x);
    if (FUNCTION == 3) return tf_expm1(x);
    if (FUNCTION == 4) return tf_tanh(x);
    return tf_erf(x);
}

void main() {
    uint i = global_index();
    if (i < args.n) STORE(T, args.y, i, apply(LOAD(T, args.x, i)));
}
