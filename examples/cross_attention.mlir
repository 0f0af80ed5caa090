// A decoder's attention to an encoder: 9 queries over 21 keys and values of another width. Batch 3, 2 heads of 8. The
// loss is the sum of the output weighted by an input.

!x = tensor<3x9x16xf32>
!memory = tensor<3x21x28xf32>
!kv = tensor<3x21x16xf32>
!q_heads = tensor<3x9x2x8xf32>
!q_split = tensor<3x2x9x8xf32>
!kv_heads = tensor<3x21x2x8xf32>
!kv_split = tensor<3x2x21x8xf32>
!scores = tensor<3x2x9x21xf32>
!rows = tensor<3x2x9xf32>
!wq = tensor<16x16xf32>
!wkv = tensor<16x28xf32>

func.func @forward_backward(
    %wq: !wq {cs336.kind = "parameter", cs336.name = "q_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.25, cut = 3.0>},
    %wk: !wkv {cs336.kind = "parameter", cs336.name = "k_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.2132, cut = 3.0>},
    %wv: !wkv {cs336.kind = "parameter", cs336.name = "v_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.2132, cut = 3.0>},
    %wo: !wq {cs336.kind = "parameter", cs336.name = "output_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.25, cut = 3.0>},
    %x: !x {cs336.kind = "input", cs336.name = "x"},
    %memory: !memory {cs336.kind = "input", cs336.name = "memory"},
    %weights: !x {cs336.kind = "input", cs336.name = "weights"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, !x {cs336.kind = "output", cs336.name = "y"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %q0 = cs336.linear %x, %wq : !x, !wq -> !x loc("q_proj")
  %q1 = cs336.reshape %q0 : !x -> !q_heads loc("q_heads")
  %q = cs336.transpose %q1 perm = [0, 2, 1, 3] : !q_heads -> !q_split loc("q_heads")
  %k0 = cs336.linear %memory, %wk : !memory, !wkv -> !kv loc("k_proj")
  %k1 = cs336.reshape %k0 : !kv -> !kv_heads loc("k_heads")
  %k = cs336.transpose %k1 perm = [0, 2, 1, 3] : !kv_heads -> !kv_split loc("k_heads")
  %v0 = cs336.linear %memory, %wv : !memory, !wkv -> !kv loc("v_proj")
  %v1 = cs336.reshape %v0 : !kv -> !kv_heads loc("v_heads")
  %v = cs336.transpose %v1 perm = [0, 2, 1, 3] : !kv_heads -> !kv_split loc("v_heads")

  %s0 = cs336.matmul %q, %k {transpose_b} : !q_split, !kv_split -> !scores loc("scores")
  %scale = cs336.constant dense<0.35355339059327379> : !scores loc("scale") // 1/√8
  %s = cs336.mul %s0, %scale : !scores loc("scale")
  %m0 = cs336.reduce max %s axes = [3] {stop_gradient} : !scores -> !rows loc("softmax")
  %m = cs336.broadcast %m0 dims = [0, 1, 2] : !rows -> !scores loc("softmax")
  %d = cs336.sub %s, %m : !scores loc("softmax")
  %e = cs336.exp %d : !scores loc("softmax")
  %z0 = cs336.reduce sum %e axes = [3] : !scores -> !rows loc("softmax")
  %z = cs336.broadcast %z0 dims = [0, 1, 2] : !rows -> !scores loc("softmax")
  %p = cs336.div %e, %z : !scores loc("softmax")
  %o0 = cs336.matmul %p, %v : !scores, !kv_split -> !q_split loc("values")

  %o1 = cs336.transpose %o0 perm = [0, 2, 1, 3] : !q_split -> !q_heads loc("merge")
  %o2 = cs336.reshape %o1 : !q_heads -> !x loc("merge")
  %y = cs336.linear %o2, %wo : !x, !wq -> !x loc("output_proj")
  %0 = cs336.mul %y, %weights : !x loc("loss")
  %loss = cs336.reduce sum %0 axes = [0, 1, 2] : !x -> tensor<f32> loc("loss")
  return %loss, %y : tensor<f32>, !x
}
