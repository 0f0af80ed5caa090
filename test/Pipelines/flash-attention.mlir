// With fusion=flash an attention reaches the planned entry as one kernel a direction, in mixed precision too, and no buffer
// holds scores.

// RUN: cs336-translate --import-transformer --num-layers 1 --d-model 16 --num-heads 2 --d-ff 24 --vocab-size 40 --context-length 36 --batch-size 3 --mode train -o %t.mlir
// RUN: cs336-opt %t.mlir --cs336-pipeline=fusion=flash --mlir-print-debuginfo=false | FileCheck %s
// RUN: cs336-opt %t.mlir --cs336-pipeline='fusion=flash dtype=bf16' --mlir-print-debuginfo=false | FileCheck %s --check-prefix=BF16
// RUN: cs336-opt %t.mlir --cs336-pipeline=fusion=none --mlir-print-debuginfo=false | FileCheck %s --check-prefix=NONE

// CHECK-NOT:   memref<{{([0-9]+x)*}}36x36x
// CHECK-DAG:   exec.kernel {{.*}}@attention_{{[0-9a-f]*}}(
// CHECK-DAG:   exec.kernel {{.*}}@attention_backward_{{[0-9a-f]*}}(
// CHECK:       exec.entry @train
// CHECK:         exec.launch @attention_{{[0-9a-f]*}} ins({{.*}} : memref<3x36x2x8xf32{{.*}}outs({{.*}} : memref<3x36x2x8xf32>, memref<3x2x36xf32>)
// CHECK-NOT:     @softmax
// CHECK:         exec.launch @attention_backward_{{[0-9a-f]*}}
// CHECK:       exec.entry @forward
// CHECK:         exec.launch @attention_{{[0-9a-f]*}} ins
// CHECK-NOT:   memref<{{([0-9]+x)*}}36x36x

// BF16-NOT:    memref<{{([0-9]+x)*}}36x36x
// BF16:        exec.launch @attention_{{[0-9a-f]*}} ins({{.*}} : memref<3x36x2x8xbf16{{.*}}outs({{.*}} : memref<3x36x2x8xbf16>, memref<3x2x36xf32>)
// BF16:        exec.launch @attention_backward_{{[0-9a-f]*}} ins({{.*}}memref<3x2x36xf32>{{.*}}outs({{.*}} : memref<3x36x2x8xbf16>, memref<3x36x2x8xbf16>, memref<3x36x2x8xbf16>)

// NONE:        memref<3x2x36x36xf32>
// NONE-NOT:    @attention_
