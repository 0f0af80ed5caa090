// RUN: cs336-opt %s --split-input-file --cs336-differentiate --verify-diagnostics

func.func @not_differentiable(%w: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "layers.0.w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<train>} {
  %0 = cs336.exp %w : tensor<4xf32>
  // expected-error@+1 {{'cs336.collective' op is between parameter 'layers.0.w' and the loss, but has no adjoint: it must implement DifferentiableOpInterface or DecomposableOpInterface}}
  %1 = cs336.collective all_reduce sum(%0) group = 2 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = cs336.reduce sum %1 axes = [0] : tensor<4xf32> -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

func.func @fused(%w: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<train>} {
  // expected-error@+1 {{Fused operations have no adjoint, so run passes that fuse after cs336-differentiate}}
  %0 = cs336.fused(%w) {
  ^bb0(%x: tensor<4xf32>):
    %1 = cs336.exp %x : tensor<4xf32>
    %2 = cs336.reduce sum %1 axes = [0] : tensor<4xf32> -> tensor<f32>
    cs336.yield %2 : tensor<f32>
  } : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Such an operation does not matter outside the path to the loss.
func.func @beside(%w: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"}, %x: tensor<4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, tensor<4xf32> {cs336.kind = "output", cs336.name = "norm"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %0 = cs336.collective all_reduce sum(%x) group = 2 : (tensor<4xf32>) -> tensor<4xf32>
  %1 = cs336.collective all_reduce sum(%w) group = 2 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = cs336.mul %w, %0 : tensor<4xf32>
  %3 = cs336.reduce sum %2 axes = [0] : tensor<4xf32> -> tensor<f32>
  return %3, %1 : tensor<f32>, tensor<4xf32>
}

// -----

// Values that an operation reads in its region count, too.
func.func @captured(%w: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"}, %p: i1)
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<train>} {
  // expected-error@+1 {{'scf.if' op is between parameter 'w' and the loss}}
  %0 = scf.if %p -> tensor<4xf32> {
    %1 = cs336.exp %w : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %w : tensor<4xf32>
  }
  %2 = cs336.reduce sum %0 axes = [0] : tensor<4xf32> -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// expected-error@+1 {{has no output called "loss" to differentiate}}
func.func @no_loss(%w: tensor<f32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "logits"}) attributes {cs336.mode = #cs336.mode<train>} {
  return %w : tensor<f32>
}

// -----

// expected-error@+1 {{the loss must be a floating-point tensor of rank 0, is 'tensor<4xf32>'}}
func.func @rank(%w: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<4xf32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<train>} {
  return %w : tensor<4xf32>
}

// -----

// expected-error@+1 {{the loss must be a floating-point tensor of rank 0, is 'tensor<i64>'}}
func.func @integer(%w: tensor<i64> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<i64> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<forward_backward>} {
  return %w : tensor<i64>
}

// -----

// expected-error@+1 {{has several blocks; only straight-line functions are differentiated}}
func.func @blocks(%w: tensor<f32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<train>} {
  cf.br ^next
^next:
  return %w : tensor<f32>
}

// -----

func.func @sums(%q: tensor<1x1x1x8xf32> {cs336.kind = "parameter", cs336.name = "q"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<train>} {
  // expected-error@+2 {{could not build its adjoint}}
  // expected-error@+1 {{has no gradient of log_sum_exp, which the loss depends on; compute it from the scores}}
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32> -> tensor<1x1x1xf32>
  %loss = cs336.reshape %lse : tensor<1x1x1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// expected-error@below {{takes 'loss_scale' as 'tensor<4xf64>', must be tensor<f32>; --cs336-scale-loss adds it}}
func.func @scale_of_another_type(%w: tensor<f32> {cs336.kind = "parameter", cs336.name = "w"},
                                 %s: tensor<4xf64> {cs336.kind = "state", cs336.name = "loss_scale"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<train>} {
  return %w : tensor<f32>
}
