// Each of 4 ranks looks up rows of a table, and all gather them.
func.func @forward(%table: tensor<5x2xf32> {cs336.kind = "parameter", cs336.name = "table", cs336.init = #cs336.init<ones>},
                   %ids: tensor<2xi64> {cs336.kind = "input", cs336.name = "ids", cs336.bound = 5 : i64})
    -> (tensor<8x2xf32> {cs336.kind = "output", cs336.name = "rows"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %own = cs336.embedding %table, %ids : tensor<5x2xf32>, tensor<2xi64> -> tensor<2x2xf32>
  %rows = cs336.collective all_gather(%own) group = 4 : (tensor<2x2xf32>) -> tensor<8x2xf32>
  return %rows : tensor<8x2xf32>
}
