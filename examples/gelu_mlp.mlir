// A feed-forward block as GPT-2 has it: layer norm, linear, GELU, linear, residual. The loss is half the mean squared
// distance to a target.

!x = tensor<6x33x40xf32>
!hidden = tensor<6x33x100xf32>

func.func @forward_backward(
    %scale: tensor<40xf32> {cs336.kind = "parameter", cs336.name = "ln.weight", cs336.init = #cs336.init<ones>},
    %shift: tensor<40xf32> {cs336.kind = "parameter", cs336.name = "ln.bias", cs336.init = #cs336.init<zeros>},
    %up: tensor<100x40xf32> {cs336.kind = "parameter", cs336.name = "up.weight", cs336.init = #cs336.init<truncated_normal, std = 0.1195, cut = 3.0>},
    %bias: tensor<100xf32> {cs336.kind = "parameter", cs336.name = "up.bias", cs336.init = #cs336.init<zeros>},
    %down: tensor<40x100xf32> {cs336.kind = "parameter", cs336.name = "down.weight", cs336.init = #cs336.init<truncated_normal, std = 0.1195, cut = 3.0>},
    %x: !x {cs336.kind = "input", cs336.name = "x"},
    %target: !x {cs336.kind = "input", cs336.name = "target"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, !x {cs336.kind = "output", cs336.name = "y"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %0 = cs336.layer_norm %x, %scale, %shift eps = 1.0e-05 : !x, tensor<40xf32> loc("ln")
  %1 = cs336.linear %0, %up : !x, tensor<100x40xf32> -> !hidden loc("up")
  %2 = cs336.broadcast %bias dims = [2] : tensor<100xf32> -> !hidden loc("up.bias")
  %3 = cs336.add %1, %2 : !hidden loc("up.bias")
  %4 = cs336.gelu %3 : !hidden loc("gelu")
  %5 = cs336.linear %4, %down : !hidden, tensor<40x100xf32> -> !x loc("down")
  %y = cs336.add %x, %5 : !x loc("residual")
  %6 = cs336.sub %y, %target : !x loc("loss")
  %7 = cs336.mul %6, %6 : !x loc("loss")
  %8 = cs336.reduce sum %7 axes = [0, 1, 2] : !x -> tensor<f32> loc("loss")
  %9 = cs336.constant dense<6.3131313131313131e-05> : tensor<f32> loc("loss") // 1 / (2 · 6 · 33 · 40)
  %loss = cs336.mul %8, %9 : tensor<f32> loc("loss")
  return %loss, %y : tensor<f32>, !x
}
