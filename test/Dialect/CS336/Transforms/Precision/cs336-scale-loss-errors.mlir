// RUN: cs336-opt %s --cs336-scale-loss --verify-diagnostics

// expected-error@+1 {{returns gradients or updated parameters already; the loss must be scaled before --cs336-differentiate}}
func.func @late(%w: tensor<f32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<f32> {cs336.kind = "gradient", cs336.name = "w"})
    attributes {cs336.mode = #cs336.mode<train>} {
  return %w, %w : tensor<f32>, tensor<f32>
}
