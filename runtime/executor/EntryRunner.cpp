//===- EntryRunner.cpp - One entry, bound and prepared --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/EntryRunner.h"

#include "cs336/runtime/format/Lifetimes.h"
#include "executor/HostCopy.h"
#include "format/CommandVisitor.h"
#include "memory/BlockLayout.h"
#include "status/StatusMacros.h"
#include "tensor/IntegerBound.h"
#include "tensor/StoredElements.h"

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>

namespace cs336::runtime {

namespace {

absl::string_view PhaseName(format::Phase phase) { return format::EnumNamePhase(phase); }

absl::string_view ArithmeticName(format::Arithmetic arithmetic) {
  return arithmetic == format::Arithmetic::none ? "" : format::EnumNameArithmetic(arithmetic);
}

int64_t EventOf(const format::CommandT &command) {
  if (const auto *record = command.body.AsRecord())
    return record->event;
  if (const auto *wait = command.body.AsWait())
    return wait->event;
  return -1;
}

/// Offsets of an entry's inputs in one block.
struct InputLayout {
  explicit InputLayout(const format::EntryT &entry) {
    BlockLayout layout;
    for (const auto &input : entry.inputs)
      offsets.push_back(layout.Add(TensorView(ToTensorType(*input->type), nullptr).num_bytes()));
    bytes = layout.bytes();
  }

