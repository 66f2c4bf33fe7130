// The order of TopK: the largest first, a NaN before all numbers.
#if T_IS_FLOAT
bool before(T a, T b) { return a > b || (is_nan(a) && !is_nan(b)); }
#else
bool before(T a, T b) { return a > b; }
#endif

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint v[]; };
// Element i of indices of 4 or 8 bytes.
void store_index(Words p, uint size, uint i, uint x) {
    if (size == 8u) {
        p.v[2u * i] = x;
        p.v[2u * i + 1u] = 0u;
    } else {
        p.v[i] = x;
    }
}
