//===- DoctorCommand.cpp - cs336-bench doctor -----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DoctorCommand.h"

#include "cs336/Bench/Peer/PeerProcess.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/Support/ByteSize.h"
#include "cs336/Target/CPU/CPUTarget.h"
#include "cs336/Target/NVRTC/NVRTC.h"
#include "cs336/runtime/CacheFolder.h"
#include "cs336/runtime/CudaInfo.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"
#include "llvm/TargetParser/Host.h"

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace fs = llvm::sys::fs;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDoctorDescription =
    "lists the parts of this machine, and the features for which a part is missing";

/// The interpreter's description of PyTorch, as an answer of PeerProcess.
static constexpr llvm::StringLiteral kTorchScript = R"(
import json, sys
for _ in sys.stdin:
    try:
        import torch
        gpu = f"CUDA {torch.version.cuda}, {torch.cuda.device_count()} GPUs" if torch.cuda.is_available() else "no GPU"
        answer = {"details": f"{torch.__version__}, {gpu}"}
    except ImportError as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
)";

namespace {
/// A row of the table.
struct Finding {
  std::string part;
  bool isFound;
  /// The features that do not work without the part.
  std::string neededFor;
  /// Version and path, or the reason why it is missing and what to do.
  std::string details;
};
} // namespace

DoctorCommand::DoctorCommand()
    : subcommand("doctor", kDoctorDescription),
      peerPython("peer-python", cl::desc("A Python to look for PyTorch in"), cl::value_desc("program"),
                 cl::cat(category), cl::sub(subcommand)),
      output(category, subcommand) {}

void DoctorCommand::hideOtherOptions() { hideOtherFlags({&category}, subcommand); }

static Finding findProcessor() {
  return {"processor", true, "running on the CPU",
          llvm::formatv("{0}, {1}, {2} threads", llvm::sys::getHostCPUName(), getHostInstructionSet(),
                        llvm::hardware_concurrency().compute_thread_count())};
}

static Finding findCompiler() {
  Finding finding{"NVRTC", false, "compiling for GPUs", ""};
  llvm::Expected<NVRTC> compiler = NVRTC::load();
  if (!compiler) {
    finding.details = llvm::toString(compiler.takeError());
    return finding;
  }
  finding.isFound = true;
  finding.details = compiler->getVersion() + " in " + compiler->getToolkit().str();
  if (llvm::Expected<std::vector<std::string>> architectures = compiler->getSupportedArchitectures())
    finding.details += ", for " + llvm::join(*architectures, " ");
  else
    finding.details += ", " + llvm::toString(architectures.takeError());
  return finding;
}

/// Appends a row for the driver, and one for every GPU.
static void findDevices(std::vector<Finding> &findings) {
  Finding driver{"CUDA driver", false, "running on GPUs", ""};
  absl::StatusOr<runtime::CudaInfo> info = runtime::QueryCuda();
  if (!info.ok()) {
    driver.details = std::string(info.status().message());
    findings.push_back(driver);
    return;
  }
  driver.isFound = true;
  driver.details = llvm::formatv("for CUDA {0}.{1}", info->driver_version / 1000, info->driver_version % 1000 / 10);
  findings.push_back(driver);
  for (const runtime::CudaDeviceInfo &device : info->devices) {
    absl::StatusOr<runtime::CudaMemoryInfo> memory = runtime::QueryCudaMemory(device.ordinal);
    findings.push_back({llvm::formatv("cuda:{0}", device.ordinal), memory.ok(), "running on this GPU",
                        memory.ok() ? llvm::formatv("{0}, compute capability {1}, {2} of memory, {3} free", device.name,
                                                    runtime::ToString(device.compute_capability),
                                                    formatBytes(memory->total_bytes), formatBytes(memory->free_bytes))
                                          .str()
                                    : std::string(memory.status().message())});
  }
}

static void findLibraries(std::vector<Finding> &findings) {
  for (const runtime::CudaLibraryInfo &library : runtime::QueryCudaLibraries())
    findings.push_back({library.name, library.status.ok(), library.purpose,
                        library.status.ok() ? llvm::formatv("{0} in {1}", library.version, library.path).str()
                                            : std::string(library.status.message())});
}

