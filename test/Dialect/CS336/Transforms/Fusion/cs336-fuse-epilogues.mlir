// Sums and ReLU of GEMMs become the GEMMs' own, where that rounds nothing less.

// RUN: cs336-opt %s --cs336-fuse-epilogues --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %s --cs336-fuse-epilogues -o %t.mlir && cs336-opt %t.mlir --cs336-fuse-epilogues | diff %t.mlir -
// RUN: cs336-opt %s --cs336-fuse-epilogues --remarks-filter=cs336-fuse-epilogues 2>&1 >%t.out | FileCheck %s --check-prefix=REMARK
// RUN: cs336-opt %s --cs336-fuse-epilogues --pass-statistics 2>&1 >%t.out | FileCheck %s --check-prefix=STATS
// STATS-DAG: num-sums 6
// STATS-DAG: num-biases 3
// STATS-DAG: num-activations 3

// The residual stream, on either side, batched and not; what is computed between the product and the sum comes before both.
// CHECK-LABEL: @residual
// CHECK-NEXT: %[[E:.*]] = cs336.exp %arg2
// CHECK-NEXT: %[[A:.*]] = cs336.matmul %arg0, %arg1 add %[[E]] {transpose_b} : tensor<3x4x8xf32>, tensor<5x8xf32> -> tensor<3x4x5xf32>
// CHECK-NEXT: %[[B:.*]] = cs336.matmul %arg0, %arg1 add %[[A]] {precision = #cs336.precision<tf32>, transpose_b}
// CHECK-NEXT: return %[[B]]
// REMARK: [Passed] SumFused | Category:cs336-fuse-epilogues | {{.*}}the matmul adds it
// REMARK: [Passed] SumFused
func.func @residual(%x: tensor<3x4x8xf32>, %w: tensor<5x8xf32>, %r: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {
  %p = cs336.matmul %x, %w {transpose_b} : tensor<3x4x8xf32>, tensor<5x8xf32> -> tensor<3x4x5xf32>
  %e = cs336.exp %r : tensor<3x4x5xf32>
  %a = cs336.add %e, %p : tensor<3x4x5xf32>
  %q = cs336.matmul %x, %w {precision = #cs336.precision<tf32>, transpose_b} : tensor<3x4x8xf32>, tensor<5x8xf32> -> tensor<3x4x5xf32>
  %b = cs336.add %q, %a : tensor<3x4x5xf32>
  return %b : tensor<3x4x5xf32>
}

// The gradient of a value that three GEMMs read: each adds what those before it found.
// CHECK-LABEL: @accumulation
// CHECK-NEXT: %[[P:.*]] = cs336.matmul %arg0, %arg1 :
// CHECK-NEXT: %[[Q:.*]] = cs336.matmul %arg0, %arg2 add %[[P]] :
// CHECK-NEXT: %[[R:.*]] = cs336.matmul %arg0, %arg3 add %[[Q]] :
// CHECK-NEXT: return %[[R]]
func.func @accumulation(%x: tensor<4x8xf64>, %a: tensor<8x5xf64>, %b: tensor<8x5xf64>, %c: tensor<8x5xf64>) -> tensor<4x5xf64> {
  %p = cs336.matmul %x, %a : tensor<4x8xf64>, tensor<8x5xf64> -> tensor<4x5xf64>
  %q = cs336.matmul %x, %b : tensor<4x8xf64>, tensor<8x5xf64> -> tensor<4x5xf64>
  %r = cs336.matmul %x, %c : tensor<4x8xf64>, tensor<8x5xf64> -> tensor<4x5xf64>
  %s = cs336.add %p, %q : tensor<4x5xf64>
  %t = cs336.add %s, %r : tensor<4x5xf64>
  return %t : tensor<4x5xf64>
}

// CHECK-LABEL: @rounded
// CHECK: %[[P:.*]] = cs336.matmul %arg0, %arg1 :
// CHECK: cs336.add %[[P]]
// REMARK: [Missed] SumKept | Category:cs336-fuse-epilogues | {{.*}}the matmul's result is rounded to 16 bits before the addition
// REMARK: [Missed] SumKept | Category:cs336-fuse-epilogues | {{.*}}the matmul's result is rounded to 16 bits before the addition
// REMARK: [Missed] SumKept | Category:cs336-fuse-epilogues | {{.*}}the matmul's result is cast before the addition
func.func @rounded(%x: tensor<4x8xbf16>, %w: tensor<8x5xbf16>, %r: tensor<4x5xbf16>) -> tensor<4x5xbf16> {
  %p = cs336.matmul %x, %w : tensor<4x8xbf16>, tensor<8x5xbf16> -> tensor<4x5xbf16>
  %s = cs336.add %p, %r : tensor<4x5xbf16>
  return %s : tensor<4x5xbf16>
}

// As under autocast, where the residual stream is wider than the results of GEMMs.
// CHECK-LABEL: @widened
// CHECK-COUNT-2: cs336.add %
func.func @widened(%x: tensor<4x8xbf16>, %w: tensor<8x5xbf16>, %r: tensor<4x5xf32>, %v: tensor<4x8xf32>, %u: tensor<8x5xf32>,
    %s: tensor<4x5xbf16>) -> (tensor<4x5xf32>, tensor<4x5xbf16>) {
  %0 = cs336.matmul %x, %w : tensor<4x8xbf16>, tensor<8x5xbf16> -> tensor<4x5xbf16>
  %1 = cs336.cast %0 : tensor<4x5xbf16> -> tensor<4x5xf32>
  %2 = cs336.add %r, %1 : tensor<4x5xf32>
  %3 = cs336.matmul %v, %u : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  %4 = cs336.cast %3 : tensor<4x5xf32> -> tensor<4x5xbf16>
  %5 = cs336.add %s, %4 : tensor<4x5xbf16>
  return %2, %5 : tensor<4x5xf32>, tensor<4x5xbf16>
}

// CHECK-LABEL: @two_readers
// CHECK-NOT: add %arg2 :
// REMARK: the matmul's result has other uses
func.func @two_readers(%x: tensor<4x8xf32>, %w: tensor<8x5xf32>, %r: tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %p = cs336.matmul %x, %w : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  %s = cs336.add %p, %r : tensor<4x5xf32>
  return %s, %p : tensor<4x5xf32>, tensor<4x5xf32>
}

// A residual after a bias, and a bias after a residual.
// CHECK-LABEL: @bias
// CHECK-NEXT: %[[A:.*]] = cs336.broadcast
// CHECK-NEXT: cs336.matmul %arg0, %arg1 add %arg3 bias %arg2 :
// CHECK-NEXT: %[[B:.*]] = cs336.broadcast
// CHECK-NEXT: cs336.matmul %arg0, %arg1 add %arg3 bias %arg2 :
// REMARK: [Passed] BiasFused | Category:cs336-fuse-epilogues | {{.*}}the matmul adds the bias to its rows
// REMARK: [Passed] SumFused
// REMARK: [Passed] SumFused
// REMARK: [Passed] BiasFused
func.func @bias(%x: tensor<2x4x8xf32>, %w: tensor<8x5xf32>, %b: tensor<5xf32>, %r: tensor<2x4x5xf32>) -> (tensor<2x4x5xf32>, tensor<2x4x5xf32>) {
  %p = cs336.matmul %x, %w : tensor<2x4x8xf32>, tensor<8x5xf32> -> tensor<2x4x5xf32>
  %c = cs336.broadcast %b dims = [2] : tensor<5xf32> -> tensor<2x4x5xf32>
  %s = cs336.add %p, %c : tensor<2x4x5xf32>
  %t = cs336.add %r, %s : tensor<2x4x5xf32>
  %q = cs336.matmul %x, %w : tensor<2x4x8xf32>, tensor<8x5xf32> -> tensor<2x4x5xf32>
  %u = cs336.add %r, %q : tensor<2x4x5xf32>
  %d = cs336.broadcast %b dims = [2] : tensor<5xf32> -> tensor<2x4x5xf32>
  %v = cs336.add %d, %u : tensor<2x4x5xf32>
  return %t, %v : tensor<2x4x5xf32>, tensor<2x4x5xf32>
}

// A value per row, repeated along columns, is not a bias.
// CHECK-LABEL: @column
// CHECK: cs336.add
// REMARK: the addend is recomputed by its readers and not stored in memory
func.func @column(%x: tensor<4x8xf32>, %w: tensor<8x5xf32>, %b: tensor<4xf32>) -> tensor<4x5xf32> {
  %p = cs336.matmul %x, %w : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  %r = cs336.broadcast %b dims = [0] : tensor<4xf32> -> tensor<4x5xf32>
  %s = cs336.add %p, %r : tensor<4x5xf32>
  return %s : tensor<4x5xf32>
}

// CHECK-LABEL: @wide_bias
// CHECK: cs336.add
// REMARK: GEMM libraries have no bias epilogue in float64
func.func @wide_bias(%x: tensor<4x8xf64>, %w: tensor<8x5xf64>, %b: tensor<5xf64>) -> tensor<4x5xf64> {
  %p = cs336.matmul %x, %w : tensor<4x8xf64>, tensor<8x5xf64> -> tensor<4x5xf64>
  %r = cs336.broadcast %b dims = [1] : tensor<5xf64> -> tensor<4x5xf64>
  %s = cs336.add %p, %r : tensor<4x5xf64>
  return %s : tensor<4x5xf64>
}

// CHECK-LABEL: @full
// CHECK: cs336.add
// REMARK: the matmul already accumulates into another operand
func.func @full(%x: tensor<4x8xf32>, %w: tensor<8x5xf32>, %r: tensor<4x5xf32>, %t: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %p = cs336.matmul %x, %w add %r : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  %s = cs336.add %p, %t : tensor<4x5xf32>
  return %s : tensor<4x5xf32>
}

// ReLUs of rounded elements, and of sums that are fused into the matmul first. The gradient reads the result, where it needs it.
// CHECK-LABEL: @relu
// CHECK-NEXT: %[[C:.*]] = cs336.constant
// CHECK-NEXT: %[[Y:.*]] = cs336.matmul %arg0, %arg1 {relu} :
// CHECK-NEXT: %[[E:.*]] = cs336.exp %[[Y]]
// CHECK-NEXT: %[[P:.*]] = cs336.compare le %[[Y]], %[[C]]
// CHECK-NEXT: %[[G:.*]] = cs336.select %[[P]], %[[C]], %[[E]]
// CHECK-NEXT: return %[[G]]
// REMARK: [Passed] ActivationFused | Category:cs336-fuse-epilogues | {{.*}}the matmul computes it
func.func @relu(%x: tensor<4x8xbf16>, %w: tensor<8x5xbf16>) -> tensor<4x5xbf16> {
  %zero = cs336.constant dense<0.0> : tensor<4x5xbf16>
  %p = cs336.matmul %x, %w : tensor<4x8xbf16>, tensor<8x5xbf16> -> tensor<4x5xbf16>
  %c = cs336.compare le %p, %zero : tensor<4x5xbf16>
  %y = cs336.select %c, %zero, %p : tensor<4x5xbf16>
  %e = cs336.exp %y : tensor<4x5xbf16>
  %g = cs336.select %c, %zero, %e : tensor<4x5xbf16>
  return %g : tensor<4x5xbf16>
}

// CHECK-LABEL: @relu_of_sum
// CHECK: %[[Y:.*]] = cs336.matmul %arg0, %arg1 bias %arg2 {relu} :
// CHECK-NEXT: %[[Z:.*]] = cs336.matmul %arg0, %arg1 {relu} :
// CHECK-NEXT: %[[S:.*]] = cs336.add %[[Z]], %[[Y]]
// CHECK-NEXT: return %[[S]]
// REMARK: [Passed] BiasFused
// REMARK: [Passed] ActivationFused
// REMARK: [Passed] ActivationFused
func.func @relu_of_sum(%x: tensor<4x8xf32>, %w: tensor<8x5xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
  %zero = cs336.constant dense<0.0> : tensor<4x5xf32>
  %p = cs336.matmul %x, %w : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  %r = cs336.broadcast %b dims = [1] : tensor<5xf32> -> tensor<4x5xf32>
  %s = cs336.add %p, %r : tensor<4x5xf32>
  %c = cs336.compare le %s, %zero : tensor<4x5xf32>
  %y = cs336.select %c, %zero, %s : tensor<4x5xf32>
  %q = cs336.matmul %x, %w : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  %d = cs336.compare le %q, %zero : tensor<4x5xf32>
  %z = cs336.select %d, %zero, %q : tensor<4x5xf32>
  %t = cs336.add %z, %y : tensor<4x5xf32>
  return %t : tensor<4x5xf32>
}

// A matmul that computes a ReLU adds nothing to its result.
// CHECK-LABEL: @after_relu
// CHECK: %[[P:.*]] = cs336.matmul %arg0, %arg1 {relu} :
// CHECK: cs336.add %[[P]], %arg2
// REMARK: the matmul's ReLU is before the addition
func.func @after_relu(%x: tensor<4x8xf32>, %w: tensor<8x5xf32>, %r: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %p = cs336.matmul %x, %w {relu} : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  %s = cs336.add %p, %r : tensor<4x5xf32>
  return %s : tensor<4x5xf32>
}

// CHECK-LABEL: @relu_kept
// CHECK: cs336.matmul %arg0, %arg1 :
// REMARK: [Missed] ActivationKept | Category:cs336-fuse-epilogues | {{.*}}the matmul's result has other uses
func.func @relu_kept(%x: tensor<4x8xf32>, %w: tensor<8x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %zero = cs336.constant dense<0.0> : tensor<4x5xf32>
  %p = cs336.matmul %x, %w : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  %c = cs336.compare le %p, %zero : tensor<4x5xf32>
  %y = cs336.select %c, %zero, %p : tensor<4x5xf32>
  return %y, %p : tensor<4x5xf32>, tensor<4x5xf32>
}

// The other one: what is at least 0 becomes 0.
// CHECK-LABEL: @other_select
// CHECK: cs336.matmul %arg0, %arg1 :
func.func @other_select(%x: tensor<4x8xf32>, %w: tensor<8x5xf32>) -> tensor<4x5xf32> {
  %zero = cs336.constant dense<0.0> : tensor<4x5xf32>
  %p = cs336.matmul %x, %w : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  %c = cs336.compare ge %p, %zero : tensor<4x5xf32>
  %y = cs336.select %c, %zero, %p : tensor<4x5xf32>
  return %y : tensor<4x5xf32>
}

// CHECK-LABEL: @wide_relu
// CHECK: cs336.matmul %arg0, %arg1 :
// REMARK: ReLU not fused: GEMM libraries have no ReLU epilogue in float64
func.func @wide_relu(%x: tensor<4x8xf64>, %w: tensor<8x5xf64>) -> tensor<4x5xf64> {
  %zero = cs336.constant dense<0.0> : tensor<4x5xf64>
  %p = cs336.matmul %x, %w : tensor<4x8xf64>, tensor<8x5xf64> -> tensor<4x5xf64>
  %c = cs336.compare le %p, %zero : tensor<4x5xf64>
  %y = cs336.select %c, %zero, %p : tensor<4x5xf64>
  return %y : tensor<4x5xf64>
}
