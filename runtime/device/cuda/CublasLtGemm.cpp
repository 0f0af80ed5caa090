//===- CublasLtGemm.cpp - GEMMs by cuBLASLt -------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CublasLtGemm.h"

#include "device/cuda/CudaMemory.h"
#include "device/cuda/MatmulLayouts.h"
#include "device/cuda/RandomMatrix.h"
#include "device/cuda/ReLUCommand.h"
#include "status/StatusMacros.h"
#include "tensor/Elements.h"

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace cs336::runtime {

namespace {

/// The number of the library's proposals, best first, that are timed.
constexpr int kCandidates = 12;

/// The library's types for given element types and precision.
struct Arithmetic {
  cublaslt::ComputeType compute;
  cublaslt::DataType scale; // Type of alpha and beta.
};

absl::StatusOr<cublaslt::DataType> ToCublasLt(DType dtype) {
  switch (dtype) {
  case DType::kF64:
    return cublaslt::kR64F;
  case DType::kF32:
    return cublaslt::kR32F;
  case DType::kBF16:
    return cublaslt::kR16BF;
  case DType::kF16:
    return cublaslt::kR16F;
  default:
    return absl::UnimplementedError(absl::StrCat("cuBLASLt has no GEMM of ", Name(dtype)));
  }
}

absl::StatusOr<Arithmetic> ChooseArithmetic(const GemmProblem &problem) {
  if (problem.a.dtype == DType::kF64)
    return Arithmetic{cublaslt::kCompute64F, cublaslt::kR64F};
  if (problem.a.dtype != DType::kF32)
    return Arithmetic{cublaslt::kCompute32F, cublaslt::kR32F};
  switch (problem.precision) {
  case format::Precision::ieee:
    return Arithmetic{cublaslt::kCompute32F, cublaslt::kR32F};
  case format::Precision::tf32:
    return Arithmetic{cublaslt::kCompute32FFastTF32, cublaslt::kR32F};
  case format::Precision::tf32x3:
    break;
  }
  return absl::UnimplementedError("cuBLASLt has no GEMM of precision tf32x3: compile with ieee or tf32");
}

/// Owns one of the library's objects.
template <typename Object>
class Owned {
public:
  Owned() = default;
  Owned(Object object, int (*destroy)(Object)) : object_(object), destroy_(destroy) {}
  Owned(Owned &&other) : object_(std::exchange(other.object_, nullptr)), destroy_(other.destroy_) {}
  Owned &operator=(Owned &&other) {
    std::swap(object_, other.object_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~Owned() {
    if (object_)
      destroy_(object_);
  }
  Object get() const { return object_; }

private:
  Object object_ = nullptr;
  int (*destroy_)(Object) = nullptr;
};

cublaslt::Epilogue ChooseEpilogue(const GemmProblem &problem) {
  if (problem.bias)
    return problem.relu ? cublaslt::kEpilogueReLUBias : cublaslt::kEpilogueBias;
  return problem.relu ? cublaslt::kEpilogueReLU : cublaslt::kEpilogueDefault;
}

using Layout = Owned<cublaslt::MatrixLayout>;

absl::StatusOr<Layout> MakeLayout(const CublasLtApi &api, const MatmulOperand &operand, int64_t batch) {
  CS336_ASSIGN_OR_RETURN(cublaslt::DataType type, ToCublasLt(operand.dtype));
  if (batch > std::numeric_limits<int32_t>::max())
    return absl::UnimplementedError(absl::StrCat("cuBLASLt has no GEMM with a batch of ", batch));
  cublaslt::MatrixLayout raw;
  CS336_RETURN_IF_ERROR(
      api.ToStatus(api.MatrixLayoutCreate(&raw, type, operand.rows, operand.columns, operand.leading_dimension),
                   "MatrixLayoutCreate"));
  Layout layout(raw, api.MatrixLayoutDestroy);
  auto count = static_cast<int32_t>(batch);
  CS336_RETURN_IF_ERROR(api.ToStatus(api.MatrixLayoutSetAttribute(raw, cublaslt::kBatchCount, &count, sizeof count),
                                     "MatrixLayoutSetAttribute"));
  CS336_RETURN_IF_ERROR(api.ToStatus(api.MatrixLayoutSetAttribute(raw, cublaslt::kStridedBatchOffset,
                                                                  &operand.batch_stride, sizeof operand.batch_stride),
                                     "MatrixLayoutSetAttribute"));
  return layout;
}

class CublasLtGemm : public PreparedCommand {
public:
  CublasLtGemm(CublasLt &library, const GemmProblem &problem, void *workspace, int64_t workspace_bytes)
      : library_(library), problem_(problem), layouts_(DescribeMatmul(problem)), workspace_(workspace),
        workspace_bytes_(workspace_bytes) {}

  absl::Status Prepare() {
    if (problem_.a.dtype != problem_.b.dtype)
      return absl::UnimplementedError("cuBLASLt has no GEMM of operands of two types");
    if (problem_.a.dtype == DType::kF64 && (problem_.bias || problem_.relu))
      return absl::UnimplementedError("cuBLASLt adds no bias and has no ReLU in f64");
    CS336_ASSIGN_OR_RETURN(Arithmetic arithmetic, ChooseArithmetic(problem_));
    CurrentContext current(library_.context());
    CS336_RETURN_IF_ERROR(current.status());
    CS336_RETURN_IF_ERROR(Describe(arithmetic));

    const MatmulAlignments alignments(layouts_);
    std::string key = DescribeForTuning(problem_, layouts_, alignments, workspace_bytes_);
    if (absl::optional<GemmChoice> known = library_.tuning().Find(key)) {
      if (problem_.relu && known->is_none())
        return LosesNaN();
      if (Take(*known))
        return absl::OkStatus();
    }
    CS336_ASSIGN_OR_RETURN(std::vector<cublaslt::MatmulAlgo> candidates, Propose(alignments));
    absl::StatusOr<GemmChoice> choice = ChooseFastest(candidates);
    if (problem_.relu && absl::IsUnimplemented(choice.status()))
      library_.tuning().Settle(key, GemmChoice());
    CS336_RETURN_IF_ERROR(choice.status());
    if (GemmChoice settled = library_.tuning().Settle(key, *choice); settled != *choice)
      Take(settled);
    return absl::OkStatus();
  }

  absl::Status Execute() override {
    CurrentContext current(library_.context());
    CS336_RETURN_IF_ERROR(current.status());
    return Enqueue(algorithm_);
  }

private:
  /// Creates the library's descriptions of the problem.
  absl::Status Describe(const Arithmetic &arithmetic) {
    const CublasLtApi &api = library_.api();
    if (arithmetic.scale == cublaslt::kR64F) {
      double values[2] = {1.0, problem_.accumulate ? 1.0 : 0.0};
      std::memcpy(alpha_, &values[0], sizeof(double));
      std::memcpy(beta_, &values[1], sizeof(double));
    } else {
      float values[2] = {1.0f, problem_.accumulate ? 1.0f : 0.0f};
      std::memcpy(alpha_, &values[0], sizeof(float));
      std::memcpy(beta_, &values[1], sizeof(float));
    }
    cublaslt::MatmulDesc raw;
    CS336_RETURN_IF_ERROR(
        api.ToStatus(api.MatmulDescCreate(&raw, arithmetic.compute, arithmetic.scale), "MatmulDescCreate"));
    operation_ = {raw, api.MatmulDescDestroy};
    for (auto [attribute, transposed] : {std::pair(cublaslt::kTransA, layouts_.left.transposed),
                                         std::pair(cublaslt::kTransB, layouts_.right.transposed)}) {
      int32_t value = transposed ? cublaslt::kOpT : cublaslt::kOpN;
      CS336_RETURN_IF_ERROR(
          api.ToStatus(api.MatmulDescSetAttribute(raw, attribute, &value, sizeof value), "MatmulDescSetAttribute"));
    }
    cublaslt::Epilogue epilogue = ChooseEpilogue(problem_);
    CS336_RETURN_IF_ERROR(api.ToStatus(api.MatmulDescSetAttribute(raw, cublaslt::kEpilogue, &epilogue, sizeof epilogue),
                                       "MatmulDescSetAttribute"));
    if (problem_.bias)
      CS336_RETURN_IF_ERROR(
          api.ToStatus(api.MatmulDescSetAttribute(raw, cublaslt::kBiasPointer, &problem_.bias, sizeof problem_.bias),
                       "MatmulDescSetAttribute"));
    CS336_ASSIGN_OR_RETURN(left_, MakeLayout(api, layouts_.left, layouts_.batch));
    CS336_ASSIGN_OR_RETURN(right_, MakeLayout(api, layouts_.right, layouts_.batch));
    CS336_ASSIGN_OR_RETURN(result_, MakeLayout(api, layouts_.result, layouts_.batch));
    return absl::OkStatus();
  }

  /// Uses a stored algorithm if the library still supports it.
  bool Take(const GemmChoice &choice) {
    cublaslt::MatmulAlgo algorithm;
    std::copy(choice.algorithm.begin(), choice.algorithm.end(), algorithm.data);
    cublaslt::MatmulHeuristicResult result = {};
    int status = library_.api().MatmulAlgoCheck(library_.handle(), operation_.get(), left_.get(), right_.get(),
                                                result_.get(), result_.get(), &algorithm, &result);
    if (status != cublaslt::kSuccess || result.workspace_bytes > static_cast<size_t>(workspace_bytes_))
      return false;
    algorithm_ = algorithm;
    return true;
  }

  absl::StatusOr<std::vector<cublaslt::MatmulAlgo>> Propose(const MatmulAlignments &alignments) const {
    const CublasLtApi &api = library_.api();
    cublaslt::MatmulPreference preference;
    CS336_RETURN_IF_ERROR(api.ToStatus(api.MatmulPreferenceCreate(&preference), "MatmulPreferenceCreate"));
    absl::Cleanup destroy = [&] { api.MatmulPreferenceDestroy(preference); };
    auto set = [&](cublaslt::MatmulPreferenceAttribute attribute, auto value) {
      return api.ToStatus(api.MatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
                          "MatmulPreferenceSetAttribute");
    };
    CS336_RETURN_IF_ERROR(set(cublaslt::kMaxWorkspaceBytes, static_cast<uint64_t>(workspace_bytes_)));
    CS336_RETURN_IF_ERROR(set(cublaslt::kReductionSchemeMask, uint32_t{cublaslt::kReductionComputeType}));
    CS336_RETURN_IF_ERROR(set(cublaslt::kMinAlignmentABytes, static_cast<uint32_t>(alignments.left)));
    CS336_RETURN_IF_ERROR(set(cublaslt::kMinAlignmentBBytes, static_cast<uint32_t>(alignments.right)));
    CS336_RETURN_IF_ERROR(set(cublaslt::kMinAlignmentCBytes, static_cast<uint32_t>(alignments.addend)));
    CS336_RETURN_IF_ERROR(set(cublaslt::kMinAlignmentDBytes, static_cast<uint32_t>(alignments.result)));

    cublaslt::MatmulHeuristicResult results[kCandidates] = {};
    int found = 0;
    CS336_RETURN_IF_ERROR(
        api.ToStatus(api.MatmulAlgoGetHeuristic(library_.handle(), operation_.get(), left_.get(), right_.get(),
                                                result_.get(), result_.get(), preference, kCandidates, results, &found),
                     "MatmulAlgoGetHeuristic"));
    std::vector<cublaslt::MatmulAlgo> candidates;
    for (int i = 0; i != found; ++i)
      if (results[i].status == cublaslt::kSuccess)
        candidates.push_back(results[i].algo);
    if (candidates.empty())
      return absl::UnimplementedError("cuBLASLt proposes no algorithm");
    return candidates;
  }

  /// Times the candidates. Skips those that the library refuses to run.
  absl::StatusOr<GemmChoice> ChooseFastest(const std::vector<cublaslt::MatmulAlgo> &candidates) {
    // A later proposal must be clearly faster, because timings of equal ones
    // differ.
    constexpr float kClearly = 0.98f;
    float best = std::numeric_limits<float>::infinity();
    absl::Status refused;
    CS336_RETURN_IF_ERROR(FillOperands());
    for (const cublaslt::MatmulAlgo &candidate : candidates) {
      absl::StatusOr<float> microseconds = Time(candidate);
      if (absl::IsInternal(microseconds.status()))
        return microseconds.status();
      if (!microseconds.ok()) {
        // If one loses a NaN, another algorithm may still do.
        if (refused.ok() || absl::IsUnimplemented(microseconds.status()))
          refused = microseconds.status();
      } else if (*microseconds < best * kClearly) {
        best = *microseconds;
        algorithm_ = candidate;
      }
    }
    if (best == std::numeric_limits<float>::infinity())
      return refused;
    GemmChoice choice;
    std::copy(std::begin(algorithm_.data), std::end(algorithm_.data), choice.algorithm.begin());
    choice.microseconds = best;
    return choice;
  }

  /// Fills the operands with numbers like those of a run.
  absl::Status FillOperands() const {
    const CudaContext &context = library_.context();
    for (const MatmulCall &call : layouts_.calls)
      for (auto [matrix, address] : {std::pair(&layouts_.left, call.left), std::pair(&layouts_.right, call.right),
                                     std::pair(&layouts_.result, call.addend)})
        CS336_RETURN_IF_ERROR(FillWithRandom(context, *matrix, layouts_.batch, address));
    if (!problem_.bias)
      return absl::OkStatus();
    MatmulOperand bias = {problem_.c.dtype, false, problem_.c.columns, 1, problem_.c.columns, 0};
    return FillWithRandom(context, bias, /*batch=*/1, problem_.bias);
  }

  absl::StatusOr<float> Time(const cublaslt::MatmulAlgo &candidate) const {
    // The first run loads code. Short runs are repeated, up to about a
    // millisecond in all, because an event's resolution is half a microsecond.
    constexpr float kEnoughMicroseconds = 300;
    if (problem_.relu)
      CS336_RETURN_IF_ERROR(CheckThatReLUKeepsNaN(candidate));
    CS336_RETURN_IF_ERROR(Enqueue(candidate));
    CS336_ASSIGN_OR_RETURN(float once, TimeRuns(candidate, 1));
    int runs = std::clamp(static_cast<int>(kEnoughMicroseconds / std::max(once, 1.0f)), 1, 20);
    float best = once;
    for (int round = 0; round != 2; ++round) {
      CS336_ASSIGN_OR_RETURN(float total, TimeRuns(candidate, runs));
      best = std::min(best, total / static_cast<float>(runs));
    }
    return best;
  }

  /// Checks that NaN survives ReLU by running the GEMM on NaN: the library
  /// documents its ReLU as max(x, 0) and does not mention NaN.
  absl::Status CheckThatReLUKeepsNaN(const cublaslt::MatmulAlgo &candidate) const {
    const DriverApi &driver = library_.context().driver();
    CUstream stream = library_.context().stream();
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    CS336_RETURN_IF_ERROR(Enqueue(candidate, &kNaN));
    std::vector<char> row(problem_.c.columns * ByteSize(problem_.c.dtype));
    CS336_RETURN_IF_ERROR(
        driver.MemcpyDtoHAsync(row.data(), ToDevicePointer(layouts_.calls.front().result), row.size(), stream));
    CS336_RETURN_IF_ERROR(driver.StreamSynchronize(stream));
    bool keeps = VisitElement(problem_.c.dtype, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      if constexpr (kIsFloatElement<T>) {
        const T *elements = reinterpret_cast<const T *>(row.data());
        return std::all_of(elements, elements + problem_.c.columns, [](T element) { return element != element; });
      } else {
        return false;
      }
    });
    return keeps ? absl::OkStatus() : LosesNaN();
  }

  static absl::Status LosesNaN() { return absl::UnimplementedError("cuBLASLt's ReLU turns NaN into 0"); }

  absl::StatusOr<float> TimeRuns(const cublaslt::MatmulAlgo &candidate, int runs) const {
    const DriverApi &driver = library_.context().driver();
    CUstream stream = library_.context().stream();
    CUevent events[2] = {};
    absl::Cleanup destroy = [&] {
      for (CUevent event : events)
        if (event)
          driver.EventDestroy(event).IgnoreError();
    };
    for (CUevent &event : events)
      CS336_RETURN_IF_ERROR(driver.EventCreate(&event, CU_EVENT_DEFAULT));
    CS336_RETURN_IF_ERROR(driver.EventRecord(events[0], stream));
    for (int i = 0; i != runs; ++i)
      CS336_RETURN_IF_ERROR(Enqueue(candidate));
    CS336_RETURN_IF_ERROR(driver.EventRecord(events[1], stream));
    CS336_RETURN_IF_ERROR(driver.EventSynchronize(events[1]));
    float milliseconds = 0;
    CS336_RETURN_IF_ERROR(driver.EventElapsedTime(&milliseconds, events[0], events[1]));
    return milliseconds * 1000;
  }

  absl::Status Enqueue(const cublaslt::MatmulAlgo &algorithm) const { return Enqueue(algorithm, alpha_); }

  absl::Status Enqueue(const cublaslt::MatmulAlgo &algorithm, const void *alpha) const {
    const CublasLtApi &api = library_.api();
    for (const MatmulCall &call : layouts_.calls) {
      int status = api.Matmul(library_.handle(), operation_.get(), alpha, call.left, left_.get(), call.right,
                              right_.get(), beta_, call.addend, result_.get(), call.result, result_.get(), &algorithm,
                              workspace_, workspace_bytes_, library_.context().stream());
      if (status != cublaslt::kSuccess)
        return api.ToStatus(status, "Matmul");
    }
    return absl::OkStatus();
  }

  CublasLt &library_;
  GemmProblem problem_;
  MatmulLayouts layouts_;
  void *workspace_;
  int64_t workspace_bytes_;
  alignas(double) char alpha_[sizeof(double)] = {}, beta_[sizeof(double)] = {}; // As f64 or f32.
  Owned<cublaslt::MatmulDesc> operation_;
  Layout left_, right_, result_;
  cublaslt::MatmulAlgo algorithm_ = {};
};

} // namespace

absl::StatusOr<std::unique_ptr<CublasLt>> CublasLt::Create(const CudaContext &context,
                                                           const std::string &tuning_folder) {
  CS336_ASSIGN_OR_RETURN(std::shared_ptr<const CublasLtApi> api, CublasLtApi::Load());
  CurrentContext current(context);
  CS336_RETURN_IF_ERROR(current.status());
  cublaslt::Handle handle;
  CS336_RETURN_IF_ERROR(api->ToStatus(api->Create(&handle), "Create"));
  return std::unique_ptr<CublasLt>(new CublasLt(context, std::move(api), handle, tuning_folder));
}

CublasLt::~CublasLt() {
  CurrentContext current(context_);
  api_->Destroy(handle_);
}

absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCublasLtGemm(CublasLt &library, const GemmProblem &problem,
                                                                     void *workspace, int64_t workspace_bytes) {
  auto command = std::make_unique<CublasLtGemm>(library, problem, workspace, workspace_bytes);
  absl::Status status = command->Prepare();
  if (status.ok())
    return command;
  if (!problem.relu || !absl::IsUnimplemented(status))
    return Annotate(status, ToString(problem));
  GemmProblem without_relu = problem;
  without_relu.relu = false;
  CS336_ASSIGN_OR_RETURN(std::unique_ptr<PreparedCommand> gemm,
                         PrepareCublasLtGemm(library, without_relu, workspace, workspace_bytes));
  return PrepareReLUAfter(library.context(), problem, std::move(gemm));
}

} // namespace cs336::runtime
