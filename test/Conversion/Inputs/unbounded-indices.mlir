// The ids have no bound, which --cs336-bound-indices would give them.
func.func @forward(%table: tensor<97x4xf32> {cs336.kind = "parameter", cs336.name = "table"},
                   %ids: tensor<3xi64> {cs336.kind = "input", cs336.name = "ids"})
    -> (tensor<3x4xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %y = cs336.embedding %table, %ids : tensor<97x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}
