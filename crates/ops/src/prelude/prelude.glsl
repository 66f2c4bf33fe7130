// What every kernel includes: buffer access by element type, arguments, ids. README.md beside this file is its manual.

layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;

#include "convert.glsl"

// The functions of each type parameter (type.glsl).
TFVK_TYPES

// A buffer argument of element type P.
#define READ(P, name) P##_In name
#define WRITE(P, name) P##_Out name
#define READ_WRITE(P, name) P##_Out name

// Element i (below 2^31); four elements from 4 * i on (the address of element 0 must be a multiple of four elements,
// at most 16 bytes). The _OUT forms are for WRITE and READ_WRITE buffers.
#define LOAD(P, p, i) P##_load(p, uint(i))
#define LOAD_OUT(P, p, i) P##_load_out(p, uint(i))
#define STORE(P, p, i, x) P##_store(p, uint(i), x)
#define LOAD4(P, p, i) P##_vload4(P##_In4(uvec2(p)), uint(i))
#define LOAD4_OUT(P, p, i) P##_vload4_out(P##_Out4(uvec2(p)), uint(i))
#define STORE4(P, p, i, x) P##_vstore4(P##_Out4(uvec2(p)), uint(i), x)
// The buffer from element row * stride on, which may be past 2^32.
#define AT(P, p, row, stride) P##_at(p, uint(row), uint(stride))
#define AT_OUT(P, p, row, stride) P##_at_out(p, uint(row), uint(stride))
// Whether an optional buffer argument is absent.
#define IS_NULL(p) (uvec2(p) == uvec2(0))

// At most 128 bytes of arguments:   PUSH_ARGS { READ(T, x); WRITE(T, y); uint n; } args;
// More:                             MEMORY_ARGS { READ(T, x); uint shape[40]; }; BIND_ARGS
// Both are read as args.x. The layout is scalar: pointers and 64-bit numbers are aligned to 8 bytes, others to their size.
#define PUSH_ARGS layout(push_constant, scalar) uniform TfvkArgs
#define MEMORY_ARGS layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer TfvkArgs
#define BIND_ARGS layout(push_constant, scalar) uniform TfvkArgsAddress { TfvkArgs args; };

// The workgroup's number, whatever axes the count was folded over. Folding rounds up: compare with the real count.
uint group_index() {
    return (gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}
// The thread's number in its workgroup, and the number of threads.
#define thread_index() gl_LocalInvocationIndex
#define group_size() (gl_WorkGroupSize.x * gl_WorkGroupSize.y * gl_WorkGroupSize.z)
// The thread's number in the whole launch; wraps at 2^32.
uint global_index() {
    return group_index() * group_size() + thread_index();
}

// NaN and infinity by their bits: drivers may assume that isnan() is false.
bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bool is_nan(double x) {
    uvec2 b = unpackDouble2x32(x);
    uint hi = b.y & 0x7fffffffu;
    return hi > 0x7ff00000u || (hi == 0x7ff00000u && b.x != 0u);
}
bool is_nan(int x) { return false; }
bool is_nan(uint x) { return false; }
bool is_nan(int64_t x) { return false; }
bool is_nan(uint64_t x) { return false; }
bool is_inf(float x) { return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u; }
bool is_inf(double x) {
    uvec2 b = unpackDouble2x32(x);
    return (b.y & 0x7fffffffu) == 0x7ff00000u && b.x == 0u;
}
#define NAN_F32 uintBitsToFloat(0x7fc00000u)
#define NAN_F64 packDouble2x32(uvec2(0u, 0x7ff80000u))
#define INF_F32 uintBitsToFloat(0x7f800000u)
#define INF_F64 packDouble2x32(uvec2(0u, 0x7ff00000u))
