// The Box-Muller transform in 64-bit floats; included after philox.glsl and math.glsl by shaders that may use them.

double uniform_f64(uint x0, uint x1) {
    return packDouble2x32(uniform_f64_bits(x0, x1));
}

// Two standard normals from four words.
dvec2 box_muller_f64(uvec4 x) {
    double u1 = max(uniform_f64(x.x, x.y), 1.0e-7lf);
    precise double t = -2.0lf * tf_log(u1);
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
