//===- VerifyKernels.cpp - Rules of kernels and their signatures ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Executable.h"
#include "cs336/runtime/Storage.h"
#include "cs336/runtime/format/KernelSignature.h"
#include "format/Layout.h"
#include "format/Verifier.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace cs336::runtime {

namespace {

using absl::StrCat;

/// More threads than any machine has, and few enough that sums over threads do
/// not overflow.
constexpr int64_t kMaxScratchBytes = int64_t{1} << 40;

/// The most blocks of a cluster on every GPU that has clusters.
constexpr int64_t kMostClusterBlocks = 8;

absl::Status VerifyGrid(const format::FunctionT &function, format::Target target) {
  if (function.symbol.empty())
    return Broken("a function has no symbol");
  constexpr int64_t kMostBlocks = 0x7FFFFFFF, kMostThreads = 1024;
  bool is_grid = function.blocks >= 1 && function.blocks <= kMostBlocks && function.threads >= 1 &&
                 function.threads <= kMostThreads && function.shared_bytes >= 0;
  bool is_call = function.blocks == 0 && function.threads == 0 && function.shared_bytes == 0;
  if (target == format::Target::cuda ? !is_grid : !is_call)
    return Broken(StrCat("function '", function.symbol, "' with ", function.blocks, " blocks of ", function.threads,
                         " threads and ", function.shared_bytes, " bytes of shared memory, for ",
                         format::EnumNameTarget(target)));
  int64_t most_blocks = target == format::Target::cuda ? kMostClusterBlocks : 1;
  if (function.cluster < 1 || function.cluster > most_blocks || function.blocks % function.cluster != 0)
    return Broken(StrCat("function '", function.symbol, "' with ", function.blocks, " blocks in clusters of ",
                         function.cluster, ", for ", format::EnumNameTarget(target)));
  return absl::OkStatus();
}

absl::Status VerifyWrittenOver(const format::SignatureT &signature, const format::OperandSignatureT &operand) {
  if (!operand.is_written && !operand.written_over.empty())
    return Broken("it overwrites other operands, but is not written");
  for (size_t i = 0; i != operand.written_over.size(); ++i) {
    uint32_t position = operand.written_over[i];
    if (position >= signature.operands.size() || (i != 0 && position <= operand.written_over[i - 1]))
      return Broken(StrCat("it overwrites operand ", position, " of ", signature.operands.size(),
                           ", or the positions do not ascend"));
    const format::OperandSignatureT &over = *signature.operands[position];
    if (over.is_written || Layout(over) != Layout(operand))
      return Broken(StrCat("it overwrites operand ", position, ", which is also written or has another layout"));
  }
  return absl::OkStatus();
}

absl::Status VerifyRanges(const format::SignatureT &signature, const format::OperandSignatureT &operand) {
  if (operand.ranges.empty())
    return absl::OkStatus();
  if (!IsIndexType(operand.dtype))
    return Broken(StrCat("it has ranges of integers, but its elements are ", Name(ToDType(operand.dtype))));
  if (operand.ranges.size() != CountVariants(signature))
    return Broken(StrCat("it has ranges for ", operand.ranges.size(), " variants of launches, but another operand has ",
                         CountVariants(signature)));
  for (const format::IntegerRange &range : operand.ranges)
    if (range.least() > range.most())
      return Broken(StrCat("no integer is in the range ", format::ToString(range)));
  return absl::OkStatus();
}

absl::Status VerifyOperand(const format::SignatureT &signature, const format::OperandSignatureT &operand) {
  CS336_RETURN_IF_ERROR(VerifyLayout(Layout(operand)));
  if (operand.alignment < 1 || operand.alignment > Storage::kAlignment ||
      (operand.alignment & (operand.alignment - 1)) != 0)
    return Broken(StrCat("alignment ", operand.alignment, " is not a power of two from 1 to ", Storage::kAlignment));
  if (operand.is_written && !HasDistinctElements(Layout(operand)))
    return Broken("it is written, but its elements share addresses");
  CS336_RETURN_IF_ERROR(VerifyRanges(signature, operand));
  return VerifyWrittenOver(signature, operand);
}

absl::Status VerifySignature(const format::SignatureT &signature, format::Target target) {
  bool on_cpu = target == format::Target::cpu;
  if (signature.operands.empty())
    return Broken("its signature has no operands");
  if (signature.rows < 1 || (!on_cpu && signature.rows != 1))
    return Broken(StrCat("its signature has ", signature.rows, " rows, for ", format::EnumNameTarget(target)));
  if (signature.thread_bytes < 0 || signature.thread_bytes > (on_cpu ? kMaxScratchBytes : 0))
    return Broken(StrCat("its signature has ", signature.thread_bytes, " bytes of memory per thread, for ",
                         format::EnumNameTarget(target)));
  if (signature.workspace_bytes < 0 || signature.workspace_bytes > (on_cpu ? 0 : kMaxScratchBytes))
    return Broken(StrCat("its signature has a workspace of ", signature.workspace_bytes, " bytes, for ",
                         format::EnumNameTarget(target)));
  for (size_t i = 0; i != signature.operands.size(); ++i)
    CS336_RETURN_IF_ERROR(
        Annotate(VerifyOperand(signature, *signature.operands[i]), StrCat("operand ", i, " of its signature")));
  return absl::OkStatus();
}

/// Returns the symbol of code for the CPU, which contains its signature.
absl::Status VerifySymbol(const std::string &symbol, const format::SignatureT &signature) {
  size_t suffix = symbol.rfind('(');
  if (suffix == std::string::npos)
    return absl::OkStatus();
  std::string expected = format::ToSymbolSuffix(signature);
  if (symbol.compare(suffix, std::string::npos, expected) != 0)
    return Broken(StrCat("its code was compiled for ", symbol.substr(suffix), ", but its signature is ", expected));
  return absl::OkStatus();
}

absl::Status VerifyTensorMaps(const format::SignatureT &signature, const format::ImplementationT &implementation,
                              const format::FunctionT &function) {
  for (size_t i = 0; i != function.tensor_maps.size(); ++i) {
    const format::TensorMapT &map = *function.tensor_maps[i];
    CS336_RETURN_IF_ERROR(
        Annotate(VerifyTensorMap(signature, implementation.workspace_bytes, map),
                 StrCat("function '", function.symbol, "': tensor map ", i, " of operand ", map.operand)));
  }
  return absl::OkStatus();
}

absl::Status VerifyCode(const format::ExecutableT &executable, const format::ImplementationT &implementation) {
  if (implementation.objects.empty())
    return Broken("it has no code object");
  for (uint32_t object : implementation.objects)
    if (object >= executable.objects.size())
      return Broken(StrCat("it names code object ", object, " of ", executable.objects.size()));
  bool on_cpu = executable.target == format::Target::cpu;
  if (implementation.functions.empty() || (on_cpu && implementation.functions.size() != 1))
    return Broken(StrCat("it has ", implementation.functions.size(), " functions"));
  for (const auto &function : implementation.functions) {
    CS336_RETURN_IF_ERROR(VerifyGrid(*function, executable.target));
    if (on_cpu && !function->tensor_maps.empty())
      return Broken(StrCat("function '", function->symbol, "' has tensor maps, for cpu"));
  }
  return absl::OkStatus();
}

/// Checks an implementation against the signature, which has been checked.
absl::Status VerifyAccesses(const format::ExecutableT &executable, const format::SignatureT &signature,
                            const format::ImplementationT &implementation) {
  if (implementation.workspace_bytes < 0 || implementation.workspace_bytes > signature.workspace_bytes)
    return Broken(
        StrCat("it uses ", implementation.workspace_bytes, " bytes of a workspace of ", signature.workspace_bytes));
  for (const auto &function : implementation.functions)
    CS336_RETURN_IF_ERROR(VerifyTensorMaps(signature, implementation, *function));
  return executable.target == format::Target::cpu ? VerifySymbol(implementation.functions.front()->symbol, signature)
                                                  : absl::OkStatus();
}

} // namespace

absl::Status VerifyKernel(const format::ExecutableT &executable, const format::KernelT &kernel) {
  size_t count = kernel.implementations.size();
  if (count == 0 || (executable.target == format::Target::cpu && count != 1))
    return Broken(StrCat("it has ", count, " implementations, for ", format::EnumNameTarget(executable.target)));
  for (const auto &implementation : kernel.implementations)
    CS336_RETURN_IF_ERROR(VerifyCode(executable, *implementation));
  CS336_RETURN_IF_ERROR(VerifySignature(*kernel.signature, executable.target));
  for (const auto &implementation : kernel.implementations)
    CS336_RETURN_IF_ERROR(VerifyAccesses(executable, *kernel.signature, *implementation));
  return absl::OkStatus();
}

} // namespace cs336::runtime
