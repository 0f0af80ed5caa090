//===- NVRTC.h - CUDA C++ text to machine code ------------------*- C++ -*-===//
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

/// Machine code of all kernels of a text.
struct Cubin {
  struct Kernel {
    std::string name;
    /// A thread's registers, and bytes of local memory that they spill to.
    unsigned registers = 0;
    unsigned spilledBytes = 0;
  };
  std::string architecture;
  std::vector<char> image;
  std::vector<Kernel> kernels;
};

/// NVIDIA's runtime compiler, loaded when it is needed: it needs neither a GPU nor a driver, and nothing here links it.
class NVRTC {
public:
  /// Loads the library from a CUDA toolkit's root (the folder that holds `include` and `lib` or `lib64`). With an empty
  /// `toolkit` the places are, in order: $CUDA_HOME, the wheels of a Python virtual environment ($VIRTUAL_ENV), those
  /// beside the installed Python package, and /usr/local/cuda. Fails with the places that were searched.
  static llvm::Expected<NVRTC> load(llvm::StringRef toolkit = "");
  /// The library that `load` would take, its size and when it was written: another version differs in one of them.
  /// Loads nothing.
  static llvm::Expected<std::string> identify(llvm::StringRef toolkit = "");

  /// "13.0"
  std::string getVersion() const;
  /// The root that the library was found in.
  llvm::StringRef getToolkit() const { return toolkit; }

  /// The architectures that text is compiled for, without the suffixes of specific ones: "sm_75", "sm_80", ….
  llvm::Expected<std::vector<std::string>> getSupportedArchitectures() const;
  /// Fails, with those that there are, unless the name is that of an architecture, such as "sm_80" or "sm_90a".
  llvm::Error checkArchitecture(llvm::StringRef architecture) const;

  /// The options that decide what code comes of a text, without the folder of the toolkit's headers.
  static std::vector<std::string> getOptions(llvm::StringRef architecture);
  /// Compiles the text for a real architecture (`sm_80`, `sm_90a`, …). Fails with the compiler's messages. May be
  /// called by several threads at once.
  llvm::Expected<Cubin> compile(llvm::StringRef text, llvm::StringRef name, llvm::StringRef architecture) const;

private:
  struct Functions;
  NVRTC(std::string toolkit, std::shared_ptr<const Functions> functions)
      : toolkit(std::move(toolkit)), functions(std::move(functions)) {}

  std::string toolkit;
  std::shared_ptr<const Functions> functions;
};

} // namespace cs336

#endif // CS336_TARGET_NVRTC_NVRTC_H
