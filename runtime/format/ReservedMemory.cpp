//===- ReservedMemory.cpp - Memory that a session reserves ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/format/ReservedMemory.h"

#include "cs336/runtime/Executable.h"
#include "cs336/runtime/Storage.h"
#include "cs336/runtime/Tensor.h"
#include "memory/BlockLayout.h"

#include <algorithm>

namespace cs336::format {

using runtime::AddBytes;
using runtime::BlockLayout;

namespace {

int64_t BytesOf(const runtime::TensorType &type) { return runtime::TensorView(type, nullptr).num_bytes(); }

/// Adds a value to a block, to the sum of its kind, and the gap behind it to the alignment.
void AddValue(int64_t bytes, BlockLayout &block, int64_t &kind, ReservedMemory &memory) {
  int64_t offset = block.Add(bytes);
  kind = AddBytes(kind, bytes);
  memory.alignment = AddBytes(memory.alignment, block.bytes() - offset - bytes);
}

int64_t &SumOf(VariableKind kind, ReservedMemory &memory) {
  switch (kind) {
  case VariableKind::parameter:
    return memory.parameters;
  case VariableKind::state:
    return memory.state;
  case VariableKind::derived:
    break;
  }
  return memory.derived;
}

} // namespace

std::vector<bool> FindHostVariables(const ExecutableT &program) {
  bool is_for_gpu = program.target == Target::cuda;
  std::vector<bool> on_host(program.variables.size(), is_for_gpu);
  for (const auto &entry : program.entries)
    if (entry->name != "prepare")
      for (const auto &buffer : entry->buffers)
        if (runtime::IsOfVariable(*buffer))
          on_host[buffer->index] = false;
  return on_host;
}

int64_t ReservedMemory::total() const {
  int64_t sum = 0;
  for (int64_t part : {parameters, state, derived, inputs, input_slots, alignment, arena})
    sum = AddBytes(sum, part);
  return sum;
}

ReservedMemory ComputeReservedMemory(const ExecutableT &program) {
  ReservedMemory memory;
  std::vector<bool> on_host = FindHostVariables(program);
  BlockLayout variables;
  for (size_t i = 0; i != program.variables.size(); ++i) {
    const VariableT &variable = *program.variables[i];
    int64_t bytes = BytesOf(runtime::ReservedType(variable));
    if (on_host[i])
      memory.host = AddBytes(memory.host, bytes);
    else
      AddValue(bytes, variables, SumOf(variable.kind, memory), memory);
  }
  for (const auto &entry : program.entries) {
    memory.arena = std::max(memory.arena, entry->arena_bytes);
    BlockLayout inputs;
    for (const auto &input : entry->inputs)
      AddValue(BytesOf(runtime::ToTensorType(*input->type)), inputs, memory.inputs, memory);
    if (program.target == Target::cuda)
      for (int64_t slot = 0; slot != kInputSlots; ++slot)
        memory.input_slots = AddBytes(memory.input_slots, inputs.bytes());
  }
  return memory;
}

} // namespace cs336::format
