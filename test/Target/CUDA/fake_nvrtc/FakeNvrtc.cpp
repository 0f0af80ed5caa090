//===- FakeNvrtc.cpp - A stand-in for NVRTC that compiles nothing ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Refuses every kernel with one message, as NVRTC refuses text that is not CUDA C++: what generated text never is.
// Found as a toolkit's library is, through CUDA_HOME.
//
//===----------------------------------------------------------------------===//

#include <cstddef>
#include <cstring>

namespace {
constexpr char kLog[] = "kernel.cu(7): error: identifier \"undeclared\" is undefined";
constexpr int kCompilationError = 6;
} // namespace

extern "C" {

const char *nvrtcGetErrorString(int result) { return result == 0 ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION"; }

int nvrtcVersion(int *major, int *minor) {
  *major = 13;
  *minor = 0;
  return 0;
}

int nvrtcGetNumSupportedArchs(int *count) {
  *count = 1;
  return 0;
}

int nvrtcGetSupportedArchs(int *architectures) {
  *architectures = 90;
  return 0;
}

int nvrtcCreateProgram(void **program, const char *, const char *, int, const char *const *, const char *const *) {
  static char only;
  *program = &only;
  return 0;
}

int nvrtcDestroyProgram(void **program) {
  *program = nullptr;
  return 0;
}

int nvrtcCompileProgram(void *, int, const char *const *) { return kCompilationError; }

int nvrtcGetProgramLogSize(void *, size_t *size) {
  *size = sizeof kLog;
  return 0;
}

int nvrtcGetProgramLog(void *, char *log) {
  std::memcpy(log, kLog, sizeof kLog);
  return 0;
}

int nvrtcGetCUBINSize(void *, size_t *) { return kCompilationError; }
int nvrtcGetCUBIN(void *, char *) { return kCompilationError; }
}
