//===- Passes.td - Passes over the exec dialect -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_TRANSFORMS_PASSES_TD
#define CS336_DIALECT_EXEC_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignStreamsPass : Pass<"exec-assign-streams", "::cs336::exec::EntryOp"> {
  let summary = "Run collectives on a separate stream, at the same time as computation";
  let description = [{
    Moves the collectives of more than one rank to stream 1, and adds the events that the two streams need. All other
    commands stay on stream 0. Run it after the passes that add, merge or move commands, and before
    `--exec-plan-memory`, which follows the events.

    Commands up to the last collective keep their order in the text. The commands after it are sorted by the latest
    collective that they depend on, directly or through other commands. Commands that need only early collectives
    therefore run while the last one is under way. Commands with the same latest collective keep their order. A command
    depends on an earlier one if both access the same storage and one of them writes it, so every command follows the
    commands that it depends on. If the largest live set would grow, the commands keep their order.

    A command waits for a command of the other stream in these cases:

    - **Dependence.** Both access the same storage, also through views or through several `exec.get` of one variable, and
      one of them writes it.
    - **Fresh memory.** A collective that is the first to use storage in the arena, such as the target of an
      `all_gather`, starts after the commands of stream 0 that precede it in the text. Otherwise its memory could not be
      shared with allocations that are in use earlier, and every gather could start at the beginning of the entry.
    - **Freed memory.** Some collectives free memory: they are the last to use more storage in the arena than they are
      the first to use, such as a `reduce_scatter` of gradients. A command of stream 0 that is the first to use storage
      may wait for such a collective, so that its memory can be reused. It waits only if more bytes would otherwise be
      in use than in the largest live set of the entry on one stream. It waits for the earliest collective that frees
      enough, or for as many as it can. It never waits for the last freeing collective that precedes it: computation
      would then stop until the link is idle.

    Waits precede the command that needs them, and records follow the command that is awaited. A stream waits for a
    command only if its earlier waits do not include that one already. Events are numbered from 0 in the order of their
    records. Both commands have the location of the collective, in the phase `communication`.

    Entries without such collectives do not change. Entries that already use other streams or events do not change
    either, so a second run changes nothing.

    Before:

    ```mlir
    exec.launch @backward1 ins(%x : memref<64xf32>) outs(%g : memref<64xf32>)
    exec.collective all_reduce mean ins(%g : memref<64xf32>) outs(%g : memref<64xf32>) group = 2
    exec.launch @backward0 ins(%x : memref<64xf32>) outs(%h : memref<64xf32>)
    exec.launch @optimizer ins(%g, %h : memref<64xf32>, memref<64xf32>) outs(%p : memref<64xf32>)
    ```

    After:

    ```mlir
    exec.launch @backward1 ins(%x : memref<64xf32>) outs(%g : memref<64xf32>)
    exec.record 0
    exec.wait 0 {stream = 1 : i64}
    exec.collective all_reduce mean ins(%g : memref<64xf32>) outs(%g : memref<64xf32>) group = 2 {stream = 1 : i64}
    exec.record 1 {stream = 1 : i64}
    exec.launch @backward0 ins(%x : memref<64xf32>) outs(%h : memref<64xf32>)
    exec.wait 1
    exec.launch @optimizer ins(%g, %h : memref<64xf32>, memref<64xf32>) outs(%p : memref<64xf32>)
    ```

    Remarks: `Streams` counts the collectives of an entry, the collectives that can overlap with other commands, and
    these commands with the FLOPs of their GEMMs. `Overlap`, an analysis remark, gives these numbers for each
    collective. `Alone` is a missed-optimization remark for each collective that cannot overlap with any command.
    `Sorted` counts the commands that moved ahead of others, and `KeptOrder` those that did not because of memory.
    `MemoryWait`, an analysis remark, names the collective and the bytes of each wait only for freed memory.
    `KeptStreams` names entries that already use streams.

    Counts `num-collectives`, collectives on stream 1; `num-overlapping`, collectives that can overlap with other
    commands; `num-events`, events; `num-memory-waits`, waits only for freed memory; `num-moved`, commands moved ahead
    of others that depend on later collectives.
  }];
}

