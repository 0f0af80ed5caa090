//===- ProfileKey.cpp - What the rows of a profile stand for --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/ProfileKey.h"

#include "cs336/Support/LayerPath.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace cs336;
using llvm::StringRef;
using runtime::TracedCommand;

/// Returns the name of a generated kernel without the digits that distinguish it from kernels of the same operations.
static StringRef dropDigest(StringRef kernel) {
  auto [name, digest] = kernel.rsplit('_');
  bool isDigest = digest.size() == 4 && llvm::all_of(digest, [](char c) { return llvm::isHexDigit(c); });
  return isDigest ? name : kernel;
}

static std::string getKind(const TracedCommand &command) {
  return command.kind == "launch" ? dropDigest(command.name).str() : command.kind;
}

std::string cs336::getRange(const TracedCommand &command) {
  if (command.phase == "optimizer" || command.phase == "communication" || command.phase == "prepare")
    return command.phase;
  StringRef path = command.source;
  if (path.empty())
    return getKind(command);
  StringRef last = path.drop_front(path.rfind('.') + 1);
  if (StringRef(command.kind) == "launch" && StringRef(command.name).starts_with("attention_"))
    return "attention";
  StringRef range = llvm::StringSwitch<StringRef>(last)
                        .Cases({"qkv_proj", "q_proj", "k_proj", "v_proj", "split_heads"}, "qkv")
                        .Case("rope", "rope")
                        .Cases({"scores", "scale"}, "scores")
                        .Case("mask", "mask")
                        .Case("softmax", "softmax")
                        .Case("values", "values")
                        .Cases({"output_proj", "merge_heads"}, "attention output")
                        .Cases({"ln1", "ln2", "ln_final"}, "norm")
                        .Case("token_embeddings", "embedding")
                        .Case("lm_head", "head")
                        .Case("loss", "loss")
                        .Case("residual", "residual")
                        .Default("");
  if (!range.empty())
    return range.str();
  return llvm::is_contained(llvm::split(path, '.'), "ffn") ? "ffn" : mergeLayers(path);
}

std::string cs336::getRangePath(const TracedCommand *command) {
  if (!command)
    return "";
  std::string range = getRange(*command);
  return ":" + command->phase + (range == command->phase ? "" : "/" + range);
}

std::string cs336::getProfileKey(ProfileKey key, const TracedCommand *command, StringRef kernel) {
  if (key == ProfileKey::Kernel)
    return kernel.str();
  if (!command)
    return "inputs and outputs";
  const std::string &source = command->source;
  switch (key) {
  case ProfileKey::Kernel:
    break;
  case ProfileKey::Command:
    return command->name;
  case ProfileKey::Kind:
    return getKind(*command);
  case ProfileKey::Operation:
    return source.empty() ? command->name : mergeLayers(source);
  case ProfileKey::Range:
    return getRange(*command);
  case ProfileKey::RangeKernel:
    return getRange(*command) + ": " + kernel.str();
  case ProfileKey::Layer:
    return source.empty() ? command->phase : getLayerOrPath(source).str();
  case ProfileKey::Phase:
    return command->phase;
  }
  llvm_unreachable("every key has a name");
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {
struct KeyName {
  ProfileKey key;
  llvm::StringLiteral name, description;
};
} // namespace

static constexpr KeyName kKeys[] = {
    {ProfileKey::Kernel, "kernel", "A kernel, copy or fill on a GPU; a command on the CPU"},
    {ProfileKey::Command, "command", "A command of the compiled program, which may run several kernels on a GPU"},
    {ProfileKey::Kind, "kind", "gemm, copy, collective, or the operations of generated kernels"},
    {ProfileKey::Operation, "operation", "An operation of the model: layers.*.attn.q_proj"},
    {ProfileKey::Range, "range", "A part of a Transformer's step, such as norm, scores or optimizer"},
    {ProfileKey::RangeKernel, "range-kernel",
     "A kernel within a range; in the tools, with the columns of nsys' nvtx_kern_sum"},
    {ProfileKey::Layer, "layer", "A layer, or an operation outside of layers"},
    {ProfileKey::Phase, "phase", "forward, backward, communication, optimizer"},
};

StringRef cs336::stringifyProfileKey(ProfileKey key) {
  return llvm::find_if(kKeys, [&](const KeyName &each) { return each.key == key; })->name;
}

absl::StatusOr<ProfileKey> cs336::parseProfileKey(StringRef name) {
  for (const KeyName &each : kKeys)
    if (each.name == name)
      return each.key;
  auto names = llvm::map_to_vector(kKeys, [](const KeyName &each) -> StringRef { return each.name; });
  return absl::InvalidArgumentError(describeUnknown("key of a profile", name, names));
}

llvm::cl::parser<ProfileKey>::parser(Option &option) : EnumParser(option) {
  for (const KeyName &each : kKeys)
    addLiteralOption(each.name, each.key, each.description);
}
