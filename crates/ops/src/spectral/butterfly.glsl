// Forward transforms of 2 to 8 points, in registers: v[k] becomes the sum over j of v[j] exp(-2 pi i j k / R).

void fft2(inout T v[8]) {
    T a = v[0];
    v[0] = a + v[1];
    v[1] = a - v[1];
}

void fft3(inout T v[8]) {
    T sum = v[1] + v[2], difference = turned(v[1] - v[2]) * K(0.866025403784438646763723lf);
    T middle = v[0] - K(0.5lf) * sum;
    v[0] += sum;
    v[1] = middle + difference;
    v[2] = middle - difference;
}

void fft4(inout T a, inout T b, inout T c, inout T d) {
    T s0 = a + c, d0 = a - c, s1 = b + d, d1 = turned(b - d);
    a = s0 + s1;
    b = d0 + d1;
    c = s0 - s1;
    d = d0 - d1;
}

// For an odd R, the results come in conjugate pairs: what is even in the inputs, and what is odd, turned.
void fft5(inout T v[8]) {
    const REAL c1 = K(0.309016994374947424102293lf), c2 = K(-0.809016994374947424102293lf);
    const REAL s1 = K(0.951056516295153572116439lf), s2 = K(0.587785252292473129168706lf);
    T e1 = v[1] + v[4], e2 = v[2] + v[3], o1 = turned(v[1] - v[4]), o2 = turned(v[2] - v[3]);
    T a1 = v[0] + c1 * e1 + c2 * e2, a2 = v[0] + c2 * e1 + c1 * e2;
    T b1 = s1 * o1 + s2 * o2, b2 = s2 * o1 - s1 * o2;
    v[0] += e1 + e2;
    v[1] = a1 + b1;
    v[4] = a1 - b1;
    v[2] = a2 + b2;
    v[3] = a2 - b2;
}

void fft7(inout T v[8]) {
    const REAL c1 = K(0.623489801858733530525005lf), c2 = K(-0.222520933956314404288903lf), c3 = K(-0.900968867902419126236102lf);
    const REAL s1 = K(0.781831482468029808708445lf), s2 = K(0.974927912181823607018132lf), s3 = K(0.433883739117558120475768lf);
    T e1 = v[1] + v[6], e2 = v[2] + v[5], e3 = v[3] + v[4];
    T o1 = turned(v[1] - v[6]), o2 = turned(v[2] - v[5]), o3 = turned(v[3] - v[4]);
    T a1 = v[0] + c1 * e1 + c2 * e2 + c3 * e3, b1 = s1 * o1 + s2 * o2 + s3 * o3;
    T a2 = v[0] + c2 * e1 + c3 * e2 + c1 * e3, b2 = s2 * o1 - s3 * o2 - s1 * o3;
    T a3 = v[0] + c3 * e1 + c1 * e2 + c2 * e3, b3 = s3 * o1 - s1 * o2 + s2 * o3;
    v[0] += e1 + e2 + e3;
    v[1] = a1 + b1;
    v[6] = a1 - b1;
    v[2] = a2 + b2;
    v[5] = a2 - b2;
    v[3] = a3 + b3;
    v[4] = a3 - b3;
}

void fft8(inout T v[8]) {
    fft4(v[0], v[2], v[4], v[6]);
    fft4(v[1], v[3], v[5], v[7]);
    const REAL h = K(0.707106781186547524400844lf);
    T t1 = h * (v[3] + turned(v[3])), t2 = turned(v[5]), t3 = h * (turned(v[7]) - v[7]);
    T a0 = v[0], a1 = v[2], a2 = v[4], a3 = v[6], b0 = v[1];
    v[0] = a0 + b0;
    v[4] = a0 - b0;
    v[1] = a1 + t1;
    v[5] = a1 - t1;
    v[2] = a2 + t2;
    v[6] = a2 - t2;
    v[3] = a3 + t3;
    v[7] = a3 - t3;
}
