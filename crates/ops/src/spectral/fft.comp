// One pass of a Fourier transform along one axis of a tensor: a workgroup transforms LANES sequences of LENGTH elements in
// shared memory (Stockham, mixed radix). Long axes take several passes, with twiddles in between; `pass.rs` says how.
// KIND: complex to complex; real to complex; half a conjugate-even sequence to real; the first and the last pass of the latter.
// variants: T = c64; R = f32; KIND = c2c r2c c2r half part
// variants: T = c128; R = f64; KIND = c2c r2c c2r half part
#include "prelude.glsl"
#include "twiddle.glsl"
#include "butterfly.glsl"

layout(constant_id = 3) const uint LENGTH = 8;
layout(constant_id = 4) const uint LANES = 1;
layout(constant_id = 5) const uint RADICES = 0;      // of up to eight stages, four bits each, the first lowest
layout(constant_id = 6) const uint INVERSE = 0;      // both parts swapped before and after
layout(constant_id = 7) const uint LOAD_LANES = 0;   // neighbours in memory are lanes, not elements, when loading
layout(constant_id = 8) const uint STORE_LANES = 0;  // the same when storing
layout(constant_id = 9) const uint TWIDDLE = 0;     // results are multiplied by exp(-2 pi i j k / TWIDDLE)

#if KIND == KIND_r2c
#define X_In R_In
#define X_at R_at
#else
#define X_In T_In
#define X_at T_at
#endif
#if KIND == KIND_c2r || KIND == KIND_part
#define STORES_REAL
#define Y_Out R_Out
#define Y_at R_at_out
#else
#define Y_Out T_Out
#define Y_at T_at_out
#endif

// The axis has `axis` elements. A sequence has four coordinates, i0 (adjacent lanes) to i3 (counts n0 to n3); i0 is
// j * split + i. Element e is the axis's element a = e * load_step + j.
PUSH_ARGS {
#if KIND == KIND_r2c
    READ(R, x);
#else
    READ(T, x);
#endif
#ifdef STORES_REAL
    WRITE(R, y);
#else
    WRITE(T, y);
#endif
    R scale;
    uint axis, load_step, split;
    uint given;                   // elements of x along the axis; zeros follow
    uint in_e, in_0;              // x: strides of a and i
    uint out_e, out_j, out_0;     // y: strides of the result's number k, j and i
    uint n0, n1, in_1, out_1, n2, in_2, out_2, n3, in_3, out_3;
    uint wanted;                  // results along the axis; others are dropped
    uint at_e, at_0, at_1, at_2;  // the result's place along the axis: strides of k, i0, i1, i2
} args;

// One element in sixteen is left out, so that powers of two do not meet on a memory bank.
#define SPREAD(i) ((i) + ((i) >> 4))
const uint ROW = LENGTH + (LENGTH >> 4) + 1;
shared T work[2 * LANES * ROW];

void stage(uint radix, uint done, uint from, uint to) {
    uint count = LENGTH / radix;
    for (uint b = thread_index(); b < count * LANES; b += group_size()) {
        uint lane = b / count, j = b % count, k = j % done;
        T v[8];
        [[unroll]] for (uint r = 0; r < 8; r++) if (r < radix) v[r] = work[from + lane * ROW + SPREAD(j + r * count)];
        if (done > 1) {
            T w = twiddle(k, done * radix);
            T w2 = times(w, w);
            v[1] = times(v[1], w);
            if (radix > 2) v[2] = times(v[2], w2);
            if (radix > 3) {
                T w3 = times(w2, w);
                v[3] = times(v[3], w3);
                if (radix > 4) {
                    T w4 = times(w2, w2);
                    v[4] = times(v[4], w4);
                    if (radix > 5) {
                        v[5] = times(v[5], times(w4, w));
                        v[6] = times(v[6], times(w3, w3));
                        if (radix > 7) v[7] = times(v[7], times(w4, w3));
                    }
                }
            }
        }
        switch (radix) {
        case 2: fft2(v); break;
        case 3: fft3(v); break;
        case 4: fft4(v[0], v[1], v[2], v[3]); break;
        case 5: fft5(v); break;
        case 7: fft7(v); break;
        case 8: fft8(v); break;
        }
        uint place = (j - k) * radix + k;
        [[unroll]] for (uint r = 0; r < 8; r++) if (r < radix) work[to + lane * ROW + SPREAD(place + r * done)] = v[r];
    }
}

#if KIND == KIND_r2c
T load(R_In x, uint a, uint rest) {
    return T(a < args.given ? LOAD(R, x, a * args.in_e + rest) : R(0), R(0));
}
#else
T load(T_In x, uint a, uint rest) {
#if KIND == KIND_c2r || KIND == KIND_half
    bool mirrored = a > args.axis / 2;
    a = mirrored ? args.axis - a : a;
#else
    bool mirrored = false;
#endif
    T v = a < args.given ? LOAD(T, x, a * args.in_e + rest) : T(0);
    return mirrored ? T(v.x, -v.y) : v;
}
#endif

void main() {
    uint groups = (args.n0 - 1) / LANES + 1;
    uint g = group_index();
    if (g / groups / args.n1 / args.n2 >= args.n3) return;
    uint first = g % groups * LANES;
    g /= groups;
    uint i1 = g % args.n1, i2 = g / args.n1 % args.n2, i3 = g / args.n1 / args.n2;
    uint lanes = min(LANES, args.n0 - first);
    X_In x = X_at(X_at(X_at(args.x, i1, args.in_1), i2, args.in_2), i3, args.in_3);
    Y_Out y = Y_at(Y_at(Y_at(args.y, i1, args.out_1), i2, args.out_2), i3, args.out_3);
    for (uint i = thread_index(); i < LENGTH * LANES; i += group_size()) {
        uint lane = LOAD_LANES != 0 ? i % LANES : i / LENGTH, e = LOAD_LANES != 0 ? i / LANES : i % LENGTH;
        T v = T(0);
        if (lane < lanes) {
            uint i0 = first + lane;
            v = load(x, e * args.load_step + i0 / args.split, i0 % args.split * args.in_0);
        }
        work[lane * ROW + SPREAD(e)] = INVERSE != 0 ? v.yx : v;
    }
    barrier();
    uint from = 0, to = LANES * ROW, done = 1;
    [[unroll]] for (uint s = 0; s < 8; s++) {
        uint radix = (RADICES >> (4 * s)) & 15u;
        if (radix != 0) {
            stage(radix, done, from, to);
            barrier();
            done *= radix;
            uint swapped = from;
            from = to;
            to = swapped;
        }
    }
    for (uint i = thread_index(); i < LENGTH * LANES; i += group_size()) {
        uint lane = STORE_LANES != 0 ? i % LANES : i / LENGTH, k = STORE_LANES != 0 ? i / LANES : i % LENGTH;
        uint i0 = first + lane, j = i0 / args.split;
        if (lane >= lanes || k * args.at_e + i0 * args.at_0 + i1 * args.at_1 + i2 * args.at_2 >= args.wanted) continue;
        T v = work[from + lane * ROW + SPREAD(k)];
        if (TWIDDLE != 0) v = times(v, twiddle(j * k, TWIDDLE));
        v = (INVERSE != 0 ? v.yx : v) * args.scale;
        uint at = k * args.out_e + j * args.out_j + i0 % args.split * args.out_0;
#ifdef STORES_REAL
        STORE(R, y, at, v.x);
#else
        STORE(T, y, at, v);
#endif
    }
}
