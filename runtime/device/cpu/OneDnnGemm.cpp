//===- OneDnnGemm.cpp - GEMMs by oneDNN -----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cpu/GemmLibraries.h"

#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <oneapi/dnnl/dnnl.hpp>
#include <utility>
#include <vector>

namespace cs336::runtime {

namespace {

using DnnlDims = dnnl::memory::dims;
using DnnlType = dnnl::memory::data_type;

DnnlType ToDnnl(DType dtype) {
  switch (dtype) {
  case DType::kF32:
    return DnnlType::f32;
  case DType::kBF16:
    return DnnlType::bf16;
  default:
    return DnnlType::undef;
  }
}

dnnl::memory::desc Describe(const GemmMatrix &matrix, const Dims &batch) {
  DnnlDims shape, strides;
  for (size_t i = 0; i != batch.size(); ++i) {
    // oneDNN broadcasts along a dimension of size 1.
    bool broadcast = matrix.batch_strides[i] == 0;
    shape.push_back(broadcast ? 1 : batch[i]);
    strides.push_back(broadcast ? 1 : matrix.batch_strides[i]);
  }
  shape.insert(shape.end(), {matrix.rows, matrix.columns});
  strides.insert(strides.end(), {matrix.row_stride, matrix.column_stride});
  return {shape, ToDnnl(matrix.dtype), strides};
}

/// One row for all rows of all matrices.
dnnl::memory::desc DescribeBias(const GemmProblem &problem, const Dims &batch) {
  DnnlDims shape(batch.size() + 1, 1), strides(batch.size() + 2, 1);
  shape.push_back(problem.c.columns);
  return {shape, ToDnnl(problem.c.dtype), strides};
}

dnnl::matmul::primitive_desc MakeDescriptor(const GemmProblem &problem, const Dims &batch, const dnnl::engine &engine) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (problem.alpha != 1)
    attributes.set_output_scales(0, {static_cast<float>(problem.alpha)});
  if (problem.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  dnnl::memory::desc a = Describe(problem.a, batch), b = Describe(problem.b, batch), c = Describe(problem.c, batch);
  if (problem.bias)
    return {{a, b, DescribeBias(problem, batch), c}, attributes, engine};
  return {{a, b, c}, attributes, engine};
}

/// Whether oneDNN has one primitive for the whole batch: not if both factors
/// are broadcast along one dimension.
bool IsBatchable(const GemmProblem &problem) {
  for (size_t i = 0; i != problem.batch.size(); ++i)
    if (problem.a.batch_strides[i] == 0 && problem.b.batch_strides[i] == 0)
      return false;
  return true;
}

/// The implementation that oneDNN falls back to is a naive loop.
bool IsNaive(const dnnl::matmul::primitive_desc &descriptor) {
  return absl::StartsWith(descriptor.impl_info_str(), "ref");
}

class OneDnnGemm : public PreparedCommand {
public:
  /// Throws dnnl::error.
  OneDnnGemm(const GemmProblem &problem, Workspace &workspace)
      : workspace_(workspace), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    bool one_by_one = !IsBatchable(problem);
    dnnl::matmul::primitive_desc descriptor = MakeDescriptor(problem, one_by_one ? Dims() : problem.batch, engine_);
    if (!one_by_one && !problem.batch.empty() && IsNaive(descriptor)) {
      one_by_one = true;
      descriptor = MakeDescriptor(problem, {}, engine_);
    }
    primitive_ = dnnl::matmul(descriptor);
    workspace.Reserve(descriptor.scratchpad_desc().get_size());

    a_ = dnnl::memory(descriptor.src_desc(), engine_, nullptr);
    b_ = dnnl::memory(descriptor.weights_desc(), engine_, nullptr);
    c_ = dnnl::memory(descriptor.dst_desc(), engine_, nullptr);
    scratchpad_ = dnnl::memory(descriptor.scratchpad_desc(), engine_, nullptr);
    arguments_ = {{DNNL_ARG_SRC, a_.get()},
                  {DNNL_ARG_WEIGHTS, b_.get()},
                  {DNNL_ARG_DST, c_.get()},
                  {DNNL_ARG_SCRATCHPAD, scratchpad_.get()}};
    if (problem.bias) {
      bias_ = dnnl::memory(descriptor.bias_desc(), engine_, problem.bias);
      arguments_.push_back({DNNL_ARG_BIAS, bias_.get()});
    }
    int64_t executions = one_by_one ? problem.batch_size() : 1;
    for (int64_t i = 0; i != executions; ++i)
      addresses_.push_back(
          {problem.BatchData(problem.a, i), problem.BatchData(problem.b, i), problem.BatchData(problem.c, i)});
  }

  absl::Status Execute() override {
    // The C interface, because the C++ one builds a map at each call.
    dnnl_memory_set_data_handle(scratchpad_.get(), workspace_.data());
    for (const Addresses &addresses : addresses_) {
      dnnl_memory_set_data_handle(a_.get(), addresses.a);
      dnnl_memory_set_data_handle(b_.get(), addresses.b);
      dnnl_memory_set_data_handle(c_.get(), addresses.c);
      dnnl_status_t status =
          dnnl_primitive_execute(primitive_.get(), stream_.get(), arguments_.size(), arguments_.data());
      if (status != dnnl_success)
        return absl::InternalError(absl::StrCat("oneDNN failed with status ", status));
    }
    if (dnnl_status_t status = dnnl_stream_wait(stream_.get()); status != dnnl_success)
      return absl::InternalError(absl::StrCat("oneDNN failed with status ", status));
    return absl::OkStatus();
  }

private:
  struct Addresses {
    void *a, *b, *c;
  };

  Workspace &workspace_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul primitive_;
  dnnl::memory a_, b_, c_, bias_, scratchpad_;
  std::vector<dnnl_exec_arg_t> arguments_;
  std::vector<Addresses> addresses_;
};

} // namespace

absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareOneDnnGemm(const GemmProblem &problem, Workspace &workspace) {
  std::string types = absl::StrCat(Name(problem.a.dtype), " x ", Name(problem.b.dtype), " -> ", Name(problem.c.dtype));
  if (ToDnnl(problem.a.dtype) == DnnlType::undef || ToDnnl(problem.c.dtype) == DnnlType::undef)
    return absl::UnimplementedError(absl::StrCat("the CPU has no GEMM for ", types));
  try {
    return std::make_unique<OneDnnGemm>(problem, workspace);
  } catch (const dnnl::error &error) {
    return absl::UnimplementedError(
        absl::StrCat("oneDNN has no GEMM for ", types, " on this processor: ", error.what()));
  }
}

} // namespace cs336::runtime
