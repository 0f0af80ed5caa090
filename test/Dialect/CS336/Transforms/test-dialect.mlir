// Operations of a dialect that passes do not know go through every pass by means of their interfaces.

// RUN: cs336-opt-test %s --mlir-print-debuginfo=false | FileCheck %s --check-prefix=ROUND
// RUN: cs336-opt-test %s --cs336-autocast --mlir-print-debuginfo=false | FileCheck %s --check-prefix=CAST
// RUN: cs336-opt-test %s --cs336-decompose --mlir-print-debuginfo=false | FileCheck %s --check-prefix=DECOMPOSE
// RUN: cs336-opt-test %s --cs336-differentiate | FileCheck %s --check-prefix=GRADIENT
// RUN: cs336-opt-test %s --cs336-hoist-invariants --mlir-print-debuginfo=false | FileCheck %s --check-prefix=HOIST
// RUN: cs336-opt-test %s --cs336-print-cost -o /dev/null 2>&1 | FileCheck %s --check-prefix=COST
// RUN: cs336-opt-test %s --cs336-pipeline | FileCheck %s --check-prefix=PLAN
// RUN: cs336-opt-test %s --cs336-pipeline=dtype=bf16 | FileCheck %s --check-prefix=PLAN
// The dialect is not in the tool that is installed.
// RUN: not cs336-opt %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: Dialect `cs336_test' not found

// ROUND: cs336_test.quartic %{{.*}} : tensor<4x8xf32>
// ROUND: cs336_test.cube %{{.*}} : tensor<4x8xf32>

// The matmul is low; quartic keeps that type, cube requires float32.
// CAST: cs336.linear {{.*}} -> tensor<4x8xbf16>
// CAST: %[[Q:.*]] = cs336_test.quartic %{{.*}} : tensor<4x8xbf16>
// CAST: %[[QW:.*]] = cs336.cast %[[Q]] : tensor<4x8xbf16> -> tensor<4x8xf32>
// CAST: cs336_test.cube %[[QW]] : tensor<4x8xf32>

// DECOMPOSE-NOT: quartic
// DECOMPOSE: %[[C:.*]] = cs336_test.cube %[[Y:.*]] : tensor<4x8xf32>
// DECOMPOSE: %[[Q:.*]] = cs336.mul %[[C]], %[[Y]]
// DECOMPOSE: cs336_test.cube %[[Q]]

// GRADIENT: cs336.constant dense<3.000000e+00> : tensor<4x8xf32> loc(#[[LOC:loc[0-9]*]])
// GRADIENT: return %{{.*}} : tensor<f32>, tensor<8x6xf32>
// GRADIENT-DAG: #[[CUBE:loc[0-9]*]] = loc("cube")
// GRADIENT-DAG: #[[LOC]] = loc("backward"(#[[CUBE]]))

// 8 elements of 2 + 2 + 2 + 2 FLOPs.
// HOIST: @train({{.*}}"derived"
// HOIST-NOT: cs336.iota
// HOIST: @prepare
// HOIST: cs336_test.cube %{{.*}} : tensor<8xf32>

// COST: forward cs336_test.cube 3 96 384
// COST: forward cs336_test.quartic 1 96 256

// PLAN: exec.kernel {{.*}}cube
// PLAN: cs336_test.cube
// PLAN: exec.entry @train
// PLAN: exec.launch
func.func @train(%w: tensor<8x6xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.init = #cs336.init<ones>},
                 %x: tensor<4x6xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}) attributes {cs336.mode = #cs336.mode<train>} {
  %0 = cs336.linear %x, %w : tensor<4x6xf32>, tensor<8x6xf32> -> tensor<4x8xf32> loc("linear")
  %1 = cs336_test.quartic %0 : tensor<4x8xf32> loc("quartic")
  %2 = cs336_test.cube %1 : tensor<4x8xf32> loc("cube")
  %i = cs336.iota axis = 0 : tensor<8xf32>
  %i3 = cs336_test.cube %i : tensor<8xf32> loc("table")
  %i9 = cs336_test.cube %i3 : tensor<8xf32> loc("table")
  %scale = cs336.broadcast %i9 dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %3 = cs336.mul %2, %scale : tensor<4x8xf32>
  %loss = cs336.reduce sum %3 axes = [0, 1] : tensor<4x8xf32> -> tensor<f32> loc("loss")
  return %loss : tensor<f32>
}
