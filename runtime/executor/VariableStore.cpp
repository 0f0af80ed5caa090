//===- VariableStore.cpp - Values of an executable's variables ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/VariableStore.h"

#include "executor/Counters.h"
#include "executor/HostCopy.h"
#include "initializer/Initializer.h"
#include "memory/BlockLayout.h"
#include "status/StatusMacros.h"

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <set>

namespace cs336::runtime {

namespace {

constexpr absl::string_view kOnHost = "parameters that stay in host memory";

/// Appends "missing (3): a, b, c", shortened if there are many names.
void AppendNames(absl::string_view what, const std::vector<std::string> &names, std::string &message) {
  constexpr size_t kMostNames = 20;
  if (names.empty())
    return;
  size_t shown = std::min(names.size(), kMostNames);
  absl::StrAppend(&message, message.empty() ? "" : "; ", what, " (", names.size(),
                  "): ", absl::StrJoin(names.begin(), names.begin() + shown, ", "),
                  shown < names.size() ? ", ..." : "");
}

/// Returns true if the variable has no value before it is initialized, loaded or
/// set. State with an initial value that does not depend on a seed has it from
/// the beginning.
bool MustBeSet(const format::VariableT &variable) {
  return variable.kind == format::VariableKind::parameter ||
         (variable.kind == format::VariableKind::state && variable.init->kind == format::InitKind::truncated_normal);
}

/// Returns true if a variable can take the elements of a stored tensor without
/// rounding: they have its type, or they are bf16 or f16 and the variable is f32.
bool IsLoadable(const TensorType &stored, const TensorType &variable) {
  bool widens = variable.dtype == DType::kF32 && (stored.dtype == DType::kBF16 || stored.dtype == DType::kF16);
  return stored.shape == variable.shape && (widens || stored.dtype == variable.dtype);
}

/// Offsets of variables in the blocks of both memories.
struct Layouts {
  explicit Layouts(const Executable &executable) {
    for (size_t i = 0; i != executable.variables().size(); ++i) {
      BlockLayout &layout = executable.StaysOnHost(i) ? host : device;
      offsets.push_back(layout.Add(TensorView(ReservedType(*executable.variables()[i]), nullptr).num_bytes()));
    }
  }

