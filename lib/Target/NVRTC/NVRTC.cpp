//===- NVRTC.cpp - CUDA C++ text to machine code --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/NVRTC/NVRTC.h"

#include "cs336/Support/UnknownValue.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Regex.h"

#include <dlfcn.h>

using namespace cs336;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// The part of nvrtc.h that is used here (its header is not there where the project is built). Zero is success.
struct NVRTC::Functions {
  using Program = struct Opaque *;
  using Status = int;

  const char *(*getErrorString)(Status);
  Status (*version)(int *major, int *minor);
  Status (*getNumSupportedArchs)(int *);
  Status (*getSupportedArchs)(int *);
  Status (*createProgram)(Program *, const char *text, const char *name, int numHeaders, const char *const *headers,
                          const char *const *includeNames);
  Status (*destroyProgram)(Program *);
  Status (*compileProgram)(Program, int numOptions, const char *const *options);
  Status (*getProgramLogSize)(Program, size_t *);
  Status (*getProgramLog)(Program, char *);
  Status (*getCUBINSize)(Program, size_t *);
  Status (*getCUBIN)(Program, char *);

  /// Finds the functions, or names the one that is missing.
  llvm::StringRef find(llvm::sys::DynamicLibrary &library);
};

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

llvm::StringRef NVRTC::Functions::find(llvm::sys::DynamicLibrary &library) {
  llvm::StringRef missing;
  auto get = [&](auto &function, const char *name) {
    void *address = library.getAddressOfSymbol(name);
    if (!address)
      missing = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  get(getErrorString, "nvrtcGetErrorString");
  get(version, "nvrtcVersion");
  get(getNumSupportedArchs, "nvrtcGetNumSupportedArchs");
  get(getSupportedArchs, "nvrtcGetSupportedArchs");
  get(createProgram, "nvrtcCreateProgram");
  get(destroyProgram, "nvrtcDestroyProgram");
  get(compileProgram, "nvrtcCompileProgram");
  get(getProgramLogSize, "nvrtcGetProgramLogSize");
  get(getProgramLog, "nvrtcGetProgramLog");
  get(getCUBINSize, "nvrtcGetCUBINSize");
  get(getCUBIN, "nvrtcGetCUBIN");
  return missing;
}

/// Appends the toolkit that NVIDIA's wheels lay out in a virtual environment: lib/python3.*/site-packages/nvidia/cu13.
static void appendWheelToolkit(llvm::StringRef environment, llvm::SmallVectorImpl<std::string> &toolkits) {
  llvm::SmallString<128> libraries(environment);
  path::append(libraries, "lib");
  std::error_code error;
  for (fs::directory_iterator it(libraries, error), end; !error && it != end; it.increment(error)) {
    llvm::SmallString<128> toolkit(it->path());
    path::append(toolkit, "site-packages", "nvidia", "cu13");
    if (path::filename(it->path()).starts_with("python3") && fs::is_directory(toolkit))
      toolkits.push_back(toolkit.str().str());
  }
}

/// Appends the toolkit of the wheels that are installed beside this code's Python package, if it is part of one.
static void appendNeighbourToolkit(llvm::SmallVectorImpl<std::string> &toolkits) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&appendNeighbourToolkit), &info) || !info.dli_fname)
    return;
  llvm::StringRef packages = path::parent_path(path::parent_path(info.dli_fname));
  llvm::SmallString<128> toolkit(packages);
  path::append(toolkit, "nvidia", "cu13");
  if (path::filename(packages) == "site-packages" && fs::is_directory(toolkit))
    toolkits.push_back(toolkit.str().str());
}

static llvm::SmallVector<std::string> getToolkits(llvm::StringRef toolkit) {
  if (!toolkit.empty())
    return {toolkit.str()};
  llvm::SmallVector<std::string> toolkits;
  if (auto home = llvm::sys::Process::GetEnv("CUDA_HOME"))
    toolkits.push_back(*home);
  if (auto environment = llvm::sys::Process::GetEnv("VIRTUAL_ENV"))
    appendWheelToolkit(*environment, toolkits);
  appendNeighbourToolkit(toolkits);
  toolkits.push_back("/usr/local/cuda");
  return toolkits;
}

