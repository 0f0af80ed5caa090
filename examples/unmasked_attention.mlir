// An encoder's attention layer: every position sees every other. Batch 2, 17 positions, 3 heads of 8. The loss is the
// sum of the output weighted by an input.

!x = tensor<2x17x24xf32>
!heads = tensor<2x17x3x8xf32>
!split = tensor<2x3x17x8xf32>
!scores = tensor<2x3x17x17xf32>
!rows = tensor<2x3x17xf32>
!w = tensor<24x24xf32>

func.func @forward_backward(
    %wq: !w {cs336.kind = "parameter", cs336.name = "q_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.2041, cut = 3.0>},
    %wk: !w {cs336.kind = "parameter", cs336.name = "k_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.2041, cut = 3.0>},
    %wv: !w {cs336.kind = "parameter", cs336.name = "v_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.2041, cut = 3.0>},
    %wo: !w {cs336.kind = "parameter", cs336.name = "output_proj.weight", cs336.init = #cs336.init<truncated_normal, std = 0.2041, cut = 3.0>},
    %x: !x {cs336.kind = "input", cs336.name = "x"},
    %weights: !x {cs336.kind = "input", cs336.name = "weights"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, !x {cs336.kind = "output", cs336.name = "y"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %q0 = cs336.linear %x, %wq : !x, !w -> !x loc("q_proj")
  %q1 = cs336.reshape %q0 : !x -> !heads loc("q_heads")
  %q = cs336.transpose %q1 perm = [0, 2, 1, 3] : !heads -> !split loc("q_heads")
  %k0 = cs336.linear %x, %wk : !x, !w -> !x loc("k_proj")
  %k1 = cs336.reshape %k0 : !x -> !heads loc("k_heads")
  %k = cs336.transpose %k1 perm = [0, 2, 1, 3] : !heads -> !split loc("k_heads")
  %v0 = cs336.linear %x, %wv : !x, !w -> !x loc("v_proj")
  %v1 = cs336.reshape %v0 : !x -> !heads loc("v_heads")
  %v = cs336.transpose %v1 perm = [0, 2, 1, 3] : !heads -> !split loc("v_heads")

  %s0 = cs336.matmul %q, %k {transpose_b} : !split, !split -> !scores loc("scores")
  %scale = cs336.constant dense<0.35355339059327379> : !scores loc("scale") // 1/√8
  %s = cs336.mul %s0, %scale : !scores loc("scale")
  %m0 = cs336.reduce max %s axes = [3] {stop_gradient} : !scores -> !rows loc("softmax")
  %m = cs336.broadcast %m0 dims = [0, 1, 2] : !rows -> !scores loc("softmax")
  %d = cs336.sub %s, %m : !scores loc("softmax")
  %e = cs336.exp %d : !scores loc("softmax")
  %z0 = cs336.reduce sum %e axes = [3] : !scores -> !rows loc("softmax")
  %z = cs336.broadcast %z0 dims = [0, 1, 2] : !rows -> !scores loc("softmax")
  %p = cs336.div %e, %z : !scores loc("softmax")
  %o0 = cs336.matmul %p, %v : !scores, !split -> !split loc("values")

  %o1 = cs336.transpose %o0 perm = [0, 2, 1, 3] : !split -> !heads loc("merge")
  %o2 = cs336.reshape %o1 : !heads -> !x loc("merge")
  %y = cs336.linear %o2, %wo : !x, !w -> !x loc("output_proj")
  %0 = cs336.mul %y, %weights : !x loc("loss")
  %loss = cs336.reduce sum %0 axes = [0, 1, 2] : !x -> tensor<f32> loc("loss")
  return %loss, %y : tensor<f32>, !x
}
