//===- GroupBindings.cpp - Groups of ranks for Python ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankGroup.h"

#include "Arrays.h"
#include "Bindings.h"
#include "Errors.h"

#include "cs336/runtime/Cores.h"
#include "cs336/runtime/Launcher.h"
#include "cs336/runtime/TcpGroup.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace cs336;
using namespace cs336::python;

/// Joins the group of this process's environment, or creates one of a single rank.
static RankGroup joinGroup(double timeout) {
  std::optional<runtime::RankEnvironment> place = valueOrThrow(runtime::ReadRankEnvironment());
  if (!place)
    return {{}, runtime::CreateSingleProcessCommunicator()};
  absl::StatusOr<std::unique_ptr<runtime::Communicator>> joined = absl::UnknownError("");
  {
    nb::gil_scoped_release release;
    joined = runtime::JoinTcpGroup(*place, absl::Seconds(timeout));
    if (joined.ok())
      if (absl::Status status = runtime::BindToShareOfCores(**joined); !status.ok())
        joined = status;
  }
  return {*place, valueOrThrow(std::move(joined))};
}

/// Returns the communicator, which lives as long as the caller uses it: another thread may close the group.
static std::shared_ptr<runtime::Communicator> open(const RankGroup &group) {
  if (!group.communicator)
    throwStatus(absl::FailedPreconditionError("this process has left the group: it was closed"));
  return group.communicator;
}

static void barrier(const RankGroup &group) {
  std::shared_ptr<runtime::Communicator> communicator = open(group);
  absl::Status status;
  {
    nb::gil_scoped_release release;
    int64_t value = 0;
    status = communicator->AllReduce(&value, &value, 1, runtime::DType::kI64, runtime::Reduction::kSum);
  }
  throwIfError(status);
}

static runtime::Reduction parseReduction(const std::string &name) {
  if (name == "sum")
    return runtime::Reduction::kSum;
  if (name == "mean")
    return runtime::Reduction::kMean;
  if (name == "max")
    return runtime::Reduction::kMax;
  if (name == "min")
    return runtime::Reduction::kMin;
  throw nb::value_error(("unknown reduction '" + name + "': expected sum, mean, max or min").c_str());
}

static OutputArray allReduce(const RankGroup &group, nb::handle value, const std::string &reduction) {
  std::shared_ptr<runtime::Communicator> communicator = open(group);
  runtime::Reduction kind = parseReduction(reduction);
  InputArray array = takeArray(value, "the array to reduce");
  if (placementOf(array) != runtime::Placement::kHost)
    throw nb::value_error("the array to reduce lies on a GPU: copy it to the host (in PyTorch, tensor.cpu())");
  runtime::Tensor result = valueOrThrow(runtime::Tensor::CopyOf(viewOf(array, "the array to reduce")));
  absl::Status status;
  {
    nb::gil_scoped_release release;
    void *data = result.mutable_view().mutable_data();
    status = communicator->AllReduce(data, data, result.view().num_elements(), result.view().dtype(), kind);
  }
  throwIfError(status);
  return toArray(result.view());
}

static void launch(const std::vector<std::string> &command, int ranks, double timeout) {
  runtime::LaunchOptions options;
  options.command = command;
  options.ranks = ranks;
  options.timeout = absl::Seconds(timeout);
  absl::Status status;
  {
    nb::gil_scoped_release release;
    status = runtime::LaunchRanks(options);
  }
  if (status.code() == absl::StatusCode::kCancelled) {
    PyErr_SetString(PyExc_KeyboardInterrupt, std::string(status.message()).c_str());
    throw nb::python_error();
  }
  if (status.code() == absl::StatusCode::kNotFound || status.code() == absl::StatusCode::kPermissionDenied)
    throwFileStatus(status);
  throwIfError(status);
}

void python::bindGroup(nb::module_ &module) {
  nb::class_<RankGroup>(module, "Group")
      .def_prop_ro("rank", [](const RankGroup &group) { return group.place.rank; })
      .def_prop_ro("size", [](const RankGroup &group) { return group.place.size; })
      .def_prop_ro("local_rank", [](const RankGroup &group) { return group.place.local_rank; })
      .def_prop_ro("local_size", [](const RankGroup &group) { return group.place.local_size; })
      .def("barrier", &barrier)
      .def("all_reduce", &allReduce, nb::arg("array"), nb::arg("reduction"))
      .def("close", [](RankGroup &group) {
        std::shared_ptr<runtime::Communicator> communicator = std::move(group.communicator);
        nb::gil_scoped_release release;
        communicator.reset();
      });
  module.def("join_group", &joinGroup, nb::arg("timeout"));
  module.def("launch", &launch, nb::arg("command"), nb::arg("ranks"), nb::arg("timeout"));
}
