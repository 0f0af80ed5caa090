// Programs that cannot be compiled for a GPU, and their errors.
// REQUIRES: nvrtc

// RUN: not cs336-translate --emit-executable --device gpu %s 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not cs336-translate --emit-executable --device cuda:-1 %s 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: for the --device option: unknown device '{{gpu|cuda:-1}}': expected cpu, cuda or cuda:N
// RUN: not cs336-translate --emit-executable --device cuda --arch sm_90a,sm_91 %s 2>&1 | FileCheck %s --check-prefix=ARCHITECTURE
// ARCHITECTURE: error: unknown architecture 'sm_91': expected {{.*}}sm_80, {{.*}}sm_90, {{.*}}, which NVRTC 13.{{[0-9]+}} compiles for
// RUN: not cs336-translate --emit-executable --device cuda --arch sm_80a %s 2>&1 | FileCheck %s --check-prefix=SUFFIX
// SUFFIX: error: unknown architecture 'sm_80a'
// RUN: not cs336-translate --emit-executable --pipeline-options target=cuda %s 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: pipeline options 'target=cuda': the target is not the device that the program is compiled for: leave it out

// A launch whose kernel writes to a workspace must have one.
// RUN: sed '1i module attributes {exec.architectures = ["sm_90a"]} {' %S/Inputs/planned-without-workspace.mlir > %t.without.mlir
// RUN: echo '}' >> %t.without.mlir
// RUN: not cs336-translate --emit-executable --device cuda --arch sm_90a %t.without.mlir 2>&1 | FileCheck %s --check-prefix=WORKSPACE
// WORKSPACE: error: has a workspace of 0 bytes, and kernel 'total' needs {{[0-9]+}}: run --exec-add-workspaces before --exec-plan-memory

// The workspaces that were planned for one architecture may be too small for another.
// RUN: not cs336-translate --emit-executable --device cuda --arch sm_80,sm_90a %S/Inputs/planned-without-workspace.mlir 2>&1 | FileCheck %s --check-prefix=UNPLANNED
// UNPLANNED: error: has a workspace of 0 bytes, and kernel 'total' needs {{[0-9]+}} for sm_80,sm_90a, but the program was planned for portable: plan it again with --cuda-select-schedules=arch=sm_80,sm_90a before --cs336-pipeline or --exec-add-workspaces
// RUN: cs336-opt --cs336-pipeline=target=cuda %S/Inputs/attention-gradient.mlir -o %t.portable.mlir
// RUN: not cs336-translate --emit-executable --device cuda --arch sm_90a %t.portable.mlir 2>&1 | FileCheck %s --check-prefix=PORTABLE
// PORTABLE: error: has a workspace of 196608 bytes, and kernel '{{.*}}' needs {{[0-9]+}} for sm_90a, but the program was planned for portable: plan it again with --cuda-select-schedules=arch=sm_90a before --cs336-pipeline or --exec-add-workspaces
// RUN: cs336-opt --cuda-select-schedules=arch=sm_90a --cs336-pipeline=target=cuda %S/Inputs/attention-gradient.mlir -o %t.planned.mlir
// RUN: cs336-translate --emit-executable --device cuda --arch sm_90a --no-cache %t.planned.mlir -o %t.planned.cs336x

// The text of a kernel that is named like a variable of CUDA does not compile. The error is at the kernel, says where the text is, and
// holds the compiler's messages; without --dump-dir it says how to keep the text.
// RUN: rm -rf %t.dump
// RUN: not cs336-translate --emit-executable --device cuda %s --dump-dir %t.dump -o %t.cs336x 2>&1 | FileCheck %s --check-prefix=KERNEL -DFOLDER=%t.dump
// KERNEL: [[#@LINE+7]]:1: error: kernel 'threadIdx': compiling threadIdx.cu for sm_90a: NVRTC_ERROR_COMPILATION
// KERNEL: threadIdx.cu({{[0-9]+}}): error:
// KERNEL: note: its text is in '[[FOLDER]]/kernels/threadIdx.cu'
// RUN: grep 'threadIdx(const float' %t.dump/kernels/threadIdx.cu
// RUN: not ls %t.cs336x
// RUN: not cs336-translate --emit-executable --device cuda %s 2>&1 | FileCheck %s --check-prefix=HINT
// HINT: note: --dump-dir keeps the text of every kernel
exec.kernel @threadIdx(%x: tensor<16xf32>) : (memref<16xf32>) -> memref<16xf32> {
  %0 = cs336.exp %x : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}
exec.entry @forward mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %y = exec.output "y" output : memref<16xf32>
  exec.launch @threadIdx ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
}
