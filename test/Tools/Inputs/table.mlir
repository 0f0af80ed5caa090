// One entry under a name of its own, and a table that a second entry, prepare, computes.
func.func @wave(%x: tensor<4xf64> {cs336.kind = "input", cs336.name = "x"}) -> (tensor<4xf64> {cs336.kind = "output", cs336.name = "y"})
    attributes {cs336.mode = #cs336.mode<forward>} {
  %t = cs336.iota axis = 0 : tensor<4xf64>
  %e = cs336.exp %t : tensor<4xf64>
  %s = cs336.sin %e : tensor<4xf64>
  %c = cs336.cos %s : tensor<4xf64>
  %w = cs336.mul %c, %s : tensor<4xf64>
  %y = cs336.mul %x, %w : tensor<4xf64>
  return %y : tensor<4xf64>
}
