// What the two reduction kernels share: the accumulator, how two are combined, what is done first and last.
// Included after prelude.glsl by kernels with type parameters I (input) and O (output).
#include "group.glsl"

layout(constant_id = 3) const uint FIRST = 0; // 1: square (the squared magnitude of a complex number)
layout(constant_id = 4) const uint LAST = 0;  // 1: divide by the count, 2: square root, 3: halve
layout(constant_id = 5) const uint VECTOR = 0; // elements are taken in fours; 2: and read one by one
layout(constant_id = 6) const uint OP = 0;
const uint SUM = 0, PROD = 1, MAX = 2, MIN = 3;

// The wider of the two: partial sums of narrow types are kept in a wide one.
#if I_SIZE > O_SIZE
#define A I
#define A_VEC4 I_VEC4
#define A_LOWEST I_LOWEST
#define A_HIGHEST I_HIGHEST
#else
#define A O
#define A_VEC4 O_VEC4
#define A_LOWEST O_LOWEST
#define A_HIGHEST O_HIGHEST
#endif

// any and all are max and min of 0 and 1. A NaN wins over every number.
A combine(A a, A b) {
    if (OP == SUM) return a + b;
#if I_IS_COMPLEX
    return A(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
#else
    if (OP == PROD) return a * b;
    if (OP == MAX) return (a > b || is_nan(a)) ? a : b;
    return (a < b || is_nan(a)) ? a : b;
#endif
}

A identity() {
#if I_IS_COMPLEX
    return OP == PROD ? A(1, 0) : A(0);
#else
    return OP == SUM ? A(0) : (OP == PROD ? A(1) : (OP == MAX ? A(A_LOWEST) : A(A_HIGHEST)));
#endif
}

// Where the elements come from. The chain that computes them takes the place of the two functions when it is known; its
// operands are the last words of the arguments.
#if defined(ROWS)
// reduce_rows.comp has its own.
#elif SOURCE == SOURCE_chain
#define SOURCE_ARG
#define OPERANDS_ARG uint operands[24];
#define Source uint
#define SOURCE_AT(row, stride) ((row) * (stride))
A fetch(const uint i) { return A(i); }
A_VEC4 fetch4(const uint i) { return A_VEC4(i); }
#define FETCH(x, i) fetch((x) + (i))
#define FETCH4(x, i) fetch4((x) / 4 + (i))
#else
#define SOURCE_ARG READ(I, x);
#define OPERANDS_ARG
#define Source I_In
#define SOURCE_AT(row, stride) AT(I, args.x, row, stride)
#define FETCH(x, i) LOAD(I, x, i)
#if I_HAS_VEC4
I_VEC4 fetch4(I_In x, uint i) {
    if (VECTOR == 1) return LOAD4(I, x, i);
    return I_VEC4(LOAD(I, x, 4 * i), LOAD(I, x, 4 * i + 1), LOAD(I, x, 4 * i + 2), LOAD(I, x, 4 * i + 3));
}
#endif
#define FETCH4(x, i) fetch4(x, i)
#endif

A prepare(A v) {
#if I_IS_COMPLEX
    return FIRST == 1 ? A(dot(v, v), 0) : v;
#else
    return FIRST == 1 ? v * v : v;
#endif
}

A finish(A v, uint count) {
    if (LAST == 0) return v;
#if I_IS_COMPLEX
    if (LAST == 1) v /= A(count);
    if (LAST == 2) v = A(sqrt(v.x), 0);
#elif O_IS_FLOAT
    if (LAST == 1) v /= A(count);
    if (LAST == 2) v = sqrt(v);
    if (LAST == 3) v *= A(0.5);
#else
    if (LAST == 1) v = count == 0 ? A(0) : v / A(count);
#endif
    return v;
}

#if I_HAS_VEC4
A_VEC4 combine4(A_VEC4 a, A_VEC4 b) {
    return A_VEC4(combine(a.x, b.x), combine(a.y, b.y), combine(a.z, b.z), combine(a.w, b.w));
}
A_VEC4 prepare4(A_VEC4 v) { return A_VEC4(prepare(v.x), prepare(v.y), prepare(v.z), prepare(v.w)); }
#endif
