// RUN: cs336-opt %s --split-input-file --cs336-optimizer --verify-diagnostics
// RUN: not cs336-opt %s --split-input-file --cs336-optimizer=beta1=1.5 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not cs336-opt %s --cs336-optimizer=kind=sgd 2>&1 | FileCheck %s --check-prefix=KIND

// OPTION: has an impossible optimizer: beta1 and beta2 must lie in [0, 1), are 1.500000e+00
// KIND: unknown kind 'sgd': expected adamw

// expected-error@+1 {{returns no gradients to update parameters with; run --cs336-differentiate first}}
func.func @no_gradients(%a: tensor<f32> {cs336.kind = "parameter", cs336.name = "a"}) -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<train>} {
  return %a : tensor<f32>
}

// -----

// expected-error@+1 {{returns a gradient called 'b', but has no parameter with that name, type and number of shards}}
func.func @name(%a: tensor<f32> {cs336.kind = "parameter", cs336.name = "a"}) -> (tensor<f32> {cs336.kind = "gradient", cs336.name = "b"})
    attributes {cs336.mode = #cs336.mode<train>} {
  return %a : tensor<f32>
}

// -----

// expected-error@+1 {{returns a gradient called 'a', but has no parameter with that name, type and number of shards}}
func.func @type(%a: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "a"}, %g: tensor<5xf32>) -> (tensor<5xf32> {cs336.kind = "gradient", cs336.name = "a"})
    attributes {cs336.mode = #cs336.mode<train>} {
  return %g : tensor<5xf32>
}

// -----

// expected-error@+1 {{has several blocks; only straight-line functions are updated}}
func.func @blocks(%a: tensor<f32> {cs336.kind = "parameter", cs336.name = "a"}) -> (tensor<f32> {cs336.kind = "gradient", cs336.name = "a"})
    attributes {cs336.mode = #cs336.mode<train>} {
  cf.br ^next
^next:
  return %a : tensor<f32>
}

// -----

// Possible by itself; the option makes it impossible.
func.func @option(%a: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "a"}) -> (tensor<4xf32> {cs336.kind = "gradient", cs336.name = "a"})
    attributes {cs336.mode = #cs336.mode<train>} {
  return %a : tensor<4xf32>
}

// -----

// expected-error@+1 {{takes 'loss_scale', but no cs336.loss_scaling describes its updates; --cs336-scale-loss adds both}}
func.func @scale(%a: tensor<f32> {cs336.kind = "parameter", cs336.name = "a"}, %s: tensor<f32> {cs336.kind = "state", cs336.name = "loss_scale"})
    -> (tensor<f32> {cs336.kind = "gradient", cs336.name = "a"}) attributes {cs336.mode = #cs336.mode<train>} {
  return %a : tensor<f32>
}

// -----

// A whole gradient of a part would be another gradient.
// expected-error@+1 {{returns a gradient called 'a', but has no parameter with that name, type and number of shards}}
func.func @part(%a: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "a", cs336.shards = 2 : i64}) -> (tensor<4xf32> {cs336.kind = "gradient", cs336.name = "a"})
    attributes {cs336.mode = #cs336.mode<train>} {
  return %a : tensor<4xf32>
}

// -----

// expected-error@+1 {{returns an output called 'grad_norm', which is the name of the norm of all gradients, by which max_norm clips them: give the output another name}}
func.func @norm(%a: tensor<f32> {cs336.kind = "parameter", cs336.name = "a"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "grad_norm"}, tensor<f32> {cs336.kind = "gradient", cs336.name = "a"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<max_norm = 1.0>} {
  return %a, %a : tensor<f32>, tensor<f32>
}
