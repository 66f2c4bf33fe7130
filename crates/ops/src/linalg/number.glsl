// Real and complex numbers under the same names. The includer has T and R, the type of its parts.
#if T_IS_COMPLEX
T product(T a, T b) { return T(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
T conjugate(T a) { return T(a.x, -a.y); }
T of_real(R x) { return T(x, R(0)); }
R real_part(T a) { return a.x; }
R magnitude(T a) {
    // Not by the squares of large or small parts.
    R high = max(abs(a.x), abs(a.y)), low = min(abs(a.x), abs(a.y));
    R ratio = high > R(0) ? low / high : R(0);
    return high * sqrt(R(1) + ratio * ratio);
}
T quotient(T a, T b) {
    // b is scaled first, so that its square stays in range.
    R size = max(abs(b.x), abs(b.y));
    T c = b / size;
    return product(a, conjugate(c)) / ((c.x * c.x + c.y * c.y) * size);
}
#else
T quotient(T a, T b) { return a / b; }
T product(T a, T b) { return a * b; }
T conjugate(T a) { return a; }
T of_real(R x) { return x; }
R real_part(T a) { return a; }
R magnitude(T a) { return abs(a); }
#endif

// The power of two at or below x, kept where its reciprocal is a number too; 1 for zero, infinity and NaN.
#if R_ID == DT_f64
R power_of_two(R x) {
    uint bits = unpackDouble2x32(x).y & 0x7ff00000u;
    if (bits == 0u || bits == 0x7ff00000u) return R(1);
    return packDouble2x32(uvec2(0u, clamp(bits, 0x03000000u, 0x7c000000u)));
}
#else
R power_of_two(R x) {
    uint bits = floatBitsToUint(x) & 0x7f800000u;
    if (bits == 0u || bits == 0x7f800000u) return R(1);
    return uintBitsToFloat(clamp(bits, 0x05000000u, 0x7a000000u));
}
#endif

R larger(R a, R b) { return (a > b || is_nan(a)) ? a : b; }
