//===- CUDATarget.cpp - Kernels as machine code of NVIDIA GPUs ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/CUDA/CUDATarget.h"

#include "KernelDump.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Target/CUDA/EmitCUDA.h"
#include "cs336/Target/NVRTC/CubinCache.h"
#include "mlir/IR/Threading.h"

#include <mutex>

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

namespace {

/// A kernel for one architecture.
struct Job {
  const CUDAKernel *kernel;
  size_t implementation; // Its position in the kernel.
  StringRef architecture;
  std::string key;
  std::optional<Cubin> cubin;

  const std::string &getText() const { return kernel->implementations[implementation].text; }
};

/// Compiles kernels, or finds them in the cache of earlier runs.
class KernelCompiler {
public:
  KernelCompiler(MLIRContext *context, const NVRTC &compiler, const CUDATargetOptions &options)
      : context(context), compiler(compiler), dumpDir(options.dumpDir) {
    if (!options.cacheFolder.empty())
      cache.emplace(options.cacheFolder);
  }

  /// Gives every job its cubin.
  LogicalResult run(MutableArrayRef<Job> jobs, Location loc, TimingScope &timing);

private:
  LogicalResult compile(Job &job);

  MLIRContext *context;
  const NVRTC &compiler;
  StringRef dumpDir;
  std::optional<CubinCache> cache;
  std::mutex mutex;
  /// The reason why the cache cannot be written. It is the same for all kernels, so one message is enough.
  std::string storeError;
};

} // namespace

LogicalResult KernelCompiler::compile(Job &job) {
  const CUDAKernel &kernel = *job.kernel;
  llvm::Expected<Cubin> cubin = compiler.compile(job.getText(), kernel.name + ".cu", job.architecture);
  if (!cubin) {
    InFlightDiagnostic diagnostic = emitError(kernel.loc)
                                    << "kernel '" << kernel.name << "': " << llvm::toString(cubin.takeError());
    if (dumpDir.empty())
      diagnostic.attachNote() << "--dump-dir keeps the text of every kernel";
    else
      diagnostic.attachNote() << "its text is in '" << getTextPath(dumpDir, kernel, job.implementation) << "'";
    return diagnostic;
  }
  job.cubin = std::move(*cubin);
  if (!cache)
    return success();
  if (llvm::Error error = cache->store(job.key, *job.cubin)) {
    std::scoped_lock lock(mutex);
    storeError = llvm::toString(std::move(error));
  }
  return success();
}

LogicalResult KernelCompiler::run(MutableArrayRef<Job> jobs, Location loc, TimingScope &timing) {
  if (cache) {
    TimingScope scope = timing.nest("Look for cubins in the cache");
    parallelForEach(context, jobs, [&](Job &job) {
      job.key = CubinCache::getKey(compiler, job.getText(), job.architecture);
      job.cubin = cache->find(job.key);
    });
  }

  auto missing = llvm::make_filter_range(jobs, [](const Job &job) { return !job.cubin; });
  SmallVector<Job *> misses(llvm::make_pointer_range(missing));
  TimingScope scope = timing.nest(
      StringRef("NVRTC: " + std::to_string(misses.size()) + " of " + std::to_string(jobs.size()) + " cubins"));
  ParallelDiagnosticHandler diagnostics(context);
  LogicalResult isCompiled = failableParallelForEachN(context, 0, misses.size(), [&](size_t index) {
    diagnostics.setOrderIDForThread(index);
    LogicalResult result = compile(*misses[index]);
    diagnostics.eraseOrderIDForThread();
    return result;
  });
  if (!storeError.empty())
    emitWarning(loc) << "compiled kernels are not kept for the next run: " << storeError;
  if (cache && !misses.empty() && storeError.empty())
    cache->prune();
  return isCompiled;
}

