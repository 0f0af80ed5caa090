//===- RankEnvironment.cpp - A process's place in a job -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/RankEnvironment.h"

#include "status/StatusMacros.h"

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include <array>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

namespace cs336::runtime {

namespace {

constexpr int kDefaultPort = 29500;
constexpr int kMaxPort = 65535;
constexpr int kMaxRanks = 1 << 16;
constexpr size_t kMinTokenLength = 16;

/// The names of the variables that one launcher sets.
struct LauncherVariables {
  const char *rank, *size, *local_rank, *local_size;
};

constexpr std::array<LauncherVariables, 4> kLaunchers = {{
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}, // torchrun, and this project's own.
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}, // MPICH.
    // Only srun sets the variables of a step, so a batch script is not taken for a rank.
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
}};

/// Reads an integer in [low, high].
absl::StatusOr<int> ReadInteger(const char *name, absl::string_view text, int low, int high) {
  int value;
  if (!absl::SimpleAtoi(text, &value) || value < low || value > high)
    return absl::InvalidArgumentError(absl::StrCat("the environment variable ", name, " is '", text,
                                                   "', must be an integer from ", low, " to ", high));
  return value;
}

/// Reads the number of ranks on this host. Slurm writes "2(x3),1": the numbers of all hosts.
absl::StatusOr<int> ReadLocalSize(const char *name, absl::string_view text, int size) {
  return ReadInteger(name, text.substr(0, text.find_first_not_of("0123456789")), 1, size);
}

absl::StatusOr<RankEnvironment> ReadPlace(const LauncherVariables &names, GetVariable get) {
  RankEnvironment place;
  CS336_ASSIGN_OR_RETURN(place.size, ReadInteger(names.size, get(names.size), 1, kMaxRanks));
  CS336_ASSIGN_OR_RETURN(place.rank, ReadInteger(names.rank, get(names.rank), 0, place.size - 1));
  const char *local_size = get(names.local_size);
  place.local_size = place.size;
  if (local_size) {
    CS336_ASSIGN_OR_RETURN(place.local_size, ReadLocalSize(names.local_size, local_size, place.size));
  }
  const char *local_rank = get(names.local_rank);
  place.local_rank = place.rank % place.local_size;
  if (local_rank) {
    CS336_ASSIGN_OR_RETURN(place.local_rank, ReadInteger(names.local_rank, local_rank, 0, place.local_size - 1));
  }
  return place;
}

absl::Status ReadRendezvous(RankEnvironment &place, GetVariable get) {
  const char *address = get("MASTER_ADDR"), *port = get("MASTER_PORT"), *token = get("CS336_TOKEN");
  if (address && *address)
    place.address = address;
  else if (place.local_size != place.size)
    return absl::InvalidArgumentError(
        "the ranks are on several hosts, but the environment variable MASTER_ADDR is not set: set it to the host of "
        "rank 0 on all of them");
  place.port = kDefaultPort;
  if (port) {
    CS336_ASSIGN_OR_RETURN(place.port, ReadInteger("MASTER_PORT", port, 1, kMaxPort));
  }
  // The agent of torchrun already listens on the port, so the group uses an adjacent one.
  const char *agent = get("TORCHELASTIC_USE_AGENT_STORE");
  if (agent && absl::string_view(agent) == "True")
    place.port = place.port == kMaxPort ? kMaxPort - 1 : place.port + 1;
  size_t length = token ? absl::string_view(token).size() : 0;
  if (length < kMinTokenLength)
    return absl::InvalidArgumentError(
        absl::StrCat("the environment variable CS336_TOKEN, which admits a process to the group, ",
                     token ? absl::StrCat("has ", length, " characters, must have at least ", kMinTokenLength)
                           : absl::StrCat("is not set: set it to at least ", kMinTokenLength, " random characters"),
                     ", the same on all ranks: export CS336_TOKEN=$(openssl rand -hex 16)"));
  place.token = token;
  const char *host = get("CS336_RENDEZVOUS");
  place.is_hosted = host && absl::string_view(host) == "launcher";
  return absl::OkStatus();
}

const char *GetProcessVariable(const char *name) { return std::getenv(name); }

/// Returns the names that this process's launcher uses, or null for a process without a launcher.
const LauncherVariables *FindLauncher(GetVariable get) {
  const auto *found =
      absl::c_find_if(kLaunchers, [&](const LauncherVariables &names) { return get(names.rank) && get(names.size); });
  return found == kLaunchers.end() ? nullptr : found;
}

/// Returns an error if only one of a rank and the number of ranks is set, and shows that there are others: such a
/// process would train alone.
absl::Status CheckNoneIsMissing(const LauncherVariables &names, GetVariable get) {
  const char *rank = get(names.rank), *size = get(names.size);
  if (!rank == !size || (rank && absl::string_view(rank) == "0") || (size && absl::string_view(size) == "1"))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the environment variable ", rank ? names.rank : names.size,
                                                 " is set, but ", rank ? names.size : names.rank,
                                                 " is not: set both, or neither for a run without other ranks"));
}

} // namespace

absl::StatusOr<std::optional<RankEnvironment>> ReadRankEnvironment(GetVariable get) {
  const LauncherVariables *names = FindLauncher(get);
  if (!names) {
    CS336_RETURN_IF_ERROR(CheckNoneIsMissing(kLaunchers.front(), get));
    return std::nullopt;
  }
  CS336_ASSIGN_OR_RETURN(RankEnvironment place, ReadPlace(*names, get));
  if (place.size == 1)
    return std::nullopt;
  CS336_RETURN_IF_ERROR(ReadRendezvous(place, get));
  return place;
}

absl::StatusOr<std::optional<RankEnvironment>> ReadRankEnvironment() { return ReadRankEnvironment(GetProcessVariable); }

bool HasLauncher(GetVariable get) { return FindLauncher(get); }

bool HasLauncher() { return HasLauncher(GetProcessVariable); }

std::vector<std::string> ToVariables(const RankEnvironment &place) {
  const LauncherVariables &names = kLaunchers[0];
  return {absl::StrCat(names.rank, "=", place.rank),
          absl::StrCat(names.size, "=", place.size),
          absl::StrCat(names.local_rank, "=", place.local_rank),
          absl::StrCat(names.local_size, "=", place.local_size),
          absl::StrCat("MASTER_ADDR=", place.address),
          absl::StrCat("MASTER_PORT=", place.port),
          absl::StrCat("CS336_TOKEN=", place.token),
          absl::StrCat("CS336_RENDEZVOUS=", place.is_hosted ? "launcher" : "rank0"),
          "TORCHELASTIC_USE_AGENT_STORE=False"};
}

std::string CreateToken() {
  std::random_device device;
  std::string token;
  for (int word = 0; word != 4; ++word)
    absl::StrAppend(&token, absl::Hex(device(), absl::kZeroPad8));
  return token;
}

} // namespace cs336::runtime
