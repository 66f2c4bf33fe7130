// A sparse matrix times a dense one.
//   keys     a thread for each element of the sparse matrix: its row, `rows` for one that is outside
//   product  a thread for each element of the product: adds up its row's elements in the order of their positions
// variants: T = FLOAT_COMPLEX; IX = 4 8; KIND = keys product
#include "prelude.glsl"
#include "gather/index.glsl"

layout(constant_id = 3) const uint ADJOINT_A = 0;
layout(constant_id = 4) const uint ADJOINT_B = 0;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint v[]; };

PUSH_ARGS {
    Indices indices; // [n, 2]
    READ(T, values); // [n]
    READ(T, b);      // [inner, columns], or its adjoint
    READ_WRITE(T, y); // [rows, columns]
    Words keys;      // rows in order; keys: those to write
    Words order;
    uint n, rows, inner, columns;
    uint first, end; // the positions that this launch adds up
} args;

#if KIND == KIND_keys
void main() {
    uint i = global_index();
    if (i >= args.n) return;
    int row = load_index(args.indices, 2 * i + ADJOINT_A);
    args.keys.v[i] = row < 0 || row >= int(args.rows) ? args.rows : uint(row);
}

#else
#if T_IS_COMPLEX
T times(T a, T b) {
    if (ADJOINT_A != 0) a.y = -a.y;
    if (ADJOINT_B != 0) b.y = -b.y;
    return T(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
#if T_ID == DT_c128
#define NOT_A_NUMBER T(NAN_F64, NAN_F64)
#else
#define NOT_A_NUMBER T(NAN_F32, NAN_F32)
#endif
#else
T times(T a, T b) { return a * b; }
#if T_ID == DT_f64
#define NOT_A_NUMBER NAN_F64
#else
#define NOT_A_NUMBER NAN_F32
#endif
#endif

uint first_of(uint row) {
    uint low = 0, high = args.n;
    while (low < high) {
        uint middle = (low + high) / 2;
        if (args.keys.v[middle] < row) low = middle + 1;
        else high = middle;
    }
    return low;
}

void main() {
    uint i = global_index(), row = i / args.columns, column = i % args.columns;
    if (row >= args.rows) return;
    T_Out y = AT_OUT(T, args.y, row, args.columns);
    T sum = args.first == 0 ? T(0) : LOAD_OUT(T, y, column);
    for (uint at = max(first_of(row), args.first); at < args.end && args.keys.v[at] == row; at++) {
        uint from = args.order.v[at];
        int k = load_index(args.indices, 2 * from + 1 - ADJOINT_A);
        if (k < 0 || k >= int(args.inner)) {
            sum = NOT_A_NUMBER;
            continue;
        }
        T b = ADJOINT_B != 0 ? LOAD(T, AT(T, args.b, column, args.inner), k) : LOAD(T, AT(T, args.b, k, args.columns), column);
        sum += times(LOAD(T, args.values, from), b);
    }
    STORE(T, y, column, sum);
}
#endif
