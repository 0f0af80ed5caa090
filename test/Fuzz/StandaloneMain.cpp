//===- StandaloneMain.cpp - Runs a fuzz target without libFuzzer ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TARGET [-runs=N] [-seed=S] [-timeout=SECONDS] FOLDER|FILE...
//
// Linked if the compiler is not clang, so that each build of the compiler can replay a corpus: every file runs once,
// then N mutations of random files. Mutation N of a seed is the same each time. A case that ends the process, or takes
// too long, is first written to ./crash-TARGET.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

extern "C" {
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);
}

namespace {

constexpr size_t kMaxSize = size_t{1} << 20;

/// The running case, for the signal handler.
const uint8_t *currentData = nullptr;
volatile size_t currentSize = 0;
std::string crashPath, crashMessage;

/// Random numbers for LLVMFuzzerMutate, whose interface cannot pass them.
std::minstd_rand byteRandom;

/// Calls only functions that are safe in a signal handler.
void writeCase(int signal) {
  int file = open(crashPath.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  [[maybe_unused]] ssize_t written = write(file, currentData, currentSize);
  written = write(STDERR_FILENO, crashMessage.data(), crashMessage.size());
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void catchSignals(const char *target) {
  crashPath = "crash-" + std::filesystem::path(target).filename().string();
  crashMessage = "A case crashed or took too long. It is in " + std::filesystem::absolute(crashPath).string() + "\n";
  // The handler needs a stack of its own for stack overflows.
  static char stack[1 << 16];
  stack_t other = {};
  other.ss_sp = stack;
  other.ss_size = sizeof(stack);
  sigaltstack(&other, nullptr);
  struct sigaction action = {};
  action.sa_handler = writeCase;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM})
    sigaction(signal, &action, nullptr);
}

std::string readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the files in folders and the named files, in the same order each time.
std::vector<std::filesystem::path> listFiles(const std::vector<std::filesystem::path> &given) {
  std::vector<std::filesystem::path> files;
  for (const auto &path : given) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    size_t first = files.size();
    for (const auto &entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file())
        files.push_back(entry.path());
    std::sort(files.begin() + first, files.end());
  }
  return files;
}

void runCase(const uint8_t *data, size_t size, unsigned seconds) {
  // An exact copy, so that sanitizers and allocators detect accesses outside of it.
  std::vector<uint8_t> bytes(data, data + size);
  currentData = bytes.data();
  currentSize = bytes.size();
  alarm(seconds);
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  alarm(0);
}

/// Parses `-NAME=NUMBER`.
bool readFlag(std::string_view argument, std::string_view name, unsigned &value) {
  if (!argument.starts_with(name))
    return false;
  argument.remove_prefix(name.size());
  const char *end = argument.data() + argument.size();
  return std::from_chars(argument.data(), end, value) == std::from_chars_result{end, std::errc()};
}

} // namespace

/// Changes, inserts, removes or repeats a few bytes.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize) {
  auto below = [](size_t bound) { return byteRandom() % bound; };
  size_t at = below(size + 1);
  switch (size_t count = std::min<size_t>(1 + below(8), size - at); below(4)) {
  case 0:
    if (size == maxSize)
      return size;
    std::memmove(data + at + 1, data + at, size - at);
    data[at] = below(256);
    return size + 1;
  case 1:
    std::memmove(data + at, data + at + count, size - at - count);
    return size - count;
  case 2:
    if (size != 0)
      std::memmove(data + below(size - count + 1), data + at, count);
    return size;
  default:
    if (at != size)
      data[at] ^= 1 << below(8);
    return size;
  }
}

int main(int argc, char **argv) {
  if (LLVMFuzzerInitialize)
    LLVMFuzzerInitialize(&argc, &argv);
  unsigned runs = 0, seed = 0, seconds = 60;
  std::vector<std::filesystem::path> paths;
  for (std::string_view argument : std::vector<std::string_view>(argv + 1, argv + argc)) {
    if (readFlag(argument, "-runs=", runs) || readFlag(argument, "-seed=", seed) ||
        readFlag(argument, "-timeout=", seconds))
      continue;
    if (argument.starts_with("-") || !std::filesystem::exists(argument)) {
      std::fprintf(stderr,
                   "error: '%s' is neither a flag nor a file\n"
                   "usage: %s [-runs=N] [-seed=S] [-timeout=SECONDS] FOLDER|FILE...\n",
                   std::string(argument).c_str(), argv[0]);
      return 2;
    }
    paths.emplace_back(argument);
  }
  catchSignals(argv[0]);

  std::vector<std::string> corpus;
  for (const auto &path : listFiles(paths)) {
    corpus.push_back(readFile(path));
    runCase(reinterpret_cast<const uint8_t *>(corpus.back().data()), corpus.back().size(), seconds);
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "error: there is no file to run\n");
    return 2;
  }

  std::vector<uint8_t> buffer(kMaxSize);
  for (unsigned run = 0; run != runs; ++run) {
    std::seed_seq sequence{seed, run};
    std::minstd_rand random(sequence);
    byteRandom.seed(random());
    const std::string &original = corpus[random() % corpus.size()];
    size_t size = std::min(original.size(), kMaxSize);
    std::copy_n(original.begin(), size, buffer.begin());
    for (size_t mutations = 1 + random() % 4; mutations != 0; --mutations) {
      size_t changed = LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(buffer.data(), size, kMaxSize, random())
                                               : LLVMFuzzerMutate(buffer.data(), size, kMaxSize);
      // 0 stands for a change that was not possible, as in libFuzzer.
      size = changed != 0 ? changed : size;
    }
    runCase(buffer.data(), size, seconds);
    if (constexpr unsigned kPulse = 10000; (run + 1) % kPulse == 0)
      std::fprintf(stderr, "#%u\n", run + 1);
  }
  std::printf("%zu files and %u mutations ran\n", corpus.size(), runs);
  return 0;
}
