//===- ReLUCommand.cpp - ReLU of a GEMM's result --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/ReLUCommand.h"

#include "device/cuda/CudaMemory.h"
#include "device/cuda/MatmulLayouts.h"
#include "device/cuda/PtxKernel.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

#include <limits>
#include <string>
#include <utility>

namespace cs336::runtime {

namespace {

constexpr unsigned kReLUThreads = 256;

/// One thread per element of column-major matrices. It compares the $0 bits of
/// an element: as an unsigned number, a negative value other than NaN is
/// between the sign bit, $1, and the sign bit plus the bits of infinity, $2.
constexpr char kReLUSource[] = R"(
.version 7.0
.target sm_75
.address_size 64

.visible .entry relu(.param .u64 matrix, .param .u64 rows, .param .u64 columns, .param .u64 leading_dimension,
                     .param .u64 batch_stride, .param .u64 count)
{
  .reg .pred %outside, %kept;
  .reg .b32 %block, %threads, %thread;
  .reg .b64 %index, %row, %column, %size, %offset, %address, %stride;
  .reg .b$0 %bits, %magnitude, %zero;

  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  cvt.u64.u32 %row, %thread;
  mad.wide.u32 %index, %block, %threads, %row;
  ld.param.u64 %size, [count];
  setp.ge.u64 %outside, %index, %size;
  @%outside ret;

  ld.param.u64 %size, [rows];
  rem.u64 %row, %index, %size;
  div.u64 %index, %index, %size;
  ld.param.u64 %size, [columns];
  rem.u64 %column, %index, %size;
  div.u64 %index, %index, %size;
  ld.param.u64 %stride, [leading_dimension];
  mad.lo.u64 %offset, %column, %stride, %row;
  ld.param.u64 %stride, [batch_stride];
  mad.lo.u64 %offset, %index, %stride, %offset;
  ld.param.u64 %address, [matrix];
  cvta.to.global.u64 %address, %address;
  mad.lo.u64 %address, %offset, $0 / 8, %address;

  ld.global.b$0 %bits, [%address];
  sub.u$0 %magnitude, %bits, $1;
  setp.gt.u$0 %kept, %magnitude, $2;
  @%kept ret;
  mov.b$0 %zero, 0;
  st.global.b$0 [%address], %zero;
}
)";

absl::StatusOr<std::string> WriteSource(DType dtype) {
  switch (dtype) {
  case DType::kF64:
    return absl::Substitute(kReLUSource, 64, "0x8000000000000000", "0x7FF0000000000000");
  case DType::kF32:
    return absl::Substitute(kReLUSource, 32, "0x80000000", "0x7F800000");
  case DType::kBF16:
    return absl::Substitute(kReLUSource, 16, "0x8000", "0x7F80");
  case DType::kF16:
    return absl::Substitute(kReLUSource, 16, "0x8000", "0x7C00");
  default:
    return absl::UnimplementedError(absl::StrCat("there is no ReLU of ", Name(dtype)));
  }
}

class ReLUCommand : public PreparedCommand {
public:
  ReLUCommand(const CudaContext &context, const GemmProblem &problem, std::unique_ptr<PreparedCommand> gemm)
      : context_(context), layouts_(DescribeMatmul(problem)), gemm_(std::move(gemm)) {}

  absl::Status Prepare() {
    const MatmulOperand &result = layouts_.result;
    count_ = result.rows * result.columns * layouts_.batch;
    if (count_ / kReLUThreads >= std::numeric_limits<int32_t>::max())
      return absl::UnimplementedError(absl::StrCat("a grid for ReLU of ", count_, " elements"));
    CS336_ASSIGN_OR_RETURN(std::string source, WriteSource(result.dtype));
    CS336_ASSIGN_OR_RETURN(kernel_, PtxKernel::Load(context_, source, "relu"));
    return absl::OkStatus();
  }

  absl::Status Execute() override {
    CS336_RETURN_IF_ERROR(gemm_->Execute());
    const MatmulOperand &result = layouts_.result;
    auto blocks = static_cast<unsigned>((count_ + kReLUThreads - 1) / kReLUThreads);
    for (const MatmulCall &call : layouts_.calls) {
      const uint64_t parameters[] = {ToDevicePointer(call.result),
                                     static_cast<uint64_t>(result.rows),
                                     static_cast<uint64_t>(result.columns),
                                     static_cast<uint64_t>(result.leading_dimension),
                                     static_cast<uint64_t>(result.batch_stride),
                                     static_cast<uint64_t>(count_)};
      CS336_RETURN_IF_ERROR(kernel_->Launch(blocks, kReLUThreads, parameters));
    }
    return absl::OkStatus();
  }

private:
  const CudaContext &context_;
  MatmulLayouts layouts_;
  std::unique_ptr<PreparedCommand> gemm_;
  int64_t count_ = 0;
  std::unique_ptr<PtxKernel> kernel_;
};

} // namespace

absl::StatusOr<std::unique_ptr<PreparedCommand>>
PrepareReLUAfter(const CudaContext &context, const GemmProblem &problem, std::unique_ptr<PreparedCommand> gemm) {
  auto command = std::make_unique<ReLUCommand>(context, problem, std::move(gemm));
  CS336_RETURN_IF_ERROR(command->Prepare());
  return command;
}

} // namespace cs336::runtime
