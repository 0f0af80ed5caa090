//===- NcclGroupFixture.cpp - A rank of two on fake GPUs---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclGroupFixture.h"

namespace cs336::runtime::testing {

ProgramBuilder TwoRankProgram() {
  ProgramBuilder program;
  program.executable().target = format::Target::cuda;
  program.executable().world_size = 2;
  AddObject(program, "sm_90a");
  program.Variable("norm", MakeType(DType::kF32, {4}));
  uint32_t scale = AddKernel(program, "scale_rows");
  EntryBuilder entry = program.Entry("forward");
  entry.entry().streams = 2;
  entry.entry().events = 2;
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {3, 4}));
  uint32_t total = entry.Output("total", MakeType(DType::kF32, {3, 4}));
  uint32_t whole = entry.Output("whole", MakeType(DType::kF32, {6, 4}));
  entry.Launch(scale, {x, entry.Variable("norm"), total}, {2}, 1);
  entry.Record(0);
  auto on_side = [&] { entry.entry().commands.back()->stream = 1; };
  entry.Wait(0);
  on_side();
  entry.Collective(format::CollectiveKind::all_reduce, total, total, format::Reduction::mean);
  on_side();
  entry.Collective(format::CollectiveKind::all_gather, total, whole);
  on_side();
  entry.Record(1);
  on_side();
  entry.Wait(1);
  return program;
}

} // namespace cs336::runtime::testing
