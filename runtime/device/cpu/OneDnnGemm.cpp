//===- OneDnnGemm.cpp - GEMMs by oneDNN -----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Storage.h"
#include "device/cpu/GemmLibraries.h"
#include "device/cpu/GemmPartition.h"
#include "parallel/Parallel.h"
#include "parallel/SignalsBlocked.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <sys/mman.h>
#include <utility>
#include <vector>

namespace cs336::runtime {

namespace {

using DnnlDims = dnnl::memory::dims;
using DnnlType = dnnl::memory::data_type;

constexpr absl::string_view kOutOfMemory = "oneDNN cannot allocate memory for a GEMM";

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

/// Returns dimensions [outer_dims, ...) of the batch, then `rows` x `columns` of each
/// matrix.
dnnl::memory::desc Describe(const GemmMatrix &matrix, const Dims &batch, size_t outer_dims, int64_t rows,
                            int64_t columns) {
  DnnlDims shape, strides;
  for (size_t i = outer_dims; i != batch.size(); ++i) {
    // oneDNN broadcasts along a dimension of size 1.
    bool broadcast = matrix.batch_strides[i] == 0;
    shape.push_back(broadcast ? 1 : batch[i]);
    strides.push_back(broadcast ? 1 : matrix.batch_strides[i]);
  }
  shape.insert(shape.end(), {rows, columns});
  strides.insert(strides.end(), {matrix.row_stride, matrix.column_stride});
  return {shape, ToDnnl(matrix.dtype), strides};
}

/// Describes a primitive for parts of `rows` x `columns` of C, or for whole matrices.
dnnl::matmul::primitive_desc MakeDescriptor(const GemmProblem &problem, size_t outer_dims, int64_t rows,
                                            int64_t columns, const dnnl::engine &engine) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (problem.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  int64_t depth = problem.a.columns;
  dnnl::memory::desc a = Describe(problem.a, problem.batch, outer_dims, rows, depth),
                     b = Describe(problem.b, problem.batch, outer_dims, depth, columns),
                     c = Describe(problem.c, problem.batch, outer_dims, rows, columns);
  if (!problem.bias)
    return {{a, b, c}, attributes, engine};
  // One row serves all rows of all matrices.
  DnnlDims bias_shape(c.dims().size(), 1), bias_strides(c.dims().size(), 1);
  bias_shape.back() = columns;
  return {{a, b, {bias_shape, ToDnnl(problem.c.dtype), bias_strides}, c}, attributes, engine};
}

/// Returns true if oneDNN has one primitive for these batch dimensions. It has none
/// if both operands are broadcast along one of them.
bool IsBatchable(const GemmProblem &problem, size_t outer_dims) {
  for (size_t i = outer_dims; i != problem.batch.size(); ++i)
    if (problem.a.batch_strides[i] == 0 && problem.b.batch_strides[i] == 0)
      return false;
  return true;
}

/// Returns true for oneDNN's fallback implementation, a naive loop.
bool IsNaive(const dnnl::matmul::primitive_desc &descriptor) {
  return absl::StartsWith(descriptor.impl_info_str(), "ref");
}

/// Returns an error unless the system can provide some more memory. oneDNN allocates 256 KiB per kernel for machine
/// code, and uses it without checking that the allocation succeeded.
absl::Status CheckHeadroom() {
  constexpr size_t kHeadroom = size_t{16} << 20;
  void *memory = mmap(nullptr, kHeadroom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return absl::ResourceExhaustedError(kOutOfMemory);
  munmap(memory, kHeadroom);
  return absl::OkStatus();
}

/// Every thread computes parts of C by itself. oneDNN's own threads (OpenMP)
/// may be fewer than it expects, and its sums would then be wrong.
class OneDnnGemm : public PreparedCommand {
public:
  /// Throws dnnl::error.
  OneDnnGemm(const GemmProblem &problem, Workspace &workspace)
      : workspace_(workspace), engine_(dnnl::engine::kind::cpu, 0) {
    GemmPartition partition = PartitionGemm(problem, MaxThreads());
    size_t batch_dims = problem.batch.size();
    if (partition.outer_dims != batch_dims &&
        (!IsBatchable(problem, partition.outer_dims) ||
         IsNaive(MakeDescriptor(problem, partition.outer_dims, partition.rows, partition.columns, engine_))))
      partition.outer_dims = batch_dims;

    // Calls over the whole batch differ in the addresses of their matrices
    // only.
    int64_t stride = 1;
    for (size_t i = partition.outer_dims; i != batch_dims; ++i)
      stride *= problem.batch[i];
    for (int64_t index = 0; index < problem.batch_size(); index += stride)
      for (int64_t row = 0; row < problem.c.rows; row += partition.rows)
        for (int64_t column = 0; column < problem.c.columns; column += partition.columns)
          AddPart(problem, partition, index, row, column);

    int64_t chunks = CountChunks(static_cast<int64_t>(parts_.size()), /*grain=*/1);
    scratchpads_.resize(chunks * kernels_.size());
    for (int64_t chunk = 0; chunk != chunks; ++chunk) {
      streams_.emplace_back(engine_);
      for (const auto &[size, kernel] : kernels_)
        scratchpads_[chunk * kernels_.size() + kernel.index] =
            dnnl::memory(kernel.descriptor.scratchpad_desc(), engine_, nullptr);
    }
    workspace.Reserve(chunks * scratchpad_bytes_);
  }

  absl::Status Execute() override {
    // A signal handler that runs within oneDNN's kernels for AVX2 or AVX-512 can corrupt the heap (oneDNN 2, with two
    // threads), even if it does nothing. The other threads of the team block signals all the time.
    SignalsBlocked blocked;
    std::atomic<dnnl_status_t> result{dnnl_success};
    int64_t chunks = streams_.size(), parts = parts_.size();
    ParallelFor(chunks, /*grain=*/1, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk != end; ++chunk)
        if (dnnl_status_t status =
                ExecuteChunk(chunk, ChunkBegin(parts, chunks, chunk), ChunkBegin(parts, chunks, chunk + 1));
            status != dnnl_success)
          result = status;
    });
    if (result == dnnl_out_of_memory)
      return absl::ResourceExhaustedError(kOutOfMemory);
    if (result != dnnl_success)
      return absl::InternalError(absl::StrCat("oneDNN failed with status ", result.load(),
                                              " in a GEMM that it accepted: the system may be out of memory for "
                                              "machine code"));
    return absl::OkStatus();
  }

private:
  /// The primitive for parts of one size.
  struct Kernel {
    dnnl::matmul::primitive_desc descriptor;
    dnnl::matmul primitive;
    size_t index;
  };
  struct Part {
    const Kernel *kernel;
    dnnl::memory a, b, c, bias;
  };

