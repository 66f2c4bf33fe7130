#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U { uint v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer A { U dst; uint n; uint table[100]; };
layout(push_constant, scalar) uniform P { A a; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < a.n) a.dst.v[i] = a.table[i];
}
