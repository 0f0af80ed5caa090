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

absl::Status VerifyFunction(const format::FunctionT &function, format::Target target) {
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

} // namespace

absl::Status VerifyKernel(const format::ExecutableT &executable, const format::KernelT &kernel) {
  if (kernel.objects.empty())
    return Broken("it has no code object");
  for (uint32_t object : kernel.objects)
    if (object >= executable.objects.size())
      return Broken(StrCat("it names code object ", object, " of ", executable.objects.size()));
  bool on_cpu = executable.target == format::Target::cpu;
  if (kernel.functions.empty() || (on_cpu && kernel.functions.size() != 1))
    return Broken(StrCat("it has ", kernel.functions.size(), " functions"));
  for (const auto &function : kernel.functions)
    CS336_RETURN_IF_ERROR(VerifyFunction(*function, executable.target));
  CS336_RETURN_IF_ERROR(VerifySignature(*kernel.signature, executable.target));
  return on_cpu ? VerifySymbol(kernel.functions.front()->symbol, *kernel.signature) : absl::OkStatus();
}

} // namespace cs336::runtime
