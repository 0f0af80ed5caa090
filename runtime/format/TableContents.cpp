//===- TableContents.cpp - The size of an executable's table --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/TableContents.h"

namespace cs336::runtime {

namespace {

class TableWalk {
public:
  explicit TableWalk(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  void Visit(const format::Executable &executable) {
    Add(executable.producer());
    Add(executable.variables());
    Add(executable.kernels());
    Add(executable.objects());
    Add(executable.entries());
  }

  const TableContents &contents() const { return contents_; }

private:
  void Add(const flatbuffers::String *text) {
    if (text)
      contents_.bytes += text->size();
  }

  /// Adds a vector of numbers or of structs.
  template <typename Element>
  void Add(const flatbuffers::Vector<Element> *numbers) {
    if (!numbers)
      return;
    constexpr size_t kBytes = sizeof(std::remove_pointer_t<Element>);
    contents_.bytes += uint64_t{numbers->size()} * kBytes;
    if (kBytes % alignof(int64_t) == 0 && numbers->size() != 0)
      contents_.is_aligned &= reinterpret_cast<uintptr_t>(numbers->Data()) % alignof(int64_t) == 0;
  }

  /// Adds a vector of tables or of texts.
  template <typename Table>
  void Add(const flatbuffers::Vector<flatbuffers::Offset<Table>> *tables) {
    if (!tables)
      return;
    contents_.bytes += uint64_t{tables->size()} * sizeof(flatbuffers::uoffset_t);
    for (const Table *table : *tables) {
      if (contents_.bytes > most_bytes_)
        return;
      Visit(*table);
    }
  }

  void Visit(const flatbuffers::String &text) { Add(&text); }
  void Visit(const format::TensorType &type) { Add(type.shape()); }
  void Visit(const format::View &view) { Add(view.name()); }

  void Visit(const format::Variable &variable) {
    Add(variable.name());
    Visit(*variable.type());
    Add(variable.views());
    Add(variable.location());
  }

  void Visit(const format::Allocation &allocation) {
    Add(allocation.source());
    Visit(*allocation.type());
    Add(allocation.location());
  }

  void Visit(const format::Buffer &buffer) {
    Add(buffer.name());
    Add(buffer.shape());
    Add(buffer.strides());
    Add(buffer.location());
  }

  void Visit(const format::InputPort &input) {
    Add(input.name());
    Visit(*input.type());
    Add(input.location());
  }

  void Visit(const format::OutputPort &output) {
    Add(output.name());
    Visit(*output.type());
    Add(output.views());
  }

  void Visit(const format::Command &command) {
    Add(command.name());
    Add(command.source());
    Add(command.location());
    if (const format::Launch *launch = command.body_as_Launch()) {
      Add(launch->operands());
      Add(launch->writes());
    }
    if (const format::Collective *collective = command.body_as_Collective()) {
      Add(collective->sources());
      Add(collective->targets());
    }
  }

  void Visit(const format::Entry &entry) {
    Add(entry.name());
    Add(entry.inputs());
    Add(entry.outputs());
    Add(entry.buffers());
    Add(entry.allocations());
    Add(entry.commands());
  }

  void Visit(const format::TensorMap &map) {
    Add(map.sizes());
    Add(map.strides());
    Add(map.box());
  }

  void Visit(const format::Function &function) {
    Add(function.symbol());
    Add(function.tensor_maps());
  }

  void Visit(const format::OperandSignature &operand) {
    Add(operand.shape());
    Add(operand.strides());
    Add(operand.written_over());
    Add(operand.ranges());
  }

  void Visit(const format::Implementation &implementation) {
    Add(implementation.objects());
    Add(implementation.functions());
    Add(implementation.text());
  }

  void Visit(const format::Kernel &kernel) {
    Add(kernel.name());
    Add(kernel.comment());
    Add(kernel.implementations());
    Add(kernel.signature()->operands());
  }

  void Visit(const format::CodeObject &object) {
    Add(object.target());
    Add(object.features());
    Add(object.image());
  }

  const uint64_t most_bytes_;
  TableContents contents_;
};

} // namespace

TableContents ExamineTable(const format::Executable &executable, uint64_t most_bytes) {
  TableWalk walk(most_bytes);
  walk.Visit(executable);
  return walk.contents();
}

} // namespace cs336::runtime
