//===- SessionRun.cpp - All entries of a program in a session -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fuzz/SessionRun.h"

#include "cs336/runtime/Session.h"
#include "status/StatusMacros.h"

#include <utility>
#include <vector>

namespace cs336::runtime::testing {

absl::Status RunInSession(std::shared_ptr<const Executable> executable) {
  SessionOptions options;
  options.num_threads = 1;
  options.memory_limit_bytes = int64_t{1} << 26;
  const auto &entries = executable->entries();
  CS336_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(executable, options));
  CS336_RETURN_IF_ERROR(session->InitializeVariables(/*seed=*/1));
  for (const auto &entry : entries) {
    std::vector<Tensor> values;
    for (const auto &input : entry->inputs) {
      CS336_ASSIGN_OR_RETURN(Tensor value, Tensor::Create(ToTensorType(*input->type)));
      values.push_back(std::move(value));
    }
    std::vector<NamedTensor> inputs;
    for (size_t i = 0; i != values.size(); ++i)
      inputs.push_back({entry->inputs[i]->name, values[i]});
    CS336_RETURN_IF_ERROR(session->Run(entry->name, inputs));
    for (const auto &output : entry->outputs)
      CS336_RETURN_IF_ERROR(session->Output(entry->name, output->name).status());
  }
  return absl::OkStatus();
}

} // namespace cs336::runtime::testing
