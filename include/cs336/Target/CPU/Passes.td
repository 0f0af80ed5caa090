//===- Passes.td - Passes that show the code of CPU kernels -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CPU_PASSES_TD
#define CS336_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def KernelsToCPUPass : Pass<"exec-kernels-to-cpu", "::mlir::ModuleOp"> {
  let summary = "Show the loops of every kernel on the CPU";
  let description = [{
    Replaces every `exec.kernel` with the function that the CPU target compiles. The function has a loop over rows. This
    loop contains one loop nest per phase, with loads, operations and stores.

    Innermost loops use vectors, with as many lanes as suit the registers of `cpu`. A scalar loop handles the remaining
    elements. A loop without vectors has the attribute `scalar_because` with the reason.

    | attribute of the function | meaning |
    |---|---|
    | `rows` | the number of rows that the runtime divides among threads |
    | `grain` | the smallest number of rows for which a thread is used |
    | `thread_bytes` | bytes of memory that the runtime provides for each thread |

    The values that one loop nest of a row passes to the next are on the stack, if they have at most 1 MiB. Otherwise
    they are in the memory of `thread_bytes`, whose address comes after those of the operands.

    The pass removes entries and variables. The result is for reading and for tests: the target lowers the kernels
    itself. With `to-llvm` the functions are in the LLVM dialect, which `mlir-translate --mlir-to-llvmir` reads.

    Before:

    ```mlir
    exec.kernel @row_sums(%x: tensor<4x100xf32>) : (memref<4x100xf32>) -> memref<4xf32> {
      %s = cs336.reduce sum %x axes = [1] : tensor<4x100xf32> -> tensor<4xf32>
      exec.yield %s : tensor<4xf32>
    }
    ```

    After, with `cpu=x86-64-v3` (buffers' addresses and indices left out):

    ```mlir
    llvm.func @cs336_row_sums(%buffers: !llvm.ptr, %begin: i64, %end: i64) attributes {grain = 4 : i64, rows = 4 : i64} {
      scf.for %row = %begin to %end step %c1 {
        memref.store %zero, %sums[%row] : memref<4xf32>
        %partial = scf.for %column = %c0 to %c96 step %c32 iter_args(%sum = %neutral) -> (vector<32xf32>) {
          %x = vector.load %operand[%row_column] : memref<400xf32>, vector<32xf32>
          %next = arith.addf %x, %sum fastmath<reassoc> : vector<32xf32>
          scf.yield %next : vector<32xf32>
        }
        %main = vector.reduction <add>, %partial fastmath<reassoc> : vector<32xf32> into f32
        %total = scf.for %column = %c96 to %c100 step %c1 iter_args(%sum = %main) -> (f32) {
          %x = memref.load %operand[%row_column] : memref<400xf32>
          %next = arith.addf %x, %sum fastmath<reassoc> : f32
          scf.yield %next : f32
        }
        %old = memref.load %sums[%row] : memref<4xf32>
        %new = arith.addf %old, %total fastmath<reassoc> : f32
        memref.store %new, %sums[%row] : memref<4xf32>
      }
      llvm.return
    }
    ```

    Counts `num-kernels`, kernels lowered.
  }];
  let options = [Option<"cpuName", "cpu", "std::string", /*default=*/"\"host\"",
                        "Instruction set: host, generic, x86-64-v2, x86-64-v3 or x86-64-v4 (default: host)">,
                 Option<"toLLVM", "to-llvm", "bool", /*default=*/"false",
                        "Lower further to the LLVM dialect (default: false)">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // CS336_TARGET_CPU_PASSES_TD
