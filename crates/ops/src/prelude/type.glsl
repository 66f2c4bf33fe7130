layout(buffer_reference, scalar, buffer_reference_align = $SIZE) readonly buffer $P_In { $STORE v[]; };
layout(buffer_reference, scalar, buffer_reference_align = $SIZE) buffer $P_Out { $STORE v[]; };
layout(buffer_reference, scalar, buffer_reference_align = $ALIGN4) readonly buffer $P_In4 { $STORE4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = $ALIGN4) buffer $P_Out4 { $STORE4 v[]; };
$C $P_load($P_In p, uint i) { return $LOAD; }
$C $P_load_out($P_Out p, uint i) { return $LOAD; }
void $P_store($P_Out p, uint i, $C x) { p.v[i] = $SAVE; }
$P_In $P_at($P_In p, uint row, uint stride) { return $P_In(tfvk_offset(uvec2(p), row, stride, $LOG2)); }
$P_Out $P_at_out($P_Out p, uint row, uint stride) { return $P_Out(tfvk_offset(uvec2(p), row, stride, $LOG2)); }
$VEC $P_vload4($P_In4 p, uint i) { return $LOAD4; }
$VEC $P_vload4_out($P_Out4 p, uint i) { return $LOAD4; }
void $P_vstore4($P_Out4 p, uint i, $VEC x) { $SAVE4; }
