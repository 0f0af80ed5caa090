//===- VariableStore.h - Values of an executable's variables ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_EXECUTOR_VARIABLESTORE_H
#define CS336_RUNTIME_EXECUTOR_VARIABLESTORE_H

#include "cs336/runtime/DeviceMemory.h"
#include "cs336/runtime/Session.h"
#include "cs336/runtime/Storage.h"
#include "device/HostMemory.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime {

/// Every variable, and the names under which it can be reached: the variable's
/// own, and those of its views. They lie in one block of a device's memory, and
/// those that Executable::StaysOnHost() names in one of host memory: nothing that
/// is enqueued may use these at a call of the store.
class VariableStore {
public:
  /// Of the block in the device's memory, with what alignment costs.
  static int64_t BytesFor(const Executable &executable);

  /// Allocates all variables; Clear() comes before their first use. The
  /// executable and the memory outlive the store.
  static absl::StatusOr<VariableStore> Create(const Executable &executable, DeviceMemory &memory);

  /// Whole variables, as the executable numbers them.
  absl::Span<const MutableTensorView> variables() const { return variables_; }
  /// Lets the device reach those in host memory, too, from now on. That comes
  /// late, since it takes longer for memory that nobody has written to.
  absl::Status ReachHost();
  /// One variable or named view where the device reaches it.
  absl::StatusOr<MutableTensorView> Find(absl::string_view name);

  /// Fills all variables that the device may have written to with zeros; the
  /// others are zeros.
  absl::Status Clear();
  /// Gives each its initial value.
  absl::Status Initialize(uint64_t seed, const TensorMap &given);

  absl::Status Set(absl::string_view name, const TensorView &value, Placement placement = Placement::kHost);
  absl::StatusOr<Tensor> Get(absl::string_view name) const;
  absl::Status Load(const TensorMap &tensors, const LoadOptions &options);
  absl::StatusOr<TensorMap> Save(VariableSet set) const;

private:
  struct Named {
    MutableTensorView value;
    DeviceMemory *memory;
    bool is_counter;
  };

  /// The memory that variable `index` lies in.
  DeviceMemory &MemoryOf(size_t index) const;
  absl::StatusOr<Named> FindNamed(absl::string_view name) const;
  /// Whether variable `index` is in checkpoints of that set.
  bool IsIn(size_t index, VariableSet set) const;
  std::vector<NamedRows> NamesOf(size_t index) const;
  /// The value under a name of variable `index`.
  MutableTensorView Part(size_t index, const NamedRows &rows) const;
  absl::Status SetFromDevice(absl::string_view name, const TensorView &value, const Named &target);
  absl::Status CheckTensors(const TensorMap &tensors, const LoadOptions &options) const;

  const Executable *executable_ = nullptr;
  DeviceMemory *memory_ = nullptr;
  std::unique_ptr<HostMemory> host_ = std::make_unique<HostMemory>();
  MemoryBlock block_;
  Storage host_storage_;
  MemoryBlock pinned_; // Of host_storage_, once it is reached.
  std::vector<MutableTensorView> variables_;
  std::map<std::string, Named, std::less<>> by_name_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_EXECUTOR_VARIABLESTORE_H
