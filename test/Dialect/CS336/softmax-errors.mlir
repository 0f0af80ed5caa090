// Operands that softmax and its gradient reject.

// RUN: cs336-opt %s --verify-diagnostics --split-input-file

func.func @scalar(%x: tensor<f32>) {
  // expected-error@+1 {{requires a tensor of rank 1 or more}}
  %0 = cs336.softmax %x : tensor<f32>
  return
}

// -----

func.func @mask_of_first_axis(%x: tensor<4x8xf32>, %m: tensor<4xi1>) {
  // expected-error@+1 {{the mask's shape must be that of the last axes of 'tensor<4x8xf32>', is 'tensor<4xi1>'}}
  %0 = cs336.softmax %x mask %m : tensor<4x8xf32>, tensor<4xi1>
  return
}

// -----

func.func @mask_without_axes(%x: tensor<4x8xf32>, %m: tensor<i1>) {
  // expected-error@+1 {{the mask's shape must be that of the last axes}}
  %0 = cs336.softmax %x mask %m : tensor<4x8xf32>, tensor<i1>
  return
}

// -----

func.func @infinite_scale(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{scale must be finite}}
  %0 = cs336.softmax %x {scale = 0x7FF0000000000000 : f64} : tensor<4x8xf32>
  return
}

// -----

func.func @numbers_as_mask(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{operand #1 must be statically shaped tensor of 1-bit signless integer values}}
  %0 = cs336.softmax %x mask %x : tensor<4x8xf32>, tensor<4x8xf32>
  return
}

// -----

func.func @gradient_of_another_shape(%y: tensor<4x8xf32>, %dy: tensor<4x9xf32>) {
  // expected-note@-1 {{prior use here}}
  // expected-error@+1 {{use of value '%dy' expects different type than prior uses}}
  %0 = cs336.softmax_backward %y, %dy : tensor<4x8xf32>
  return
}

// -----

func.func @mask_of_gradient(%y: tensor<4x8xf32>, %m: tensor<2x4x8xi1>) {
  // expected-error@+1 {{the mask's shape must be that of the last axes of 'tensor<4x8xf32>', is 'tensor<2x4x8xi1>'}}
  %0 = cs336.softmax_backward %y, %y mask %m : tensor<4x8xf32>, tensor<2x4x8xi1>
  return
}
