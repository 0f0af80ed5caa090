// MLIR's own attributes take no number like 1e-3: the error has a note with the right spelling.

// RUN: not cs336-opt %s --split-input-file 2>&1 | FileCheck %s
// RUN: not cs336-translate --emit-executable %s -o %t.cs336x 2>&1 | FileCheck %s --check-prefix=FIRST

// CHECK: [[@LINE+3]]:69: error: expected '}' in attribute dictionary
// CHECK: [[@LINE+2]]:69: note: a number with an exponent needs a decimal point here: write 1.0e-3 instead of 1e-3
// FIRST: [[@LINE+1]]:69: note: a number with an exponent needs a decimal point here: write 1.0e-3 instead of 1e-3
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> attributes {bar = 1e-3} {
  return %x : tensor<4xf64>
}

// -----

func.func @f() -> tensor<2xf64> {
  // CHECK: [[@LINE+2]]:{{[0-9]+}}: error: expected ']'
  // CHECK: note: a number with an exponent needs a decimal point here: write 20.0E+3 instead of 20E+3
  %y = cs336.constant dense<[1.0, 20E+3]> : tensor<2xf64>
  return %y : tensor<2xf64>
}

// -----

func.func @f() -> f32 {
  // CHECK: [[@LINE+2]]:{{[0-9]+}}: error: custom op 'e' is unknown
  // CHECK: note: a number with an exponent needs a decimal point here: write 1.0e-3 instead of 1e-3
  %y = arith.constant 1e-3 : f32
  return %y : f32
}

// -----

// Other errors have no such note.
func.func @f1e3(%x1e3: tensor<2xf64>) -> tensor<2xf64> {
  // CHECK: error: use of undeclared SSA value name
  // CHECK-NOT: note:
  return %y1e3 : tensor<2xf64>
}