  std::vector<int64_t> offsets;
  int64_t bytes;
};

/// Scope of the part of a run that happens on this thread.
class RunScope {
public:
  explicit RunScope(Device &device) : device_(device), began_(device.BeginRun()) {}
  ~RunScope() {
    if (began_.ok())
      device_.EndRun();
  }
  const absl::Status &began() const { return began_; }

private:
  Device &device_;
  absl::Status began_;
};

} // namespace

absl::StatusOr<std::unique_ptr<EntryRunner>> EntryRunner::Create(const format::EntryT &entry, Device &device,
                                                                 const VariableStore &variables, SharedArena &arena) {
  std::unique_ptr<EntryRunner> runner(new EntryRunner(entry, device, arena));
  CS336_RETURN_IF_ERROR(Annotate(runner->AllocateInputs(), "inputs"));
  runner->BindBuffers(variables);
  CS336_RETURN_IF_ERROR(runner->BindOutputs());
  CS336_RETURN_IF_ERROR(runner->PrepareCommands());
  CS336_ASSIGN_OR_RETURN(runner->begin_, device.CreateMark());
  CS336_ASSIGN_OR_RETURN(runner->end_, device.CreateMark());
  CS336_ASSIGN_OR_RETURN(runner->done_, device.CreateMark());
  return runner;
}

absl::Status EntryRunner::AllocateInputs() {
  InputLayout layout(entry_);
  CS336_ASSIGN_OR_RETURN(inputs_, device_.memory().Allocate(layout.bytes, BlockLayout::kAlignment));
  input_offsets_ = std::move(layout.offsets);
  for (const auto &input : entry_.inputs) {
    input_index_[input->name] = input_types_.size();
    input_types_.push_back(ToTensorType(*input->type));
  }
  given_.resize(input_types_.size());
  CS336_ASSIGN_OR_RETURN(feed_, device_.PrepareInputs(inputs_.data(), layout.bytes));
  return absl::OkStatus();
}

void EntryRunner::BindBuffers(const VariableStore &variables) {
  auto base = [&](const format::BufferT &buffer) -> void * {
    switch (buffer.source) {
    case format::BufferSource::variable:
      return variables.stored(buffer.index).mutable_data();
    case format::BufferSource::gathered:
      return variables.reserved(buffer.index);
    case format::BufferSource::input:
      return inputs_.data() + input_offsets_[buffer.index];
    case format::BufferSource::arena:
      break;
    }
    return arena_.block.data();
  };
  auto offset = [&](const format::BufferT &buffer) {
    return buffer.byte_offset + (variables.rank() + buffer.part_shift) % variables.num_ranks() * buffer.part_distance;
  };
  buffers_.reserve(entry_.buffers.size());
  for (const auto &buffer : entry_.buffers)
    buffers_.emplace_back(TensorType{ToDType(buffer->dtype), Dims(buffer->shape.begin(), buffer->shape.end())},
                          Dims(buffer->strides.begin(), buffer->strides.end()),
                          static_cast<char *>(base(*buffer)) + offset(*buffer));
}

absl::Status EntryRunner::BindOutputs() {
  std::vector<TensorView> views;
  for (const auto &output : entry_.outputs) {
    bool is_in_arena = entry_.buffers[output->buffer]->source == format::BufferSource::arena;
    auto add = [&](const std::string &name, const TensorView &view) {
      outputs_[name] = {view, is_in_arena, views.size(), {}};
      views.push_back(view);
    };
    const TensorView &whole = buffers_[output->buffer];
    add(output->name, whole);
    for (const auto &view : output->views)
      add(view->name, whole.Rows(view->row_offset, view->rows));
  }
  CS336_ASSIGN_OR_RETURN(readback_, OutputReadback::Create(device_, std::move(views)));
  return absl::OkStatus();
}

absl::Status EntryRunner::PrepareCommands() {
  std::vector<int64_t> live_bytes = format::LiveBytes(entry_);
  std::map<int64_t, const format::CommandT *> latest; // By stream.
  auto is_gemm = [](const auto &command) { return command->body.type == format::CommandBody::Gemm; };
  int64_t gemms = absl::c_count_if(entry_.commands, is_gemm); // After the command.
  for (const auto &command : entry_.commands) {
    gemms -= is_gemm(command);
    const format::CommandT *&previous = latest[command->stream];
    CS336_ASSIGN_OR_RETURN(std::unique_ptr<PreparedCommand> prepared,
                           runtime::Prepare(device_, {*command, buffers_, previous, gemms > 0}));
    if (command->body.type != format::CommandBody::Record)
      previous = command.get();
    infos_.push_back({.index = static_cast<int64_t>(commands_.size()),
                      .entry = entry_.name,
                      .name = command->name,
                      .source = command->source,
                      .layer = LayerOf(command->source),
                      .phase = PhaseName(command->phase),
                      .kind = KindName(command->body.type),
                      .location = command->location,
                      .stream = command->stream,
                      .event = EventOf(*command),
                      .flops = command->flops,
                      .bytes = command->bytes,
                      .live_bytes = live_bytes[commands_.size()],
                      .arithmetic = ArithmeticName(command->arithmetic)});
    if (command->body.type == format::CommandBody::CheckBound)
      checks_.push_back(prepared.get());
    commands_.push_back(std::move(prepared));
  }
  return absl::OkStatus();
}

absl::Status EntryRunner::Finish() {
  CS336_ASSIGN_OR_RETURN(sequence_, device_.PrepareSequence(commands_, infos_, *begin_, *end_));
  return absl::OkStatus();
}

absl::Status EntryRunner::FillInputs(uint8_t byte) {
  return device_.memory().Fill(inputs_.data(), byte, inputs_.size());
}

absl::Status EntryRunner::CheckInputs(absl::Span<const NamedTensor> inputs) {
  std::fill(given_.begin(), given_.end(), false);
  for (const NamedTensor &input : inputs) {
    auto found = input_index_.find(input.name);
    if (found == input_index_.end())
      return absl::InvalidArgumentError(absl::StrCat(
          "there is no input '", input.name,
          "'; the inputs are: ", absl::StrJoin(entry_.inputs, ", ", [](std::string *out, const auto &port) {
            absl::StrAppend(out, port->name);
          })));
    if (given_[found->second])
      return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' was given twice"));
    given_[found->second] = true;
    const TensorType &expected = input_types_[found->second];
    if (input.value.type() != expected)
      return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' is a ", ToString(expected),
                                                     ", but the value is a ", ToString(input.value.type())));
    if (input.placement == Placement::kDevice)
      CS336_RETURN_IF_ERROR(Annotate(CheckIsDense(input.value), absl::StrCat("input '", input.name, "'")));
  }
  for (size_t i = 0; i != given_.size(); ++i)
    if (!given_[i])
      return absl::InvalidArgumentError(
          absl::StrCat("input '", entry_.inputs[i]->name, "', a ", ToString(input_types_[i]), ", is missing"));
  return absl::OkStatus();
}

