// Numbers in the assembly of operations and in attributes of the dialect need no decimal point.

// RUN: cs336-opt %s --mlir-print-debuginfo=false --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: lr = 4.000000e-03, eps = 1.000000e-09, weight_decay = 2.000000e-01, max_norm = 1.000000e+02
// CHECK: cs336.rms_norm %{{.*}}, %{{.*}} eps = 1.000000e-05 :
// CHECK: cs336.layer_norm %{{.*}}, %{{.*}}, %{{.*}} eps = 2.000000e-06 :
// CHECK: cs336.rope %{{.*}} theta = 1.000000e+04 :
// CHECK: cs336.rope %{{.*}} theta = 5.000000e+05 :
// CHECK: cs336.rope %{{.*}} theta = 1.250000e+02 :
func.func @numbers(%x: tensor<4x8xf32>, %w: tensor<8xf32>)
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<lr = 4e-3, eps = 1E-09, weight_decay = 0.2, max_norm = 1e+2>} {
  %0 = cs336.rms_norm %x, %w eps = 1e-5 : tensor<4x8xf32>, tensor<8xf32>
  %1 = cs336.layer_norm %x, %w, %w eps = 2.0e-6 : tensor<4x8xf32>, tensor<8xf32>
  %2 = cs336.rope %x theta = 1e4 : tensor<4x8xf32>
  %3 = cs336.rope %x theta = 5E+5 : tensor<4x8xf32>
  %4 = cs336.rope %x theta = 1.25e2 : tensor<4x8xf32>
  return
}

// -----

func.func @too_large(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{the number 1e400 does not fit into a float64}}
  %0 = cs336.rope %x theta = 1e400 : tensor<4x8xf32>
  return
}

// -----

func.func @no_number(%x: tensor<4x8xf32>) {
  // expected-error@+2 {{unexpected decimal integer literal for a floating point value}}
  // expected-note@+1 {{add a trailing dot to make the literal a float}}
  %0 = cs336.rope %x theta = 1 : tensor<4x8xf32>
  return
}

// -----

func.func @name_after_number(%x: tensor<4x8xf32>) {
  // expected-error@+2 {{unexpected decimal integer literal for a floating point value}}
  // expected-note@+1 {{add a trailing dot to make the literal a float}}
  %0 = cs336.rope %x theta = 1e4x : tensor<4x8xf32>
  return
}

// -----

func.func @negative(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{theta}}
  %0 = cs336.rope %x theta = -1e4 : tensor<4x8xf32>
  return
}
