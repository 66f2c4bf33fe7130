#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U { uint v[]; };
layout(push_constant, scalar) uniform P { U dst; };
void main() { dst.v[0] = uint(double(dst.v[1]) * 0.5lf); }
