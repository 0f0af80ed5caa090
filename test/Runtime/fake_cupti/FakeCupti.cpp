//===- FakeCupti.cpp - A stand-in for CUPTI -------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCupti.h"

#include "device/cuda/CuptiApi.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cupti = cs336::runtime::cupti;

namespace {

/// Memory for any record, and its size.
struct Record {
  alignas(8) char bytes[sizeof(cupti::ActivityKernel)];
  size_t size;
};

struct State {
  cupti::RequestBuffer request = nullptr;
  cupti::CompleteBuffer complete = nullptr;
  std::set<int> enabled;
  std::vector<Record> records;
  int64_t to_drop = 0, dropped = 0;
  int enable_result = 0, subscribe_result = 0;
  cupti::Callback callback = nullptr;
  void *user = nullptr;
  std::set<uint32_t> callbacks;
};

State &Get() {
  static State state;
  return state;
}

template <typename T>
void Add(const T &record) {
  Record stored = {{}, sizeof(T)};
  std::memcpy(stored.bytes, &record, sizeof(T));
  if (Get().enabled.count(record.kind))
    Get().records.push_back(stored);
}

/// A handle of a node is its id.
CUgraphNode ToNode(uint64_t id) { return reinterpret_cast<CUgraphNode>(id); }

void Call(uint32_t callback, const cupti::GraphData &graph) {
  cupti::ResourceData data = {nullptr, nullptr, &graph};
  if (Get().callbacks.count(callback))
    Get().callback(Get().user, cupti::kResourceDomain, callback, &data);
}

} // namespace

void FakeCuptiCreateNode(uint64_t id) {
  cupti::GraphData graph = {};
  graph.node = ToNode(id);
  Call(cupti::kGraphNodeCreated, graph);
}

void FakeCuptiCloneNode(uint64_t original, uint64_t id) {
  cupti::GraphData graph = {};
  graph.node = ToNode(id);
  graph.original_node = ToNode(original);
  Call(cupti::kGraphNodeCloned, graph);
}

int FakeCuptiEnabledCallbacks() { return static_cast<int>(Get().callbacks.size()); }

void FakeCuptiKernel(const char *symbol, uint64_t start, uint64_t end, uint64_t graph_node) {
  cupti::ActivityKernel kernel = {};
  kernel.kind = cupti::kConcurrentKernel;
  kernel.name = symbol;
  kernel.start = start;
  kernel.end = end;
  kernel.graph_node = graph_node;
  Add(kernel);
}

void FakeCuptiMemcpy(uint8_t kind, uint64_t start, uint64_t end) {
  cupti::ActivityMemcpy copy = {};
  copy.kind = cupti::kMemcpy;
  copy.copy_kind = kind;
  copy.start = start;
  copy.end = end;
  Add(copy);
}

void FakeCuptiMemcpyBetweenDevices(uint64_t start, uint64_t end, uint64_t graph_node) {
  cupti::ActivityMemcpyBetweenDevices copy = {};
  copy.kind = cupti::kMemcpyBetweenDevices;
  copy.start = start;
  copy.end = end;
  copy.graph_node = graph_node;
  Add(copy);
}

void FakeCuptiMemset(uint64_t start, uint64_t end) {
  cupti::ActivityMemset fill = {};
  fill.kind = cupti::kMemset;
  fill.start = start;
  fill.end = end;
  Add(fill);
}

void FakeCuptiDrop(int64_t records) { Get().to_drop = records; }
void FakeCuptiFailEnable(int result) { Get().enable_result = result; }
void FakeCuptiFailSubscribe(int result) { Get().subscribe_result = result; }
int FakeCuptiEnabledKinds() { return static_cast<int>(Get().enabled.size()); }

extern "C" {

int cuptiGetVersion(uint32_t *version) {
  *version = 130001;
  return 0;
}

int cuptiGetResultString(int result, const char **text) {
  static std::string name;
  name = "FAKE_" + std::to_string(result);
  *text = name.c_str();
  return 0;
}

int cuptiActivityRegisterCallbacks(cupti::RequestBuffer request, cupti::CompleteBuffer complete) {
  Get().request = request;
  Get().complete = complete;
  return 0;
}

int cuptiActivityEnable(cupti::ActivityKind kind) {
  if (int result = std::exchange(Get().enable_result, 0))
    return result;
  Get().enabled.insert(kind);
  return 0;
}

int cuptiActivityDisable(cupti::ActivityKind kind) {
  Get().enabled.erase(kind);
  return 0;
}

/// Two records per buffer, so that there are several buffers.
int cuptiActivityFlushAll(uint32_t flags) {
  std::vector<Record> records = std::exchange(Get().records, {});
  for (size_t i = 0; i < records.size(); i += 2) {
    uint8_t *buffer = nullptr;
    size_t bytes = 0, max_records = 0, used = 0;
    Get().request(&buffer, &bytes, &max_records);
    for (size_t j = i; j < std::min(i + 2, records.size()); ++j) {
      std::memcpy(buffer + used, records[j].bytes, records[j].size);
      used += records[j].size;
    }
    Get().complete(nullptr, 0, buffer, bytes, used);
  }
  Get().dropped = std::exchange(Get().to_drop, 0);
  return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, cupti::Activity **record) {
  auto size = [](const cupti::Activity *activity) {
    return activity->kind == cupti::kConcurrentKernel       ? sizeof(cupti::ActivityKernel)
           : activity->kind == cupti::kMemcpy               ? sizeof(cupti::ActivityMemcpy)
           : activity->kind == cupti::kMemcpyBetweenDevices ? sizeof(cupti::ActivityMemcpyBetweenDevices)
                                                            : sizeof(cupti::ActivityMemset);
  };
  uint8_t *next = *record ? reinterpret_cast<uint8_t *>(*record) + size(*record) : buffer;
  if (next >= buffer + valid_bytes)
    return cupti::kMaxLimitReached;
  *record = reinterpret_cast<cupti::Activity *>(next);
  return 0;
}

int cuptiSubscribe(cupti::Subscriber **subscriber, cupti::Callback callback, void *user) {
  if (int result = std::exchange(Get().subscribe_result, 0))
    return result;
  *subscriber = reinterpret_cast<cupti::Subscriber *>(&Get());
  Get().callback = callback;
  Get().user = user;
  return 0;
}

int cuptiUnsubscribe(cupti::Subscriber *) {
  Get().callbacks.clear();
  return 0;
}

int cuptiEnableCallback(uint32_t enable, cupti::Subscriber *, int, uint32_t callback) {
  if (enable)
    Get().callbacks.insert(callback);
  else
    Get().callbacks.erase(callback);
  return 0;
}

int cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id) {
  *id = reinterpret_cast<uint64_t>(node);
  return 0;
}

int cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t *dropped) {
  *dropped = static_cast<size_t>(std::exchange(Get().dropped, 0));
  return 0;
}

} // extern "C"
