//===- VariableStore.h - Values of an executable's variables ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_EXECUTOR_VARIABLESTORE_H
#define CS336_RUNTIME_EXECUTOR_VARIABLESTORE_H

#include "cs336/runtime/Communicator.h"
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
#include <set>
#include <string>
#include <vector>

namespace cs336::runtime {

/// All variables, by their own names and by the names of their views. They lie
/// in one block of device memory, and those for which Executable::StaysOnHost()
/// is true in one block of host memory. Enqueued work must not use the block of
/// host memory during a call of the store.
///
/// The store has this rank's rows of sharded variables. Values that it takes and
/// returns are whole: it keeps its own rows of the former, and gathers the
/// latter from all ranks.
class VariableStore {
public:
  /// Allocates all variables. Clear() must come before their first use. The
  /// executable, the memory and the communicator must outlive the store. The
  /// communicator has as many ranks as the program; it may be null for one rank.
  static absl::StatusOr<VariableStore> Create(const Executable &executable, DeviceMemory &memory,
                                              Communicator *communicator);

  /// Returns the bytes of the block in device memory, alignment included.
  int64_t device_bytes() const { return block_.size(); }
  /// Returns this rank's number among those that run the program.
  int rank() const { return communicator_ ? communicator_->rank() : 0; }
  int num_ranks() const { return communicator_ ? communicator_->size() : 1; }
  /// Returns the storage of a variable, of type StoredType().
  const MutableTensorView &stored(size_t variable) const { return variables_[variable]; }
  /// Returns the start of the storage of a variable with all parts of a gathered one, of type ReservedType().
  char *reserved(size_t variable) const { return reserved_[variable]; }
  /// Makes the variables in host memory reachable by the device, too. This is a
  /// separate, late step because it takes longer for memory that was never
  /// written.
  absl::Status ReachHost();
  /// Returns one variable or named view at an address that the device reaches.
  /// AcceptShared() takes it as set. FAILED_PRECONDITION if it is sharded.
  absl::StatusOr<MutableTensorView> Share(absl::string_view name);
  /// Takes the variables that were shared so far as set by other code.
  void AcceptShared();

  /// Fills all variables that the device may have written with zeros. The other
  /// ones are zeros already. Then sets state to its initial value, unless that
  /// is random.
  absl::Status Clear();
  /// Sets each variable to its value in `given`, else to its initial value.
  /// Parameters with neither stay as they are. Each name of `given` must be a
  /// checkpoint name.
  absl::Status Initialize(uint64_t seed, const TensorMap &given);

  /// Returns true if derived values may belong to older values of the variables: a call has begun to write a variable
  /// since AcceptDerived(), even if the call failed.
  bool IsAheadOfDerived() const { return is_ahead_of_derived_; }
  /// Called after derived values were computed.
  void AcceptDerived() { is_ahead_of_derived_ = false; }

  /// Returns true if parameters and state all have values.
  bool IsSet() const { return unset_.empty(); }
  /// Returns FAILED_PRECONDITION, with names, if variables have no value.
  absl::Status CheckIsSet() const;
  /// The same for the variables that an entry uses, and those that its derived
  /// values are computed from.
  absl::Status CheckIsSet(const format::EntryT &entry) const;

  absl::Status Set(absl::string_view name, const TensorView &value, Placement placement = Placement::kHost);
  /// A collective if the variable is sharded.
  absl::StatusOr<Tensor> Get(absl::string_view name) const;
  /// A collective if the variable is sharded.
  absl::StatusOr<double> SumOfSquares(absl::string_view name) const;
  absl::Status Load(const TensorMap &tensors, const LoadOptions &options);
  /// A collective if a variable of the set is sharded.
  absl::StatusOr<TensorMap> Save(VariableSet set) const;