/// Rejects launches with a workspace that is too small for their kernel.
static LogicalResult checkWorkspaces(ModuleOp module, ArrayRef<CUDAKernel> kernels) {
  llvm::StringMap<int64_t> bytesOfKernel;
  for (const CUDAKernel &kernel : kernels)
    bytesOfKernel[kernel.name] = kernel.getWorkspaceBytes();
  WalkResult result = module.walk([&](exec::LaunchOp launch) {
    int64_t wanted = bytesOfKernel.lookup(launch.getKernel()), bytes = 0;
    if (Value workspace = launch.getWorkspace())
      bytes = exec::getStorageBytes(cast<MemRefType>(workspace.getType()));
    if (bytes >= wanted)
      return WalkResult::advance();
    launch.emitError() << "has a workspace of " << bytes << " bytes, and kernel '" << launch.getKernel() << "' needs "
                       << wanted << ": run --exec-add-workspaces before --exec-plan-memory";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static FailureOr<NVRTC> loadCompiler(Location loc, ArrayRef<std::string> architectures) {
  llvm::Expected<NVRTC> compiler = NVRTC::load();
  if (!compiler)
    return emitError(loc) << llvm::toString(compiler.takeError());
  for (const std::string &architecture : architectures)
    if (llvm::Error error = compiler->checkArchitecture(architecture))
      return emitError(loc) << llvm::toString(std::move(error));
  return std::move(*compiler);
}

static CompiledKernels collect(ArrayRef<CUDAKernel> kernels, ArrayRef<Job> jobs) {
  CompiledKernels result;
  result.target = Target::CUDA;
  for (const CUDAKernel &kernel : kernels) {
    CompiledKernel &compiled = result.kernels[kernel.name];
    for (const CUDAImplementation &source : kernel.implementations) {
      KernelImplementation &implementation = compiled.implementations.emplace_back();
      implementation.functions.assign(source.functions.begin(), source.functions.end());
      implementation.text = source.text;
      implementation.workspaceBytes = source.workspaceBytes;
    }
    compiled.alignments.assign(kernel.alignments.begin(), kernel.alignments.end());
  }
  for (const Job &job : jobs) {
    result.kernels[job.kernel->name].implementations[job.implementation].objects.push_back(result.objects.size());
    result.objects.push_back({job.cubin->architecture, {}, {job.cubin->image.begin(), job.cubin->image.end()}});
  }
  return result;
}

FailureOr<CompiledKernels> cs336::compileKernelsForCUDA(ModuleOp module, const CUDATargetOptions &options,
                                                        TimingScope *timing) {
  TimingScope inactive;
  TimingScope &scope = timing ? *timing : inactive;
  Location loc = module.getLoc();
  if (options.architectures.empty())
    return emitError(loc) << "no architecture to compile kernels for: name one, such as sm_90a";

  TimingScope loading = scope.nest("Load NVRTC");
  FailureOr<NVRTC> compiler = loadCompiler(loc, options.architectures);
  loading.stop();
  if (failed(compiler))
    return failure();

  TimingScope emitting = scope.nest("Write CUDA text");
  FailureOr<std::vector<CUDAKernel>> kernels = emitCUDAKernels(module, options.architectures);
  emitting.stop();
  if (failed(kernels) || failed(checkWorkspaces(module, *kernels)))
    return failure();
  // Writes the text before compiling, so that code that does not compile can be read.
  if (!options.dumpDir.empty() && failed(dumpTexts(*kernels, options.dumpDir, loc)))
    return failure();

  std::vector<Job> jobs;
  for (const CUDAKernel &kernel : *kernels)
    for (auto [index, implementation] : llvm::enumerate(kernel.implementations))
      for (StringRef architecture : implementation.architectures)
        jobs.push_back({&kernel, index, architecture, {}, {}});
  if (failed(KernelCompiler(module.getContext(), *compiler, options).run(jobs, loc, scope)))
    return failure();
  if (!options.dumpDir.empty()) {
    auto cubins = llvm::map_to_vector(
        jobs, [](const Job &job) { return DumpedCubin{job.kernel, job.implementation, &*job.cubin}; });
    if (failed(dumpCubins(cubins, options.dumpDir, loc)))
      return failure();
  }
  return collect(*kernels, jobs);
}
