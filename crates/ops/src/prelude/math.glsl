// Elementary functions to within three units in the last place (mostly one; tests.rs). Vulkan's own may be far off (log near 1, exp of large arguments,
// tanh near 0), and GLSL has none for double.

// 2^n for n in [-126, 127].
float tfvk_exp2i(int n) { return uintBitsToFloat(uint(n + 127) << 23); }
// 2^n for n in [-1022, 1023].
double tfvk_exp2i_d(int n) { return packDouble2x32(uvec2(0u, uint(n + 1023) << 20)); }

// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
float tfvk_exp_tail(float r) {
    return 0.5 + r * (1.666666667e-1 + r * (4.166657990e-2 + r * (8.333367150e-3 + r * (1.394230500e-3 + r * 1.985000000e-4))));
}

// c - n * ln(2).
float tfvk_reduce(float c, float n) {
    // precise, and no fma(), to which drivers do not apply it: else the two constants may be added up. n * high is exact.
    precise float high = n * 0.693145751953125;
    precise float low = n * 1.428606820309417e-6;
    precise float r = (c - high) - low;
    return r;
}

float tf_exp(float x) {
    float c = clamp(x, -104.0, 89.0);
    float n = roundEven(c * 1.44269504);
    float r = tfvk_reduce(c, n);
    float y = 1.0 + (r + r * r * tfvk_exp_tail(r));
    int k = int(n);
    int h = k / 2;
    y = y * tfvk_exp2i(h) * tfvk_exp2i(k - h);
    return is_nan(x) ? x : (x > 88.7228391 ? INF_F32 : (x < -103.972084 ? 0.0 : y));
}

double tfvk_reduce(double c, double n) {
    precise double high = n * 6.93147180369123816490e-01lf;
    precise double low = n * 1.90821492927058770002e-10lf;
    precise double r = (c - high) - low;
    return r;
}

double tf_exp(double x) {
    double c = clamp(x, -746.0lf, 710.0lf);
    double n = roundEven(c * 1.4426950408889634lf);
    double r = tfvk_reduce(c, n);
    // Taylor to r^13 / 13!: the next term is below 2^-55.
    double y = 1.0lf;
    for (int k = 13; k >= 1; k--) y = 1.0lf + y * (r / double(k));
    int k = int(n);
    int h = k / 2;
    y = y * tfvk_exp2i_d(h) * tfvk_exp2i_d(k - h);
    return is_nan(x) ? x : (x > 709.782712893384lf ? INF_F64 : (x < -745.1332191019412lf ? 0.0lf : y));
}

float tf_log(float x) {
    float a = x;
    float e = 0.0;
    if (a < 1.17549435e-38) { // subnormal
        a *= 8388608.0;
        e = -23.0;
    }
    uint b = floatBitsToUint(a) - 0x3f3504f3u; // so that the mantissa lands in [sqrt(1/2), sqrt(2))
    e += float(int(b) >> 23);
    float f = uintBitsToFloat((b & 0x7fffffu) + 0x3f3504f3u) - 1.0;
    float s = f / (2.0 + f);
    float z = s * s;
    float tail = z * (0.666666667 + z * (0.4 + z * (0.285714286 + z * (0.222222222 + z * 0.191))));
    float half_square = 0.5 * f * f;
    precise float low = s * (half_square + tail) + e * 1.428606820309417e-6;
    precise float y = e * 0.693145751953125 + (f - (half_square - low));
    uint bits = floatBitsToUint(x);
    if ((bits & 0x7fffffffu) == 0u) return -INF_F32;
    if (is_nan(x) || bits == 0x7f800000u) return x;
    return (bits >> 31) != 0u ? NAN_F32 : y;
}

double tf_log(double x) {
    uvec2 bits = unpackDouble2x32(x);
    double a = x;
    int e = 0;
    if ((bits.y & 0x7ff00000u) == 0u) {
        a *= 4503599627370496.0lf;
        e = -52;
    }
    uvec2 w = unpackDouble2x32(a);
    uint hi = w.y - 0x3fe6a09eu;
    e += int(hi) >> 20;
    double f = packDouble2x32(uvec2(w.x, (hi & 0xfffffu) + 0x3fe6a09eu)) - 1.0lf;
    double s = f / (2.0lf + f);
    double z = s * s;
    double tail = 0.0lf;
    for (int k = 12; k >= 1; k--) tail = z * (2.0lf / double(2 * k + 1) + tail);
    double half_square = 0.5lf * f * f;
    precise double low = s * (half_square + tail) + double(e) * 1.90821492927058770002e-10lf;
    precise double y = double(e) * 6.93147180369123816490e-01lf + (f - (half_square - low));
    if (((bits.y & 0x7fffffffu) | bits.x) == 0u) return -INF_F64;
    if (is_nan(x) || (is_inf(x) && (bits.y >> 31) == 0u)) return x;
    return (bits.y >> 31) != 0u ? NAN_F64 : y;
}

