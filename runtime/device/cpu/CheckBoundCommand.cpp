//===- CheckBoundCommand.cpp - Integers checked on the host ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cpu/CheckBoundCommand.h"

#include "format/CommandVisitor.h"
#include "status/StatusMacros.h"
#include "tensor/IntegerBound.h"

#include "absl/strings/str_cat.h"

#include <cstring>
#include <string>
#include <utility>

namespace cs336::runtime {

namespace {

class CpuCheckBoundCommand : public PreparedCommand {
public:
  CpuCheckBoundCommand(std::string what, const TensorView &src, const MutableTensorView &dst, int64_t bound)
      : what_(std::move(what)), src_(src), dst_(dst), bound_(bound) {}

  absl::Status Execute() override {
    CS336_RETURN_IF_ERROR(CheckBound(what_, src_, bound_));
    std::memmove(dst_.mutable_data(), src_.data(), src_.num_bytes());
    return absl::OkStatus();
  }

private:
  std::string what_;
  TensorView src_;
  MutableTensorView dst_;
  int64_t bound_;
};

} // namespace

std::unique_ptr<PreparedCommand> PrepareHostCheckBound(const CommandContext &context,
                                                       const format::CheckBoundT &check) {
  return std::make_unique<CpuCheckBoundCommand>(absl::StrCat(DescribeCommand(context.command), ": its source"),
                                                context.buffers[check.src], context.buffers[check.dst], check.bound);
}

} // namespace cs336::runtime
