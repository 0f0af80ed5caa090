// cs336-opt is mlir-opt with our dialects. It prints locations by default.

// RUN: cs336-opt %s | FileCheck %s
// RUN: cs336-opt %s | cs336-opt | FileCheck %s
// RUN: cs336-opt %s --mlir-print-debuginfo=false | FileCheck %s --check-prefix=PLAIN
// RUN: cs336-opt %s --pass-pipeline='builtin.module(func.func(canonicalize))' | FileCheck %s
// RUN: not cs336-opt %s --no-such-pass 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not cs336-opt %t.missing.mlir 2>&1 | FileCheck %s --check-prefix=MISSING

// CHECK: cs336.exp %{{.*}} : tensor<4xf32> loc(#[[LOC:loc.*]])
// CHECK: #[[LOC]] = loc("layers.0.attn")
// PLAIN-NOT: loc(
// FLAG: Unknown command line argument '--no-such-pass'
// MISSING: error: cannot read '{{.*}}missing.mlir': No such file or directory
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = cs336.exp %x : tensor<4xf32> loc("layers.0.attn")
  return %y : tensor<4xf32>
}
