// RUN: cs336-opt %s --split-input-file --cs336-autocast --verify-diagnostics
// RUN: not cs336-opt %s --split-input-file --cs336-autocast=dtype=int8 2>&1 | FileCheck %s

// CHECK: unknown dtype 'int8': expected bf16, fp16 or tf32

// expected-error@+1 {{returns gradients or updated parameters already; casts must be inserted before --cs336-differentiate, so that they have adjoints}}
func.func @differentiated(%w: tensor<4xf32>) -> (tensor<4xf32> {cs336.kind = "gradient", cs336.name = "w"}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error@+1 {{has several blocks; only straight-line functions are cast}}
func.func @blocks(%w: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %w : tensor<4xf32>
}
