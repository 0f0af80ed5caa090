//===- ProgramBuilder.cpp - Building executables by hand ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "cs336/runtime/format/ExecutableFile.h"

#include <fstream>
#include <iterator>

namespace cs336::runtime::testing {

using format::BufferSource;

namespace {

int64_t DenseBytes(const format::TensorTypeT &type) { return TensorView(ToTensorType(type), nullptr).num_bytes(); }

template <typename T>
T &Append(std::vector<std::unique_ptr<T>> &list) {
  list.push_back(std::make_unique<T>());
  return *list.back();
}

} // namespace

format::TensorTypeT MakeType(DType dtype, std::vector<int64_t> shape) {
  format::TensorTypeT type;
  type.dtype = static_cast<format::DType>(dtype);
  type.shape = std::move(shape);
  return type;
}

absl::Span<const uint8_t> AsBytes(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

uint32_t EntryBuilder::AddBuffer(const std::string &name, BufferSource source, uint32_t index,
                                 const format::TensorTypeT &type, int64_t offset) {
  format::BufferT &buffer = Append(entry_.buffers);
  buffer.name = name;
  buffer.source = source;
  buffer.index = index;
  buffer.byte_offset = offset;
  buffer.byte_size = DenseBytes(type);
  buffer.dtype = type.dtype;
  buffer.shape = type.shape;
  Dims strides = DenseStrides(Dims(type.shape.begin(), type.shape.end()));
  buffer.strides.assign(strides.begin(), strides.end());
  buffer.location = "loc(\"" + name + "\")";
  return entry_.buffers.size() - 1;
}

uint32_t EntryBuilder::Input(const std::string &name, const format::TensorTypeT &type, int64_t bound) {
  format::InputPortT &port = Append(entry_.inputs);
  port.name = name;
  port.type = std::make_unique<format::TensorTypeT>(type);
  port.bound = bound;
  return AddBuffer(name, BufferSource::input, entry_.inputs.size() - 1, type, 0);
}

uint32_t EntryBuilder::Output(const std::string &name, const format::TensorTypeT &type) {
  format::OutputPortT &port = Append(entry_.outputs);
  port.name = name;
  port.type = std::make_unique<format::TensorTypeT>(type);
  return port.buffer = Arena(name, type);
}

uint32_t EntryBuilder::Variable(const std::string &name) {
  uint32_t index = 0;
  while (executable_.variables.at(index)->name != name)
    ++index;
  return AddBuffer(name, BufferSource::variable, index, *executable_.variables[index]->type, 0);
}

uint32_t EntryBuilder::OwnPart(const std::string &name) {
  uint32_t part = Variable(name);
  format::BufferT &buffer = *entry_.buffers[part];
  int64_t shards = executable_.variables[buffer.index]->shards;
  buffer.shape[0] /= shards;
  buffer.byte_size /= shards;
  return part;
}

uint32_t EntryBuilder::AllParts(const std::string &name) {
  uint32_t whole = Variable(name);
  entry_.buffers[whole]->source = BufferSource::gathered;
  return whole;
}

uint32_t EntryBuilder::Arena(const std::string &name, const format::TensorTypeT &type) {
  constexpr int64_t kAlignment = 64;
  int64_t offset = (entry_.arena_bytes + kAlignment - 1) / kAlignment * kAlignment;
  entry_.arena_bytes = offset + DenseBytes(type);
  format::AllocationT &allocation = Append(entry_.allocations);
  allocation.source = name;
  allocation.type = std::make_unique<format::TensorTypeT>(type);
  allocation.byte_offset = offset;
  allocation.byte_size = DenseBytes(type);
  return AddBuffer(name, BufferSource::arena, entry_.allocations.size() - 1, type, offset);
}

void EntryBuilder::Move(uint32_t buffer, int64_t offset) {
  format::BufferT &moved = *entry_.buffers[buffer];
  moved.byte_offset = entry_.allocations[moved.index]->byte_offset = offset;
}

uint32_t EntryBuilder::View(uint32_t buffer, std::vector<int64_t> shape, std::vector<int64_t> strides, int64_t offset) {
  auto view = std::make_unique<format::BufferT>(*entry_.buffers[buffer]);
  view->name += ".view";
  view->shape = std::move(shape);
  view->strides = std::move(strides);
  view->byte_offset += offset;
  view->byte_size -= offset;
  entry_.buffers.push_back(std::move(view));
  return entry_.buffers.size() - 1;
}

uint32_t EntryBuilder::PartOf(uint32_t buffer, int64_t shift) {
  format::BufferT whole = *entry_.buffers[buffer];
  uint32_t part =
      View(buffer, {whole.shape.begin() + 1, whole.shape.end()}, {whole.strides.begin() + 1, whole.strides.end()});
  entry_.buffers[part]->part_distance = whole.strides[0] * ByteSize(ToDType(whole.dtype));
  entry_.buffers[part]->part_shift = shift;
  return part;
}

template <typename Body>
Body &EntryBuilder::AddCommand(Body body) {
  format::CommandT &command = Append(entry_.commands);
  command.name = "c" + std::to_string(entry_.commands.size() - 1);
  command.source = "layers.0.op";
  command.location = "model.mlir:" + std::to_string(entry_.commands.size());
  command.body.Set(std::move(body));
  return *static_cast<Body *>(command.body.value);
}

std::unique_ptr<format::SignatureT> EntryBuilder::SignatureOf(const format::LaunchT &launch) const {
  auto signature = std::make_unique<format::SignatureT>();
  for (uint32_t index : launch.operands) {
    const format::BufferT &buffer = *entry_.buffers.at(index);
    format::OperandSignatureT &operand = Append(signature->operands);
    operand.dtype = buffer.dtype;
    operand.shape = buffer.shape;
    operand.strides = buffer.strides;
    operand.alignment = ByteSize(ToDType(buffer.dtype));
  }
  for (uint32_t written : launch.writes)
    signature->operands.at(written)->is_written = true;
  for (uint32_t written : launch.writes)
    for (size_t i = 0; i != launch.operands.size(); ++i)
      if (!signature->operands[i]->is_written && launch.operands[i] == launch.operands[written])
        signature->operands[written]->written_over.push_back(i);
  signature->rows = launch.rows;
  signature->thread_bytes = launch.thread_bytes;
  return signature;
}

format::LaunchT &EntryBuilder::Launch(uint32_t kernel, std::vector<uint32_t> operands, std::vector<uint32_t> writes,
                                      int64_t rows, int64_t grain, int64_t thread_bytes) {
  format::LaunchT launch;
  launch.kernel = kernel;
  launch.operands = std::move(operands);
  launch.writes = std::move(writes);
  launch.rows = rows;
  launch.grain = grain;
  launch.thread_bytes = thread_bytes;
  auto &signature = executable_.kernels.at(kernel)->signature;
  if (signature->operands.empty())
    signature = SignatureOf(launch);
  return AddCommand(std::move(launch));
}

format::GemmT &EntryBuilder::Gemm(uint32_t a, uint32_t b, uint32_t c) {
  format::GemmT gemm;
  gemm.a = a;
  gemm.b = b;
  gemm.c = c;
  return AddCommand(std::move(gemm));
}

void EntryBuilder::Copy(uint32_t src, uint32_t dst) {
  format::CopyT copy;
  copy.src = src;
  copy.dst = dst;
  AddCommand(std::move(copy));
}

void EntryBuilder::Collective(format::CollectiveKind kind, uint32_t src, uint32_t dst, format::Reduction reduction,
                              uint32_t root) {
  format::CollectiveT collective;
  collective.kind = kind;
  collective.sources = {src};
  collective.targets = {dst};
  collective.reduction = reduction;
  collective.root = root;
  AddCommand(std::move(collective));
}

void EntryBuilder::GatherOthers(format::CollectiveKind kind, uint32_t src, uint32_t dst) {
  Collective(kind, src, dst);
  entry_.commands.back()->body.AsCollective()->others = true;
}

void EntryBuilder::CheckBound(uint32_t src, uint32_t dst, int64_t bound) {
  format::CheckBoundT check;
  check.src = src;
  check.dst = dst;
  check.bound = bound;
  AddCommand(std::move(check));
}

void EntryBuilder::Record(uint32_t event) {
  format::RecordT record;
  record.event = event;
  AddCommand(std::move(record));
}

void EntryBuilder::Wait(uint32_t event) {
  format::WaitT wait;
  wait.event = event;
  AddCommand(std::move(wait));
}

format::VariableT &ProgramBuilder::Variable(const std::string &name, const format::TensorTypeT &type,
                                            format::VariableKind kind) {
  format::VariableT &variable = Append(executable_.variables);
  variable.name = name;
  variable.kind = kind;
  variable.type = std::make_unique<format::TensorTypeT>(type);
  variable.init = std::make_unique<format::InitT>();
  return variable;
}

void ProgramBuilder::AddViews(format::VariableT &variable, std::vector<std::pair<std::string, int64_t>> rows) {
  int64_t offset = 0;
  for (auto &[name, count] : rows) {
    format::ViewT &view = Append(variable.views);
    view.name = name;
    view.row_offset = offset;
    view.rows = count;
    offset += count;
  }
}

EntryBuilder ProgramBuilder::Entry(const std::string &name, format::Mode mode) {
  format::EntryT &entry = Append(executable_.entries);
  entry.name = name;
  entry.mode = mode;
  return {executable_, entry};
}

uint32_t ProgramBuilder::Kernel(const std::string &symbol) {
  if (executable_.objects.empty()) {
    format::CodeObjectT &object = Append(executable_.objects);
    object.target = CS336_TEST_TARGET;
    std::ifstream file(CS336_TEST_KERNELS, std::ios::binary);
    object.image.assign(std::istreambuf_iterator<char>(file), {});
  }
  format::KernelT &kernel = Append(executable_.kernels);
  kernel.name = symbol;
  kernel.comment = "From test/Runtime/kernels.";
  format::ImplementationT &implementation = Append(kernel.implementations);
  implementation.objects = {0};
  Append(implementation.functions).symbol = symbol;
  kernel.signature = std::make_unique<format::SignatureT>();
  return executable_.kernels.size() - 1;
}

std::string ProgramBuilder::Bytes() const { return format::Serialize(executable_); }

absl::StatusOr<std::shared_ptr<const Executable>> ProgramBuilder::Build() const {
  return Executable::FromBytes(AsBytes(Bytes()));
}

ProgramBuilder SampleProgram() {
  using format::InitKind;
  using format::VariableKind;
  ProgramBuilder program;
  program.executable().producer = "test";
  format::VariableT &qkv = program.Variable("qkv.weight", MakeType(DType::kF32, {6, 4}));
  qkv.init->kind = InitKind::truncated_normal;
  qkv.init->std = 0.5;
  qkv.init->cut = 3;
  ProgramBuilder::AddViews(qkv, {{"q.weight", 2}, {"k.weight", 2}, {"v.weight", 2}});
  program.Variable("norm.weight", MakeType(DType::kF32, {4})).init->kind = InitKind::ones;
  program.Variable("step", MakeType(DType::kI64, {}), VariableKind::state);
  program.Variable("qkv.shadow", MakeType(DType::kF32, {6, 4}), VariableKind::derived);
  uint32_t scale = program.Kernel("scale_rows");
  uint32_t increment = program.Kernel("increment");

  EntryBuilder prepare = program.Entry("prepare", format::Mode::prepare);
  prepare.Copy(prepare.Variable("qkv.weight"), prepare.Variable("qkv.shadow"));

  // y = (x * norm) @ qkv^T
  EntryBuilder train = program.Entry("train", format::Mode::train);
  train.entry().streams = 2;
  train.entry().events = 1;
  uint32_t x = train.Input("x", MakeType(DType::kF32, {3, 4}));
  train.Input("tokens", MakeType(DType::kI32, {2, 3}), 16);
  uint32_t y = train.Output("y", MakeType(DType::kF32, {3, 6}));
  uint32_t copy = train.Output("x_scaled", MakeType(DType::kF32, {3, 4}));
  uint32_t norm = train.Variable("norm.weight");
  uint32_t step = train.Variable("step");
  uint32_t shadow = train.Variable("qkv.shadow");
  uint32_t scaled = train.Arena("scaled", MakeType(DType::kF32, {3, 4}));
  uint32_t transposed = train.View(shadow, {4, 6}, {1, 4});
  train.Launch(scale, {x, norm, scaled}, {2}, 3);
  train.Record(0);
  train.Wait(0);
  train.entry().commands.back()->stream = 1;
  train.Gemm(scaled, transposed, y);
  train.Copy(scaled, copy);
  train.Collective(format::CollectiveKind::all_reduce, y, y, format::Reduction::mean);
  train.Launch(increment, {step}, {0}, 1);
  return program;
}

ProgramBuilder GatherProgram() {
  ProgramBuilder program;
  uint32_t gather = program.Kernel("gather_rows");
  program.Variable("table", MakeType(DType::kF32, {5, 4}));
  program.Variable("state", MakeType(DType::kI64, {3}), format::VariableKind::state);
  EntryBuilder entry = program.Entry("forward");
  uint32_t ids = entry.Input("ids", MakeType(DType::kI64, {2, 3}), /*bound=*/5);
  uint32_t rows = entry.Output("rows", MakeType(DType::kF32, {3, 4}));
  uint32_t checked_rows = entry.Output("checked_rows", MakeType(DType::kF32, {3, 4}));
  uint32_t table = entry.Variable("table");
  uint32_t state = entry.Variable("state");
  uint32_t row = entry.View(ids, {3}, {1}, 3 * sizeof(int64_t));
  uint32_t checked = entry.Arena("checked", MakeType(DType::kI64, {3}));
  entry.Arena("other", MakeType(DType::kI64, {3}));
  entry.Launch(gather, {table, row, rows}, {2}, /*rows=*/3);
  program.executable().kernels[gather]->signature->operands[1]->ranges = {{0, 4}};
  entry.CheckBound(state, checked, 5);
  entry.Launch(gather, {table, checked, checked_rows}, {2}, /*rows=*/3);
  return program;
}

} // namespace cs336::runtime::testing