  const Kernel &FindKernel(const GemmProblem &problem, const GemmPartition &partition, int64_t rows, int64_t columns) {
    auto [found, is_new] = kernels_.try_emplace({rows, columns});
    Kernel &kernel = found->second;
    if (is_new) {
      kernel.descriptor = MakeDescriptor(problem, partition.outer_dims, rows, columns, engine_);
      kernel.primitive = dnnl::matmul(kernel.descriptor);
      kernel.index = kernels_.size() - 1;
      // Scratchpads of other threads start in cache lines of their own.
      constexpr int64_t kAlignment = Storage::kAlignment;
      int64_t bytes = kernel.descriptor.scratchpad_desc().get_size();
      scratchpad_bytes_ = std::max(scratchpad_bytes_, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    }
    return kernel;
  }

  void AddPart(const GemmProblem &problem, const GemmPartition &partition, int64_t index, int64_t row, int64_t column) {
    const Kernel &kernel = FindKernel(problem, partition, std::min(partition.rows, problem.c.rows - row),
                                      std::min(partition.columns, problem.c.columns - column));
    auto address = [&](const GemmMatrix &matrix, int64_t i, int64_t j) {
      return problem.BatchData(matrix, index) +
             (i * matrix.row_stride + j * matrix.column_stride) * ByteSize(matrix.dtype);
    };
    Part &part = parts_.emplace_back();
    part.kernel = &kernel;
    part.a = dnnl::memory(kernel.descriptor.src_desc(), engine_, address(problem.a, row, 0));
    part.b = dnnl::memory(kernel.descriptor.weights_desc(), engine_, address(problem.b, 0, column));
    part.c = dnnl::memory(kernel.descriptor.dst_desc(), engine_, address(problem.c, row, column));
    if (problem.bias)
      part.bias =
          dnnl::memory(kernel.descriptor.bias_desc(), engine_, problem.bias + column * ByteSize(problem.c.dtype));
  }

  dnnl_status_t ExecuteChunk(int64_t chunk, int64_t begin, int64_t end) {
    // The C interface is used because the C++ interface builds a map at each
    // call.
    dnnl::memory *scratchpads = &scratchpads_[chunk * kernels_.size()];
    for (size_t i = 0; i != kernels_.size(); ++i)
      dnnl_memory_set_data_handle(scratchpads[i].get(),
                                  static_cast<char *>(workspace_.data()) + chunk * scratchpad_bytes_);
    dnnl_stream_t stream = streams_[chunk].get();
    for (int64_t i = begin; i != end; ++i) {
      const Part &part = parts_[i];
      dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, part.a.get()},
                                     {DNNL_ARG_WEIGHTS, part.b.get()},
                                     {DNNL_ARG_DST, part.c.get()},
                                     {DNNL_ARG_SCRATCHPAD, scratchpads[part.kernel->index].get()},
                                     {DNNL_ARG_BIAS, part.bias.get(true)}};
      int count = part.bias ? 5 : 4;
      if (dnnl_status_t status = dnnl_primitive_execute(part.kernel->primitive.get(), stream, count, arguments);
          status != dnnl_success)
        return status;
    }
    return dnnl_stream_wait(stream);
  }

