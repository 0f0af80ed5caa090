//===- EntryRunner.cpp - One entry, bound and ready to run ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/EntryRunner.h"

#include "format/CommandVisitor.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

#include <algorithm>

namespace cs336::runtime {

namespace {

absl::string_view PhaseName(format::Phase phase) { return format::EnumNamePhase(phase); }

/// Checks that every element of a dense view is in [0, bound).
template <typename T>
absl::Status CheckBound(const TensorView &value, int64_t bound, absl::string_view name) {
  absl::Span<const T> values = value.values<T>();
  auto bad = std::find_if(values.begin(), values.end(), [&](T element) { return element < 0 || element >= bound; });
  if (bad == values.end())
    return absl::OkStatus();
  Dims index(value.rank());
  int64_t rest = bad - values.begin();
  for (size_t dim = index.size(); dim-- > 0; rest /= value.shape()[dim])
    index[dim] = rest % value.shape()[dim];
  return absl::InvalidArgumentError(absl::StrCat("input '", name, "' holds ", *bad, " at [", absl::StrJoin(index, ", "),
                                                 "], outside of [0, ", bound, ")"));
}

} // namespace

absl::StatusOr<std::unique_ptr<EntryRunner>>
EntryRunner::Create(const format::EntryT &entry, absl::Span<const MutableTensorView> variables, void *arena) {
  std::unique_ptr<EntryRunner> runner(new EntryRunner(entry));
  CS336_RETURN_IF_ERROR(Annotate(runner->AllocatePorts(), absl::StrCat("inputs and outputs of '", entry.name, "'")));
  runner->BindBuffers(variables, arena);
  runner->BindOutputs();
  return runner;
}

absl::Status EntryRunner::AllocatePorts() {
  for (const auto &input : entry_.inputs) {
    CS336_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(ToTensorType(*input->type)));
    input_index_[input->name] = inputs_.size();
    inputs_.push_back(std::move(tensor));
  }
  given_.resize(inputs_.size());
  outputs_.resize(entry_.outputs.size());
  std::vector<bool> owned(outputs_.size());
  for (const auto &buffer : entry_.buffers) {
    if (buffer->source != format::BufferSource::output || owned[buffer->index])
      continue;
    owned[buffer->index] = true;
    CS336_ASSIGN_OR_RETURN(outputs_[buffer->index], Tensor::Create(ToTensorType(*entry_.outputs[buffer->index]->type)));
  }
  return absl::OkStatus();
}

void EntryRunner::BindBuffers(absl::Span<const MutableTensorView> variables, void *arena) {
  auto base = [&](const format::BufferT &buffer) {
    switch (buffer.source) {
    case format::BufferSource::variable:
      return variables[buffer.index].mutable_data();
    case format::BufferSource::input:
      return inputs_[buffer.index].mutable_data();
    case format::BufferSource::output:
      return outputs_[buffer.index].mutable_data();
    case format::BufferSource::arena:
      break;
    }
    return arena;
  };
  buffers_.reserve(entry_.buffers.size());
  for (const auto &buffer : entry_.buffers)
    buffers_.emplace_back(TensorType{ToDType(buffer->dtype), Dims(buffer->shape.begin(), buffer->shape.end())},
                          Dims(buffer->strides.begin(), buffer->strides.end()),
                          static_cast<char *>(base(*buffer)) + buffer->byte_offset);
}

void EntryRunner::BindOutputs() {
  for (const auto &output : entry_.outputs) {
    const TensorView &whole = buffers_[output->buffer];
    output_views_[output->name] = whole;
    for (const auto &view : output->views)
      output_views_[view->name] = whole.Rows(view->row_offset, view->rows);
  }
}

absl::Status EntryRunner::Prepare(Device &device) {
  for (const auto &command : entry_.commands) {
    CS336_ASSIGN_OR_RETURN(std::unique_ptr<PreparedCommand> prepared, runtime::Prepare(device, {*command, buffers_}));
    infos_.push_back({static_cast<int64_t>(commands_.size()), entry_.name, command->name, command->layer,
                      PhaseName(command->phase), KindName(command->body.type), command->location});
    commands_.push_back(std::move(prepared));
  }
  return absl::OkStatus();
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
    const TensorType &expected = inputs_[found->second].type();
    if (input.value.type() != expected)
      return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' is a ", ToString(expected),
                                                     ", the value a ", ToString(input.value.type())));
  }
  for (size_t i = 0; i != given_.size(); ++i)
    if (!given_[i])
      return absl::InvalidArgumentError(
          absl::StrCat("input '", entry_.inputs[i]->name, "', a ", ToString(inputs_[i].type()), ", is missing"));
  return absl::OkStatus();
}

absl::Status EntryRunner::Run(Device &device, absl::Span<const NamedTensor> inputs, RunObserver *observer) {
  CS336_RETURN_IF_ERROR(CheckInputs(inputs));
  for (const NamedTensor &input : inputs) {
    size_t index = input_index_.find(input.name)->second;
    CS336_RETURN_IF_ERROR(CopyElements(input.value, inputs_[index].mutable_view()));
    // The copy is checked, so that no other thread can change what was.
    const format::InputPortT &port = *entry_.inputs[index];
    if (port.bound > 0)
      CS336_RETURN_IF_ERROR(port.type->dtype == format::DType::i64
                                ? CheckBound<int64_t>(inputs_[index], port.bound, port.name)
                                : CheckBound<int32_t>(inputs_[index], port.bound, port.name));
  }
  device.BeginRun();
  absl::Status status;
  if (observer)
    status = ExecuteObserved(*observer);
  else
    for (size_t i = 0; i != commands_.size() && status.ok(); ++i)
      status = commands_[i]->Execute();
  absl::Status ended = device.EndRun();
  return status.ok() ? ended : status;
}

absl::Status EntryRunner::ExecuteObserved(RunObserver &observer) {
  std::vector<WrittenTensor> written;
  for (size_t i = 0; i != commands_.size(); ++i) {
    absl::Time start = absl::Now();
    CS336_RETURN_IF_ERROR(commands_[i]->Execute());
    absl::Duration elapsed = absl::Now() - start;
    written.clear();
    for (uint32_t buffer : WrittenBuffers(*entry_.commands[i]))
      written.push_back({entry_.buffers[buffer]->name, entry_.buffers[buffer]->location, buffers_[buffer]});
    CS336_RETURN_IF_ERROR(observer.OnCommandDone(infos_[i], elapsed, written));
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorView> EntryRunner::Output(absl::string_view name) const {
  auto found = output_views_.find(name);
  if (found == output_views_.end())
    return absl::NotFoundError(absl::StrCat("entry '", entry_.name, "' has no output '", name, "'"));
  return found->second;
}

} // namespace cs336::runtime
