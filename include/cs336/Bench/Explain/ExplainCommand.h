//===- ExplainCommand.h - cs336-bench explain -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_EXPLAIN_EXPLAINCOMMAND_H
#define CS336_BENCH_EXPLAIN_EXPLAINCOMMAND_H

#include "cs336/Bench/Command/Command.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Bench/Explain/CompilationTime.h"
#include "cs336/Bench/Explain/KernelFacts.h"
#include "cs336/Bench/Plan/PredictOnFlag.h"
#include "cs336/Driver/Flags/CompileFlags.h"
#include "cs336/Driver/Flags/ModelFlags.h"

#include "absl/status/statusor.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class MemoryBuffer;
} // namespace llvm

namespace cs336::bench {

/// The subcommand `explain`, which shows the operations of a kernel, a GEMM or a copy, the code that it is compiled to,
/// and the limit of its speed.
class ExplainCommand : public Command {
public:
  /// `model` describes the columns of its results.
  explicit ExplainCommand(const Command &model);

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  std::vector<ColumnHead> getColumns() const override;
  /// Explains the selected kernels of the model that the flags describe, or of the program in `--program`.
  absl::Status run(llvm::StringRef commandLine) override;

private:
  /// A program, and the settings of the model that it is compiled from; empty for a file.
  struct Subject {
    ExplainedProgram program;
    llvm::json::Object settings;
    const DeviceModel *device = nullptr;
    std::optional<CompilationTime> compilationTime;
  };

  absl::Status check();
  const DeviceModel &getDevice(Target target) const;
  /// Returns those of the program's names that the argument selects.
  absl::StatusOr<std::vector<std::string>> select(llvm::ArrayRef<llvm::StringRef> names) const;
  absl::StatusOr<Subject> explainFile(const CompileOptions &options);
  absl::StatusOr<Subject> explainModel(const CompileOptions &options) const;
  /// Explains the IR that `withIR` passes to a function.
  absl::StatusOr<Subject>
  explainIR(const CompileOptions &options,
            llvm::function_ref<absl::Status(llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp)>)> withIR) const;

  const Command &model;
  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Explaining"};
  llvm::cl::OptionCategory modelCategory{"The model"};
  llvm::cl::OptionCategory compileCategory{"Compiling"};
  llvm::cl::opt<std::string> kernel;
  TextFlag program;
  TextFlag profile;
  llvm::cl::opt<bool> compilationTime;
  PredictOnFlag predictOn;
  OutputFlags output;
  ModelFlags modelFlags;
  DeviceFlag device;
  CompileFlags compile;
  /// If the argument is the name of a kernel in the record: its commands.
  std::vector<std::string> recordedCommands;
};

} // namespace cs336::bench

#endif // CS336_BENCH_EXPLAIN_EXPLAINCOMMAND_H
