// exp(-2 pi i a / n) without a table: the angle is reduced exactly, by integers, to an eighth of a turn either side.
// T is c64 or c128; the includer's REAL is its part. a < n <= 2^29.
#if T_ID == DT_c128
#define REAL double
#else
#define REAL float
#endif
// A constant, of all the digits that a double takes.
#define K(x) REAL(x)

T twiddle(uint a, uint n) {
    uint quarter = (4u * a + n / 2u) / n;
    // Less than half a quarter of a turn; in quarters.
    REAL x = REAL(int(4u * a - quarter * n)) / REAL(n);
    REAL z = x * x;
#if T_ID == DT_c128
    REAL s = K(5.692172921967926811775e-8lf) + z * K(-6.688035109811467232478e-10lf);
    s = K(-3.598843235212085340459e-6lf) + z * s;
    s = K(1.604411847873598218727e-4lf) + z * s;
    s = K(-4.681754135318688100684e-3lf) + z * s;
    s = K(7.969262624616704512051e-2lf) + z * s;
    s = K(-6.459640975062462536558e-1lf) + z * s;
    s = x * (K(1.570796326794896619231lf) + z * s);
    REAL c = K(-6.386603083791852241090e-9lf) + z * K(6.565963114979472362210e-11lf);
    c = K(4.710874778818171503670e-7lf) + z * c;
    c = K(-2.520204237306060548105e-5lf) + z * c;
#else
    REAL s = K(-4.681754135318688e-3lf) + z * K(1.604411847873598e-4lf);
    s = K(7.969262624616705e-2lf) + z * s;
    s = K(-6.459640975062463e-1lf) + z * s;
    s = x * (K(1.570796326794897lf) + z * s);
    REAL c = K(-2.520204237306061e-5lf);
#endif
    c = K(9.192602748394265802410e-4lf) + z * c;
    c = K(-2.086348076335296087305e-2lf) + z * c;
    c = K(2.536695079010480136366e-1lf) + z * c;
    c = K(-1.233700550136169827354lf) + z * c;
    c = K(1.0lf) + z * c;
    T w = (quarter & 1u) != 0u ? T(-s, -c) : T(c, -s);
    return (quarter & 2u) != 0u ? -w : w;
}

// Products of complex numbers, and with -i.
T times(T a, T b) { return T(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
T turned(T a) { return T(a.y, -a.x); }