  BlockLayout device, host;
  std::vector<int64_t> offsets;
};

} // namespace

absl::StatusOr<VariableStore> VariableStore::Create(const Executable &executable, DeviceMemory &memory,
                                                    Communicator *communicator) {
  VariableStore store;
  store.executable_ = &executable;
  store.memory_ = &memory;
  store.communicator_ = communicator;
  Layouts layouts(executable);
  absl::StatusOr<MemoryBlock> block = memory.Allocate(layouts.device.bytes(), BlockLayout::kAlignment);
  if (!block.ok())
    return Annotate(block.status(), "parameters, state and derived variables");
  store.block_ = *std::move(block);
  absl::StatusOr<Storage> host_storage = Storage::Reserve(layouts.host.bytes());
  if (!host_storage.ok())
    return Annotate(host_storage.status(), kOnHost);
  store.host_storage_ = *std::move(host_storage);
  for (size_t i = 0; i != layouts.offsets.size(); ++i) {
    char *start = executable.StaysOnHost(i) ? static_cast<char *>(store.host_storage_.data()) : store.block_.data();
    const format::VariableT &variable = *executable.variables()[i];
    char *reserved = start + layouts.offsets[i];
    MutableTensorView first(StoredType(variable), reserved);
    store.reserved_.push_back(reserved);
    store.variables_.emplace_back(first.type(),
                                  reserved + (variable.gathered ? communicator->rank() * first.num_bytes() : 0));
  }
  for (size_t i = 0; i != store.variables_.size(); ++i) {
    const format::VariableT &variable = *executable.variables()[i];
    bool is_counter = IsCounter(variable);
    Named &whole = store.by_name_[variable.name];
    whole = {i, {variable.name, 0, store.WholeType(i)}, is_counter, {}};
    for (const NamedRows &rows : store.NamesOf(i)) {
      whole.names.push_back(rows.name);
      if (rows.name != variable.name)
        store.by_name_[rows.name] = {i, rows, is_counter, {rows.name}};
    }
    if (MustBeSet(variable))
      store.unset_.insert(whole.names.begin(), whole.names.end());
  }
  return store;
}

DeviceMemory &VariableStore::MemoryOf(size_t index) const {
  return executable_->StaysOnHost(index) ? *host_ : *memory_;
}

bool VariableStore::IsIn(size_t index, VariableSet set) const {
  format::VariableKind kind = executable_->variables()[index]->kind;
  return kind == format::VariableKind::parameter ||
         (kind == format::VariableKind::state && set == VariableSet::kParametersAndState);
}

std::vector<NamedRows> VariableStore::NamesOf(size_t index) const {
  const format::VariableT &variable = *executable_->variables()[index];
  return CheckpointNames(variable.name, WholeType(index), variable.views);
}

TensorType VariableStore::WholeType(size_t index) const { return ToTensorType(*executable_->variables()[index]->type); }

VariableStore::StoredRows VariableStore::Stored(size_t index, const NamedRows &rows) const {
  const MutableTensorView &storage = variables_[index];
  if (storage.rank() == 0)
    return {storage};
  int64_t stored = storage.shape()[0];
  int64_t begin = IsSharded(index) ? communicator_->rank() * stored : 0;
  int64_t first = std::max(rows.row_offset, begin);
  int64_t end = std::min(rows.row_offset + rows.type.shape[0], begin + stored);
  if (first >= end)
    return {MutableTensorView(), 0, 0};
  return {storage.Rows(first - begin, end - first), first - rows.row_offset, end - first};
}

absl::Status VariableStore::ReachHost() {
  if (host_storage_.size() == pinned_.size())
    return absl::OkStatus();
  absl::StatusOr<MemoryBlock> pinned = memory_->Pin(host_storage_.data(), host_storage_.size());
  if (!pinned.ok())
    return Annotate(pinned.status(), kOnHost);
  pinned_ = *std::move(pinned);
  return absl::OkStatus();
}

absl::Status VariableStore::Clear() {
  CS336_RETURN_IF_ERROR(host_->Fill(pinned_.data(), 0, pinned_.size()));
  CS336_RETURN_IF_ERROR(memory_->Fill(block_.data(), 0, block_.size()));
  for (size_t i = 0; i != variables_.size(); ++i) {
    const format::VariableT &variable = *executable_->variables()[i];
    if (variable.kind != format::VariableKind::state || MustBeSet(variable) ||
        variable.init->kind == format::InitKind::zeros)
      continue;
    for (const NamedRows &rows : NamesOf(i))
      CS336_RETURN_IF_ERROR(InitializePart(i, rows, /*seed=*/0));
  }
  return absl::OkStatus();
}

absl::Status VariableStore::InitializePart(size_t index, const NamedRows &rows, uint64_t seed) {
  const format::InitT &init = *executable_->variables()[index]->init;
  StoredRows stored = Stored(index, rows);
  if (stored.count == 0)
    return absl::OkStatus();
  const MutableTensorView &part = stored.value;
  if (init.kind == format::InitKind::zeros)
    return MemoryOf(index).Fill(part.mutable_data(), 0, part.num_bytes());
  int64_t element_size = ByteSize(part.dtype());
  // Elements count from the start of the whole, so that their values do not depend on the shards.
  int64_t first = stored.first * (part.num_elements() / stored.count);
  auto produce = [&](void *chunk, int64_t offset, int64_t bytes) {
    runtime::Initialize(init, seed, rows.name, {{part.dtype(), {bytes / element_size}}, chunk},
                        first + offset / element_size);
  };
  return MemoryOf(index).Write(part.mutable_data(), part.num_bytes(), produce);
}

absl::Status VariableStore::Initialize(uint64_t seed, const TensorMap &given) {
  auto is_same = [](const TensorType &tensor, const TensorType &variable) { return tensor == variable; };
  CS336_RETURN_IF_ERROR(CheckTensors(given, {.may_lack_names = true, .takes = is_same}));
  is_ahead_of_derived_ = true;
  for (size_t i = 0; i != variables_.size(); ++i) {
    bool has_initial_value = executable_->variables()[i]->init->kind != format::InitKind::none;
    for (const NamedRows &rows : NamesOf(i)) {
      if (auto value = given.find(rows.name); value != given.end()) {
        CS336_RETURN_IF_ERROR(Set(rows.name, value->second));
      } else if (has_initial_value) {
        CS336_RETURN_IF_ERROR(InitializePart(i, rows, seed));
        unset_.erase(rows.name);
      }
    }
  }
  return absl::OkStatus();
}

bool VariableStore::LacksValue(size_t index) const {
  const std::vector<std::string> &names = by_name_.find(executable_->variables()[index]->name)->second.names;
  return absl::c_any_of(names, [&](const std::string &name) { return unset_.contains(name); });
}

void VariableStore::AddUsed(const format::EntryT &entry, std::set<size_t> &used) const {
  for (const auto &buffer : entry.buffers)
    if (IsOfVariable(*buffer))
      used.insert(buffer->index);
}

absl::Status VariableStore::CheckIsSet() const {
  std::set<size_t> all;
  for (size_t i = 0; i != variables_.size(); ++i)
    all.insert(i);
  return CheckIsSet(all);
}

absl::Status VariableStore::CheckIsSet(const format::EntryT &entry) const {
  std::set<size_t> used;
  AddUsed(entry, used);
  bool uses_derived = absl::c_any_of(
      used, [&](size_t i) { return executable_->variables()[i]->kind == format::VariableKind::derived; });
  if (const format::EntryT *prepare = executable_->FindEntry("prepare"); prepare && uses_derived)
    AddUsed(*prepare, used);
  return CheckIsSet(used);
}

absl::Status VariableStore::CheckIsSet(const std::set<size_t> &variables) const {
  std::vector<std::string> unset;
  bool can_initialize = false;
  for (size_t i : variables)
    if (LacksValue(i)) {
      can_initialize |= executable_->variables()[i]->init->kind != format::InitKind::none;
      for (const NamedRows &rows : NamesOf(i))
        if (unset_.contains(rows.name))
          unset.push_back(rows.name);
    }
  if (unset.empty())
    return absl::OkStatus();
  std::string message;
  AppendNames("variables without a value", unset, message);
  absl::StrAppend(&message, can_initialize ? ": initialize the session, load a checkpoint or set them first"
                                           : ": the program has no initial values (cs336.init) for them; load a "
                                             "checkpoint or set them first");
  return absl::FailedPreconditionError(message);
}

void VariableStore::MarkAsSet(const std::vector<std::string> &names) {
  for (const std::string &name : names)
    unset_.erase(name);
}

absl::StatusOr<VariableStore::Named> VariableStore::FindNamed(absl::string_view name) const {
  auto found = by_name_.find(name);
  if (found == by_name_.end())
    return absl::NotFoundError(absl::StrCat("the executable has no variable '", name, "'"));
  return found->second;
}

absl::Status VariableStore::Reach(size_t index) {
  return executable_->StaysOnHost(index) ? ReachHost() : absl::OkStatus();
}

absl::StatusOr<MutableTensorView> VariableStore::Share(absl::string_view name) {
  CS336_ASSIGN_OR_RETURN(Named named, FindNamed(name));
  if (IsSharded(named.variable))
    return absl::FailedPreconditionError(
        absl::StrCat("variable '", name, "' is sharded over ", executable_->variables()[named.variable]->shards,
                     " ranks, and each of them stores a part of its rows: read a copy of the whole on all ranks"));
  CS336_RETURN_IF_ERROR(Reach(named.variable));
  shared_.insert(shared_.end(), named.names.begin(), named.names.end());
  return Stored(named.variable, named.rows).value;
}

void VariableStore::AcceptShared() {
  MarkAsSet(shared_);
  shared_.clear();
}

absl::Status VariableStore::Set(absl::string_view name, const TensorView &value, Placement placement) {
  CS336_ASSIGN_OR_RETURN(Named target, FindNamed(name));
  if (target.rows.type != value.type())
    return absl::InvalidArgumentError(absl::StrCat("variable '", name, "' is a ", ToString(target.rows.type),
                                                   ", but the value is a ", ToString(value.type())));
  if (placement == Placement::kDevice) {
    CS336_RETURN_IF_ERROR(SetFromDevice(name, value, target));
  } else {
    if (target.is_counter)
      CS336_RETURN_IF_ERROR(CheckCounter(name, value));
    is_ahead_of_derived_ = true;
    if (StoredRows own = Stored(target.variable, target.rows); own.count > 0)
      CS336_RETURN_IF_ERROR(CopyToDevice(MemoryOf(target.variable), own.Of(value), own.value));
  }
  MarkAsSet(target.names);
  return absl::OkStatus();
}

absl::Status VariableStore::SetFromDevice(absl::string_view name, const TensorView &value, const Named &target) {
  CS336_RETURN_IF_ERROR(Annotate(CheckIsDense(value), absl::StrCat("variable '", name, "'")));
  CS336_RETURN_IF_ERROR(Reach(target.variable));
  is_ahead_of_derived_ = true;
  StoredRows own = Stored(target.variable, target.rows);
  if (own.count == 0)
    return absl::OkStatus();
  void *data = own.value.mutable_data();
  if (!target.is_counter)
    return memory_->CopyFromOthers(data, own.Of(value).data(), own.value.num_bytes());
  // The host reads the value only after the copy into the store's own memory.
  CS336_ASSIGN_OR_RETURN(Tensor before, Get(name));
  CS336_RETURN_IF_ERROR(memory_->CopyFromOthers(data, value.data(), value.num_bytes()));
  CS336_ASSIGN_OR_RETURN(Tensor after, Get(name));
  absl::Status status = CheckCounter(name, after);
  if (!status.ok())
    CS336_RETURN_IF_ERROR(CopyToDevice(MemoryOf(target.variable), before, own.value));
  return status;
}

bool VariableStore::IsSharded(absl::string_view name) const {
  auto found = by_name_.find(name);
  return found != by_name_.end() && IsSharded(found->second.variable);
}

bool VariableStore::IsSharded(VariableSet set) const {
  for (size_t i = 0; i != variables_.size(); ++i)
    if (IsIn(i, set) && IsSharded(i))
      return true;
  return false;
}

absl::StatusOr<Tensor> VariableStore::Gather(size_t index) const {
  CS336_ASSIGN_OR_RETURN(Tensor own, CopyFromDevice(MemoryOf(index), variables_[index]));
  CS336_ASSIGN_OR_RETURN(Tensor whole, Tensor::Create(WholeType(index)));
  absl::Status status = communicator_->AllGather(own.data(), whole.mutable_data(), own.num_elements(), own.dtype());
  if (!status.ok())
    return Annotate(status, absl::StrCat("sharded variable '", executable_->variables()[index]->name, "'"));
  return whole;
}

absl::StatusOr<std::vector<Tensor>> VariableStore::Read(size_t index, absl::Span<const NamedRows> parts) const {
  Tensor whole;
  if (IsSharded(index)) {
    CS336_ASSIGN_OR_RETURN(whole, Gather(index));
  }
  std::vector<Tensor> values;
  for (const NamedRows &rows : parts) {
    absl::StatusOr<Tensor> value = IsSharded(index)
                                       ? Tensor::CopyOf(whole.view().Rows(rows.row_offset, rows.type.shape[0]))
                                       : CopyFromDevice(MemoryOf(index), Stored(index, rows).value);
    if (!value.ok())
      return value.status();
    values.push_back(*std::move(value));
  }
  return values;
}

absl::StatusOr<Tensor> VariableStore::Get(absl::string_view name) const {
  CS336_ASSIGN_OR_RETURN(Named source, FindNamed(name));
  CS336_ASSIGN_OR_RETURN(std::vector<Tensor> values, Read(source.variable, {source.rows}));
  return std::move(values.front());
}

absl::StatusOr<double> VariableStore::SumOfSquares(absl::string_view name) const {
  CS336_ASSIGN_OR_RETURN(Named source, FindNamed(name));
  StoredRows own = Stored(source.variable, source.rows);
  double sum = 0;
  if (own.count != 0) {
    CS336_ASSIGN_OR_RETURN(Tensor values, CopyFromDevice(MemoryOf(source.variable), own.value));
    CS336_ASSIGN_OR_RETURN(sum, runtime::SumOfSquares(values));
  }
  if (IsSharded(source.variable))
    CS336_RETURN_IF_ERROR(Annotate(communicator_->AllReduce(&sum, &sum, 1, DType::kF64, Reduction::kSum),
                                   absl::StrCat("sharded variable '", name, "'")));
  return sum;
}

absl::Status VariableStore::CheckTensors(const TensorMap &tensors, const Acceptance &acceptance) const {
  std::vector<std::string> missing, mistyped, extra;
  std::set<std::string> known;
  absl::Status counters;
  for (size_t i = 0; i != variables_.size(); ++i) {
    if (!IsIn(i, acceptance.set))
      continue;
    bool is_counter = IsCounter(*executable_->variables()[i]);
    for (const NamedRows &rows : NamesOf(i)) {
      known.insert(rows.name);
      auto found = tensors.find(rows.name);
      if (found == tensors.end())
        missing.push_back(rows.name);
      else if (!acceptance.takes(found->second.type(), rows.type))
        mistyped.push_back(
            absl::StrCat(rows.name, " is a ", ToString(found->second.type()), ", not ", ToString(rows.type)));
      else if (is_counter)
        counters.Update(CheckCounter(rows.name, found->second));
    }
  }
  if (acceptance.may_lack_names)
    missing.clear();
  if (!acceptance.ignores_extra)
    for (const auto &[name, tensor] : tensors)
      if (!known.contains(name))
        extra.push_back(name);
  std::string message;
  AppendNames("missing", missing, message);
  AppendNames("of another type", mistyped, message);
  AppendNames("that no variable has", extra, message);
  if (message.empty())
    return counters;
  return absl::InvalidArgumentError(
      absl::StrCat("the tensors do not match the executable's ",
                   acceptance.set == VariableSet::kParameters ? "parameters" : "parameters and state", ": ", message));
}

absl::Status VariableStore::LoadOwnRows(size_t index, const NamedRows &rows, const TensorView &whole) {
  StoredRows own = Stored(index, rows);
  if (own.count == 0)
    return absl::OkStatus();
  TensorView value = own.Of(whole);
  Tensor widened;
  if (value.dtype() != own.value.dtype()) {
    CS336_ASSIGN_OR_RETURN(widened, Cast(value, own.value.dtype()));
    value = widened;
  }
  return CopyToDevice(MemoryOf(index), value, own.value);
}

absl::Status VariableStore::Load(const TensorMap &tensors, const LoadOptions &options) {
  CS336_RETURN_IF_ERROR(
      CheckTensors(tensors, {.set = options.set, .ignores_extra = options.ignore_extra, .takes = IsLoadable}));
  is_ahead_of_derived_ = true;
  for (size_t i = 0; i != variables_.size(); ++i)
    if (IsIn(i, options.set))
      for (const NamedRows &rows : NamesOf(i)) {
        CS336_RETURN_IF_ERROR(LoadOwnRows(i, rows, tensors.find(rows.name)->second));
        unset_.erase(rows.name);
      }
  return absl::OkStatus();
}

absl::StatusOr<TensorMap> VariableStore::Save(VariableSet set) const {
  CS336_RETURN_IF_ERROR(CheckIsSet());
  TensorMap tensors;
  for (size_t i = 0; i != variables_.size(); ++i)
    if (IsIn(i, set)) {
      std::vector<NamedRows> names = NamesOf(i);
      CS336_ASSIGN_OR_RETURN(std::vector<Tensor> values, Read(i, names));
      for (size_t part = 0; part != names.size(); ++part)
        tensors.emplace(names[part].name, std::move(values[part]));
    }
  return tensors;
}

} // namespace cs336::runtime
