// Two ranks with inputs of their own: what each has, their mean, and a parameter.
func.func @mean(%x: tensor<4xf32> {cs336.kind = "input", cs336.name = "x"},
                %w: tensor<3xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.init = #cs336.init<truncated_normal, std = 1.0, cut = 3.0>})
    -> (tensor<4xf32> {cs336.kind = "output", cs336.name = "own"}, tensor<4xf32> {cs336.kind = "output", cs336.name = "mean"},
        tensor<3xf32> {cs336.kind = "output", cs336.name = "w"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %own = cs336.neg %x : tensor<4xf32>
  %mean = cs336.collective all_reduce mean(%own) group = 2 : (tensor<4xf32>) -> tensor<4xf32>
  %same = cs336.neg %w : tensor<3xf32>
  return %own, %mean, %same : tensor<4xf32>, tensor<4xf32>, tensor<3xf32>
}
