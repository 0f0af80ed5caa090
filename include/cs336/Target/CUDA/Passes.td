//===- Passes.td - Passes that prepare programs for GPUs -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_PASSES_TD
#define CS336_TARGET_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def AddWorkspacesPass : Pass<"exec-add-workspaces", "::mlir::ModuleOp"> {
  let summary = "Add the workspaces that launches and GEMMs need on the GPU";
  let description = [{
    Adds an `exec.alloc` as workspace to launches and GEMMs. A launch gets a workspace if the schedule of its kernel
    passes partial results from one function to the next. The schedule that `exec.schedules` selects determines the
    size; without the attribute, it is the one that `--cuda-select-schedules` would select. With several architectures
    in the module's `exec.architectures`, the size is the largest of them. Every GEMM gets a workspace
    of `gemm-bytes`. Without it, cuBLASLt cannot use the algorithms that split the summed axis among blocks. The default
    is the size that cuBLAS recommends for compute capability 9.0.

    Run it before `--exec-plan-memory`. The plan lets a workspace share its bytes with all allocations that are not live
    during the command, so it costs little in a training step. Commands that already have a workspace keep it. A kernel
    that no schedule accepts is an error.

    Before:

    ```mlir
    exec.launch @sum_7c1e ins(%x : memref<1048576xf32>) outs(%norm : memref<f32>)
    exec.gemm ins(%a, %b : memref<96x64xf32>, memref<64x192xf32>) outs(%c : memref<96x192xf32>)
    ```

    After:

    ```mlir
    %w0 = exec.alloc : memref<256xf32>
    exec.launch @sum_7c1e ins(%x : memref<1048576xf32>) outs(%norm : memref<f32>) workspace(%w0 : memref<256xf32>)
    %w1 = exec.alloc : memref<8388608xf32>
    exec.gemm ins(%a, %b : memref<96x64xf32>, memref<64x192xf32>) outs(%c : memref<96x192xf32>) workspace(%w1 : memref<8388608xf32>)
    ```

    Counts `num-launches` and `num-gemms`, the launches and GEMMs that got a workspace.
  }];
  let options = [Option<"gemmBytes", "gemm-bytes", "int64_t", /*default=*/"33554432",
                        "Bytes of the workspace of a GEMM, a multiple of 4; 0 for none (default: 33554432)">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def FuseUpdatesPass : Pass<"exec-fuse-updates", "::mlir::ModuleOp"> {
  let summary = "Fuse GEMMs that compute gradients with the updates of parameters by them";
  let description = [{
    Merges a GEMM whose result only updates a parameter with the launch that does the update. The gradient is then not
    stored, and the kernel multiplies on the tensor cores while it reads and writes the parameters and the state of the
    optimizer. Several such updates become one launch. docs/Rationale/UpdatesByGradients.md explains the kernel and has
    measurements.

    Conditions for a GEMM and a launch:

    - all architectures of the module's `exec.architectures` have `wgmma` and tensor maps, as sm_90a does;
    - the operands and the result of the GEMM are in bf16 or f16, and the GEMM has no addend, bias or ReLU;
    - the result has at least 256 rows and 256 columns, and both numbers are multiples of 64;
    - in memory, an operand has one row per token, and each row starts at a multiple of 16 bytes;
    - only this GEMM writes the gradient, and only this launch reads it. Programs that clip gradients by their norm, scale
      the loss in f16 or exchange gradients between ranks read gradients elsewhere, so nothing is fused in them.
      Gradients from the factors of all ranks (`factors` of `--cs336-distribute`) are fused;
    - besides, one `all_gather` may read the gradient, if no other command writes its targets. The kernel then stores the
      gradient too, at its place among the rows of all ranks if it has a multiple of 256 bytes, and the gather follows;
    - the kernel of the launch is element-wise and reads its operands in memory order, or single elements.

    The new launch follows the last command that reads or writes what the update writes. Such a command is the GEMM that
    computes the gradient of the layer's input from the old weights. If the GEMM of another gradient reads what the
    update writes, the launch with that GEMM comes first. Commands that compute single elements for an update, such as the
    bias corrections of the step, move before the first launch.

    A group of updates becomes one launch when it has `rounds` tiles of 128 x 256 elements per multiprocessor. It ends
    earlier if a command overwrites an operand of its GEMMs. The operands of all its GEMMs live until the launch. If
    this would raise the memory of the program, variables and largest live set, by more than `growth-percent`, groups of
    half the size are tried, and so on. A group whose predicted time is not less than that of its GEMMs and updates one
    after the other stays apart: one with few tiles, or tiles that do not divide evenly among the multiprocessors.

    Run it before `--exec-batch-launches`, which merges the remaining updates. Kernels without any launch are removed.

    Before:

    ```mlir
    exec.gemm ins(%dy, %x : memref<512x1024xbf16, strided<[1, 512]>>, memref<1024x256xbf16>) outs(%g : memref<512x256xbf16>)
    exec.launch @sub_71d4 ins(%w, %g : memref<512x256xf32>, memref<512x256xbf16>) outs(%w : memref<512x256xf32>)
    ```

    After:

    ```mlir
    exec.launch @matmul_sub_02f1 ins(%w, %dy, %x : memref<512x256xf32>, memref<512x1024xbf16, strided<[1, 512]>>, memref<1024x256xbf16>) outs(%w : memref<512x256xf32>)
    ```

    Remarks: `Fused` (`--remarks-filter-passed=exec-fuse-updates`) for each launch; `Apart`
    (`--remarks-filter-missed=exec-fuse-updates`) for an update that has to wait for commands after the GEMM, or whose
    GEMM reads what the update writes.

    Counts `num-updates`, GEMMs that became part of an update, and `num-launches`, the launches that do both.
  }];
  let options = [Option<"rounds", "rounds", "int64_t", /*default=*/"16",
                        "Tiles per multiprocessor at which a launch is large enough, at least 1 (default: 16)">,
                 Option<"growthPercent", "growth-percent", "unsigned", /*default=*/"2",
                        "Most growth of the program's memory in percent (default: 2)">,
                 Option<"always", "always", "bool", /*default=*/"false",
                        "Fuse also small updates, and those whose predicted time is longer">,
                 Option<"mostMembers", "most-members", "unsigned", /*default=*/"64",
                        "Most updates of one launch, at least 1 (default: 64)">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def ReadOwnFactorsPass : Pass<"exec-read-own-factors", "::mlir::ModuleOp"> {
  let summary = "Read a rank's own factors of gradients where they are";
  let description = [{
    A rank that computes gradients from the factors of all ranks gathers them, and thereby copies its own. Such copies
    take the bandwidth of the memory beside the kernels. The pass lets the kernel read the own factors from where they
    are: the matmul's factors then have two parts, the tokens of this rank and those of the others, and the collective
    writes the latter only (`others`). The sum is over the tokens of this rank first, so that it may be rounded
    differently.

    Conditions for a launch, such as those that `--exec-fuse-updates` creates:

    - a collective of kind `all_gather` or `all_to_all` writes each factor of each matmul of its kernel;
    - no other command than such launches reads what these collectives write;
    - no command writes a source of a collective between the collective and the launch;
    - the own factors, and their rows in memory, start at multiples of 16 bytes.

    The own factors live until the launch, and gathered ones take less memory. If the program's memory, variables and
    largest live set, would grow by more than `growth-percent`, the entry stays as it is.

    Run it after `--exec-fuse-updates`. Kernels without any launch are removed.

    Before:

    ```mlir
    exec.collective all_to_all ins(%dys : memref<2x512x256xbf16, strided<[256, 512, 1]>>) outs(%dy : memref<2x512x256xbf16>) group = 2
    exec.collective all_gather ins(%x : memref<512x256xbf16>) outs(%xs : memref<1024x256xbf16>) group = 2
    exec.launch @matmul_sub_02f1 ins(%w, %left, %xs : memref<256x256xf32>, memref<256x1024xbf16, strided<[1, 256]>>, memref<1024x256xbf16>) outs(%w : memref<256x256xf32>)
    ```

    After:

    ```mlir
    exec.collective all_to_all others ins(%dys : memref<2x512x256xbf16, strided<[256, 512, 1]>>) outs(%dy : memref<1x512x256xbf16>) group = 2
    exec.collective all_gather others ins(%x : memref<512x256xbf16>) outs(%xs : memref<512x256xbf16>) group = 2
    %own = exec.part %columns : memref<2x256x512xbf16, strided<[256, 1, 512]>> -> memref<256x512xbf16, strided<[1, 512]>>
    exec.launch @matmul_sub_2b40 ins(%w, %own, %left, %x, %xs : memref<256x256xf32>, memref<256x512xbf16, strided<[1, 512]>>, memref<256x512xbf16, strided<[1, 256]>>, memref<512x256xbf16>, memref<512x256xbf16>) outs(%w : memref<256x256xf32>)
    ```

    Remarks: `Read` (`--remarks-filter-passed=exec-read-own-factors`) for each entry, and `Copied`
    (`--remarks-filter-missed=exec-read-own-factors`) for one whose memory would grow.

    Counts `num-collectives`, collectives that no longer copy own factors, and `num-launches`, launches that read them.
  }];
  let options = [Option<"growthPercent", "growth-percent", "unsigned", /*default=*/"2",
                        "Most growth of the program's memory in percent (default: 2)">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def BatchLaunchesPass : Pass<"exec-batch-launches", "::mlir::ModuleOp"> {
  let summary = "Merge launches of the same computation on different buffers";
  let description = [{
    Merges launches that differ only in their buffers and shapes into one launch. Without it, an optimizer step has one
    launch per parameter. Each takes a few microseconds, during most of which the device waits.

    All members of a launch batch satisfy these conditions:

    - their kernels have the same body up to shapes;
    - the body is element-wise or a reduction to single elements;
    - it reads each operand in memory order, or reads single elements;
    - they are on one stream and belong to one phase.

    The merged launch takes the position of the last member. A member can move there if no command in between, including
    other members, writes storage that the member reads or writes, or reads storage that it writes. No command in
    between may record an event or wait for one. The test compares storage, not elements.

    The members stay separate if there are fewer than `min-members`. They also stay separate if the batch would raise
    the largest live set of the entry, because operands would live until the new position of their member. A launch has
    at most 32764 bytes of pointers, so a longer batch becomes several launches.

    Late members form a launch of their own. They depend on the last collectives between ranks, directly or through
    other commands, and access at most an eighth of the bytes that all members access. In one launch, the other members
    would wait for these collectives too. Earlier members follow in further launches of an eighth each, as long as they
    depend on collectives after the last collective that precedes a command of the forward or backward pass. A single
    member of such a launch does not change. Late members may be fewer than `min-members`, but the others may not: then
    all members form one launch.

    The merged kernel contains the bodies of all members. A single element that all members read from one buffer is one
    operand.

    Run it after `--exec-copies-to-kernels` and before `--exec-add-workspaces`. Launches that have a workspace do not
    change. Kernels without any launch left are removed. A second run changes nothing.

    Before, with `min-members=2`:

    ```mlir
    exec.kernel @mul_1f02(%x: tensor<8x4xf32>, %s: tensor<f32>) : (memref<8x4xf32>, memref<f32>) -> memref<8x4xf32> {
      %0 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<8x4xf32>
      %1 = cs336.mul %x, %0 : tensor<8x4xf32>
      exec.yield %1 : tensor<8x4xf32>
    }
    exec.kernel @mul_9d40(%x: tensor<6xf32>, %s: tensor<f32>) : (memref<6xf32>, memref<f32>) -> memref<6xf32> {
      %0 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<6xf32>
      %1 = cs336.mul %x, %0 : tensor<6xf32>
      exec.yield %1 : tensor<6xf32>
    }
    exec.launch @mul_1f02 ins(%a, %s : memref<8x4xf32>, memref<f32>) outs(%a : memref<8x4xf32>)
    exec.launch @mul_9d40 ins(%b, %s : memref<6xf32>, memref<f32>) outs(%b : memref<6xf32>)
    ```

    After:

    ```mlir
    exec.kernel @mul_batch_bd08(%x0: tensor<8x4xf32>, %x1: tensor<6xf32>, %s: tensor<f32>)
        : (memref<8x4xf32>, memref<6xf32>, memref<f32>) -> (memref<8x4xf32>, memref<6xf32>) {
      %0 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<8x4xf32>
      %1 = cs336.mul %x0, %0 : tensor<8x4xf32>
      %2 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<6xf32>
      %3 = cs336.mul %x1, %2 : tensor<6xf32>
      exec.yield %1, %3 : tensor<8x4xf32>, tensor<6xf32>
    }
    exec.launch @mul_batch_bd08 ins(%a, %b, %s : memref<8x4xf32>, memref<6xf32>, memref<f32>) outs(%a, %b : memref<8x4xf32>, memref<6xf32>)
    ```

    Remarks: `KeptApart` (`--remarks-filter-missed=exec-batch-launches`) for a batch that is not merged because of
    memory; `LateApart` (`--remarks-filter-passed=exec-batch-launches`) for late members.

    Counts `num-launches`, launches that became part of another; `num-batches`, merged launches; `num-kernels`, kernels
    created; `num-late`, late members.
  }];
  let options = [Option<"minMembers", "min-members", "unsigned", /*default=*/"4",
                        "Fewest launches that become one, at least 2 (default: 4)">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def SelectSchedulesPass : Pass<"cuda-select-schedules", "::mlir::ModuleOp"> {
  let summary = "Select the schedule of each kernel and its parameters, and write them as an attribute";
  let description = [{
    Gives each `exec.kernel` the attribute `exec.schedules`: for each architecture the schedules of its parts, with
    their parameters. A kernel has several parts if its outputs have several shapes. The attribute selects the schedule
    when workspaces are added and when CUDA text is emitted, so a person can read and edit the choice. Without the
    attribute, the same choice is made as by this pass. A selection that a kernel already has is kept, and gets the
    parameters that it leaves out.

    The pipeline for the target `cuda` runs the pass before `--exec-add-workspaces`. With other architectures than those
    of the module's `exec.architectures`, a program must be planned again, because workspaces may differ.

    An edited parameter that the schedule does not have, or a schedule that does not accept the kernel, is an error when
    text is emitted. The error lists the legal values.

    `tuned` names a file in which `--autotune` stored the fastest schedules of attention and its gradient for one
    architecture. Kernels whose problem is in the file get its schedule. All others get the schedule that they get
    without the file. A file that cannot be read, or has another form, is an error.

    Remarks: `Tuned` for a kernel whose schedule is from the file, with its time; `NotTuned`
    (`--remarks-filter-missed=cuda-select-schedules`) for an attention whose problem is not in the file.

    Before:

    ```mlir
    exec.kernel @attend(%q: tensor<4x256x12x64xbf16>, %k: tensor<4x256x12x64xbf16>, %v: tensor<4x256x12x64xbf16>)
        : (memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>) -> memref<4x256x12x64xbf16> {
    ```

    After `--cuda-select-schedules=arch=sm_80`:

    ```mlir
    exec.kernel @attend(%q: tensor<4x256x12x64xbf16>, %k: tensor<4x256x12x64xbf16>, %v: tensor<4x256x12x64xbf16>)
        : (memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>) -> memref<4x256x12x64xbf16>
        attributes {exec.schedules = {sm_80 = [{
          forward = {keep_left = true, rows = 64 : i64, slices = 1 : i64, stages = 2 : i64, tile = 64 : i64, warps = 4 : i64},
          schedule = "attention"} ]}} {
    ```
  }];
  let options = [ListOption<"architectures", "arch", "std::string",
                            "Architectures to select for, such as sm_80; they become the module's exec.architectures "
                            "(default: those that the module has, or else the limits that all have)">,
                 Option<"tuned", "tuned", "std::string", /*default=*/"",
                        "File of tuned schedules that --autotune has written (default: none)">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def TileAttentionPass : Pass<"cuda-tile-attention", "::mlir::ModuleOp"> {
  let summary = "Select the tile sizes of attention's kernels";
  let description = [{
    Selects the schedule `attention` and the size of its tiles for every kernel that is an attention or its gradient. A
    tile has `queries` times `keys` scores: a block computes `queries` rows and streams tiles of `keys` rows. The
    function that computes dK and dV has `keys` rows per block, and streams tiles of `queries` rows. The selection is
    written for each architecture of the module's `exec.architectures`, or as `portable` without any. It replaces a
    selection that the kernel has.

    The attribute does not contain the warps, the stages and other parameters. They are chosen when CUDA text is
    emitted, or by `--cuda-select-schedules`, which adds them to the attribute. If a block with this tile requires more
    shared memory than the architecture has, both report an error with the two numbers.

    Run it before `--exec-add-workspaces`, as the option `extra-after-lowering` of the pipeline does. A kernel without
    attention does not change. A second run changes nothing.

    Before:

    ```mlir
    exec.kernel @attend(%q: tensor<4x256x12x64xbf16>, %k: tensor<4x256x12x64xbf16>, %v: tensor<4x256x12x64xbf16>)
        : (memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>) -> memref<4x256x12x64xbf16> {
    ```

    After `--cuda-tile-attention="queries=64 keys=32"`:

    ```mlir
    exec.kernel @attend(%q: tensor<4x256x12x64xbf16>, %k: tensor<4x256x12x64xbf16>, %v: tensor<4x256x12x64xbf16>)
        : (memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>) -> memref<4x256x12x64xbf16>
        attributes {exec.schedules = {portable = [{
          forward = {rows = 64 : i64, tile = 32 : i64}, schedule = "attention"} ]}} {
    ```

    Counts `num-kernels`, the kernels that got a selection.
  }];
  let options = [Option<"queries", "queries", "int64_t", /*default=*/"64",
                        "Queries of a tile, a multiple of 16 from 16 to 256 (default: 64)">,
                 Option<"keys", "keys", "int64_t", /*default=*/"64",
                        "Keys of a tile, a multiple of 16 from 16 to 256 (default: 64)">];
}

#endif // CS336_TARGET_CUDA_PASSES_TD
