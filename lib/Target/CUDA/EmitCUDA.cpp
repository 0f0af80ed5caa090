//===- EmitCUDA.cpp - Kernels as CUDA C++ text ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/CUDA/EmitCUDA.h"

#include "DeviceSources.h"
#include "cs336/Codegen/KernelToLinalg.h"
#include "cs336/Dialect/Exec/IR/CommandSource.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Target/CUDA/KernelSchedule.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

namespace {

using Launches = llvm::StringMap<SmallVector<exec::LaunchOp>>;

class ModuleEmitter {
public:
  ModuleEmitter(ModuleOp module, const CUDAOptions &options)
      : module(module), options(options), linalgForms(ModuleOp::create(module.getLoc())),
        schedules(createKernelSchedules()) {
    module.walk([&](exec::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
  }

  LogicalResult emit(raw_ostream &os);

private:
  FailureOr<DeviceKernel> readKernel(exec::KernelOp kernel);
  LogicalResult emitKernel(exec::KernelOp kernel);
  LogicalResult reportRefusal(exec::KernelOp kernel, StringRef reasons);
  void emitComment(exec::KernelOp kernel, const DeviceKernel &form, StringRef schedule,
                   const ScheduledKernel &scheduled);

  ModuleOp module;
  const CUDAOptions &options;
  /// Holds the kernels' linalg forms while the text is written.
  OwningOpRef<ModuleOp> linalgForms;
  SmallVector<std::unique_ptr<KernelSchedule>> schedules;
  Launches launches;

  DeviceSources sources;
  std::string kernels;
  llvm::raw_string_ostream text{kernels};
};

} // namespace

/// Storage is aligned to at least this.
static constexpr int64_t storageAlignment = 16;

/// What the address of element 0 of the buffer is a multiple of, in bytes.
static int64_t getAlignment(MemRefType type) {
  int64_t elementBytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8), offset;
  SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, offset)) || ShapedType::isDynamic(offset))
    return elementBytes;
  return std::gcd(offset * elementBytes, storageAlignment);
}

FailureOr<DeviceKernel> ModuleEmitter::readKernel(exec::KernelOp kernel) {
  OpBuilder builder = OpBuilder::atBlockEnd(linalgForms->getBody());
  FailureOr<func::FuncOp> function = lowerKernelToLinalg(kernel, builder);
  if (failed(function))
    return failure();
  DeviceKernel form{kernel.getSymName().str(), *function, {}, {}, static_cast<unsigned>(kernel.getInTypes().size())};
  for (Type type : llvm::concat<const Type>(kernel.getInTypes(), kernel.getOutTypes()))
    form.operands.push_back(cast<MemRefType>(type));
  form.alignments.assign(form.operands.size(), storageAlignment);
  for (exec::LaunchOp launch : launches[kernel.getSymName()])
    for (auto [alignment, buffer] : llvm::zip_equal(form.alignments, launch->getOperands()))
      alignment = std::gcd(alignment, getAlignment(cast<MemRefType>(buffer.getType())));
  return form;
}

LogicalResult ModuleEmitter::reportRefusal(exec::KernelOp kernel, StringRef reasons) {
  std::string what = ("has no CUDA text: no schedule accepts it (" + reasons + ")").str();
  if (options.requireAll)
    return emitError(kernel.getLoc()) << "kernel '" << kernel.getSymName() << "' " << what;
  emitRemark(kernel.getLoc()) << "kernel '" << kernel.getSymName() << "' " << what;
  text << "\n// " << kernel.getSymName() << " " << what << ".\n";
  return success();
}

/// The operations of the kernel's body, in order: "cs336.sigmoid, cs336.mul".
static std::string listOperations(exec::KernelOp kernel) {
  std::string list;
  for (Operation &op : kernel.getBody().front().without_terminator())
    list += (list.empty() ? "" : ", ") + op.getName().getStringRef().str();
  return list;
}

void ModuleEmitter::emitComment(exec::KernelOp kernel, const DeviceKernel &form, StringRef schedule,
                                const ScheduledKernel &scheduled) {
  text << "\n//===- " << form.name << " -===//\n//\n// Computes " << listOperations(kernel) << ".\n";
  SmallVector<exec::LaunchOp> uses = launches.lookup(form.name);
  if (!uses.empty()) {
    auto first = cast<exec::CommandOpInterface>(uses.front().getOperation());
    text << "// Launched for " << exec::getSourcePath(first->getLoc()) << " ("
         << exec::stringifyCommandPhase(first.getPhase()) << ")";
    if (uses.size() > 1)
      text << " and " << uses.size() - 1 << (uses.size() == 2 ? " other" : " others");
    text << ".\n";
  }
  LaunchGeometry geometry = scheduled.getLaunchGeometry();
  text << "// Schedule " << schedule << ": " << scheduled.describe() << ".\n// Grid of " << geometry.blocks
       << (geometry.blocks == 1 ? " block" : " blocks") << " of " << geometry.threads << " threads";
  if (geometry.sharedBytes != 0)
    text << ", " << geometry.sharedBytes << " bytes of shared memory";
  text << ".\n//\n";
  for (auto [i, type] : llvm::enumerate(form.operands))
    text << "//   " << form.getOperandName(i) << ": " << type << "\n";
  text << "//\n//===----------------------------------------------------------------------===//\n\n";
}

/// Whether `name` can be that of a C function.
static bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

LogicalResult ModuleEmitter::emitKernel(exec::KernelOp kernel) {
  if (!isIdentifier(kernel.getSymName()))
    return kernel.emitError("has a name that no CUDA function can have: use letters, digits and underscores");
  FailureOr<DeviceKernel> form = readKernel(kernel);
  if (failed(form))
    return failure();

  std::string reasons;
  for (const std::unique_ptr<KernelSchedule> &schedule : schedules) {
    std::string whyNot;
    std::unique_ptr<ScheduledKernel> scheduled = schedule->schedule(*form, whyNot);
    if (!scheduled) {
      reasons += (reasons.empty() ? "" : "; ") + (schedule->getName() + ": it " + whyNot).str();
      continue;
    }
    scheduled->collectDeviceSources(sources);
    emitComment(kernel, *form, schedule->getName(), *scheduled);
    scheduled->emit(text);
    return success();
  }
  return reportRefusal(kernel, reasons);
}

LogicalResult ModuleEmitter::emit(raw_ostream &os) {
  for (auto kernel : module.getOps<exec::KernelOp>())
    if (failed(emitKernel(kernel)))
      return failure();

  os << "// CUDA C++ generated by cs336-translate --emit-cuda: for NVRTC or nvcc, C++17, compute capability 8.0 and "
        "later.\n\n";
  SmallVector<StringRef> names = sources.takeVector();
  llvm::sort(names);
  for (StringRef name : names)
    os << getDeviceSource(name) << "\n";
  os << kernels;
  return success();
}

LogicalResult cs336::emitCUDA(ModuleOp module, raw_ostream &os, const CUDAOptions &options) {
  return ModuleEmitter(module, options).emit(os);
}
