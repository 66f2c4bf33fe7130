// What follows a product of floats: bias and activation. Constants 16 and 17; BIAS says along which index it lies.
#include "math.glsl"

#define BIAS_NONE 0
#define BIAS_N 1
#define BIAS_M 2
layout(constant_id = 16) const uint BIAS = BIAS_NONE;
// epilogue.rs numbers them. Number 8 is too long to be unrolled into a tile's epilogue: only includers that define
// EPILOGUE_ERF have it.
layout(constant_id = 17) const uint ACTIVATION = 0;

#if TC_IS_FLOAT
// elu's exponential, with x for small x.
float elu_tail(float x) { return tf_expm1(x); }
double elu_tail(double x) { return tf_expm1(x); }

ACC activate(ACC x, float alpha) {
    switch (ACTIVATION) {
    case 1: return is_nan(x) ? x : max(x, ACC(0));
    case 2: return is_nan(x) ? x : min(max(x, ACC(0)), ACC(6));
    case 3: return x < ACC(0) ? elu_tail(x) : x;
    case 4: return x > ACC(0) ? x : x * ACC(alpha);
    case 5: return tf_tanh(x);
    case 6: return ACC(1) / (ACC(1) + tf_exp(-x));
    case 7: return ACC(0.5) * x * (ACC(1) + tf_tanh(ACC(0.797884561) * (x + ACC(0.044715) * x * x * x)));
#ifdef EPILOGUE_ERF
    case 8: return ACC(0.5) * x * (ACC(1) + tf_erf(x * ACC(0.707106781)));
#endif
    }
    return x;
}
#else
ACC activate(ACC x, float alpha) { return x; }
#endif
