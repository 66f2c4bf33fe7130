// Draws classes with probabilities from unnormalised log-probabilities, as TensorFlow's CPU kernels do. A workgroup a row:
// cumulative sums of exp(logit - max), then a binary search per sample. Sums and samples are 64-bit floats where there
// are any.
// variants: T = f16 bf16 f32; A = f64 f32
// variants: T = f64; A = f64
#include "prelude.glsl"
#include "math.glsl"
#include "philox.glsl"

PUSH_ARGS {
    READ(T, logits);   // [rows, classes]
    WRITE(A, sums);    // [rows, classes]
    uvec2 y;           // [rows, samples], int32 or int64
    uvec2 a, b;        // see philox_source.glsl
    uint rows, classes, samples;
    uint wide;         // y is int64
    uvec4 counter;
    uvec2 key;
} args;
#include "philox_source.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer Classes { uint v[]; };

const uint MAX_THREADS = 128;
shared A partial[MAX_THREADS];

#if A_ID == DT_f64
#include "philox_f64.glsl"
#define LOWEST_FINITE packDouble2x32(uvec2(0xFFFFFFFFu, 0xFFEFFFFFu))
A sample_at(Philox p, uint index) {
    philox_skip(p, uvec2(index >> 1, 0));
    uvec4 x = philox_block(p);
    return (index & 1u) == 0 ? uniform_f64(x.x, x.y) : uniform_f64(x.z, x.w);
}
#else
#define LOWEST_FINITE uintBitsToFloat(0xFF7FFFFFu)
A sample_at(Philox p, uint index) {
    philox_skip(p, uvec2(index >> 1, 0));
    uvec4 x = philox_block(p);
    uvec2 words = (index & 1u) == 0 ? x.xy : x.zw;
    // The upper 24 of the 52 bits.
    return float(((words.x & 0xFFFFFu) << 4) | (words.y >> 28)) * uintBitsToFloat(0x33800000u);
}
#endif

bool finite(T x) {
    return !is_nan(x) && !is_inf(x);
}

// Inclusive scan of `partial`.
void scan(uint t) {
    for (uint step = 1; step < group_size(); step *= 2) {
        barrier();
        A other = t >= step ? partial[t - step] : A(0);
        barrier();
        partial[t] += other;
    }
    barrier();
}

void main() {
    uint row = group_index(), t = thread_index();
    if (row >= args.rows) return;
    T_In logits = AT(T, args.logits, row, args.classes);
    A_Out sums = AT_OUT(A, args.sums, row, args.classes);

    A top = A(LOWEST_FINITE);
    for (uint j = t; j < args.classes; j += group_size()) {
        T x = LOAD(T, logits, j);
        if (finite(x)) top = max(top, A(x));
    }
    partial[t] = top;
    for (uint step = group_size() / 2; step > 0; step /= 2) {
        barrier();
        if (t < step) partial[t] = max(partial[t], partial[t + step]);
    }
    barrier();
    top = partial[0];
    barrier();

    // Each thread sums a run of classes; the runs' totals are scanned.
    uint run = (args.classes + group_size() - 1) / group_size();
    uint first = min(t * run, args.classes), last = min(first + run, args.classes);
    A total = A(0);
    for (uint j = first; j < last; j++) {
        T x = LOAD(T, logits, j);
        if (finite(x)) total += tf_exp(A(x) - top);
    }
    partial[t] = total;
    scan(t);
    A sum = t > 0 ? partial[t - 1] : A(0);
    A all = partial[group_size() - 1];
    for (uint j = first; j < last; j++) {
        T x = LOAD(T, logits, j);
        if (finite(x)) sum += tf_exp(A(x) - top);
        STORE(A, sums, j, sum);
    }
    memoryBarrierBuffer();
    barrier();

    Philox p = PHILOX_SOURCE();
    for (uint s = t; s < args.samples; s += group_size()) {
        uint index = row * args.samples + s;
        A target = sample_at(p, index) * all;
        uint low = 0, high = args.classes; // the first sum above the target
        while (low < high) {
            uint middle = (low + high) >> 1;
            if (LOAD_OUT(A, sums, middle) > target) high = middle; else low = middle + 1;
        }
        // Rounding may leave the last sum a little below `all`; no sum above 0 gives TensorFlow's `classes`.
        if (all > A(0)) low = min(low, args.classes - 1);
        if (args.wide != 0) {
            Classes y = Classes(tfvk_offset(args.y, index, 1, 3));
            y.v[0] = low;
            y.v[1] = 0;
        } else {
            Classes(tfvk_offset(args.y, index, 1, 2)).v[0] = low;
        }
    }
}
