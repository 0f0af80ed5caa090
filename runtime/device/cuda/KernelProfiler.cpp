//===- KernelProfiler.cpp - Times of a GPU's kernels ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/KernelProfiler.h"

#include "device/cuda/CuptiApi.h"
#include "profile/CommandScope.h"
#include "profile/TraceBuilder.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <cstdlib>
#include <cxxabi.h>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace cs336::runtime {

KernelProfiler::~KernelProfiler() = default;

namespace {

constexpr cupti::ActivityKind kKinds[] = {cupti::kConcurrentKernel, cupti::kMemcpy, cupti::kMemset,
                                          cupti::kMemcpyBetweenDevices};

/// Returns the name of a kernel for readers: with its template arguments,
/// without its parameters.
std::string Demangle(const char *symbol) {
  int status = 0;
  char *text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  if (!text)
    return symbol;
  std::string name = text;
  std::free(text);
  // "void f<int, (T)2>(int)": the parameters are the last parenthesis at the
  // outermost level. The name of a template starts with its result type.
  int depth = 0;
  size_t parameters = std::string::npos;
  for (size_t i = 0; i != name.size(); ++i) {
    char c = name[i];
    if (depth == 0 && c == '(' && i != 0)
      parameters = i;
    depth += c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0;
  }
  if (parameters != std::string::npos)
    name.resize(parameters);
  return name.rfind("void ", 0) == 0 ? name.substr(5) : name;
}

absl::string_view MemcpyName(uint8_t kind) {
  switch (kind) {
  case cupti::kHostToDevice:
    return "[CUDA memcpy Host-to-Device]";
  case cupti::kDeviceToHost:
    return "[CUDA memcpy Device-to-Host]";
  case cupti::kDeviceToDevice:
    return "[CUDA memcpy Device-to-Device]";
  default:
    return "[CUDA memcpy]";
  }
}

/// Receives records from CUPTI's threads, and the nodes of graphs from the
/// threads that capture them. CUPTI's callbacks for records do not pass a pointer
/// of ours, so there can only be one collector per process.
class Collector {
public:
  static Collector &Get() {
    static Collector *collector = new Collector; // CUPTI may call back until the process ends.
    return *collector;
  }

  bool Acquire(std::shared_ptr<const CuptiApi> api) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (api_)
      return false;
    api_ = std::move(api);
    return true;
  }

  void Release() {
    std::lock_guard<std::mutex> lock(mutex_);
    api_ = nullptr;
    builder_ = TraceBuilder();
    commands_.clear();
  }

  Trace Take() {
    std::lock_guard<std::mutex> lock(mutex_);
    return builder_.Take();
  }

  int64_t CountSpans() {
    std::lock_guard<std::mutex> lock(mutex_);
    return builder_.CountSpans();
  }

  /// Called while a graph is captured, and then once per node when it is
  /// instantiated, which makes nodes with other ids. Records name those.
  static void OnGraphNode(void *collector, int, uint32_t callback, const cupti::ResourceData *data) {
    static_cast<Collector *>(collector)->AddNode(callback, *data->descriptor);
  }

  static void RequestBuffer(uint8_t **buffer, size_t *bytes, size_t *max_records) {
    constexpr size_t kBytes = 4 << 20, kAlignment = 8;
    *buffer = static_cast<uint8_t *>(std::aligned_alloc(kAlignment, kBytes));
    *bytes = *buffer ? kBytes : 0;
    *max_records = 0; // No limit but the buffer.
  }

  static void CompleteBuffer(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid_bytes) {
    Get().Read(buffer, valid_bytes);
    std::free(buffer);
  }

private:
  void Read(uint8_t *buffer, size_t valid_bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!api_)
      return;
    cupti::Activity *activity = nullptr;
    while (api_->ActivityGetNextRecord(buffer, valid_bytes, &activity) == cupti::kSuccess)
      Add(*activity);
  }

  void Add(const cupti::Activity &activity) {
    switch (activity.kind) {
    case cupti::kConcurrentKernel: {
      const auto &kernel = reinterpret_cast<const cupti::ActivityKernel &>(activity);
      AddSpan(kernel.name ? Demangle(kernel.name) : "a kernel without a name", kernel);
      break;
    }
    case cupti::kMemcpy: {
      const auto &copy = reinterpret_cast<const cupti::ActivityMemcpy &>(activity);
      AddSpan(MemcpyName(copy.copy_kind), copy);
      break;
    }
    case cupti::kMemcpyBetweenDevices:
      AddSpan("[CUDA memcpy Peer-to-Peer]", reinterpret_cast<const cupti::ActivityMemcpyBetweenDevices &>(activity));
      break;
    case cupti::kMemset:
      AddSpan("[CUDA memset]", reinterpret_cast<const cupti::ActivityMemset &>(activity));
      break;
    }
  }

  template <typename Record>
  void AddSpan(absl::string_view name, const Record &record) {
    auto command = commands_.find(record.graph_node);
    builder_.AddSpan(name, {.start_ns = static_cast<int64_t>(record.start),
                            .duration_ns = static_cast<int64_t>(record.end - record.start),
                            .command = command == commands_.end() ? TraceSpan::kNoCommand : command->second,
                            .stream = record.stream,
                            .graph_node = record.graph_node});
  }

  void AddNode(uint32_t callback, const cupti::GraphData &graph) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!api_)
      return;
    uint64_t node = 0, original = 0;
    if (api_->GetGraphNodeId(graph.node, &node) != cupti::kSuccess)
      return;
    if (callback == cupti::kGraphNodeCreated) {
      if (const CommandInfo *command = CommandScope::Current())
        commands_[node] = builder_.AddCommand(*command);
    } else if (api_->GetGraphNodeId(graph.original_node, &original) == cupti::kSuccess) {
      if (auto found = commands_.find(original); found != commands_.end())
        commands_[node] = found->second;
    }
  }

  std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<const CuptiApi> api_; // Null if no profiler exists.
  TraceBuilder builder_;
  std::map<uint64_t, int32_t> commands_; // By graph node.
};

