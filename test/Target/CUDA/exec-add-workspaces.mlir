// RUN: cs336-opt --exec-add-workspaces --mlir-print-debuginfo=false %s | FileCheck %s
// RUN: cs336-opt --exec-add-workspaces=gemm-bytes=4096 --mlir-print-debuginfo=false %s | FileCheck %s --check-prefix=SMALL
// RUN: cs336-opt --exec-add-workspaces=gemm-bytes=0 --mlir-print-debuginfo=false %s | FileCheck %s --check-prefix=NONE
// Adding twice changes nothing.
// RUN: cs336-opt --exec-add-workspaces --exec-add-workspaces=gemm-bytes=4096 --mlir-print-debuginfo=false %s | FileCheck %s
// After a selection, its schedules are used: kernels are read and scheduled once.
// RUN: cs336-opt --cuda-select-schedules --exec-add-workspaces --mlir-print-debuginfo=false %s | FileCheck %s
// RUN: cs336-opt --cuda-select-schedules --exec-add-workspaces --mlir-timing %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONCE --implicit-check-not=ModuleSchedules
// ONCE: SelectSchedulesPass
// ONCE-NEXT: (A) cs336::cuda::ModuleSchedules
// ONCE-NEXT: AddWorkspacesPass

exec.kernel @exp(%x: tensor<16xf32>) : (memref<16xf32>) -> memref<16xf32> {
  %0 = cs336.exp %x : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}

// CHECK-LABEL: exec.entry @products
// SMALL-LABEL: exec.entry @products
// NONE-LABEL: exec.entry @products
exec.entry @products mode<forward> {
  %a = exec.input "a" : memref<4x4xf32>
  %b = exec.output "b" output : memref<4x4xf32>
  // CHECK: %[[C:.*]] = exec.alloc : memref<4x4xf32>
  %c = exec.alloc : memref<4x4xf32>
  // CHECK-NEXT: %[[FIRST:.*]] = exec.alloc : memref<8388608xf32>
  // CHECK-NEXT: exec.gemm {{.*}} outs(%[[C]] : memref<4x4xf32>) workspace(%[[FIRST]] : memref<8388608xf32>)
  // SMALL: exec.gemm {{.*}} workspace(%{{.*}} : memref<1024xf32>)
  // NONE-NOT: workspace
  exec.gemm ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf32>)
  // Each launch has its own workspace: the planner decides which ones share bytes.
  // CHECK-NEXT: %[[SECOND:.*]] = exec.alloc : memref<8388608xf32>
  // CHECK-NEXT: exec.gemm {{.*}} workspace(%[[SECOND]] : memref<8388608xf32>) precision = tf32 {stream = 1 : i64}
  // SMALL: exec.gemm {{.*}} workspace(%{{.*}} : memref<1024xf32>)
  exec.gemm ins(%a, %c : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>) precision = tf32 {stream = 1 : i64}
}

// Existing workspaces are kept; a kernel whose blocks do not exchange data has none.
// CHECK-LABEL: exec.entry @others
// SMALL-LABEL: exec.entry @others
// NONE-LABEL: exec.entry @others
exec.entry @others mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %a = exec.input "a" : memref<4x4xf32>
  %y = exec.output "y" output : memref<16xf32>
  %b = exec.output "b" output : memref<4x4xf32>
  // CHECK: exec.launch @exp ins(%{{.*}} : memref<16xf32>) outs(%{{.*}} : memref<16xf32>){{$}}
  exec.launch @exp ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
  // CHECK: %[[OWN:.*]] = exec.alloc : memref<64xf32>
  %w = exec.alloc : memref<64xf32>
  // CHECK-NEXT: exec.gemm {{.*}} workspace(%[[OWN]] : memref<64xf32>)
  // SMALL: exec.gemm {{.*}} workspace(%{{.*}} : memref<64xf32>)
  exec.gemm ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>) workspace(%w : memref<64xf32>)
}

// A sum over so much that blocks share it: they leave partial sums to each other.
exec.kernel @total(%x: tensor<1048576xf32>) : (memref<1048576xf32>) -> memref<f32> {
  %0 = cs336.reduce sum %x axes = [0] : tensor<1048576xf32> -> tensor<f32>
  exec.yield %0 : tensor<f32>
}

// CHECK-LABEL: exec.entry @sums
// NONE-LABEL: exec.entry @sums
exec.entry @sums mode<forward> {
  %x = exec.input "x" : memref<1048576xf32>
  %y = exec.output "y" output : memref<f32>
  // CHECK: %[[PARTS:.*]] = exec.alloc : memref<[[SIZE:[0-9]+]]xf32>
  // CHECK-NEXT: exec.launch @total ins(%{{.*}}) outs(%{{.*}} : memref<f32>) workspace(%[[PARTS]] : memref<[[SIZE]]xf32>)
  // NONE: exec.launch @total {{.*}} workspace(
  exec.launch @total ins(%x : memref<1048576xf32>) outs(%y : memref<f32>)
}
