//===- cs336-bench.cpp - Measures models ----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DoctorCommand.h"
#include "ModelCommand.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

using namespace cs336::bench;
namespace cl = llvm::cl;

static constexpr llvm::StringLiteral kOverview = R"(Measures Transformer training

Flags that describe the model take lists with commas; every combination is measured. The mode is forward if nothing is
said.
Forward, forward and backward, and the whole step of one size:
  cs336-bench model --size small --mode forward,forward_backward,train --steps 5
Any hyper-parameters, in the flags of published scripts:
  cs336-bench model --n_layers 4 --d_model 512 --n_heads 16 --d_ff 1344 --warmup_steps 5 --n_steps 10 --backward
Float32 beside bfloat16:
  cs336-bench model --size small --mode forward,train --dtype fp32,bf16
A sweep over sizes and contexts, and the effect of warming up, as Markdown:
  cs336-bench model --size small,medium --context-length 128,256 --warmup 0,1,2,5 --format markdown
What this machine has, and what is missing for what:
  cs336-bench doctor
All flags: cs336-bench model --help
)";

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  ModelCommand model;
  cl::OptionCategory none{"No options without a subcommand"};
  cl::HideUnrelatedOptions(none);
  model.hideOtherOptions();
  DoctorCommand doctor;
  doctor.hideOtherOptions();
  cl::ParseCommandLineOptions(argc, argv, kOverview);
  if (!model.getSubCommand() && !doctor.getSubCommand()) {
    llvm::WithColor::error(llvm::errs(), "cs336-bench")
        << "say what to do: cs336-bench model --help, cs336-bench doctor --help\n";
    return 1;
  }
  absl::Status status = doctor.getSubCommand() ? doctor.run() : model.run();
  if (status.ok())
    return 0;
  llvm::WithColor::error(llvm::errs(), "cs336-bench") << std::string(status.message()) << "\n";
  return 1;
}
