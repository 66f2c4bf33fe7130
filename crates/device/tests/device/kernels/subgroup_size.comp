#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U { uint v[]; };
#extension GL_KHR_shader_subgroup_basic : require
layout(push_constant, scalar) uniform P { U dst; };
void main() { if (gl_GlobalInvocationID.x == 0) dst.v[0] = gl_SubgroupSize; }
