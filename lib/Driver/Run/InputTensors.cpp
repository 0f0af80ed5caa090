//===- InputTensors.cpp - What an entry is run with -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/InputTensors.h"

#include "cs336/runtime/TensorFile.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "llvm/ADT/STLExtras.h"

#include <random>

using namespace cs336;
using namespace cs336::runtime;

/// Returns whether every value of `from` is a value of `to`.
static bool isWidening(DType from, DType to) {
  switch (from) {
  case DType::kF32:
    return to == DType::kF64;
  case DType::kBF16:
  case DType::kF16:
    return to == DType::kF32 || to == DType::kF64;
  case DType::kI32:
    return to == DType::kI64;
  case DType::kF64:
  case DType::kI64:
  case DType::kI1:
    return false;
  }
  return false;
}

static const format::InputPortT *findPort(const format::EntryT &entry, absl::string_view name) {
  for (const auto &port : entry.inputs)
    if (port->name == name)
      return port.get();
  return nullptr;
}

std::string cs336::describeInputs(const format::EntryT &entry) {
  return absl::StrJoin(entry.inputs, ", ", [](std::string *out, const auto &port) {
    absl::StrAppend(out, port->name, ": ", ToString(ToTensorType(*port->type)));
    if (port->bound > 0)
      absl::StrAppend(out, " in [0, ", port->bound, ")");
  });
}

/// The tensors of one `--inputs` argument.
static absl::StatusOr<TensorMap> readArgument(absl::string_view argument) {
  size_t equals = argument.find('=');
  if (equals == absl::string_view::npos)
    return ReadTensors(argument);
  absl::string_view name = argument.substr(0, equals), path = argument.substr(equals + 1);
  absl::StatusOr<TensorMap> tensors = ReadTensors(path);
  if (!tensors.ok())
    return tensors;
  if (tensors->size() != 1)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": '", name, "' needs a file with one tensor, this has ", tensors->size()));
  TensorMap renamed;
  renamed.emplace(name, std::move(tensors->begin()->second));
  return renamed;
}

absl::StatusOr<TensorMap> cs336::readInputs(const format::EntryT &entry, llvm::ArrayRef<std::string> files) {
  TensorMap inputs;
  for (const std::string &argument : files) {
    absl::StatusOr<TensorMap> tensors = readArgument(argument);
    if (!tensors.ok())
      return tensors;
    for (auto &[name, tensor] : *tensors) {
      const format::InputPortT *port = findPort(entry, name);
      if (!port)
        return absl::InvalidArgumentError(absl::StrCat(argument, ": entry '", entry.name, "' has no input '", name,
                                                       "'; its inputs are ", describeInputs(entry)));
      TensorType type = ToTensorType(*port->type);
      if (tensor.shape() == type.shape && isWidening(tensor.dtype(), type.dtype)) {
        absl::StatusOr<Tensor> widened = Cast(tensor, type.dtype);
        if (!widened.ok())
          return widened.status();
        tensor = *std::move(widened);
      }
      if (tensor.type() != type)
        return absl::InvalidArgumentError(
            absl::StrCat(argument, ": input '", name, "' must be ", ToString(type), ", is ", ToString(tensor.type())));
      if (!inputs.emplace(name, std::move(tensor)).second)
        return absl::InvalidArgumentError(absl::StrCat(argument, ": input '", name, "' was given before"));
    }
  }
  for (const auto &port : entry.inputs)
    if (!inputs.contains(port->name))
      return absl::InvalidArgumentError(absl::StrCat("input '", port->name, "' is missing; entry '", entry.name,
                                                     "' takes ", describeInputs(entry),
                                                     ". Give files with --inputs, or --random-inputs"));
  return inputs;
}

template <typename T, typename Draw>
static void fill(Tensor &tensor, Draw draw) {
  for (T &value : tensor.mutable_values<T>())
    value = static_cast<T>(draw());
}

absl::StatusOr<TensorMap> cs336::makeRandomInputs(const format::EntryT &entry, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  TensorMap inputs;
  for (const auto &port : entry.inputs) {
    TensorType type = ToTensorType(*port->type);
    bool isFloat = IsFloat(type.dtype);
    // Values of 16-bit float types are drawn as f32, then rounded.
    TensorType drawn{isFloat && type.dtype != DType::kF64 ? DType::kF32 : type.dtype, type.shape};
    absl::StatusOr<Tensor> tensor = Tensor::Create(drawn);
    if (!tensor.ok())
      return tensor.status();
    uint64_t bound = port->bound > 0 ? port->bound : 2;
    auto drawInteger = [&] { return engine() % bound; };
    auto drawReal = [&] { return normal(engine); };
    switch (drawn.dtype) {
    case DType::kF64:
      fill<double>(*tensor, drawReal);
      break;
    case DType::kI64:
      fill<int64_t>(*tensor, drawInteger);
      break;
    case DType::kI32:
      fill<int32_t>(*tensor, drawInteger);
      break;
    case DType::kI1:
      fill<uint8_t>(*tensor, drawInteger);
      break;
    default:
      fill<float>(*tensor, drawReal);
      break;
    }
    if (drawn.dtype != type.dtype)
      tensor = Cast(*tensor, type.dtype);
    if (!tensor.ok())
      return tensor.status();
    inputs.emplace(port->name, *std::move(tensor));
  }
  return inputs;
}

std::vector<NamedTensor> cs336::asArguments(const TensorMap &tensors) {
  std::vector<NamedTensor> arguments;
  for (const auto &[name, tensor] : tensors)
    arguments.push_back({name, tensor});
  return arguments;
}
