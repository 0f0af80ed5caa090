//===- NcclApi.cpp - NCCL's functions -------------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/NcclApi.h"

#include "device/cuda/SharedLibrary.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"

namespace cs336::runtime {

namespace {

std::string NcclVersionText(int version) {
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

} // namespace

absl::StatusOr<std::shared_ptr<const NcclApi>> NcclApi::Load(const std::string &library_name) {
  CS336_ASSIGN_OR_RETURN(SharedLibrary library, SharedLibrary::Open(library_name, "nvidia-nccl-cu13"));
  std::shared_ptr<NcclApi> api(new NcclApi);
  CS336_ASSIGN_OR_RETURN(api->GetVersion, library.Find<decltype(api->GetVersion)>("ncclGetVersion"));
  int version = 0;
  if (api->GetVersion(&version) != nccl::kSuccess || version < kRequiredVersion)
    return absl::FailedPreconditionError(absl::StrCat(library.name(), " is NCCL ", NcclVersionText(version), ", but ",
                                                      NcclVersionText(kRequiredVersion),
                                                      " is needed: install the wheel nvidia-nccl-cu13"));
  absl::Status status;
  auto find = [&](auto &function, const char *symbol) { library.Bind(function, symbol, status); };
  find(api->GetErrorString, "ncclGetErrorString");
  find(api->GetLastError, "ncclGetLastError");
  find(api->GetUniqueId, "ncclGetUniqueId");
  find(api->CommInitRankConfig, "ncclCommInitRankConfig");
  find(api->CommFinalize, "ncclCommFinalize");
  find(api->CommDestroy, "ncclCommDestroy");
  find(api->CommAbort, "ncclCommAbort");
  find(api->CommGetAsyncError, "ncclCommGetAsyncError");
  find(api->GroupStart, "ncclGroupStart");
  find(api->GroupEnd, "ncclGroupEnd");
  find(api->AllReduce, "ncclAllReduce");
  find(api->AllGather, "ncclAllGather");
  find(api->ReduceScatter, "ncclReduceScatter");
  find(api->Broadcast, "ncclBroadcast");
  find(api->AllToAll, "ncclAlltoAll");
  CS336_RETURN_IF_ERROR(status);
  return api;
}

absl::Status NcclApi::ToStatus(int result, const char *call) const {
  if (result == nccl::kSuccess)
    return absl::OkStatus();
  const char *last = GetLastError(nullptr);
  return absl::InternalError(
      absl::StrCat("nccl", call, ": ", GetErrorString(result), last && *last ? ": " : "", last ? last : ""));
}

} // namespace cs336::runtime
