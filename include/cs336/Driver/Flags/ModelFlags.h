//===- ModelFlags.h - Command-line flags that describe a model --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_FLAGS_MODELFLAGS_H
#define CS336_DRIVER_FLAGS_MODELFLAGS_H

#include "cs336/Driver/Flags/FlagParsers.h"
#include "cs336/Frontend/ModelDescription.h"
#include "llvm/Support/CommandLine.h"

#include <memory>
#include <vector>

namespace cs336 {

/// One flag per key of a model description (`--d-model`, `--size`, `--mode`, …) and of its optimizer (`--lr`, …), with
/// the spellings of published scripts as aliases (`--d_model`, `--n_layers`, …). The key "dtype" has the flag
/// `--build-dtype`, because `--dtype` is the compute type. In a tool that sweeps, a flag takes a list with commas.
class ModelFlags {
public:
  /// The keys that have flags: those of the whole description, or the sizes alone.
  enum class Keys { All, Sizes };

  ModelFlags(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand, Keys keys = Keys::All);

  /// Returns `base` with the flags' values: one description per combination of values, the last flag's varying fastest.
  /// The error names the value, and the flag or its key. Flags of the optimizer are an error if no description trains.
  llvm::Expected<std::vector<ModelDescription>> apply(const ModelDescription &base) const;

  /// Does the same for a tool with one model: lists are errors.
  llvm::Expected<ModelDescription> applyOne(const ModelDescription &base) const;

  /// Returns whether the flag that sets this key was given.
  bool sets(llvm::StringRef key) const;

private:
  /// The object whose key a flag sets.
  enum class Owner { Model, Optimizer };
  enum class Kind { Text, Integer, Real };
  struct Flag {
    std::string key;
    Owner owner;
    Kind kind;
    std::unique_ptr<llvm::cl::opt<std::string, /*ExternalStorage=*/false, ValueNameParser>> option;

    /// Converts one value of the flag to the JSON value of a description.
    llvm::Expected<llvm::json::Value> parse(llvm::StringRef text) const;
  };

  /// `choices` are the values of a text, for shell completion.
  void add(llvm::StringRef key, const llvm::Twine &name, const llvm::Twine &description, Owner owner, Kind kind,
           llvm::ArrayRef<llvm::StringRef> choices = {});

  llvm::cl::OptionCategory &category;
  llvm::cl::SubCommand &subcommand;
  std::vector<Flag> flags;
  std::vector<std::unique_ptr<llvm::cl::alias>> aliases;
  /// The options keep references to their names and descriptions, which these strings own.
  std::vector<std::unique_ptr<std::string>> texts;
};

} // namespace cs336

#endif // CS336_DRIVER_FLAGS_MODELFLAGS_H
