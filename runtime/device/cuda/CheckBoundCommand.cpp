//===- CheckBoundCommand.cpp - Integers checked on a GPU ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CheckBoundCommand.h"

#include "device/cuda/PtxKernel.h"
#include "format/CommandVisitor.h"
#include "status/StatusMacros.h"
#include "tensor/IntegerBound.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

#include <atomic>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

namespace cs336::runtime {

namespace {

constexpr unsigned kCheckThreads = 1024;

/// One block loops over all integers, of $0 bits. As an unsigned number, a negative integer is above every
/// bound. Each thread keeps the first position that it finds. The smallest of these is reported, unless an
/// earlier run has reported one.
constexpr char kCheckSource[] = R"(
.version 7.0
.target sm_75
.address_size 64

.visible .entry check_bound(.param .u64 source, .param .u64 target, .param .u64 count, .param .u64 bound,
                            .param .u64 report)
{
  .shared .align 8 .b64 first;
  .reg .pred %other, %done, %outside, %found;
  .reg .b32 %thread, %threads;
  .reg .b64 %source, %target, %count, %bound, %report, %index, %step, %address;
  .reg .b64 %none, %place, %value, %integer, %least, %before;
  .reg .b$0 %element;

  mov.u64 %none, 0xFFFFFFFFFFFFFFFF;
  mov.u32 %thread, %tid.x;
  mov.u32 %threads, %ntid.x;
  setp.ne.u32 %other, %thread, 0;
  @!%other st.shared.u64 [first], %none;
  bar.sync 0;

  ld.param.u64 %source, [source];
  cvta.to.global.u64 %source, %source;
  ld.param.u64 %target, [target];
  cvta.to.global.u64 %target, %target;
  ld.param.u64 %count, [count];
  ld.param.u64 %bound, [bound];
  cvt.u64.u32 %index, %thread;
  cvt.u64.u32 %step, %threads;
  mov.u64 %place, %none;
  mov.u64 %value, 0;
NEXT:
  setp.ge.u64 %done, %index, %count;
  @%done bra REPORT;
  mad.lo.u64 %address, %index, $0 / 8, %source;
  ld.global.b$0 %element, [%address];
  $1 %integer, %element;
  setp.ge.u64 %outside, %integer, %bound;
  selp.b$0 %element, 0, %element, %outside;
  mad.lo.u64 %address, %index, $0 / 8, %target;
  st.global.b$0 [%address], %element;
  setp.eq.and.u64 %found, %place, %none, %outside;
  selp.b64 %place, %index, %place, %found;
  selp.b64 %value, %integer, %value, %found;
  add.u64 %index, %index, %step;
  bra NEXT;

REPORT:
  atom.shared.min.u64 %before, [first], %place;
  bar.sync 0;
  ld.shared.u64 %least, [first];
  setp.eq.u64 %done, %least, %none;
  @%done ret;
  setp.ne.u64 %other, %least, %place;
  @%other ret;
  ld.param.u64 %report, [report];
  cvta.to.global.u64 %report, %report;
  ld.volatile.global.u64 %before, [%report];
  setp.ne.u64 %done, %before, 0;
  @%done ret;
  st.volatile.global.u64 [%report + 8], %place;
  st.volatile.global.u64 [%report + 16], %value;
  membar.sys;
  st.volatile.global.u64 [%report], 1;
}
)";

/// The report that the kernel writes for the host.
struct Report {
  std::atomic<uint64_t> is_written = 0;
  int64_t place = 0, value = 0;
};
static_assert(sizeof(Report) == 24 && std::atomic<uint64_t>::is_always_lock_free, "the kernel writes to it");

class CudaCheckBoundCommand : public PreparedCommand {
public:
  CudaCheckBoundCommand(const CudaContext &cuda, const CommandContext &context, const format::CheckBoundT &check)
      : cuda_(cuda), what_(absl::StrCat(DescribeCommand(context.command), ": its source")),
        src_(context.buffers[check.src]), dst_(context.buffers[check.dst]), bound_(check.bound) {}

  absl::Status Prepare(CudaMemory &memory) {
    CS336_ASSIGN_OR_RETURN(memory_, memory.AllocateStaging(sizeof(Report)));
    report_ = new (memory_.data()) Report;
    bool is_wide = src_.dtype() == DType::kI64;
    std::string source = absl::Substitute(kCheckSource, is_wide ? 64 : 32, is_wide ? "mov.b64" : "cvt.s64.s32");
    CS336_ASSIGN_OR_RETURN(kernel_, PtxKernel::Load(cuda_, source, "check_bound"));
    return absl::OkStatus();
  }

  absl::Status Execute() override {
    return kernel_->Launch(/*blocks=*/1, kCheckThreads,
                           {ToDevicePointer(src_.data()), ToDevicePointer(dst_.data()),
                            static_cast<uint64_t>(src_.num_elements()), static_cast<uint64_t>(bound_),
                            ToDevicePointer(report_)});
  }

  absl::Status Outcome() const override {
    if (report_->is_written.load(std::memory_order_acquire) == 0)
      return absl::OkStatus();
    return OutsideOfBound(what_, src_.shape(), report_->place, report_->value, bound_);
  }

private:
  const CudaContext &cuda_;
  std::string what_;
  TensorView src_, dst_;
  int64_t bound_;
  MemoryBlock memory_;
  Report *report_ = nullptr; // In memory that the device writes to.
  std::unique_ptr<PtxKernel> kernel_;
};

} // namespace

absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCudaCheckBound(const CudaContext &cuda, CudaMemory &memory,
                                                                       const CommandContext &context,
                                                                       const format::CheckBoundT &check) {
  auto command = std::make_unique<CudaCheckBoundCommand>(cuda, context, check);
  CS336_RETURN_IF_ERROR(command->Prepare(memory));
  return command;
}

} // namespace cs336::runtime
