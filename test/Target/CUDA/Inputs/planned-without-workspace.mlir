// Planned for a target whose kernels need no workspaces.
exec.kernel @total(%x: tensor<1048576xf32>) : (memref<1048576xf32>) -> memref<f32> {
  %0 = cs336.reduce sum %x axes = [0] : tensor<1048576xf32> -> tensor<f32>
  exec.yield %0 : tensor<f32>
}
exec.entry @norm mode<forward> arena_bytes = 64 alignment = 64 {
  %x = exec.input "x" : memref<1048576xf32>
  %y = exec.output "y" output offset = 0 : memref<f32>
  exec.launch @total ins(%x : memref<1048576xf32>) outs(%y : memref<f32>)
}