class CuptiProfiler : public KernelProfiler {
public:
  explicit CuptiProfiler(std::shared_ptr<const CuptiApi> api) : api_(std::move(api)) {}
  ~CuptiProfiler() override {
    SwitchOff();
    api_->ActivityFlushAll(cupti::kFlushForced);
    if (subscriber_)
      api_->Unsubscribe(subscriber_);
    Collector::Get().Release();
  }

  absl::Status Enable() {
    CS336_RETURN_IF_ERROR(
        api_->ToStatus(api_->Subscribe(&subscriber_, &Collector::OnGraphNode, &Collector::Get()), "Subscribe"));
    for (uint32_t callback : {cupti::kGraphNodeCreated, cupti::kGraphNodeCloned})
      CS336_RETURN_IF_ERROR(
          api_->ToStatus(api_->EnableCallback(1, subscriber_, cupti::kResourceDomain, callback), "EnableCallback"));
    CS336_RETURN_IF_ERROR(
        api_->ToStatus(api_->ActivityRegisterCallbacks(&Collector::RequestBuffer, &Collector::CompleteBuffer),
                       "ActivityRegisterCallbacks"));
    return SwitchOn();
  }

  absl::Status Start() override {
    CS336_RETURN_IF_ERROR(SwitchOn());
    return Take().status();
  }

  int64_t CountSpans() const override { return Collector::Get().CountSpans(); }

  absl::StatusOr<Trace> Take() override {
    CS336_RETURN_IF_ERROR(api_->ToStatus(api_->ActivityFlushAll(cupti::kFlushForced), "ActivityFlushAll"));
    Trace trace = Collector::Get().Take();
    size_t dropped = 0;
    CS336_RETURN_IF_ERROR(
        api_->ToStatus(api_->ActivityGetNumDroppedRecords(nullptr, 0, &dropped), "ActivityGetNumDroppedRecords"));
    if (dropped != 0)
      return absl::DataLossError(absl::StrCat("CUPTI dropped ", dropped, " records of kernels: profile fewer steps"));
    return trace;
  }

  absl::StatusOr<Trace> Stop() override {
    absl::StatusOr<Trace> trace = Take();
    SwitchOff();
    return trace;
  }

private:
  /// CUPTI writes the times of each node of a graph while a kind is enabled, which
  /// makes every launch longer.
  absl::Status SwitchOn() {
    if (is_on_)
      return absl::OkStatus();
    for (cupti::ActivityKind kind : kKinds)
      CS336_RETURN_IF_ERROR(api_->ToStatus(api_->ActivityEnable(kind), "ActivityEnable"));
    is_on_ = true;
    return absl::OkStatus();
  }

  /// A kind that stays enabled costs time, and Start() discards its records.
  void SwitchOff() {
    is_on_ = false;
    for (cupti::ActivityKind kind : kKinds)
      api_->ActivityDisable(kind);
  }

  std::shared_ptr<const CuptiApi> api_;
  cupti::Subscriber *subscriber_ = nullptr;
  bool is_on_ = false; // All kinds are enabled.
};

} // namespace

absl::StatusOr<std::unique_ptr<KernelProfiler>> KernelProfiler::Create(const std::string &library) {
  CS336_ASSIGN_OR_RETURN(std::shared_ptr<const CuptiApi> api, CuptiApi::Load(library));
  if (!Collector::Get().Acquire(api))
    return absl::AlreadyExistsError("this process already has a kernel profiler: destroy it first");
  auto profiler = std::make_unique<CuptiProfiler>(std::move(api));
  CS336_RETURN_IF_ERROR(profiler->Enable());
  return profiler;
}

} // namespace cs336::runtime
