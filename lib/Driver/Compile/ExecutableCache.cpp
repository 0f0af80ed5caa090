//===- ExecutableCache.cpp - Executables kept on disk ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExecutableCache.h"

#include "cs336/Support/BuildId.h"
#include "cs336/Support/ReadInput.h"
#include "cs336/Target/CPU/CPUTarget.h"
#include "cs336/Target/NVRTC/NVRTC.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace cs336;

static constexpr llvm::StringLiteral kMagic = "cs336-executable 2";

static std::string getFolderOfExecutables(StringRef folder) {
  SmallString<128> executables(folder);
  llvm::sys::path::append(executables, "executables");
  return executables.str().str();
}

ExecutableCache::ExecutableCache(StringRef folder) : files(getFolderOfExecutables(folder), kMagic) {}

/// Returns whether a compilation has other outputs than an executable.
static bool hasSideOutputs(ModuleOp module, const CompileOptions &options) {
  return !options.dumpDir.empty() || options.passStatistics || (options.timing && *options.timing) ||
         module.getContext()->getRemarkEngine();
}

/// Adds the tuned schedules that the pipeline reads. Fails if a file is read that the key cannot have.
static LogicalResult addTunedSchedules(StringRef text, CacheKey &key) {
  PipelineOptions pipeline;
  if (llvm::Error error = pipeline.read(text)) {
    llvm::consumeError(std::move(error));
    return failure();
  }
  // The option `tuned` of --cuda-select-schedules.
  if (pipeline.hasExtraPasses() && text.contains("tuned="))
    return failure();
  if (pipeline.tunedSchedules.empty())
    return success();
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> file = readInput(pipeline.tunedSchedules);
  if (!file) {
    llvm::consumeError(file.takeError());
    return failure();
  }
  key.add((*file)->getBuffer());
  return success();
}

/// Adds the compiler and the target of kernels. Fails if they are unknown.
static LogicalResult addTarget(const CompileOptions &options, CacheKey &key) {
  switch (options.target) {
  case Target::CPU:
    key.add("cpu");
    key.add(options.cpu);
    if (options.cpu != "host")
      return success();
    // Code may use the instructions of the level, and is scheduled for the processor.
    key.add(getHostInstructionSet());
    key.add(llvm::sys::getHostCPUName());
    return success();
  case Target::CUDA:
    key.add("cuda");
    llvm::Expected<std::string> compiler = NVRTC::identify();
    if (!compiler) {
      llvm::consumeError(compiler.takeError());
      return failure();
    }
    key.add(*compiler);
    for (const std::string &architecture : options.architectures)
      key.add(architecture);
    return success();
  }
  llvm_unreachable("every target has a case");
}

std::optional<std::string> ExecutableCache::getKey(ModuleOp module, const CompileOptions &options) {
  if (options.cacheFolder.empty() || hasSideOutputs(module, options))
    return std::nullopt;
  std::optional<std::string> buildId = getCompilerBuildId();
  CacheKey key;
  if (!buildId || failed(addTarget(options, key)) || failed(addTunedSchedules(options.pipeline, key)))
    return std::nullopt;
  key.add(*buildId);
  key.add(options.pipeline);
  key.add(std::to_string(options.deviceMemoryBytes));
  // Prints locations too, which an executable contains.
  std::string bytecode;
  llvm::raw_string_ostream stream(bytecode);
  if (failed(writeBytecodeToFile(module, stream)))
    return std::nullopt;
  key.add(bytecode);
  return key.finish();
}

std::optional<std::vector<uint8_t>> ExecutableCache::find(StringRef key) const {
  std::optional<std::string> bytes = files.find(key);
  if (!bytes)
    return std::nullopt;
  return std::vector<uint8_t>(bytes->begin(), bytes->end());
}

llvm::Error ExecutableCache::store(StringRef key, ArrayRef<uint8_t> executable) const {
  if (llvm::Error error = files.store(key, llvm::toStringRef(executable)))
    return error;
  files.prune();
  return llvm::Error::success();
}
