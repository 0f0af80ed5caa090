//===- FileBindings.cpp - Reading and writing whole files -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "Errors.h"

#include "cs336/runtime/InputFile.h"
#include "cs336/runtime/ReplaceFile.h"

#include "absl/strings/str_cat.h"

#include <string>

namespace nb = nanobind;
using namespace cs336;
using namespace cs336::python;

// Paths are bytes, because a name need not be UTF-8.
static std::string toPath(const nb::bytes &path) { return {path.c_str(), path.size()}; }

static nb::bytes readFile(const nb::bytes &path) {
  std::string name = toPath(path);
  absl::StatusOr<runtime::InputFile> file = runtime::InputFile::Open(name);
  if (!file.ok())
    throwFileStatus(file.status());
  nb::object bytes = nb::steal(PyBytes_FromStringAndSize(nullptr, file->size()));
  if (!bytes.is_valid())
    throw nb::python_error();
  absl::Status status;
  {
    nb::gil_scoped_release release;
    status = file->Read(0, file->size(), PyBytes_AsString(bytes.ptr()));
    if (status.ok())
      status = file->CheckUnchanged();
  }
  if (!status.ok())
    throwFileStatus(absl::Status(status.code(), absl::StrCat("'", name, "': ", status.message())));
  return nb::cast<nb::bytes>(bytes);
}

static void writeFile(const nb::bytes &path, const nb::bytes &data) {
  std::string name = toPath(path);
  absl::Status status;
  {
    nb::gil_scoped_release release;
    status = runtime::ReplaceFile(name, {absl::string_view(data.c_str(), data.size())});
  }
  if (!status.ok())
    throwFileStatus(absl::Status(status.code(), absl::StrCat("'", name, "': ", status.message())));
}

void python::bindFiles(nb::module_ &module) {
  module.def("read_file", &readFile, nb::arg("path"));
  module.def("write_file", &writeFile, nb::arg("path"), nb::arg("data"));
}
