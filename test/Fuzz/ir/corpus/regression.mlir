// Rows of a table, chosen by ids, times weights; trained towards targets by squared error.

func.func @train(%table: tensor<5x3xf32> {cs336.kind = "parameter", cs336.name = "table", cs336.init = #cs336.init<truncated_normal, std = 1.0, cut = 3.0>},
                 %w: tensor<2x3xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.init = #cs336.init<ones>},
                 %ids: tensor<4xi64> {cs336.kind = "input", cs336.name = "ids", cs336.bound = 5 : i64},
                 %targets: tensor<4x2xf32> {cs336.kind = "input", cs336.name = "targets"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<lr = 0.1>} {
  %x = cs336.embedding %table, %ids : tensor<5x3xf32>, tensor<4xi64> -> tensor<4x3xf32> loc("rows")
  %y = cs336.linear %x, %w : tensor<4x3xf32>, tensor<2x3xf32> -> tensor<4x2xf32> loc("product")
  %e = cs336.sub %y, %targets : tensor<4x2xf32> loc("error")
  %s = cs336.mul %e, %e : tensor<4x2xf32> loc("error")
  %loss = cs336.reduce sum %s axes = [0, 1] : tensor<4x2xf32> -> tensor<f32> loc("loss")
  return %loss : tensor<f32>
}

func.func @forward(%table: tensor<5x3xf32> {cs336.kind = "parameter", cs336.name = "table", cs336.init = #cs336.init<truncated_normal, std = 1.0, cut = 3.0>},
                   %w: tensor<2x3xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.init = #cs336.init<ones>},
                   %ids: tensor<4xi64> {cs336.kind = "input", cs336.name = "ids", cs336.bound = 5 : i64})
    -> (tensor<4x2xf32> {cs336.kind = "output", cs336.name = "y"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  %x = cs336.embedding %table, %ids : tensor<5x3xf32>, tensor<4xi64> -> tensor<4x3xf32> loc("rows")
  %y = cs336.linear %x, %w : tensor<4x3xf32>, tensor<2x3xf32> -> tensor<4x2xf32> loc("product")
  return %y : tensor<4x2xf32>
}
