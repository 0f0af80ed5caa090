// Passes and texts depend on the architectures that a program is compiled for.
// RUN: split-file %s %t
// RUN: cs336-opt --exec-add-workspaces %t/several.mlir | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: module attributes {exec.architectures = ["sm_80", "sm_90a"]}
// SEVERAL: workspace(%{{.*}} : memref<256xf32>)
// RUN: cs336-opt --exec-add-workspaces %t/several.mlir | cs336-translate --emit-cuda --require-all | FileCheck %s --check-prefix=TEXT
// TEXT: __global__ void __launch_bounds__(256)
// RUN: not cs336-opt --exec-add-workspaces %t/malformed.mlir 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not cs336-translate --emit-cuda %t/malformed.mlir 2>&1 | FileCheck %s --check-prefix=MALFORMED
// MALFORMED: error: 'exec.architectures' is "sm_80", must be an array of names such as ["sm_80", "sm_90a"]

//--- several.mlir
module attributes {exec.architectures = ["sm_80", "sm_90a"]} {
  exec.kernel @sum(%x: tensor<1048576xf32>) : (memref<1048576xf32>) -> memref<f32> {
    %0 = cs336.reduce sum %x axes = [0] : tensor<1048576xf32> -> tensor<f32>
    exec.yield %0 : tensor<f32>
  }
  exec.entry @norm mode<forward> {
    %x = exec.input "x" : memref<1048576xf32>
    %y = exec.output "y" output : memref<f32>
    exec.launch @sum ins(%x : memref<1048576xf32>) outs(%y : memref<f32>)
  }
}

//--- malformed.mlir
module attributes {exec.architectures = "sm_80"} {
  exec.entry @empty mode<forward> {
  }
}