def CopiesToKernelsPass : Pass<"exec-copies-to-kernels", "::mlir::ModuleOp"> {
  let summary = "Replace copies of strided buffers with launches of kernels";
  let description = [{
    Replaces each copy from a strided to a dense buffer with a kernel launch. The kernel yields its operand. Copies with
    equal layouts share the kernel. Other copies do not change. GPUs need this pass, because they copy contiguous bytes
    but not strided elements.

    It can run at any time after `--convert-cs336-to-exec`. Memory plans stay valid.

    Before:

    ```mlir
    exec.copy ins(%a : memref<2x8xf32, strided<[1, 2]>>) outs(%b : memref<2x8xf32>)
    ```

    After:

    ```mlir
    exec.kernel @copy_6c1d(%x: tensor<2x8xf32>) : (memref<2x8xf32, strided<[1, 2]>>) -> memref<2x8xf32> {
      exec.yield %x : tensor<2x8xf32>
    }
    exec.launch @copy_6c1d ins(%a : memref<2x8xf32, strided<[1, 2]>>) outs(%b : memref<2x8xf32>)
    ```

    Counts `num-copies`, copies that became launches; `num-kernels`, kernels created.
  }];
}

def SplitUpdatesPass : Pass<"exec-split-updates", "::mlir::ModuleOp"> {
  let summary = "Update the rows that each rank has computed apart from those of the others";
  let description = [{
    If each rank computes its rows of a gradient and gathers the others, all ranks update all rows. The pass replaces
    the launch of such an update by one launch per rank, for the rows of that rank (`exec.part`). The launch for the own
    rows reads the operand of the `all_gather`, so that it need not wait for the other ranks, and
    `--exec-fuse-updates` can fuse it with the GEMM that computes the gradient.

    Conditions for a launch of an entry of mode `train`:

    - it writes variables, and reads the target of an `all_gather` that no other command reads or writes;
    - no command changes the operand of the `all_gather` before the launch;
    - its kernel is element-wise, and its operands are single elements or have one shape;
    - the operands are floating-point allocations or variables that are not sharded, whose parts have a multiple of 256
      bytes.

    Before:

    ```mlir
    exec.collective all_gather ins(%own : memref<64x64xbf16>) outs(%g : memref<128x64xbf16>) group = 2
    exec.launch @sub_71d4 ins(%w, %g : memref<128x64xf32>, memref<128x64xbf16>) outs(%w : memref<128x64xf32>)
    ```

    After:

    ```mlir
    exec.collective all_gather ins(%own : memref<64x64xbf16>) outs(%g : memref<128x64xbf16>) group = 2
    %ws = exec.view %w : memref<128x64xf32> to memref<2x64x64xf32>
    %w0 = exec.part %ws : memref<2x64x64xf32> -> memref<64x64xf32>
    exec.launch @sub_20c5 ins(%w0, %own : memref<64x64xf32>, memref<64x64xbf16>) outs(%w0 : memref<64x64xf32>)
    %w1 = exec.part rank + 1 of %ws : memref<2x64x64xf32> -> memref<64x64xf32>
    %gs = exec.view %g : memref<128x64xbf16> to memref<2x64x64xbf16>
    %g1 = exec.part rank + 1 of %gs : memref<2x64x64xbf16> -> memref<64x64xbf16>
    exec.launch @sub_20c5 ins(%w1, %g1 : memref<64x64xf32>, memref<64x64xbf16>) outs(%w1 : memref<64x64xf32>)
    ```

    Remark: `Split` (`--remarks-filter-passed=exec-split-updates`) for each launch.

    Count `num-updates`: updates that became one launch per rank.
  }];
  let dependentDialects = ["::cs336::exec::ExecDialect"];
}

