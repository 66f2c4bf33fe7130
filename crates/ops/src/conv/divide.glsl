// Division of numbers below 2^31 by a number that the host knows: x is the divisor (below 2^26) and, from bit 26 on, a
// shift; y a multiplier (divide.rs).
uint divide(uint n, uvec2 by) {
    uint hi, lo;
    umulExtended(n, by.y, hi, lo);
    return (hi + n) >> (by.x >> 26);
}
uint divisor(uvec2 by) { return by.x & 0x3ffffffu; }
