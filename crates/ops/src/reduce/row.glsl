// A row's elements combined, as far as one thread has them. Included after the arguments by kernels that reduce rows, which
// say what FETCH and FETCH4 are: the tree is the same for all of them.
A reduce_scalars(Source x, uint first, uint step) {
    A acc = identity();
    for (uint i = first; i < args.n; i += step) acc = combine(acc, prepare(A(FETCH(x, i))));
    return acc;
}

#if I_HAS_VEC4
A reduce_vectors(Source x, uint first, uint step) {
    uint n4 = args.n / 4, i = first;
    A_VEC4 acc = A_VEC4(identity());
    // Four loads under way before the first is used.
    for (; i + 3 * step < n4; i += 4 * step) {
        A_VEC4 a = A_VEC4(FETCH4(x, i)), b = A_VEC4(FETCH4(x, i + step));
        A_VEC4 c = A_VEC4(FETCH4(x, i + 2 * step)), d = A_VEC4(FETCH4(x, i + 3 * step));
        acc = combine4(acc, combine4(combine4(prepare4(a), prepare4(b)), combine4(prepare4(c), prepare4(d))));
    }
    for (; i < n4; i += step) acc = combine4(acc, prepare4(A_VEC4(FETCH4(x, i))));
    A one = combine(combine(acc.x, acc.y), combine(acc.z, acc.w));
    for (i = 4 * n4 + first; i < args.n; i += step) one = combine(one, prepare(A(FETCH(x, i))));
    return one;
}
#endif