def GatherInPlacePass : Pass<"exec-gather-in-place", "::mlir::ModuleOp"> {
  let summary = "Gather the parts of sharded variables around the own part";
  let description = [{
    An `all_gather` of a sharded variable copies the own part too, although it is in memory already. The pass gives such
    a variable storage for the whole (`gathered`), in which the own part lies at its place, and makes this storage the
    target of the `all_gather`. Only the parts of other ranks are copied then. The allocation that was the target is
    removed.

    It changes an operand of an `all_gather` in an entry of mode `train` if the source is a sharded variable, the
    parts are multiples of 256 bytes, the target is an `exec.alloc` that no other command writes, and no command writes
    the variable between the `all_gather` and the last command that reads the target. Entries of other modes must leave
    variables as they are.

    The storage stays reserved after the step. The pass changes all these operands of an entry if the largest live set
    of the entry, together with the variables, does not grow: if the step keeps the gathered values until the time at
    which it needs the most memory. Otherwise it changes none.

    Run it before `--exec-assign-streams` and `--exec-plan-memory`, whose results it would make invalid.

    Before:

    ```mlir
    exec.variable @w parameter : memref<64x64xf32> {shards = 2 : i64}
    exec.entry @train mode<train> {
      %w = exec.get @w : memref<64x64xf32>
      %whole = exec.alloc : memref<128x64xf32>
      exec.collective all_gather ins(%w : memref<64x64xf32>) outs(%whole : memref<128x64xf32>) group = 2
    ```

    After:

    ```mlir
    exec.variable @w parameter : memref<64x64xf32> {gathered, shards = 2 : i64}
    exec.entry @train mode<train> {
      %w = exec.get @w : memref<64x64xf32>
      %whole = exec.get gathered @w : memref<128x64xf32>
      exec.collective all_gather ins(%w : memref<64x64xf32>) outs(%whole : memref<128x64xf32>) group = 2
    ```

    A second run changes nothing. Errors: streams that race.

    Remarks: `InPlace` counts the operands of an entry, with their bytes. `KeptCopies` is a missed-optimization remark
    for an entry whose largest live set would grow, with the bytes before and after.

    Counts `num-operands`, operands of all-gathers in place.
  }];
}

def GatherAheadPass : Pass<"exec-gather-ahead", "::mlir::ModuleOp"> {
  let summary = "Gather the first parts of a step at the end of the step before";
  let description = [{
    A step with sharded parameters begins with gathers, and its first layer waits for them. The pass moves the first of
    these gathers to the end of the step, where they run beside the updates of other variables. The parts stay in
    memory until the next step (`kept`).

    It moves a gather of an entry of mode `train` if all its operands are in place (`--exec-gather-in-place`), if the
    entry gathers their variables once, and if it writes their own parts only after the gather. The entry
    `prepare` gathers the same variables after callers have set, loaded or initialized them: all ranks must do this
    together. The pass creates the entry if the module has none of this name.

    **Order.** Commands up to the last collective keep their order. If all updates of a moved gather are among them, it
    follows the last of these updates. The commands after the last collective are reordered as their dependences allow.
    The half of the other moved gathers whose gradients are ready first comes first: the updates, then the gathers. The other half follows, then all
    other commands. If the second half depends on later collectives, and the updates of the first half are less than an
    eighth of all bytes, other updates come before them.

    **Number.** Gathers of at most `percent` of all gathered bytes move, or the first one. The pass predicts the time of
    the step for each number, and moves the smallest number with the shortest time. In the prediction, collectives run
    in one stream, and all other commands in another one. Times are those of the H100's model, with one exception: among
    two ranks, and before a GEMM, copy engines do gathers, and memory has `link-ratio` times their bandwidth. The
    default of 16 stands for 185 GB/s on an H100, which copies of several layers reach while layers are computed.

    Run it after `--exec-gather-in-place` and `--exec-fuse-updates`, which moves updates, and before launches are
    batched: a batch does not move past a gather of its results.

    Before:

    ```mlir
    exec.variable @w parameter : memref<64x64xf32> {gathered, shards = 2 : i64}
    exec.entry @train mode<train> {
      %w = exec.get @w : memref<64x64xf32>
      %whole = exec.get gathered @w : memref<128x64xf32>
      exec.collective all_gather ins(%w : memref<64x64xf32>) outs(%whole : memref<128x64xf32>) group = 2
      …
      exec.launch @update ins(%w, %dw : memref<64x64xf32>, memref<64x64xf32>) outs(%w : memref<64x64xf32>)
      exec.launch @update ins(%v, %dv : memref<64x64xf32>, memref<64x64xf32>) outs(%v : memref<64x64xf32>)
    }
    ```

    After:

    ```mlir
    exec.variable @w parameter : memref<64x64xf32> {gathered, kept, shards = 2 : i64}
    exec.entry @train mode<train> {
      %w = exec.get @w : memref<64x64xf32>
      %whole = exec.get gathered @w : memref<128x64xf32>
      …
      exec.launch @update ins(%w, %dw : memref<64x64xf32>, memref<64x64xf32>) outs(%w : memref<64x64xf32>)
      exec.collective all_gather ins(%w : memref<64x64xf32>) outs(%whole : memref<128x64xf32>) group = 2
      exec.launch @update ins(%v, %dv : memref<64x64xf32>, memref<64x64xf32>) outs(%v : memref<64x64xf32>)
    }
    exec.entry @prepare mode<prepare> {
      %w = exec.get @w : memref<64x64xf32>
      %whole = exec.get gathered @w : memref<128x64xf32>
      exec.collective all_gather ins(%w : memref<64x64xf32>) outs(%whole : memref<128x64xf32>) group = 2
    }
    ```

    A second run changes nothing. Errors: a negative `link-ratio`, and a `percent` above 100.

    Remarks: `Ahead` counts the gathers of an entry that moved. Missed-optimization remarks: `NotAhead` if no number of
    gathers shortens the predicted time, `NotPrepared` if the name `prepare` belongs to something else, and `KeptOrder`
    if the largest live set would grow.

    Counts `num-gathers`, collectives moved to the end of the run before.
  }];
  let options = [
    Option<"percent", "percent", "unsigned", "100", "Percentage of all gathered bytes that may move (default: 100)">,
    Option<"linkRatio", "link-ratio", "double", "16",
           "Bandwidth of memory divided by that of copies to other devices (default: 16)">];
}

