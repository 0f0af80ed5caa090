//===- KernelForms.cpp - Computations independent of shapes ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelForms.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;
using namespace cs336::cuda;

FailureOr<const KernelForm *> KernelForms::find(exec::LaunchOp launch) {
  auto [entry, isNew] = forms.try_emplace(launch.getKernelAttr().getAttr());
  if (!isNew)
    return entry->second.get();
  OpBuilder builder = OpBuilder::atBlockEnd(linalgForms->getBody());
  FailureOr<DeviceKernel> kernel = DeviceKernel::read(getKernel(launch), builder);
  if (failed(kernel))
    return failure();
  if (splitIndependentOutputs(*kernel).size() != 1)
    return nullptr;
  std::string whyNot;
  FailureOr<FlatProgram> flat = FlatProgram::read(*kernel, whyNot);
  if (failed(flat))
    return nullptr;

  auto form = std::make_unique<KernelForm>();
  form->isScalar.assign(kernel->numInputs, false);
  std::vector<const void *> key = std::move(flat->form);
  auto append = [&](uintptr_t number) { key.push_back(reinterpret_cast<const void *>(number)); };
  append(kernel->numInputs);
  for (auto [operand, isScalar] : llvm::zip_equal(flat->operands, flat->isScalar)) {
    append(operand);
    if (operand < kernel->numInputs)
      form->isScalar[operand] = isScalar;
  }
  form->number = numbers.try_emplace(std::move(key), numbers.size()).first->second;
  entry->second = std::move(form);
  return entry->second.get();
}

exec::KernelOp KernelForms::insert(exec::KernelOp kernel) {
  if (auto known = symbols.lookup<exec::KernelOp>(kernel.getSymName())) {
    kernel.erase();
    return known;
  }
  symbols.insert(kernel, Block::iterator(*module.getOps<exec::EntryOp>().begin()));
  return kernel;
}

void KernelForms::eraseUnlaunched(ArrayRef<exec::KernelOp> kernels) {
  llvm::StringSet<> launched;
  module.walk([&](exec::LaunchOp launch) { launched.insert(launch.getKernel()); });
  for (exec::KernelOp kernel : kernels)
    if (!launched.contains(kernel.getSymName()))
      symbols.erase(kernel);
}
