#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U { uint v[]; };
layout(push_constant, scalar) uniform P { U dst; };
layout(constant_id = 3) const uint N = 4;
shared vec4 t[N * 2];
void main() {
    t[dst.v[0]] = vec4(dst.v[1]);
    barrier();
    dst.v[2] = uint(t[dst.v[3]].x);
}
