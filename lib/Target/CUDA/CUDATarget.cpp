//===- CUDATarget.cpp - Kernels as machine code of NVIDIA GPUs ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/CUDA/CUDATarget.h"

#include "KernelDump.h"
#include "KernelEmitter.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Target/CUDA/EmitCUDA.h"
#include "cs336/Target/NVRTC/CubinCache.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/StringExtras.h"

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
  bool wasCached = false;

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
  LogicalResult compile(Job &job, TimingScope &timing);

  MLIRContext *context;
  const NVRTC &compiler;
  StringRef dumpDir;
  std::optional<CubinCache> cache;
  std::mutex mutex;
  /// The reason why the cache cannot be written. It is the same for all kernels, so one message is enough.
  std::string storeError;
};

} // namespace

LogicalResult KernelCompiler::compile(Job &job, TimingScope &timing) {
  const CUDAKernel &kernel = *job.kernel;
  TimingScope scope = timing.nest(StringRef(kernel.name + " " + job.architecture.str()));
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
      job.wasCached = job.cubin.has_value();
    });
  }

  auto missing = llvm::make_filter_range(jobs, [](const Job &job) { return !job.cubin; });
  SmallVector<Job *> misses(llvm::make_pointer_range(missing));
  TimingScope scope = timing.nest(
      StringRef("NVRTC: " + std::to_string(misses.size()) + " of " + std::to_string(jobs.size()) + " cubins"));
  LogicalResult isCompiled =
      forEachInParallel(context, misses.size(), [&](size_t index) { return compile(*misses[index], scope); });
  if (!storeError.empty())
    emitWarning(loc) << "compiled kernels are not kept for the next run: " << storeError;
  if (cache && !misses.empty() && storeError.empty())
    cache->prune();
  return isCompiled;
}

/// Returns how to plan workspaces that are large enough for `architectures`.
static FailureOr<std::string> describePlanning(ModuleOp module, ArrayRef<std::string> architectures) {
  FailureOr<std::vector<std::string>> planned = getArchitectures(module);
  if (failed(planned))
    return failure();
  if (llvm::all_of(architectures, [&](const std::string &each) { return llvm::is_contained(*planned, each); }))
    return std::string(": run --exec-add-workspaces before --exec-plan-memory");
  std::string wanted = llvm::join(architectures, ","),
              known = planned->empty() ? portableTarget.name.str() : llvm::join(*planned, ",");
  return " for " + wanted + ", but the program was planned for " + known +
         ": plan it again with --cuda-select-schedules=arch=" + wanted +
         " before --cs336-pipeline or --exec-add-workspaces";
}

/// Rejects launches with a workspace that is too small for their kernel.
static LogicalResult checkWorkspaces(ModuleOp module, ArrayRef<CUDAKernel> kernels,
                                     ArrayRef<std::string> architectures) {
  llvm::StringMap<int64_t> bytesOfKernel;
  for (const CUDAKernel &kernel : kernels)
    bytesOfKernel[kernel.name] = kernel.getWorkspaceBytes();
  WalkResult result = module.walk([&](exec::LaunchOp launch) {
    int64_t wanted = bytesOfKernel.lookup(launch.getKernel()), bytes = 0;
    if (Value workspace = launch.getWorkspace())
      bytes = exec::getStorageBytes(cast<MemRefType>(workspace.getType()));
    if (bytes >= wanted)
      return WalkResult::advance();
    if (FailureOr<std::string> planning = describePlanning(module, architectures); succeeded(planning))
      launch.emitError() << "has a workspace of " << bytes << " bytes, and kernel '" << launch.getKernel() << "' needs "
                         << wanted << *planning;
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

/// Compiles the texts. Emits diagnostics about all of them at `loc`.
static FailureOr<std::vector<KernelCubin>> compileJobs(MLIRContext *context, ArrayRef<CUDAKernel> kernels,
                                                       const NVRTC &compiler, const CUDATargetOptions &options,
                                                       Location loc, TimingScope &timing) {
  std::vector<Job> jobs;
  for (const CUDAKernel &kernel : kernels)
    for (auto [index, implementation] : llvm::enumerate(kernel.implementations))
      for (StringRef architecture : implementation.architectures)
        jobs.push_back({&kernel, index, architecture, {}, {}});
  if (failed(KernelCompiler(context, compiler, options).run(jobs, loc, timing)))
    return failure();
  std::vector<KernelCubin> cubins;
  for (Job &job : jobs)
    cubins.push_back({job.kernel, job.implementation, *std::move(job.cubin), job.wasCached});
  return cubins;
}

FailureOr<std::vector<KernelCubin>> cuda::compileTexts(ModuleOp module, ArrayRef<CUDAKernel> kernels,
                                                       const CUDATargetOptions &options, TimingScope *timing) {
  TimingScope inactive;
  TimingScope &scope = timing ? *timing : inactive;
  TimingScope loading = scope.nest("Load NVRTC");
  FailureOr<NVRTC> compiler = loadCompiler(module.getLoc(), options.architectures);
  loading.stop();
  if (failed(compiler))
    return failure();
  return compileJobs(module.getContext(), kernels, *compiler, options, module.getLoc(), scope);
}

static CompiledKernels collect(ArrayRef<CUDAKernel> kernels, ArrayRef<KernelCubin> cubins) {
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
  for (const KernelCubin &compiled : cubins) {
    const Cubin &cubin = compiled.cubin;
    result.kernels[compiled.kernel->name].implementations[compiled.implementation].objects.push_back(
        result.objects.size());
    result.objects.push_back({cubin.architecture, {}, {cubin.image.begin(), cubin.image.end()}});
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
  if (failed(kernels) || failed(checkWorkspaces(module, *kernels, options.architectures)))
    return failure();
  // Writes the text before compiling, so that code that does not compile can be read.
  if (!options.dumpDir.empty() && failed(dumpTexts(*kernels, options.dumpDir, loc)))
    return failure();

  FailureOr<std::vector<KernelCubin>> cubins =
      compileJobs(module.getContext(), *kernels, *compiler, options, loc, scope);
  if (failed(cubins))
    return failure();
  if (!options.dumpDir.empty() && failed(dumpCubins(*cubins, options.dumpDir, loc)))
    return failure();
  return collect(*kernels, *cubins);
}