namespace {
struct Library {
  std::string toolkit, path;
};
} // namespace

static llvm::Expected<Library> findLibrary(llvm::StringRef toolkit) {
  std::string searched;
  for (const std::string &root : getToolkits(toolkit)) {
    for (llvm::StringRef file : {"lib64/libnvrtc.so.13", "lib/libnvrtc.so.13"}) {
      llvm::SmallString<128> library(root);
      path::append(library, file);
      if (fs::exists(library))
        return Library{root, library.str().str()};
      searched += (searched.empty() ? "" : ", ") + library.str().str();
    }
  }
  return llvm::createStringError("cannot find NVRTC 13 (searched " + searched +
                                 "): install CUDA 13 or the wheel nvidia-cuda-nvrtc, or name the toolkit's folder");
}

static llvm::Expected<std::string> describe(const std::string &library) {
  fs::file_status status;
  if (std::error_code error = fs::status(library, status))
    return llvm::createStringError("cannot examine " + library + ": " + error.message());
  return library + " " + std::to_string(status.getSize()) + " " +
         std::to_string(status.getLastModificationTime().time_since_epoch().count());
}

llvm::Expected<NVRTC> NVRTC::load(llvm::StringRef toolkit) {
  llvm::Expected<Library> library = findLibrary(toolkit);
  if (!library)
    return library.takeError();
  llvm::Expected<std::string> identity = describe(library->path);
  if (!identity)
    return identity.takeError();
  std::string error;
  llvm::sys::DynamicLibrary handle = llvm::sys::DynamicLibrary::getPermanentLibrary(library->path.c_str(), &error);
  if (!handle.isValid())
    return llvm::createStringError("cannot load " + library->path + ": " + error);
  auto functions = std::make_shared<Functions>();
  if (llvm::StringRef missing = functions->find(handle); !missing.empty())
    return llvm::createStringError(library->path + " has no function " + missing);
  NVRTC compiler(library->toolkit, *std::move(identity), functions);
  // NVRTC opens its library of builtins by name, which the loader finds in toolkits, but not in wheels. If the library
  // is missing, NVRTC reports that when it compiles.
  llvm::SmallString<128> builtins(path::parent_path(library->path));
  path::append(builtins, "libnvrtc-builtins.so." + compiler.getVersion());
  if (fs::exists(builtins))
    llvm::sys::DynamicLibrary::getPermanentLibrary(builtins.c_str());
  return compiler;
}

llvm::Expected<std::string> NVRTC::identify(llvm::StringRef toolkit) {
  llvm::Expected<Library> library = findLibrary(toolkit);
  if (!library)
    return library.takeError();
  return describe(library->path);
}

