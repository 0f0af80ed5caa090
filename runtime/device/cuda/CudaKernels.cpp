//===- CudaKernels.cpp - An executable's kernels on a GPU -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaKernels.h"

#include "device/cuda/Architecture.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <limits>
#include <set>
#include <string>
#include <utility>

namespace cs336::runtime {

namespace {

/// Checks that the image contains what its headers describe: the driver is not
/// given its size and does not check it.
absl::Status CheckCubin(const std::vector<uint8_t> &image) {
  Elf64_Ehdr header;
  if (image.size() < sizeof(header))
    return absl::DataLossError("a code object is not a cubin");
  std::memcpy(&header, image.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != EM_CUDA)
    return absl::DataLossError("a code object is not a cubin");
  auto is_inside = [&](uint64_t offset, uint64_t size) {
    return offset <= image.size() && size <= image.size() - offset;
  };
  bool is_whole = is_inside(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)) &&
                  is_inside(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  for (size_t i = 0; is_whole && i != header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image.data() + header.e_shoff + i * sizeof(section), sizeof(section));
    is_whole = section.sh_type == SHT_NOBITS || is_inside(section.sh_offset, section.sh_size);
  }
  return is_whole ? absl::OkStatus() : absl::DataLossError("a code object is truncated");
}

absl::Status NoCodeFor(const format::ExecutableT &executable, const CudaContext &context) {
  std::set<std::string> targets;
  for (const auto &object : executable.objects)
    targets.insert(object->target);
  ComputeCapability device = context.compute_capability();
  return absl::FailedPreconditionError(absl::StrCat("its kernels are for ", absl::StrJoin(targets, ", "), ", but ",
                                                    context.Description(), " has compute capability ", ToString(device),
                                                    ": compile it with --arch ", TargetFor(device)));
}

absl::StatusOr<CudaFunction> FindFunction(CUmodule module, const format::FunctionT &description,
                                          const CudaContext &context) {
  const DriverApi &driver = context.driver();
  CudaFunction function;
  // Verification has bounded these numbers.
  function.blocks = static_cast<unsigned>(description.blocks);
  function.threads = static_cast<unsigned>(description.threads);
  function.cluster = static_cast<unsigned>(description.cluster);
  function.symbol = description.symbol;
  for (const auto &map : description.tensor_maps)
    function.tensor_maps.push_back(*map);
  if (absl::Status status = driver.ModuleGetFunction(&function.handle, module, description.symbol.c_str());
      !status.ok())
    return absl::DataLossError(
        absl::StrCat("its code object has no function '", description.symbol, "': ", status.message()));
  // Otherwise the driver loads it at the first launch, which a capture cannot
  // contain.
  CS336_RETURN_IF_ERROR(driver.FuncLoad(function.handle));

  int most_threads = 0;
  CS336_RETURN_IF_ERROR(
      driver.FuncGetAttribute(&most_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function.handle));
  if (description.threads > most_threads)
    return absl::FailedPreconditionError(
        absl::StrCat("blocks of ", description.threads, " threads, and ", context.Description(), " runs it with ",
                     most_threads, " at most: compile it with --arch ", TargetFor(context.compute_capability())));
  function.shared_bytes = static_cast<unsigned>(description.shared_bytes);
  if (description.shared_bytes == 0)
    return function;
  int bytes = static_cast<int>(std::min<int64_t>(description.shared_bytes, std::numeric_limits<int>::max()));
  if (absl::Status status =
          driver.FuncSetAttribute(function.handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
      !status.ok())
    return absl::FailedPreconditionError(absl::StrCat(
        "blocks with ", description.shared_bytes, " bytes of dynamic shared memory, and ", context.Description(),
        " has ", context.shared_bytes_per_block(), " in all: compile it with --arch ",
        TargetFor(context.compute_capability()), " (", status.message(), ")"));
  return function;
}

} // namespace

absl::StatusOr<CUmodule> CudaKernels::LoadModule(const format::CodeObjectT &object, uint32_t index,
                                                 const CudaContext &context) {
  auto found = modules_.find(index);
  if (found != modules_.end())
    return found->second.get();
  CS336_RETURN_IF_ERROR(CheckCubin(object.image));
  absl::StatusOr<CudaModule> module = LoadCudaModule(context, object.image.data());
  if (!module.ok())
    return Annotate(module.status(), absl::StrCat("a code object for ", object.target));
  return modules_.emplace(index, *std::move(module)).first->second.get();
}

absl::StatusOr<CudaKernels> CudaKernels::Load(const Executable &executable, const CudaContext &context) {
  CurrentContext current(context);
  CS336_RETURN_IF_ERROR(current.status());
  const format::ExecutableT &description = executable.description();
  CudaKernels kernels;
  for (const auto &kernel : description.kernels) {
    std::vector<std::string> targets;
    std::vector<std::pair<const format::ImplementationT *, uint32_t>> candidates;
    for (const auto &implementation : kernel->implementations)
      for (uint32_t object : implementation->objects) {
        targets.push_back(description.objects[object]->target);
        candidates.emplace_back(implementation.get(), object);
      }
    absl::optional<size_t> chosen = ChooseTarget(targets, context.compute_capability());
    if (!chosen)
      return NoCodeFor(description, context);
    std::string where = absl::StrCat("kernel '", kernel->name, "'");
    auto [implementation, object] = candidates[*chosen];
    absl::StatusOr<CUmodule> module = kernels.LoadModule(*description.objects[object], object, context);
    if (!module.ok())
      return Annotate(module.status(), where);
    CudaKernel &loaded = kernels.kernels_.emplace_back();
    loaded.uses_workspace = implementation->workspace_bytes != 0;
    for (const auto &function : implementation->functions) {
      absl::StatusOr<CudaFunction> found = FindFunction(*module, *function, context);
      if (!found.ok())
        return Annotate(found.status(), where);
      loaded.functions.push_back(*std::move(found));
    }
  }
  return kernels;
}

} // namespace cs336::runtime
