//===- JSONFile.h - Values in JSON files of ranks ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_BENCH_DDP_JSONFILE_H
#define CS336_LIB_BENCH_DDP_JSONFILE_H

#include "cs336/Support/WriteOutput.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace cs336::bench {

/// Writes a value for another process of this program.
inline absl::Status writeJSON(const llvm::json::Value &value, llvm::StringRef path) {
  llvm::Error error = writeOutput(path,
                                  [&](llvm::raw_ostream &stream) {
                                    stream << value;
                                    return llvm::Error::success();
                                  },
                                  {.durable = false});
  if (!error)
    return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write '", path.str(), "': ", llvm::toString(std::move(error))));
}

/// Reads a value that `fromJSON` takes. Returns NOT_FOUND if the file does not exist, INVALID_ARGUMENT if its content
/// does not describe such a value.
template <typename Value>
absl::StatusOr<Value> readJSONFile(llvm::StringRef path) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return absl::NotFoundError(absl::StrCat("cannot read '", path.str(), "': ", file.getError().message()));
  llvm::Expected<Value> value = llvm::json::parse<Value>((*file)->getBuffer());
  if (!value)
    return absl::InvalidArgumentError(absl::StrCat("'", path.str(), "': ", llvm::toString(value.takeError())));
  return *std::move(value);
}

} // namespace cs336::bench

#endif // CS336_LIB_BENCH_DDP_JSONFILE_H