absl::Status EntryRunner::FeedInputs(absl::Span<const NamedTensor> inputs) {
  CS336_ASSIGN_OR_RETURN(char *block, feed_->Begin());
  for (const NamedTensor &input : inputs) {
    size_t index = input_index_.find(input.name)->second;
    const format::InputPortT &port = *entry_.inputs[index];
    int64_t offset = input_offsets_[index], bytes = input.value.num_bytes();
    if (input.placement == Placement::kDevice && port.bound == 0) {
      CS336_RETURN_IF_ERROR(feed_->TakeFromDevice(offset, input.value.data(), bytes));
      continue;
    }
    MutableTensorView copy(input_types_[index], block + offset);
    // The host reads the values to check them. Token inputs are small.
    CS336_RETURN_IF_ERROR(input.placement == Placement::kDevice ? feed_->Fetch(offset, input.value.data(), bytes)
                                                                : CopyElements(input.value, copy));
    if (copy.dtype() == DType::kI1)
      ReadBools(copy.data(), copy.mutable_data(), copy.num_elements());
    // The copy is checked, because the caller's value could still change.
    if (port.bound > 0)
      CS336_RETURN_IF_ERROR(CheckBound(absl::StrCat("input '", port.name, "'"), copy, port.bound));
  }
  return feed_->Send();
}

absl::Status EntryRunner::Outcome() const {
  for (const PreparedCommand *check : checks_)
    CS336_RETURN_IF_ERROR(check->Outcome());
  return absl::OkStatus();
}

absl::Status EntryRunner::Run(absl::Span<const NamedTensor> inputs, RunObserver *observer,
                              absl::optional<uint8_t> poison) {
  RunScope scope(device_);
  CS336_RETURN_IF_ERROR(scope.began());
  has_failed_ = true;
  if (poison) {
    CS336_RETURN_IF_ERROR(device_.Synchronize());
    CS336_RETURN_IF_ERROR(FillInputs(*poison));
  }
  CS336_RETURN_IF_ERROR(FeedInputs(inputs));
  // An input may be an output of an earlier run, in the arena.
  if (poison)
    CS336_RETURN_IF_ERROR(FillArena(*poison));
  arena_.holder = nullptr;
  CS336_RETURN_IF_ERROR(observer ? ExecuteObserved(*observer) : sequence_->Execute());
  CS336_RETURN_IF_ERROR(done_->Record());
  CS336_RETURN_IF_ERROR(readback_.Enqueue(device_));
  arena_.holder = &entry_;
  has_failed_ = false;
  has_run_ = true;
  return absl::OkStatus();
}

absl::Status EntryRunner::FillArena(uint8_t byte) {
  CS336_RETURN_IF_ERROR(device_.Synchronize());
  arena_.holder = nullptr;
  return device_.memory().Fill(arena_.block.data(), byte, arena_.block.size());
}