  /// Return true if Get(), SumOfSquares() and Save() read values of other ranks.
  bool IsSharded(absl::string_view name) const;
  bool IsSharded(VariableSet set) const;

private:
  /// A variable or a named view of it.
  struct Named {
    size_t variable;
    NamedRows rows;
    bool is_counter;
    /// Its checkpoint names: several for a variable with views.
    std::vector<std::string> names;
  };

  /// The rows of a variable or a named view that this rank stores.
  struct StoredRows {
    MutableTensorView value; // Undefined if there are none.
    int64_t first = 0;       // In the whole variable or view.
    int64_t count = 1;       // 1 for a scalar.

    /// Returns the same rows of `whole`.
    TensorView Of(const TensorView &whole) const { return whole.rank() == 0 ? whole : whole.Rows(first, count); }
  };

  /// Returns the memory that variable `index` lies in.
  DeviceMemory &MemoryOf(size_t index) const;
  absl::StatusOr<Named> FindNamed(absl::string_view name) const;
  absl::Status InitializePart(size_t index, const NamedRows &rows, uint64_t seed);
  /// Makes a variable's storage reachable by the device.
  absl::Status Reach(size_t index);
  void MarkAsSet(const std::vector<std::string> &names);
  /// Returns true if a part of variable `index` has no value.
  bool LacksValue(size_t index) const;
  /// Adds the variables that an entry uses to `used`.
  void AddUsed(const format::EntryT &entry, std::set<size_t> &used) const;
  absl::Status CheckIsSet(const std::set<size_t> &variables) const;
  /// Returns true if variable `index` is in checkpoints of that set.
  bool IsIn(size_t index, VariableSet set) const;
  std::vector<NamedRows> NamesOf(size_t index) const;
  /// Returns the type of the whole variable `index`.
  TensorType WholeType(size_t index) const;
  bool IsSharded(size_t index) const { return executable_->variables()[index]->shards > 1; }
  StoredRows Stored(size_t index, const NamedRows &rows) const;
  /// Returns copies of these parts of variable `index`, each whole. A collective
  /// if the variable is sharded.
  absl::StatusOr<std::vector<Tensor>> Read(size_t index, absl::Span<const NamedRows> parts) const;
  /// Returns a whole sharded variable.
  absl::StatusOr<Tensor> Gather(size_t index) const;
  absl::Status SetFromDevice(absl::string_view name, const TensorView &value, const Named &target);
  /// Copies this rank's rows of a stored tensor, converted to the variable's type.
  absl::Status LoadOwnRows(size_t index, const NamedRows &rows, const TensorView &whole);
  /// Which tensors may be given for the variables of a set.
  struct Acceptance {
    VariableSet set = VariableSet::kParametersAndState;
    bool may_lack_names = false;
    bool ignores_extra = false;
    /// Returns whether a variable can take the elements of a tensor.
    bool (*takes)(const TensorType &tensor, const TensorType &variable);
  };
  /// Returns INVALID_ARGUMENT, with names, if tensors cannot be given.
  absl::Status CheckTensors(const TensorMap &tensors, const Acceptance &acceptance) const;

  const Executable *executable_ = nullptr;
  DeviceMemory *memory_ = nullptr;
  Communicator *communicator_ = nullptr;
  std::unique_ptr<HostMemory> host_ = std::make_unique<HostMemory>();
  MemoryBlock block_;
  Storage host_storage_;
  MemoryBlock pinned_;                       // Pins host_storage_, once the device reaches it.
  std::vector<MutableTensorView> variables_; // In the executable's order.
  std::vector<char *> reserved_;
  std::map<std::string, Named, std::less<>> by_name_;
  /// Checkpoint names of the variables without a value. Their bytes are zeros.
  std::set<std::string, std::less<>> unset_;
  /// Checkpoint names of the variables that other code may have written since
  /// AcceptShared().
  std::vector<std::string> shared_;
  bool is_ahead_of_derived_ = true;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_EXECUTOR_VARIABLESTORE_H
