// Tridiagonal matrices, given as three rows: super-, main and subdiagonal (the last of the first and the first of the last
// are not used).
//   factor   a thread a matrix: its LU factors, rows exchanged where the pivot would be small
//   solve    a thread for each right-hand side
//   product  a thread for each element of the product
// variants: T = f32; R = f32; KIND = factor solve product
// variants: T = f64; R = f64; KIND = factor solve product
// variants: T = c64; R = f32; KIND = factor solve product
// variants: T = c128; R = f64; KIND = factor solve product
#include "prelude.glsl"
#include "number.glsl"

layout(constant_id = 3) const uint PIVOTING = 1;

PUSH_ARGS {
    READ(T, above);         // factor: [batch, 3, n], all three diagonals; product: [batch, n]
    READ(T, main_diagonal);
    READ(T, below);
    READ(T, rhs);           // [batch, n, k]
    WRITE(T, x);            // [batch, n, k]
    READ_WRITE(T, factors); // [batch, 5, n]: three diagonals of U, the factor of each row, 1 where rows were exchanged
    uint batch, n, k;
} args;

#if R_ID == DT_f64
#define NOT_A_NUMBER NAN_F64
#else
#define NOT_A_NUMBER NAN_F32
#endif

#if KIND == KIND_factor
void main() {
    uint g = global_index(), n = args.n;
    if (g >= args.batch) return;
    T_In d = AT(T, args.above, g, 3 * n);
    T_Out f = AT_OUT(T, args.factors, g, 5 * n);
    T zero = of_real(R(0));
    T main_now = LOAD(T, d, n), above_now = n > 1 ? LOAD(T, d, 0) : zero;
    for (uint i = 0; i + 1 < n; i++) {
        T below = LOAD(T, d, 2 * n + i + 1), next = LOAD(T, d, n + i + 1), above_next = i + 2 < n ? LOAD(T, d, i + 1) : zero;
        bool exchange = PIVOTING != 0 && magnitude(main_now) < magnitude(below);
        T pivot = exchange ? below : main_now;
        // A pivot of zero makes everything NaN, as TensorFlow has it.
        T factor = pivot == zero ? of_real(NOT_A_NUMBER) : quotient(exchange ? main_now : below, pivot);
        STORE(T, f, i, pivot);
        STORE(T, f, n + i, exchange ? next : above_now);
        STORE(T, f, 2 * n + i, exchange ? above_next : zero);
        STORE(T, f, 3 * n + i, factor);
        STORE(T, f, 4 * n + i, of_real(R(exchange ? 1 : 0)));
        main_now = exchange ? above_now - product(factor, next) : next - product(factor, above_now);
        above_now = exchange ? -product(factor, above_next) : above_next;
    }
    STORE(T, f, n - 1, main_now == zero ? of_real(NOT_A_NUMBER) : main_now);
}

#elif KIND == KIND_solve
void main() {
    uint at = global_index(), g = at / args.k, column = at % args.k, n = args.n, k = args.k;
    if (g >= args.batch) return;
    T_Out f = AT_OUT(T, args.factors, g, 5 * n), x = AT_OUT(T, args.x, g, n * k);
    T_In b = AT(T, args.rhs, g, n * k);
    T now = LOAD(T, b, column);
    for (uint i = 0; i + 1 < n; i++) {
        T next = LOAD(T, b, (i + 1) * k + column), factor = LOAD_OUT(T, f, 3 * n + i);
        bool exchange = real_part(LOAD_OUT(T, f, 4 * n + i)) != R(0);
        STORE(T, x, i * k + column, exchange ? next : now);
        now = exchange ? now - product(factor, next) : next - product(factor, now);
    }
    T one = of_real(R(0)), two = of_real(R(0));
    for (uint i = n; i-- > 0;) {
        T y = i + 1 == n ? now : LOAD_OUT(T, x, i * k + column);
        if (i + 1 < n) y -= product(LOAD_OUT(T, f, n + i), one);
        if (i + 2 < n) y -= product(LOAD_OUT(T, f, 2 * n + i), two);
        y = quotient(y, LOAD_OUT(T, f, i));
        STORE(T, x, i * k + column, y);
        two = one;
        one = y;
    }
}

#else
void main() {
    uint at = global_index(), n = args.n, k = args.k, row = at / k % n, column = at % k, g = at / k / n;
    if (g >= args.batch) return;
    T_In b = AT(T, args.rhs, g, n * k);
    uint d = g * n + row;
    T sum = product(LOAD(T, args.main_diagonal, d), LOAD(T, b, row * k + column));
    if (row + 1 < n) sum += product(LOAD(T, args.above, d), LOAD(T, b, (row + 1) * k + column));
    if (row > 0) sum += product(LOAD(T, args.below, d), LOAD(T, b, (row - 1) * k + column));
    STORE(T, args.x, at, sum);
}
#endif
