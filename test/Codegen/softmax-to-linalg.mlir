// The linalg form of a softmax: a row's maximum, its exponentials, their sum, the quotients.

// RUN: cs336-opt %s --exec-kernels-to-linalg --split-input-file --mlir-print-debuginfo=false | FileCheck %s

// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[MASK:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @masked(
// CHECK-SAME:    %[[X:.*]]: tensor<2x4x8xbf16>, %[[M:.*]]: tensor<4x8xi1>, %[[OUT:.*]]: tensor<2x4x8xbf16>)
// CHECK:         %[[MAX:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[MASK]], #[[ROW]]], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME:      ins(%[[X]], %[[M]] : {{.*}}) outs(%{{.*}} : tensor<2x4xf32>)
// CHECK:           arith.extf {{.*}} : bf16 to f32
// CHECK:           arith.mulf
// CHECK:           arith.select
// CHECK:           arith.maximumf
// CHECK:         %[[E:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[MASK]], #[[ROW]], #[[ID]]], iterator_types = ["parallel", "parallel", "parallel"]}
// CHECK-SAME:      ins(%[[X]], %[[M]], %[[MAX]] : {{.*}}) outs(%{{.*}} : tensor<2x4x8xf32>)
// CHECK:           math.exp
// CHECK:         %[[SUM:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[ROW]]], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME:      ins(%[[E]] : {{.*}}) outs(%{{.*}} : tensor<2x4xf32>)
// CHECK:           arith.addf {{.*}} fastmath<reassoc>
// CHECK:         %[[Y:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[ROW]], #[[ID]]]
// CHECK-SAME:      ins(%[[E]], %[[SUM]] : {{.*}}) outs(%[[OUT]] : tensor<2x4x8xbf16>)
// CHECK:           arith.divf
// CHECK:           arith.truncf
// CHECK:         return %[[Y]]
exec.kernel @masked(%x: tensor<2x4x8xbf16>, %m: tensor<4x8xi1>)
    : (memref<2x4x8xbf16>, memref<4x8xi1>) -> memref<2x4x8xbf16> {
  %y = cs336.softmax %x mask %m {scale = 5.0e-01 : f64} : tensor<2x4x8xbf16>, tensor<4x8xi1>
  exec.yield %y : tensor<2x4x8xbf16>
}

// -----

// Exponentials of a row that is too long to keep are computed again.

// CHECK-LABEL: func.func @long(
// CHECK-NOT:     tensor.empty() : tensor<2x100000xf32>
// CHECK-COUNT-2: math.exp
// CHECK-NOT:     math.exp
exec.kernel @long(%x: tensor<2x100000xf32>) : (memref<2x100000xf32>) -> memref<2x100000xf32> {
  %y = cs336.softmax %x : tensor<2x100000xf32>
  exec.yield %y : tensor<2x100000xf32>
}

// -----

// CHECK-LABEL: func.func @backward(
// CHECK-SAME:    %[[Y:.*]]: tensor<4x8xf32>, %[[DY:.*]]: tensor<4x8xf32>, %[[OUT:.*]]: tensor<4x8xf32>)
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK-SAME:      ins(%[[Y]], %[[DY]] :
// CHECK:           arith.mulf
// CHECK:           arith.addf
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[Y]], %[[DY]], %[[SUM]] : {{.*}}) outs(%[[OUT]] :
// CHECK:           arith.subf
// CHECK:           arith.mulf
exec.kernel @backward(%y: tensor<4x8xf32>, %dy: tensor<4x8xf32>) : (memref<4x8xf32>, memref<4x8xf32>) -> memref<4x8xf32> {
  %dx = cs336.softmax_backward %y, %dy : tensor<4x8xf32>
  exec.yield %dx : tensor<4x8xf32>
}
