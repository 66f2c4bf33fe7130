// Reductions over the threads of a workgroup, through shared memory: a fixed tree, so the same bits on every adapter and
// for every subgroup size.

// Declares `TYPE NAME(TYPE v, uint lane, uint lanes, uint base, uint stride)`: combines the v of `lanes` threads and gives
// the result to each of them. The thread's place in shared memory is base + lane * stride, below group_size(). All threads
// of the workgroup must call it, with the same `lanes`.
//   over x: NAME(v, LANES_X)      over y: NAME(v, LANES_Y)
#define LANES_X gl_LocalInvocationID.x, gl_WorkGroupSize.x, gl_LocalInvocationID.y * gl_WorkGroupSize.x, 1u
#define LANES_Y gl_LocalInvocationID.y, gl_WorkGroupSize.y, gl_LocalInvocationID.x, gl_WorkGroupSize.x
#define GROUP_REDUCE(NAME, TYPE, COMBINE)                                                     \
    shared TYPE NAME##_shared[gl_WorkGroupSize.x * gl_WorkGroupSize.y];                       \
    TYPE NAME(TYPE v, uint lane, uint lanes, uint base, uint stride) {                        \
        for (uint n = lanes; n > 1u;) {                                                       \
            uint m = (n + 7u) / 8u;                                                           \
            if (lane < n) NAME##_shared[base + lane * stride] = v;                            \
            barrier();                                                                        \
            if (lane < m)                                                                     \
                for (uint k = lane + m; k < n; k += m) v = COMBINE(v, NAME##_shared[base + k * stride]); \
            barrier();                                                                        \
            n = m;                                                                            \
        }                                                                                     \
        if (lanes > 1u) {                                                                     \
            if (lane == 0u) NAME##_shared[base] = v;                                          \
            barrier();                                                                        \
            v = NAME##_shared[base];                                                          \
            barrier();                                                                        \
        }                                                                                     \
        return v;                                                                             \
    }