std::string NVRTC::getVersion() const {
  int major = 0, minor = 0;
  functions->version(&major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

//===----------------------------------------------------------------------===//
// Architectures
//===----------------------------------------------------------------------===//

llvm::Expected<std::vector<std::string>> NVRTC::getSupportedArchitectures() const {
  int count = 0;
  Functions::Status status = functions->getNumSupportedArchs(&count);
  std::vector<int> numbers(count);
  if (status == 0)
    status = functions->getSupportedArchs(numbers.data());
  if (status != 0)
    return llvm::createStringError("asking NVRTC for its architectures: " +
                                   llvm::Twine(functions->getErrorString(status)));
  // The oldest GPUs have no asynchronous copies to shared memory.
  constexpr int least = 80;
  std::vector<std::string> names;
  for (int number : numbers)
    if (number >= least)
      names.push_back("sm_" + std::to_string(number));
  return names;
}

llvm::Error NVRTC::checkArchitecture(llvm::StringRef architecture) const {
  llvm::Expected<std::vector<std::string>> supported = getSupportedArchitectures();
  if (!supported)
    return supported.takeError();
  // Architecture-specific code exists from 9.0 on, and family-specific code from 10.0 on.
  llvm::StringRef generic = architecture.rtrim("af");
  llvm::StringRef suffix = architecture.drop_front(generic.size());
  int number = 0;
  bool isNumbered = !generic.drop_front(std::min<size_t>(3, generic.size())).getAsInteger(10, number);
  bool hasSuffix = suffix.empty() || (suffix == "a" && number >= 90) || (suffix == "f" && number >= 100);
  if (isNumbered && hasSuffix && llvm::is_contained(*supported, generic))
    return llvm::Error::success();
  llvm::SmallVector<llvm::StringRef> known(supported->begin(), supported->end());
  return llvm::createStringError(describeUnknown("architecture", architecture, known) + ", which NVRTC " +
                                 getVersion() + " compiles for; from sm_90 on also sm_90a and the like");
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

std::vector<std::string> NVRTC::getOptions(llvm::StringRef architecture) {
  return {"--gpu-architecture=" + architecture.str(), "--std=c++17", "--ptxas-options=--verbose"};
}

/// Reads the assembler's report about each kernel.
static std::vector<Cubin::Kernel> parseAssemblerLog(llvm::StringRef log) {
  llvm::Regex compiling("Compiling entry function '([^']+)'"), spilled("([0-9]+) bytes spill stores"),
      used("Used ([0-9]+) registers"), serialised("wgmma.* serialized .*in the function '([^']+)'");
  std::vector<Cubin::Kernel> kernels;
  llvm::StringSet<> serialisedNames; // The assembler names them before it describes them.
  for (llvm::StringRef line : llvm::split(log, '\n')) {
    llvm::SmallVector<llvm::StringRef, 2> match;
    if (serialised.match(line, &match))
      serialisedNames.insert(match[1]);
    else if (compiling.match(line, &match))
      kernels.push_back({match[1].str()});
    else if (kernels.empty())
      continue;
    else if (spilled.match(line, &match))
      match[1].getAsInteger(10, kernels.back().spilledBytes);
    else if (used.match(line, &match))
      match[1].getAsInteger(10, kernels.back().registers);
  }
  for (Cubin::Kernel &kernel : kernels)
    kernel.serialisesMatmuls = serialisedNames.contains(kernel.name);
  return kernels;
}

llvm::Expected<Cubin> NVRTC::compile(llvm::StringRef text, llvm::StringRef name, llvm::StringRef architecture) const {
  Functions::Program program = nullptr;
  auto failed = [&](Functions::Status status, llvm::StringRef log = "") {
    return llvm::createStringError("compiling " + name + " for " + architecture + ": " +
                                   functions->getErrorString(status) + (log.empty() ? "" : "\n") + log);
  };
  if (auto status = functions->createProgram(&program, text.str().c_str(), name.str().c_str(), 0, nullptr, nullptr))
    return failed(status);
  llvm::scope_exit destroy([&] { functions->destroyProgram(&program); });

  std::vector<std::string> options = getOptions(architecture);
  options.push_back("--include-path=" + toolkit + "/include");
  llvm::SmallVector<const char *> arguments;
  for (const std::string &option : options)
    arguments.push_back(option.c_str());
  Functions::Status compiled = functions->compileProgram(program, arguments.size(), arguments.data());

  size_t size = 0;
  std::string log;
  if (functions->getProgramLogSize(program, &size) == 0 && size > 1) {
    log.resize(size);
    functions->getProgramLog(program, log.data());
    log.pop_back(); // The terminating zero.
  }
  if (compiled != 0)
    return failed(compiled, log);

  Cubin cubin{architecture.str(), {}, parseAssemblerLog(log)};
  if (auto status = functions->getCUBINSize(program, &size))
    return failed(status);
  cubin.image.resize(size);
  if (auto status = functions->getCUBIN(program, cubin.image.data()))
    return failed(status);
  return cubin;
}