def PackBucketsPass : Pass<"exec-pack-buckets", "::cs336::exec::EntryOp"> {
  let summary = "Put the operands of an all-reduce into one range of memory";
  let description = [{
    Libraries exchange one large buffer faster than many small ones. The pass changes the operands of an `all_reduce`
    that are in place and that each are a whole `exec.alloc`. They become views of one allocation, in their order, and
    the allocation becomes the operand of the collective. Commands that write or read such an operand use the view.
    There is one allocation per element type.

    Run it after launches were batched, since a batch needs buffers without common storage, and before
    `--exec-assign-streams` and `--exec-plan-memory`, whose results it would make invalid.

    Parts start at multiples of `alignment` bytes and directly follow each other: a collective reads the whole
    allocation, and no command would write the elements of a gap. An operand whose size is not such a multiple therefore stays a separate operand, except the
    first one of them, which becomes the last part. Outputs, and operands that are not in place, stay separate operands
    too.

    From the first write to any part on, the whole allocation is in use. If the largest live set of the entry would
    grow, the operands stay separate.

    Before:

    ```mlir
    %a = exec.alloc : memref<128x512xf32>
    exec.launch @f ins(%x : memref<512xf32>) outs(%a : memref<128x512xf32>)
    %b = exec.alloc : memref<64xf32>
    exec.launch @g ins(%x : memref<512xf32>) outs(%b : memref<64xf32>)
    exec.collective all_reduce mean ins(%a, %b : memref<128x512xf32>, memref<64xf32>) outs(%a, %b : memref<128x512xf32>, memref<64xf32>) group = 2
    ```

    After:

    ```mlir
    %bucket = exec.alloc : memref<65600xf32>
    %a = exec.view %bucket : memref<65600xf32> to memref<128x512xf32>
    exec.launch @f ins(%x : memref<512xf32>) outs(%a : memref<128x512xf32>)
    %b = exec.view %bucket : memref<65600xf32> to memref<64xf32, strided<[1], offset: 65536>>
    exec.launch @g ins(%x : memref<512xf32>) outs(%b : memref<64xf32, strided<[1], offset: 65536>>)
    exec.collective all_reduce mean ins(%bucket : memref<65600xf32>) outs(%bucket : memref<65600xf32>) group = 2
    ```

    A second run changes nothing. Errors: an `alignment` that is not a power of two up to 2097152, and streams that race.

    Remarks: `Packed` names a collective, with the number and the bytes of its parts. `KeptApart` is a
    missed-optimization remark, with the largest live set of the entry before the change and the one after it.

    Counts `num-ranges`, allocations with several parts; `num-parts`, allocations that became parts.
  }];
  let options = [Option<"alignment", "alignment", "uint64_t", "64",
                        "Alignment of parts in bytes, a power of two up to 2097152 (default: 64)">];
}