  Workspace &workspace_;
  dnnl::engine engine_;
  std::map<std::pair<int64_t, int64_t>, Kernel> kernels_; // By rows and columns.
  std::vector<Part> parts_;
  /// Ranges of parts run at the same time, each with a stream and scratchpads for every kernel.
  std::vector<dnnl::stream> streams_;
  std::vector<dnnl::memory> scratchpads_;
  int64_t scratchpad_bytes_ = 0;
};

} // namespace

absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareOneDnnGemm(const GemmProblem &problem, Workspace &workspace) {
  std::string types = absl::StrCat(Name(problem.a.dtype), " x ", Name(problem.b.dtype), " -> ", Name(problem.c.dtype));
  if (ToDnnl(problem.a.dtype) == DnnlType::undef || ToDnnl(problem.c.dtype) == DnnlType::undef)
    return absl::UnimplementedError(absl::StrCat("the CPU has no GEMM for ", types));
  CS336_RETURN_IF_ERROR(CheckHeadroom());
  try {
    return std::make_unique<OneDnnGemm>(problem, workspace);
  } catch (const dnnl::error &error) {
    if (error.status == dnnl_unimplemented)
      return absl::UnimplementedError(
          absl::StrCat("oneDNN has no GEMM for ", types, " on this processor: ", error.what()));
    // Falling back to another library would hide this error and change the last bits. oneDNN reports missing
    // memory for code as a runtime error.
    if (error.status == dnnl_out_of_memory || error.status == dnnl_runtime_error)
      return absl::ResourceExhaustedError(kOutOfMemory);
    return absl::InternalError(absl::StrCat("oneDNN cannot create a GEMM for ", types, ": ", error.what()));
  }
}

} // namespace cs336::runtime