static uint64_t getBytes(llvm::StringRef folder) {
  uint64_t total = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (llvm::ErrorOr<fs::basic_file_status> status = it->status(); status && fs::is_regular_file(*status))
      total += status->getSize();
  return total;
}

/// Writes a small file to the folder, as only that shows a full disk, and removes it.
static std::error_code tryToWrite(llvm::StringRef folder) {
  llvm::SmallString<128> path;
  int descriptor;
  if (std::error_code error = fs::createUniqueFile(folder + "/cs336-doctor-%%%%%%%%.tmp", descriptor, path))
    return error;
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream.write_zeros(1 << 16);
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  fs::remove(path);
  return error;
}

static Finding findCache() {
  Finding finding{"cache", false, "compiling quickly", ""};
  std::string folder = runtime::CacheFolder();
  if (folder.empty()) {
    finding.details = "no home folder: name one with CS336_CACHE_DIR";
    return finding;
  }
  if (absl::Status status = runtime::CheckCacheFolder(folder); !status.ok()) {
    finding.details = std::string(status.message());
    return finding;
  }
  // A missing folder is created when it is first used.
  llvm::StringRef existing = folder;
  while (!fs::exists(existing) && !llvm::sys::path::parent_path(existing).empty())
    existing = llvm::sys::path::parent_path(existing);
  std::error_code error =
      fs::is_directory(existing) ? tryToWrite(existing) : std::make_error_code(std::errc::not_a_directory);
  finding.isFound = !error;
  if (error)
    finding.details =
        llvm::formatv("{0} cannot be written: {1}; name another with CS336_CACHE_DIR", folder, error.message());
  else
    finding.details =
        llvm::formatv("{0}, {1}, of which executables {2}, cubins {3}", folder, formatBytes(getBytes(folder)),
                      formatBytes(getBytes(folder + "/executables")), formatBytes(getBytes(folder + "/cubins")));
  return finding;
}

static Finding findTorch(const std::string &python) {
  Finding finding{"PyTorch", false, "cs336-bench model --peer", ""};
  absl::StatusOr<std::unique_ptr<PeerProcess>> process = PeerProcess::start({python, "-c", kTorchScript.str()});
  absl::StatusOr<json::Object> answer = process.ok() ? (*process)->ask(json::Object(), /*timeoutSeconds=*/60)
                                                     : absl::StatusOr<json::Object>(process.status());
  if (!answer.ok()) {
    finding.details = std::string(answer.status().message());
    return finding;
  }
  std::optional<llvm::StringRef> details = answer->getString("details");
  finding.isFound = details.has_value();
  finding.details = details.value_or(answer->getString("error").value_or("does not answer")).str();
  return finding;
}

static std::vector<Column<Finding>> getColumns() {
  using Row = Finding;
  return {{"part", "part", [](const Row &row) { return Cell(row.part); }, Show::Result, Role::Setting},
          {"found", "found", [](const Row &row) { return Cell(row.isFound ? "yes" : "no", row.isFound); }},
          {"needed for", "needed_for", [](const Row &row) { return Cell(row.neededFor); }, Show::Text},
          {"details", "details", [](const Row &row) { return Cell(row.details); }, Show::Text}};
}

std::vector<ColumnHead> DoctorCommand::getColumns() const {
  auto columns = ::getColumns();
  return {columns.begin(), columns.end()};
}

absl::Status DoctorCommand::run(llvm::StringRef commandLine) {
  if (absl::Status status = output.check(::getColumns()); !status.ok())
    return status;
  std::vector<Finding> findings{findProcessor(), findCompiler()};
  findDevices(findings);
  findLibraries(findings);
  findings.push_back(findCache());
  if (!peerPython.empty())
    findings.push_back(findTorch(peerPython));

  json::Object context{{"benchmark", "doctor"}, {"command", commandLine}};
  absl::Status status =
      output.write({std::move(context), {{"doctor", "", ::getColumns(), llvm::ArrayRef(findings)}}, {}});
  if (!status.ok())
    return status;
  bool isComplete = llvm::all_of(findings, [](const Finding &finding) { return finding.isFound; });
  llvm::errs() << (isComplete ? "next: cs336-bench model --size small --device cuda\n"
                              : "next: install what the details name; --device cpu requires only the processor\n");
  return absl::OkStatus();
}
