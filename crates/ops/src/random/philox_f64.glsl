// The Box-Muller transform in 64-bit floats; included after philox.glsl by shaders that may use them.

double uniform_f64(uint x0, uint x1) {
    return packDouble2x32(uniform_f64_bits(x0, x1));
}

double log_f64(double x) {
    uvec2 bits = unpackDouble2x32(x);
    uint high = bits.y + (0x3FF00000u - 0x3FE6A09Eu);
    int e = int(high >> 20) - 1023;
    bits.y = (high & 0xFFFFFu) + 0x3FE6A09Eu;
    precise double f = packDouble2x32(bits) - 1.0lf;
    precise double k = double(e);
    precise double s = f / (2.0lf + f);
    precise double z = s * s;
    precise double p = 1.0lf / 25.0lf;
    [[unroll]] for (int d = 23; d >= 3; d -= 2) p = p * z + 1.0lf / double(d);
    precise double r = 2.0lf * z * p;
    precise double hfsq = 0.5lf * f * f;
    precise double low = s * (hfsq + r) + k * 1.90821492927058770002e-10lf;
    precise double y = k * 6.93147180369123816490e-01lf - ((hfsq - low) - f);
    return y;
}

// e^x for x <= 0.
double exp_f64(double x) {
    if (x < -745.0lf) return 0.0lf;
    precise double n = floor(x * 1.4426950408889634lf + 0.5lf);
    precise double r = (x - n * 6.93147180369123816490e-01lf) - n * 1.90821492927058770002e-10lf;
    precise double p = 1.0lf / 6227020800.0lf; // 1 / 13!
    double inverse = 1.0lf / 479001600.0lf;
    [[unroll]] for (int k = 12; k >= 1; k--) {
        p = p * r + inverse;
        inverse *= double(k);
    }
    p = p * r + 1.0lf;
    // In two steps, so that a subnormal result comes out right.
    int e = int(n), half_e = e / 2;
    double y = p * packDouble2x32(uvec2(0u, uint(1023 + half_e) << 20));
    return y * packDouble2x32(uvec2(0u, uint(1023 + e - half_e) << 20));
}

// Two standard normals from four words.
dvec2 box_muller_f64(uvec4 x) {
    double u1 = max(uniform_f64(x.x, x.y), 1.0e-7lf);
    precise double t = -2.0lf * log_f64(u1);
    double radius = sqrt(t);
    precise double v = 6.283185307179586lf * uniform_f64(x.z, x.w);
    precise double n = floor(v * 0.6366197723675814lf + 0.5lf);
    precise double r = (v - n * 1.57079632673412561417lf) - n * 6.07710050650619224932e-11lf;
    precise double z = r * r;
    precise double ps = 2.8114572543455206e-15lf;
    ps = ps * z - 7.647163731819816e-13lf;
    ps = ps * z + 1.6059043836821613e-10lf;
    ps = ps * z - 2.505210838544172e-08lf;
    ps = ps * z + 2.7557319223985893e-06lf;
    ps = ps * z - 0.0001984126984126984lf;
    ps = ps * z + 0.008333333333333333lf;
    ps = ps * z - 0.16666666666666666lf;
    precise double sn = r + r * (z * ps);
    precise double pc = -1.5619206968586225e-16lf;
    pc = pc * z + 4.779477332387385e-14lf;
    pc = pc * z - 1.1470745597729725e-11lf;
    pc = pc * z + 2.08767569878681e-09lf;
    pc = pc * z - 2.755731922398589e-07lf;
    pc = pc * z + 2.48015873015873e-05lf;
    pc = pc * z - 0.001388888888888889lf;
    pc = pc * z + 0.041666666666666664lf;
    precise double hz = 0.5lf * z;
    precise double w = 1.0lf - hz;
    precise double cs = w + (((1.0lf - w) - hz) + z * z * pc);
    int q = int(n) & 3;
    dvec2 sc = (q & 1) == 0 ? dvec2(sn, cs) : dvec2(cs, -sn);
    return (q >= 2 ? -sc : sc) * radius;
}
