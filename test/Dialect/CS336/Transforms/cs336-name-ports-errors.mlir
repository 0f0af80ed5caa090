// Inputs that the pass, and so every tool, rejects: a function without names may have arguments of any type.

// RUN: cs336-opt %s --split-input-file --cs336-name-ports --verify-diagnostics

// expected-error@below {{argument 0 of @index must be a tensor of f64, f32, bf16, f16, i64, i32 or i1 with static sizes, none of them 0, and at most 2^48 bytes, is 'index'}}
func.func @index(%i: index) { return }

// -----

// expected-error@below {{argument 1 of @complex must be a tensor of f64, f32}}
func.func @complex(%x: tensor<4xf32>, %w: tensor<4xcomplex<f32>>) { return }

// -----

// expected-error@below {{result 0 of @scalar must be a tensor of f64, f32}}
func.func @scalar(%x: tensor<4xf32>) -> i1 {
  %true = arith.constant true
  return %true : i1
}
