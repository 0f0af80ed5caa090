//===- KernelColumns.cpp - Columns about attention's kernels --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelColumns.h"

using namespace cs336;
using namespace cs336::bench;

using Measurement = AttentionMeasurement;

/// Returns the bytes that the compiled kernels take, or else those that the tile requires at least.
static std::optional<int64_t> getSharedBytes(const KernelResources &resources,
                                             const std::optional<BlockMemory> &block) {
  if (resources.registersPerThread > 0)
    return resources.sharedBytes;
  return block ? std::optional(block->requiredBytes) : std::nullopt;
}

static Cell makeInteger(std::optional<int64_t> number) { return number ? Cell::integer(*number) : Cell::empty(); }

/// Returns nullopt for a pass without machine code.
static std::optional<int64_t> getResource(const KernelResources &resources, int64_t KernelResources::*member) {
  return resources.registersPerThread > 0 ? std::optional(resources.*member) : std::nullopt;
}

void bench::appendKernelColumns(std::vector<Column<AttentionRow>> &columns, llvm::ArrayRef<AttentionRow> rows) {
  bool isShown =
      llvm::any_of(rows, [](const AttentionRow &row) { return row.tile || row.measurement.forward.host.empty(); });
  // With several architectures, the resources are those of the first one, or with tiles of the one with the least
  // shared memory.
  columns.push_back({"arch", "arch",
                     [](const AttentionRow &row) {
                       const Measurement &each = row.measurement;
                       llvm::StringRef name = each.forwardBlock ? llvm::StringRef(each.forwardBlock->architecture)
                                                                : llvm::StringRef(each.forwardResources.architecture);
                       return name.empty() ? Cell::empty() : Cell(name);
                     },
                     isShown ? Show::Setting : Show::OnRequest, Role::Result});
  auto add = [&](std::string title, std::string key, auto get) {
    columns.push_back({std::move(title), std::move(key),
                       [get](const AttentionRow &row) { return makeInteger(get(row.measurement)); },
                       isShown ? Show::Result : Show::OnRequest});
  };
  add("shared forward (B)", "forward_shared_bytes",
      [](const Measurement &each) { return getSharedBytes(each.forwardResources, each.forwardBlock); });
  add("shared backward (B)", "backward_shared_bytes",
      [](const Measurement &each) { return getSharedBytes(each.backwardResources, each.backwardBlock); });
  add("shared limit (B)", "available_shared_bytes", [](const Measurement &each) {
    return each.forwardBlock ? std::optional(each.forwardBlock->availableBytes) : std::nullopt;
  });
  add("registers forward", "forward_registers",
      [](const Measurement &each) { return getResource(each.forwardResources, &KernelResources::registersPerThread); });
  add("registers backward", "backward_registers", [](const Measurement &each) {
    return getResource(each.backwardResources, &KernelResources::registersPerThread);
  });
  add("local forward (B)", "forward_local_bytes", [](const Measurement &each) {
    return getResource(each.forwardResources, &KernelResources::localBytesPerThread);
  });
  add("local backward (B)", "backward_local_bytes", [](const Measurement &each) {
    return getResource(each.backwardResources, &KernelResources::localBytesPerThread);
  });
}
