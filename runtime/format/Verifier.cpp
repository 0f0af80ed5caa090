//===- Verifier.cpp - Rules of the executable format ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/Verifier.h"

#include "cs336/runtime/Executable.h"
#include "cs336/runtime/format/Limits.h"
#include "format/Layout.h"
#include "memory/BlockLayout.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cmath>
#include <set>

namespace cs336::runtime {

namespace {

using absl::StrCat;

template <typename Enum>
bool IsListed(Enum value) {
  return value >= Enum::MIN && value <= Enum::MAX;
}

/// Names that must be distinct.
class NameSet {
public:
  absl::Status Add(const std::string &name) {
    if (name.empty())
      return Broken("a name is empty");
    if (!names_.insert(name).second)
      return Broken(StrCat("the name '", name, "' occurs twice"));
    return absl::OkStatus();
  }

private:
  std::set<absl::string_view> names_;
};

/// Checks that views are in order and cover dimension 0.
absl::Status VerifyViews(const format::TensorTypeT &type, const std::vector<std::unique_ptr<format::ViewT>> &views,
                         NameSet &names) {
  if (views.empty())
    return absl::OkStatus();
  if (type.shape.empty())
    return Broken("a scalar has views");
  int64_t next = 0;
  for (const auto &view : views) {
    CS336_RETURN_IF_ERROR(names.Add(view->name));
    if (view->row_offset != next || view->rows < 1 || view->rows > type.shape[0] - next)
      return Broken(StrCat("view '", view->name, "' has rows [", view->row_offset, ", +", view->rows,
                           "), but the next view must start at row ", next, " of ", type.shape[0]));
    next += view->rows;
  }
  if (next != type.shape[0])
    return Broken(StrCat("the views cover ", next, " of ", type.shape[0], " rows"));
  return absl::OkStatus();
}

absl::Status VerifyInit(const format::InitT &init, format::DType dtype) {
  if (!IsListed(init.kind))
    return Broken("unknown kind of initial value");
  if (!std::isfinite(init.value))
    return Broken("the initial value is not finite");
  bool is_float = IsFloat(ToDType(dtype));
  if (init.kind == format::InitKind::constant && !is_float &&
      std::abs(init.value) > (dtype == format::DType::i1 ? 1 : 0x1p30))
    return Broken(StrCat("the initial value ", init.value, " is out of range"));
  if (init.kind != format::InitKind::truncated_normal)
    return absl::OkStatus();
  if (!is_float)
    return Broken("integers cannot have normally distributed initial values");
  // For larger cuts, the bounds of the distribution function are not apart from
  // 0 and 1 in f64.
  if (!(init.std > 0 && std::isfinite(init.std) && init.cut > 0 && init.cut <= 8))
    return Broken("a truncated normal requires std > 0 and 0 < cut <= 8");
  return absl::OkStatus();
}

static_assert(format::kPartAlignment % BlockLayout::kAlignment == 0);

int64_t DenseBytes(const format::TensorTypeT &type) {
  int64_t bytes = ByteSize(ToDType(type.dtype));
  for (int64_t size : type.shape)
    bytes *= size; // VerifyType has checked that this does not overflow.
  return bytes;
}

/// Checks that the ranks of a run can store equal parts of a variable.
absl::Status VerifyShards(const format::VariableT &variable, int64_t world_size) {
  if (variable.shards == 1)
    return variable.gathered ? Broken("it is gathered, but has no shards") : absl::OkStatus();
  if (variable.shards != world_size)
    return Broken(StrCat("it has ", variable.shards, " shards, but the program is for ", world_size,
                         world_size == 1 ? " rank" : " ranks"));
  if (!IsFloat(ToDType(variable.type->dtype)))
    return Broken(StrCat("values of type ", Name(ToDType(variable.type->dtype)), " cannot be sharded"));
  if (variable.type->shape.empty())
    return Broken("a scalar cannot be sharded");
  if (variable.type->shape[0] % variable.shards != 0)
    return Broken(
        StrCat("its ", variable.type->shape[0], " rows are not a multiple of its ", variable.shards, " shards"));
  // The own part is as aligned as other variables.
  if (int64_t part = DenseBytes(*variable.type) / variable.shards;
      variable.gathered && part % format::kPartAlignment != 0)
    return Broken(
        StrCat("it is gathered, but its parts of ", part, " bytes are not multiples of ", format::kPartAlignment));
  return absl::OkStatus();
}

absl::Status VerifyVariable(const format::VariableT &variable, int64_t world_size, NameSet &names) {
  CS336_RETURN_IF_ERROR(names.Add(variable.name));
  if (!IsListed(variable.kind))
    return Broken("unknown kind of variable");
  CS336_RETURN_IF_ERROR(VerifyType(*variable.type));
  CS336_RETURN_IF_ERROR(VerifyShards(variable, world_size));
  CS336_RETURN_IF_ERROR(VerifyInit(*variable.init, variable.type->dtype));
  if (variable.init->kind == format::InitKind::none && variable.kind != format::VariableKind::parameter)
    return Broken("only parameters can have no initial value");
  if (variable.kind == format::VariableKind::state && !IsFloat(ToDType(variable.type->dtype)) &&
      variable.init->value < 0)
    return Broken(StrCat("a counter cannot start at ", variable.init->value));
  return VerifyViews(*variable.type, variable.views, names);
}

/// The storage of a buffer: its size, and its element type if it has one.
struct SourceInfo {
  int64_t bytes;
  const format::TensorTypeT *type = nullptr;
};

template <typename Ports>
absl::StatusOr<SourceInfo> PortSource(const Ports &ports, uint32_t index, absl::string_view what) {
  if (index >= ports.size())
    return Broken(StrCat("it names ", what, " ", index, " of ", ports.size()));
  return SourceInfo{DenseBytes(*ports[index]->type), ports[index]->type.get()};
}

absl::StatusOr<SourceInfo> SourceOf(const format::ExecutableT &executable, const format::EntryT &entry,
                                    const format::BufferT &buffer) {
  switch (buffer.source) {
  case format::BufferSource::arena:
    return SourceInfo{entry.arena_bytes};
  case format::BufferSource::variable: {
    CS336_ASSIGN_OR_RETURN(SourceInfo whole, PortSource(executable.variables, buffer.index, "variable"));
    return SourceInfo{whole.bytes / executable.variables[buffer.index]->shards, whole.type};
  }
  case format::BufferSource::gathered: {
    CS336_ASSIGN_OR_RETURN(SourceInfo whole, PortSource(executable.variables, buffer.index, "variable"));
    if (!executable.variables[buffer.index]->gathered)
      return Broken(StrCat("it holds all parts of variable ", buffer.index, ", which is not gathered"));
    return whole;
  }
  case format::BufferSource::input:
    return PortSource(entry.inputs, buffer.index, "input");
  }
  return Broken("unknown source");
}

/// Checks a buffer that is the part of a rank.
absl::Status VerifyPart(const format::ExecutableT &executable, const format::BufferT &buffer) {
  if (buffer.part_distance < 0 || buffer.part_distance % format::kPartDistance != 0)
    return Broken(StrCat("a distance of ", buffer.part_distance, " bytes between parts is not a multiple of ",
                         format::kPartDistance));
  if (buffer.part_shift < 0 || buffer.part_shift >= executable.world_size)
    return Broken(StrCat("its shift is ", buffer.part_shift, ", but the program is for ", executable.world_size,
                         executable.world_size == 1 ? " rank" : " ranks"));
  bool is_float = !IsIndexType(buffer.dtype) && buffer.dtype != format::DType::i1;
  bool has_all_parts =
      buffer.source == format::BufferSource::arena ||
      (buffer.source == format::BufferSource::variable && executable.variables[buffer.index]->shards == 1);
  if (!has_all_parts || !is_float)
    return Broken("it is the part of a rank, but not floating-point values in the arena or a variable without shards");
  int64_t room = buffer.byte_size - ExtentBytes(Layout(buffer)), distances = executable.world_size - 1;
  if (distances > 0 && buffer.part_distance > room / distances)
    return Broken(StrCat("the parts of ", executable.world_size, " ranks, ", buffer.part_distance,
                         " bytes apart, do not fit into its ", buffer.byte_size, " bytes"));
  return absl::OkStatus();
}

absl::Status VerifyBuffer(const format::ExecutableT &executable, const format::EntryT &entry,
                          const format::BufferT &buffer) {
  CS336_RETURN_IF_ERROR(VerifyLayout(Layout(buffer)));
  CS336_ASSIGN_OR_RETURN(SourceInfo source, SourceOf(executable, entry, buffer));
  if (source.type && source.type->dtype != buffer.dtype)
    return Broken(StrCat("its elements are ", Name(ToDType(buffer.dtype)), ", but those of its storage are ",
                         Name(ToDType(source.type->dtype))));
  if (buffer.byte_offset < 0 || buffer.byte_size < 0 || buffer.byte_offset > source.bytes ||
      buffer.byte_size > source.bytes - buffer.byte_offset)
    return Broken(StrCat("bytes [", buffer.byte_offset, ", +", buffer.byte_size, ") are not within the ", source.bytes,
                         " of its storage"));
  if (buffer.byte_offset % ByteSize(ToDType(buffer.dtype)) != 0)
    return Broken(StrCat("offset ", buffer.byte_offset, " is not a multiple of its elements' size"));
  if (ExtentBytes(Layout(buffer)) > buffer.byte_size)
    return Broken(StrCat("its elements do not fit into its ", buffer.byte_size, " bytes"));
  return buffer.part_distance == 0 ? absl::OkStatus() : VerifyPart(executable, buffer);
}

absl::Status VerifyInput(const format::InputPortT &input, NameSet &names) {
  CS336_RETURN_IF_ERROR(names.Add(input.name));
  CS336_RETURN_IF_ERROR(VerifyType(*input.type));
  if (input.bound < 0 || (input.bound > 0 && !IsIndexType(input.type->dtype)))
    return Broken(StrCat("bound ", input.bound, " on values of type ", Name(ToDType(input.type->dtype))));
  return absl::OkStatus();
}

absl::Status VerifyEntry(const format::ExecutableT &executable, const format::EntryT &entry) {
  if (!IsListed(entry.mode))
    return Broken("unknown mode");
  if (entry.arena_bytes < 0)
    return Broken(StrCat("an arena of ", entry.arena_bytes, " bytes"));
  constexpr int64_t kMostAlignment = 1 << 21; // The size of a huge page.
  if (entry.alignment < 1 || entry.alignment > kMostAlignment || (entry.alignment & (entry.alignment - 1)) != 0)
    return Broken(StrCat("alignment ", entry.alignment, " is not a power of two from 1 to ", kMostAlignment));
  if (entry.streams < 1 || entry.streams > format::kMostStreams)
    return Broken(StrCat("it has ", entry.streams, " streams, but must have 1 to ", format::kMostStreams));
  if (entry.name == "prepare" && !entry.inputs.empty())
    return Broken("'prepare' must have no inputs");

  NameSet inputs, outputs;
  for (const auto &input : entry.inputs)
    CS336_RETURN_IF_ERROR(Annotate(VerifyInput(*input, inputs), StrCat("input '", input->name, "'")));
  for (const auto &output : entry.outputs) {
    std::string where = StrCat("output '", output->name, "'");
    CS336_RETURN_IF_ERROR(Annotate(outputs.Add(output->name), where));
    CS336_RETURN_IF_ERROR(Annotate(VerifyType(*output->type), where));
    CS336_RETURN_IF_ERROR(Annotate(VerifyViews(*output->type, output->views, outputs), where));
  }
  for (size_t i = 0; i != entry.buffers.size(); ++i)
    CS336_RETURN_IF_ERROR(Annotate(VerifyBuffer(executable, entry, *entry.buffers[i]),
                                   StrCat("buffer ", i, " '", entry.buffers[i]->name, "'")));
  CS336_RETURN_IF_ERROR(VerifyCommands(executable, entry));
  CS336_RETURN_IF_ERROR(VerifyStreams(executable, entry));
  CS336_RETURN_IF_ERROR(VerifyIntegers(executable, entry));
  CS336_RETURN_IF_ERROR(VerifyOutputs(executable, entry));
  return VerifyAllocations(entry);
}

} // namespace

absl::Status VerifyType(const format::TensorTypeT &type) {
  if (!IsListed(type.dtype))
    return Broken("unknown element type");
  constexpr size_t kMostDims = 12; // The limit of the GEMM library.
  if (type.shape.size() > kMostDims)
    return Broken(StrCat("rank ", type.shape.size(), " is above ", kMostDims));
  for (int64_t size : type.shape)
    if (size < 1)
      return Broken(StrCat("size ", size, " in ", ToString(ToTensorType(type)), " is below 1"));
  if (!CheckedNumElements(ToTensorType(type)))
    return Broken(StrCat("the size of ", ToString(ToTensorType(type)), " overflows"));
  return absl::OkStatus();
}

absl::Status Verify(const format::ExecutableT &executable) {
  if (!IsListed(executable.target))
    return Broken("unknown target");
  if (executable.world_size < 1)
    return Broken(StrCat("it is for ", executable.world_size, " ranks"));
  NameSet variables, kernels, entries;
  for (const auto &variable : executable.variables)
    CS336_RETURN_IF_ERROR(Annotate(VerifyVariable(*variable, executable.world_size, variables),
                                   StrCat("variable '", variable->name, "'")));
  for (size_t i = 0; i != executable.objects.size(); ++i)
    if (executable.objects[i]->target.empty())
      return Broken(StrCat("code object ", i, ": it names no target"));
  for (const auto &kernel : executable.kernels) {
    CS336_RETURN_IF_ERROR(Annotate(kernels.Add(kernel->name), "kernels"));
    CS336_RETURN_IF_ERROR(Annotate(VerifyKernel(executable, *kernel), StrCat("kernel '", kernel->name, "'")));
  }
  if (executable.entries.empty())
    return Broken("it has no entry");
  for (const auto &entry : executable.entries) {
    CS336_RETURN_IF_ERROR(Annotate(entries.Add(entry->name), "entries"));
    CS336_RETURN_IF_ERROR(Annotate(VerifyEntry(executable, *entry), StrCat("entry '", entry->name, "'")));
  }
  return absl::OkStatus();
}

} // namespace cs336::runtime
