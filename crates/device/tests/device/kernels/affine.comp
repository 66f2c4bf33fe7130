#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U { uint v[]; };
layout(push_constant, scalar) uniform P { U src; U dst; uint n; uint mul; uint add; };
void main() {
    uint g = gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z);
    uint i = g * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i < n) dst.v[i] = src.v[i] * mul + add;
}