def PlanMemoryPass : Pass<"exec-plan-memory", "::cs336::exec::EntryOp"> {
  let summary = "Assign every allocation and output of an entry an offset in one arena";
  let description = [{
    Sets the `offset` of every allocation and output, and the `arena_bytes` and `alignment` of the entry.

    Two allocations can share bytes if every use of one happens before every use of the other. On one stream this is the
    order of the commands. Between streams, `exec.record` and `exec.wait` determine the order, which the pass follows
    with vector clocks. An output is an allocation that is used until after the last command.

    The pass places the allocations one at a time, the largest first. Each goes into the smallest gap that fits, among
    the placed allocations that it interferes with. While the arena is larger than the largest live set, the pass tries
    other orders. It uses the order with the smallest arena.

    Run it as the last pass that changes buffers. A second run replaces the earlier plan. Errors: an `alignment` that is
    not a power of two up to 2097152, more than 2^62 bytes in all, and commands on different streams that access the
    same storage without events between them, if one of them writes it.

    Before:

    ```mlir
    exec.entry @forward mode<forward> {
      %x = exec.input "x" : memref<256xf32>
      %y = exec.output "y" output : memref<256xf32>
      %a = exec.alloc : memref<256xf32>
      exec.launch @exp ins(%x : memref<256xf32>) outs(%a : memref<256xf32>)
      %b = exec.alloc : memref<256xf32>
      exec.launch @reverse ins(%a : memref<256xf32>) outs(%b : memref<256xf32>)
      %c = exec.alloc : memref<256xf32>
      exec.launch @reverse ins(%b : memref<256xf32>) outs(%c : memref<256xf32>)
      exec.launch @add ins(%b, %c : memref<256xf32>, memref<256xf32>) outs(%y : memref<256xf32>)
    }
    ```

    After:

    ```mlir
    exec.entry @forward mode<forward> arena_bytes = 3072 alignment = 64 {
      %x = exec.input "x" : memref<256xf32>
      %y = exec.output "y" output offset = 2048 : memref<256xf32>
      %a = exec.alloc offset = 0 : memref<256xf32>
      exec.launch @exp ins(%x : memref<256xf32>) outs(%a : memref<256xf32>)
      %b = exec.alloc offset = 1024 : memref<256xf32>
      exec.launch @reverse ins(%a : memref<256xf32>) outs(%b : memref<256xf32>)
      %c = exec.alloc offset = 0 : memref<256xf32>
      exec.launch @reverse ins(%b : memref<256xf32>) outs(%c : memref<256xf32>)
      exec.launch @add ins(%b, %c : memref<256xf32>, memref<256xf32>) outs(%y : memref<256xf32>)
    }
    ```

    Remark: `MemoryPlan`, an analysis remark (`--remarks-filter-analyse=exec-plan-memory`) with the number of
    allocations, the bytes of the arena and the bytes of the largest live set.

    Counts `num-allocations`, allocations and outputs placed; `arena-bytes`, bytes of all arenas; `live-bytes`, bytes of
    the largest live sets, which are a lower bound of the arenas.
  }];
  let options = [Option<"alignment", "alignment", "uint64_t", "64",
                        "Alignment of offsets in bytes, a power of two up to 2097152 (default: 64)">];
}

#endif // CS336_DIALECT_EXEC_TRANSFORMS_PASSES_TD
