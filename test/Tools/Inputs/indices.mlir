// Rows of a table that a bounded input, a state, and a sum of both name.
func.func @forward(
    %table: tensor<97x12xf32> {cs336.kind = "parameter", cs336.name = "table"},
    %state: tensor<6xi64> {cs336.kind = "state", cs336.name = "state"},
    %ids: tensor<2x3xi64> {cs336.kind = "input", cs336.name = "ids"},
    %steps: tensor<2x3xi64> {cs336.kind = "input", cs336.name = "steps"})
    -> (tensor<2x3x12xf32>, tensor<6x12xf32>, tensor<2x3x12xf32>) {
  %given = cs336.embedding %table, %ids : tensor<97x12xf32>, tensor<2x3xi64> -> tensor<2x3x12xf32>
  %kept = cs336.embedding %table, %state : tensor<97x12xf32>, tensor<6xi64> -> tensor<6x12xf32>
  %sum = cs336.add %ids, %steps : tensor<2x3xi64>
  %next = cs336.embedding %table, %sum : tensor<97x12xf32>, tensor<2x3xi64> -> tensor<2x3x12xf32>
  return %given, %kept, %next : tensor<2x3x12xf32>, tensor<6x12xf32>, tensor<2x3x12xf32>
}
