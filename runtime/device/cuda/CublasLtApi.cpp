//===- CublasLtApi.cpp - cuBLASLt's functions -----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CublasLtApi.h"

#include "device/cuda/SharedLibrary.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"

namespace cs336::runtime {

absl::StatusOr<std::shared_ptr<const CublasLtApi>> CublasLtApi::Load(const std::string &library_name) {
  CS336_ASSIGN_OR_RETURN(SharedLibrary library, SharedLibrary::Open(library_name, "nvidia-cublas"));
  std::shared_ptr<CublasLtApi> api(new CublasLtApi);
  absl::Status status;
  auto find = [&](auto &function, const char *symbol) { library.Bind(function, symbol, status); };
  find(api->GetStatusString, "cublasLtGetStatusString");
  find(api->GetVersion, "cublasLtGetVersion");
  find(api->Create, "cublasLtCreate");
  find(api->Destroy, "cublasLtDestroy");
  find(api->MatmulDescCreate, "cublasLtMatmulDescCreate");
  find(api->MatmulDescDestroy, "cublasLtMatmulDescDestroy");
  find(api->MatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute");
  find(api->MatrixLayoutCreate, "cublasLtMatrixLayoutCreate");
  find(api->MatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy");
  find(api->MatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute");
  find(api->MatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate");
  find(api->MatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy");
  find(api->MatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute");
  find(api->MatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic");
  find(api->MatmulAlgoCheck, "cublasLtMatmulAlgoCheck");
  find(api->Matmul, "cublasLtMatmul");
  CS336_RETURN_IF_ERROR(status);
  return api;
}

absl::Status CublasLtApi::ToStatus(int status, const char *call) const {
  absl::StatusCode code = absl::StatusCode::kInternal;
  switch (status) {
  case cublaslt::kSuccess:
    return absl::OkStatus();
  case cublaslt::kNotSupported:
    code = absl::StatusCode::kUnimplemented;
    break;
  case cublaslt::kAllocFailed:
    code = absl::StatusCode::kResourceExhausted;
    break;
  case cublaslt::kArchMismatch:
    code = absl::StatusCode::kFailedPrecondition;
    break;
  }
  return absl::Status(code, absl::StrCat("cublasLt", call, ": ", GetStatusString(status), " (status ", status, ")"));
}

} // namespace cs336::runtime