// log(1 + x): the rounding of 1 + x cancels in x / (u - 1).
float tf_log1p(float x) {
    precise float u = 1.0 + x;
    precise float d = u - 1.0;
    return d == 0.0 ? x : (is_inf(u) ? tf_log(u) : tf_log(u) * (x / d));
}
double tf_log1p(double x) {
    precise double u = 1.0lf + x;
    precise double d = u - 1.0lf;
    return d == 0.0lf ? x : (is_inf(u) ? tf_log(u) : tf_log(u) * (x / d));
}

// e^x - 1 = 2^n (e^r - 1) + (2^n - 1).
float tf_expm1(float x) {
    if (!(abs(x) < 30.0)) return tf_exp(x) - 1.0;
    float n = roundEven(x * 1.44269504);
    float r = tfvk_reduce(x, n), scale = tfvk_exp2i(int(n));
    float q = r + r * r * tfvk_exp_tail(r);
    return n == 0.0 ? q : scale * q + (scale - 1.0);
}
double tf_expm1(double x) {
    if (!(abs(x) < 60.0lf)) return tf_exp(x) - 1.0lf;
    double n = roundEven(x * 1.4426950408889634lf);
    double r = tfvk_reduce(x, n), scale = tfvk_exp2i_d(int(n));
    double q = 1.0lf;
    for (int k = 14; k >= 2; k--) q = 1.0lf + q * (r / double(k));
    q *= r;
    return n == 0.0lf ? q : scale * q + (scale - 1.0lf);
}

float tf_tanh(float x) {
    float t = tf_expm1(2.0 * min(abs(x), 10.0));
    float y = abs(x) < 2e-4 ? abs(x) : t / (t + 2.0);
    return is_nan(x) ? x : (x < 0.0 ? -y : (x == 0.0 ? x : y));
}
double tf_tanh(double x) {
    double t = tf_expm1(2.0lf * min(abs(x), 20.0lf));
    double y = t / (t + 2.0lf);
    return is_nan(x) ? x : (x < 0.0lf ? -y : (x == 0.0lf ? x : y));
}

// erf by the series with terms of one sign, 2 / sqrt(pi) * exp(-x^2) * sum of 2^n x^(2n+1) / (2n+1)!!; above 2.5 (3) by the
// continued fraction of erfc.
#define TFVK_ERF(T, SERIES_MAX, TERMS, ONE_FROM, ZERO, ONE, TWO, C, C2)                                        \
    T tfvk_erfc_far(T a) {                                                                                        \
        T d = ZERO;                                                                                               \
        for (int k = 40; k >= 1; k--) d = (T(k) / (TWO * a * a)) / (ONE + d);                                     \
        return tf_exp(-a * a) * C2 / (a * (ONE + d));                                                             \
    }                                                                                                             \
    T tfvk_erf_near(T a) {                                                                                        \
        T term = a, sum = a;                                                                                      \
        for (int n = 1; n < TERMS; n++) {                                                                         \
            term *= TWO * a * a / T(2 * n + 1);                                                                   \
            sum += term;                                                                                          \
        }                                                                                                         \
        return sum * C * tf_exp(-a * a);                                                                          \
    }                                                                                                             \
    T tf_erf(T x) {                                                                                               \
        T a = abs(x);                                                                                             \
        T y = a < SERIES_MAX ? tfvk_erf_near(a) : (a < ONE_FROM ? ONE - tfvk_erfc_far(a) : ONE);                  \
        return is_nan(x) ? x : (x < ZERO ? -y : y);                                                               \
    }
TFVK_ERF(float, 2.0, 28, 4.0, 0.0, 1.0, 2.0, 1.12837917, 0.564189584)
TFVK_ERF(double, 3.0lf, 70, 6.0lf, 0.0lf, 1.0lf, 2.0lf, 1.1283791670955126lf, 0.5641895835477563lf)
