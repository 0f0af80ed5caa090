//===- FakeNvtx.cpp - A tool that listens to NVTX -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fake_nvtx/FakeNvtx.h"

#include <algorithm>
#include <memory>
#include <nvtx3/nvToolsExt.h>

using cs336::runtime::testing::FakeNvtx;
using cs336::runtime::testing::TheFakeNvtx;

FakeNvtx &cs336::runtime::testing::TheFakeNvtx() {
  static FakeNvtx fake;
  return fake;
}

namespace {

nvtxDomainHandle_t CreateDomain(const char *name) {
  TheFakeNvtx().domains.emplace_back(name);
  return reinterpret_cast<nvtxDomainHandle_t>(new std::string(name));
}

void DestroyDomain(nvtxDomainHandle_t domain) {
  std::unique_ptr<std::string> name(reinterpret_cast<std::string *>(domain));
  std::vector<std::string> &domains = TheFakeNvtx().domains;
  domains.erase(std::find(domains.begin(), domains.end(), *name));
}

int Push(nvtxDomainHandle_t, const nvtxEventAttributes_t *attributes) {
  FakeNvtx &fake = TheFakeNvtx();
  fake.open.emplace_back(attributes->message.ascii);
  fake.events.push_back("+" + fake.open.back());
  return static_cast<int>(fake.open.size()) - 1;
}

int Pop(nvtxDomainHandle_t) {
  FakeNvtx &fake = TheFakeNvtx();
  if (fake.open.empty()) {
    fake.events.emplace_back("a range that was not open");
    return -1;
  }
  fake.events.push_back("-" + fake.open.back());
  fake.open.pop_back();
  return static_cast<int>(fake.open.size());
}

} // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  auto *callbacks = static_cast<const NvtxExportTableCallbacks *>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned count = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, &count))
    return 0;
  *functions[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(CreateDomain);
  *functions[NVTX_CBID_CORE2_DomainDestroy] = reinterpret_cast<NvtxFunctionPointer>(DestroyDomain);
  *functions[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(Push);
  *functions[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(Pop);
  return 1;
}