absl::Status EntryRunner::ExecuteObserved(RunObserver &observer) {
  CS336_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMark> start, device_.CreateMark());
  CS336_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMark> stop, device_.CreateMark());
  CS336_RETURN_IF_ERROR(begin_->Record());
  std::vector<WrittenTensor> written;
  std::vector<Storage> copies;
  for (size_t i = 0; i != commands_.size(); ++i) {
    CS336_RETURN_IF_ERROR(start->Record());
    CS336_RETURN_IF_ERROR(commands_[i]->Execute());
    CS336_RETURN_IF_ERROR(stop->Record());
    if (absl::Status status = stop->Wait(); !status.ok())
      return Annotate(status, DescribeCommand(*entry_.commands[i]));
    CS336_RETURN_IF_ERROR(commands_[i]->Outcome());
    CS336_ASSIGN_OR_RETURN(absl::Duration elapsed, stop->Since(*start));
    written.clear();
    for (uint32_t index : WrittenBuffers(*entry_.commands[i])) {
      const format::BufferT &buffer = *entry_.buffers[index];
      if (!observer.Reads(infos_[i], buffer.name))
        continue;
      if (copies.size() == written.size())
        copies.emplace_back();
      CS336_ASSIGN_OR_RETURN(TensorView value, ViewOnHost(device_.memory(), buffers_[index], copies[written.size()]));
      written.push_back({buffer.name, buffer.location, std::move(value)});
    }
    CS336_RETURN_IF_ERROR(observer.OnCommandDone(infos_[i], elapsed, written));
  }
  return end_->Record();
}

absl::StatusOr<EntryRunner::NamedOutput *> EntryRunner::FindOutput(absl::string_view name) {
  auto found = outputs_.find(name);
  if (found == outputs_.end())
    return absl::NotFoundError(absl::StrCat("entry '", entry_.name, "' has no output '", name, "'"));
  return &found->second;
}

absl::Status EntryRunner::CheckHasEnded() const {
  if (!has_failed_)
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the last run of entry '", entry_.name, "' failed, so that it has no outputs: run it again"));
}

absl::Status EntryRunner::CheckIsThere(absl::string_view name, const NamedOutput &output) const {
  CS336_RETURN_IF_ERROR(CheckHasEnded());
  if (!output.is_in_arena || arena_.holder == &entry_)
    return absl::OkStatus();
  std::string why = !has_run_       ? "the entry has not run"
                    : arena_.holder ? absl::StrCat("entry '", arena_.holder->name, "' has run since")
                                    : "another run has failed since";
  return absl::FailedPreconditionError(
      absl::StrCat("output '", name, "' of entry '", entry_.name, "' is not in the memory that entries share: ", why));
}

absl::StatusOr<TensorView> EntryRunner::Output(absl::string_view name) {
  CS336_ASSIGN_OR_RETURN(NamedOutput * output, FindOutput(name));
  CS336_RETURN_IF_ERROR(CheckHasEnded());
  if (readback_.Holds(output->index))
    return readback_.Find(output->index, /*runs_ago=*/0);
  CS336_RETURN_IF_ERROR(CheckIsThere(name, *output));
  return ViewOnHost(device_.memory(), output->view, output->copy);
}

absl::StatusOr<TensorView> EntryRunner::PreviousOutput(absl::string_view name) {
  CS336_ASSIGN_OR_RETURN(NamedOutput * output, FindOutput(name));
  CS336_RETURN_IF_ERROR(CheckHasEnded());
  absl::StatusOr<TensorView> value = readback_.Find(output->index, /*runs_ago=*/1);
  if (!value.ok())
    return Annotate(value.status(), absl::StrCat("output '", name, "' of the run before the last"));
  return value;
}

absl::StatusOr<TensorView> EntryRunner::OutputOnDevice(absl::string_view name) {
  CS336_ASSIGN_OR_RETURN(NamedOutput * output, FindOutput(name));
  CS336_RETURN_IF_ERROR(CheckIsThere(name, *output));
  return output->view;
}

absl::StatusOr<absl::Duration> EntryRunner::LastRunDuration() {
  CS336_RETURN_IF_ERROR(CheckHasEnded());
  if (!has_run_)
    return absl::FailedPreconditionError("it has not run yet");
  // Until the run ends, a mark that its graph records may still be that of the previous run.
  CS336_RETURN_IF_ERROR(done_->Wait());
  return end_->Since(*begin_);
}

} // namespace cs336::runtime
