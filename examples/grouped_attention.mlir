// Causal attention of 4 query heads on 2 key heads, each of which serves 2: keys and values are repeated and merged into
// heads. Batch 2, 13 positions, heads of 8. The loss is the sum of the output weighted by an input.

!x = tensor<2x13x32xf32>
!kv = tensor<2x13x16xf32>
!q_heads = tensor<2x13x4x8xf32>
!q_split = tensor<2x4x13x8xf32>
!kv_heads = tensor<2x13x2x8xf32>
!kv_split = tensor<2x2x13x8xf32>
!kv_groups = tensor<2x2x2x13x8xf32>
!scores = tensor<2x4x13x13xf32>
!rows = tensor<2x4x13xf32>
!w = tensor<32x32xf32>
!wkv = tensor<16x32xf32>

func.func @forward_backward(
    %wq: !w {cs336.kind = "parameter", cs336.name = "q_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.1768, cut = 3.0>},
    %wk: !wkv {cs336.kind = "parameter", cs336.name = "k_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.2041, cut = 3.0>},
    %wv: !wkv {cs336.kind = "parameter", cs336.name = "v_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.2041, cut = 3.0>},
    %wo: !w {cs336.kind = "parameter", cs336.name = "output_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.1768, cut = 3.0>},
    %x: !x {cs336.kind = "input", cs336.name = "x"},
    %weights: !x {cs336.kind = "input", cs336.name = "weights"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, !x {cs336.kind = "output", cs336.name = "y"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %q0 = cs336.linear %x, %wq : !x, !w -> !x loc("q_proj")
  %q1 = cs336.reshape %q0 : !x -> !q_heads loc("q_heads")
  %q = cs336.transpose %q1 perm = [0, 2, 1, 3] : !q_heads -> !q_split loc("q_heads")
  %k0 = cs336.linear %x, %wk : !x, !wkv -> !kv loc("k_proj")
  %k1 = cs336.reshape %k0 : !kv -> !kv_heads loc("k_heads")
  %k2 = cs336.transpose %k1 perm = [0, 2, 1, 3] : !kv_heads -> !kv_split loc("k_heads")
  %k3 = cs336.broadcast %k2 dims = [0, 1, 3, 4] : !kv_split -> !kv_groups loc("k_groups")
  %k = cs336.reshape %k3 : !kv_groups -> !q_split loc("k_groups")
  %v0 = cs336.linear %x, %wv : !x, !wkv -> !kv loc("v_proj")
  %v1 = cs336.reshape %v0 : !kv -> !kv_heads loc("v_heads")
  %v2 = cs336.transpose %v1 perm = [0, 2, 1, 3] : !kv_heads -> !kv_split loc("v_heads")
  %v3 = cs336.broadcast %v2 dims = [0, 1, 3, 4] : !kv_split -> !kv_groups loc("v_groups")
  %v = cs336.reshape %v3 : !kv_groups -> !q_split loc("v_groups")

  %s0 = cs336.matmul %q, %k {transpose_b} : !q_split, !q_split -> !scores loc("scores")
  %root = cs336.constant dense<2.8284271247461903> : !scores loc("scale") // √8
  %s1 = cs336.div %s0, %root : !scores loc("scale")
  %query = cs336.iota axis = 2 : tensor<2x4x13x13xi32> loc("mask")
  %key = cs336.iota axis = 3 : tensor<2x4x13x13xi32> loc("mask")
  %hidden = cs336.compare lt %query, %key : tensor<2x4x13x13xi32> loc("mask")
  %infinity = cs336.constant dense<0xFF800000> : !scores loc("mask")
  %s = cs336.select %hidden, %infinity, %s1 : !scores loc("mask")
  %m0 = cs336.reduce max %s axes = [3] {stop_gradient} : !scores -> !rows loc("softmax")
  %m = cs336.broadcast %m0 dims = [0, 1, 2] : !rows -> !scores loc("softmax")
  %d = cs336.sub %s, %m : !scores loc("softmax")
  %e = cs336.exp %d : !scores loc("softmax")
  %z0 = cs336.reduce sum %e axes = [3] : !scores -> !rows loc("softmax")
  %z = cs336.broadcast %z0 dims = [0, 1, 2] : !rows -> !scores loc("softmax")
  %p = cs336.div %e, %z : !scores loc("softmax")
  %o0 = cs336.matmul %p, %v : !scores, !q_split -> !q_split loc("values")

  %o1 = cs336.transpose %o0 perm = [0, 2, 1, 3] : !q_split -> !q_heads loc("merge")
  %o2 = cs336.reshape %o1 : !q_heads -> !x loc("merge")
  %y = cs336.linear %o2, %wo : !x, !w -> !x loc("output_proj")
  %0 = cs336.mul %y, %weights : !x loc("loss")
  %loss = cs336.reduce sum %0 axes = [0, 1, 2] : !x -> tensor<f32> loc("loss")
  return %loss, %y : tensor<f32>, !x
}
