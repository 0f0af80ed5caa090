//===- CuptiApi.cpp - CUPTI's activity records ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CuptiApi.h"

#include "device/cuda/SharedLibrary.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"

namespace cs336::runtime {

absl::StatusOr<std::shared_ptr<const CuptiApi>> CuptiApi::Load(const std::string &library_name) {
  CS336_ASSIGN_OR_RETURN(SharedLibrary library, SharedLibrary::Open(library_name, "nvidia-cuda-cupti"));
  std::shared_ptr<CuptiApi> api(new CuptiApi);
  absl::Status status;
  auto find = [&](auto &function, const char *symbol) { library.Bind(function, symbol, status); };
  find(api->GetVersion, "cuptiGetVersion");
  find(api->GetResultString, "cuptiGetResultString");
  find(api->ActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks");
  find(api->ActivityEnable, "cuptiActivityEnable");
  find(api->ActivityDisable, "cuptiActivityDisable");
  find(api->ActivityFlushAll, "cuptiActivityFlushAll");
  find(api->ActivityGetNextRecord, "cuptiActivityGetNextRecord");
  find(api->ActivityGetNumDroppedRecords, "cuptiActivityGetNumDroppedRecords");
  find(api->Subscribe, "cuptiSubscribe");
  find(api->Unsubscribe, "cuptiUnsubscribe");
  find(api->EnableCallback, "cuptiEnableCallback");
  find(api->GetGraphNodeId, "cuptiGetGraphNodeId");
  CS336_RETURN_IF_ERROR(status);
  return api;
}

absl::Status CuptiApi::ToStatus(int result, const char *call) const {
  if (result == cupti::kSuccess)
    return absl::OkStatus();
  const char *text = nullptr;
  if (GetResultString(result, &text) != cupti::kSuccess || !text)
    text = "an unnamed error";
  std::string message = absl::StrCat("cupti", call, ": ", text, " (", result, ")");
  switch (result) {
  case cupti::kMultipleSubscribers:
    return absl::FailedPreconditionError(absl::StrCat(message, ": another tool profiles this process"));
  case cupti::kInsufficientPrivileges:
    return absl::PermissionDeniedError(absl::StrCat(
        message, ": the driver reserves profiling for administrators (NVreg_RestrictProfilingToAdminUsers)"));
  default:
    return absl::InternalError(message);
  }
}

} // namespace cs336::runtime
