//===- NVRTC.h - From CUDA C++ text to machine code -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_NVRTC_NVRTC_H
#define CS336_TARGET_NVRTC_NVRTC_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace cs336 {

/// The machine code of all kernels of a text.
struct Cubin {
  struct Kernel {
    std::string name;
    /// Registers per thread, and bytes of local memory that they spill to.
    unsigned registers = 0;
    unsigned spilledBytes = 0;
    /// True if the assembler makes asynchronous matmuls wait for each other, which is slow. False for kernels from the
    /// cache, which does not keep this.
    bool serialisesMatmuls = false;
  };
  std::string architecture;
  std::vector<char> image;
  std::vector<Kernel> kernels;
};

/// NVIDIA's runtime compiler, loaded on first use. It requires neither a GPU nor a driver, and nothing links against
/// it.
class NVRTC {
public:
  /// Loads the library from a CUDA toolkit's root (the folder that contains `include` and `lib` or `lib64`). With an
  /// empty `toolkit` it searches, in order: $CUDA_HOME, the wheels of a Python virtual environment ($VIRTUAL_ENV),
  /// those beside the installed Python package, and /usr/local/cuda. Fails with the places that were searched.
  static llvm::Expected<NVRTC> load(llvm::StringRef toolkit = "");
  /// Returns the path of the library that `load` would load, its size and its time of modification, without loading it.
  /// Another version differs in one of them.
  static llvm::Expected<std::string> identify(llvm::StringRef toolkit = "");

  /// Returns the path, the size and the time of modification of the library, as `identify` does.
  llvm::StringRef getIdentity() const { return identity; }
  /// Returns the version, such as "13.0".
  std::string getVersion() const;
  /// Returns the root in which the library was found.
  llvm::StringRef getToolkit() const { return toolkit; }

  /// Returns the architectures from 8.0 on that text is compiled for, without the suffixes of specific ones: "sm_80",
  /// "sm_86", ….
  llvm::Expected<std::vector<std::string>> getSupportedArchitectures() const;
  /// Fails, with the list of architectures, unless the name is that of an architecture, such as "sm_80" or "sm_90a".
  llvm::Error checkArchitecture(llvm::StringRef architecture) const;

  /// Returns the options that determine the code that is generated from a text, without the folder of the toolkit's
  /// headers.
  static std::vector<std::string> getOptions(llvm::StringRef architecture);
  /// Compiles the text for a real architecture (`sm_80`, `sm_90a`, …). Fails with the compiler's messages. Several
  /// threads may call it at the same time.
  llvm::Expected<Cubin> compile(llvm::StringRef text, llvm::StringRef name, llvm::StringRef architecture) const;

private:
  struct Functions;
  NVRTC(std::string toolkit, std::string identity, std::shared_ptr<const Functions> functions)
      : toolkit(std::move(toolkit)), identity(std::move(identity)), functions(std::move(functions)) {}

  std::string toolkit, identity;
  std::shared_ptr<const Functions> functions;
};

} // namespace cs336

#endif // CS336_TARGET_NVRTC_NVRTC_H
