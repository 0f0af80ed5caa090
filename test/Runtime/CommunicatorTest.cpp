//===- CommunicatorTest.cpp - One suite for every communicator ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Communicator.h"

#include "ProgramBuilder.h"
#include "TcpTestGroup.h"
#include "cs336/runtime/Session.h"

#include <Eigen/Core>
#include <cmath>
#include <csignal>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace cs336::runtime {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// An implementation and a function that creates a group of it.
struct Backend {
  std::string name;
  std::function<testing::TestGroup()> create;
};

std::vector<Backend> Backends() {
  std::vector<Backend> backends;
  backends.push_back({"SingleProcess", [] {
                        testing::TestGroup group;
                        group.push_back(CreateSingleProcessCommunicator());
                        return group;
                      }});
  for (int size : {1, 2, 3, 4, 8})
    backends.push_back({"InProcess" + std::to_string(size),
                        [size] { return testing::TestGroup{CreateInProcessGroup(size, absl::Seconds(30)), nullptr}; }});
  for (int size : {1, 2, 3, 4, 8})
    backends.push_back({"Tcp" + std::to_string(size), [size] { return testing::CreateTcpGroup(size); }});
  return backends;
}

class CommunicatorTest : public ::testing::TestWithParam<Backend> {
protected:
  /// Runs `body` for every rank of a new group at the same time.
  void ForEachRank(const std::function<void(Communicator &)> &body) {
    auto group = GetParam().create();
    std::vector<std::thread> threads;
    for (auto &communicator : group)
      threads.emplace_back([&body, &communicator] { body(*communicator); });
    for (std::thread &thread : threads)
      thread.join();
  }

  /// Returns element i of a rank's block.
  static double Value(int rank, int64_t i) { return static_cast<double>((rank + 1) * (i % 7) - 3 * rank); }

  template <typename T>
  static std::vector<T> Block(int rank, int64_t count) {
    std::vector<T> block(count);
    for (int64_t i = 0; i != count; ++i)
      block[i] = static_cast<T>(static_cast<float>(Value(rank, i)));
    return block;
  }

  /// Returns element i of the reduction of all ranks' blocks. Means of integers round toward zero.
  static double Reduced(int ranks, int64_t i, Reduction reduction, bool is_integer) {
    double result = Value(0, i);
    for (int rank = 1; rank != ranks; ++rank) {
      double value = Value(rank, i);
      result = reduction == Reduction::kMax   ? std::max(result, value)
               : reduction == Reduction::kMin ? std::min(result, value)
                                              : result + value;
    }
    if (reduction != Reduction::kMean)
      return result;
    return is_integer ? std::trunc(result / ranks) : result / ranks;
  }

  template <typename T>
  void CheckReductions(DType dtype, double tolerance) {
    ForEachRank([&](Communicator &communicator) {
      int ranks = communicator.size(), rank = communicator.rank();
      for (Reduction reduction : {Reduction::kSum, Reduction::kMean, Reduction::kMax, Reduction::kMin})
        for (int64_t count : {0, 1, 5, 1000}) {
          std::vector<T> src = Block<T>(rank, count), dst(count);
          ASSERT_TRUE(communicator.AllReduce(src.data(), dst.data(), count, dtype, reduction).ok());
          ASSERT_TRUE(communicator.AllReduce(src.data(), src.data(), count, dtype, reduction).ok());
          for (int64_t i = 0; i != count; ++i) {
            double expected = Reduced(ranks, i, reduction, !IsFloat(dtype));
            EXPECT_NEAR(static_cast<double>(dst[i]), expected, tolerance * (1 + std::abs(expected)));
            EXPECT_EQ(src[i], dst[i]);
          }
          src = Block<T>(rank, count * ranks);
          ASSERT_TRUE(communicator.ReduceScatter(src.data(), dst.data(), count, dtype, reduction).ok());
          for (int64_t i = 0; i != count; ++i) {
            double expected = Reduced(ranks, rank * count + i, reduction, !IsFloat(dtype));
            EXPECT_NEAR(static_cast<double>(dst[i]), expected, tolerance * (1 + std::abs(expected)));
          }
        }
    });
  }
};

TEST_P(CommunicatorTest, RanksAreNumbered) {
  auto group = GetParam().create();
  for (size_t i = 0; i != group.size(); ++i) {
    EXPECT_EQ(group[i]->rank(), static_cast<int>(i));
    EXPECT_EQ(group[i]->size(), static_cast<int>(group.size()));
  }
}

TEST_P(CommunicatorTest, ReducesF64) { CheckReductions<double>(DType::kF64, 1e-15); }
TEST_P(CommunicatorTest, ReducesF32) { CheckReductions<float>(DType::kF32, 1e-7); }
TEST_P(CommunicatorTest, ReducesBf16) { CheckReductions<Eigen::bfloat16>(DType::kBF16, 1.0 / 256); }
TEST_P(CommunicatorTest, ReducesF16) { CheckReductions<Eigen::half>(DType::kF16, 1.0 / 2048); }
TEST_P(CommunicatorTest, ReducesI64) { CheckReductions<int64_t>(DType::kI64, 0); }
TEST_P(CommunicatorTest, ReducesI32) { CheckReductions<int32_t>(DType::kI32, 0); }

TEST_P(CommunicatorTest, RefusesToReduceBooleans) {
  ForEachRank([](Communicator &communicator) {
    std::vector<uint8_t> block(communicator.size());
    EXPECT_EQ(communicator.AllReduce(block.data(), block.data(), 1, DType::kI1, Reduction::kSum).code(),
              absl::StatusCode::kInvalidArgument);
    uint8_t part;
    EXPECT_EQ(communicator.ReduceScatter(block.data(), &part, 1, DType::kI1, Reduction::kSum).code(),
              absl::StatusCode::kInvalidArgument);
  });
}

TEST_P(CommunicatorTest, GathersInTheOrderOfRanks) {
  ForEachRank([](Communicator &communicator) {
    for (int64_t count : {0, 1, 17}) {
      std::vector<int32_t> src = Block<int32_t>(communicator.rank(), count);
      std::vector<int32_t> dst(count * communicator.size());
      ASSERT_TRUE(communicator.AllGather(src.data(), dst.data(), count, DType::kI32).ok());
      for (int rank = 0; rank != communicator.size(); ++rank)
        for (int64_t i = 0; i != count; ++i)
          EXPECT_EQ(dst[rank * count + i], Value(rank, i));
    }
  });
}

TEST_P(CommunicatorTest, BroadcastsFromEveryRoot) {
  ForEachRank([](Communicator &communicator) {
    for (int root = 0; root != communicator.size(); ++root) {
      std::vector<float> src = Block<float>(communicator.rank(), 9), dst(9);
      ASSERT_TRUE(communicator.Broadcast(src.data(), dst.data(), 9, DType::kF32, root).ok());
      EXPECT_EQ(dst, Block<float>(root, 9));
      ASSERT_TRUE(communicator.Broadcast(src.data(), src.data(), 9, DType::kF32, root).ok());
      EXPECT_EQ(src, Block<float>(root, 9));
    }
    float value = 0;
    for (int root : {-1, communicator.size()})
      EXPECT_EQ(communicator.Broadcast(&value, &value, 1, DType::kF32, root).code(),
                absl::StatusCode::kInvalidArgument);
  });
}

TEST_P(CommunicatorTest, ExchangesParts) {
  ForEachRank([](Communicator &communicator) {
    int ranks = communicator.size(), own = communicator.rank();
    for (int64_t count : {0, 1, 17}) {
      std::vector<Eigen::half> src = Block<Eigen::half>(own, count * ranks), dst(count * ranks);
      ASSERT_TRUE(communicator.AllToAll(src.data(), dst.data(), count, DType::kF16).ok());
      for (int rank = 0; rank != ranks; ++rank)
        for (int64_t i = 0; i != count; ++i)
          EXPECT_EQ(static_cast<double>(dst[rank * count + i]), Value(rank, own * count + i));
    }
  });
}

TEST_P(CommunicatorTest, MovesBooleans) {
  ForEachRank([](Communicator &communicator) {
    int ranks = communicator.size(), own = communicator.rank();
    auto isSet = [](int rank, int64_t i) { return static_cast<uint8_t>((rank + i) % 3 == 0); };
    constexpr int64_t kCount = 5;
    std::vector<uint8_t> src(kCount * ranks), dst(kCount * ranks);
    for (int64_t i = 0; i != kCount * ranks; ++i)
      src[i] = isSet(own, i);
    ASSERT_TRUE(communicator.AllGather(src.data(), dst.data(), kCount, DType::kI1).ok());
    for (int64_t i = 0; i != kCount * ranks; ++i)
      EXPECT_EQ(dst[i], isSet(static_cast<int>(i / kCount), i % kCount));
    ASSERT_TRUE(communicator.AllToAll(src.data(), dst.data(), kCount, DType::kI1).ok());
    for (int64_t i = 0; i != kCount * ranks; ++i)
      EXPECT_EQ(dst[i], isSet(static_cast<int>(i / kCount), own * kCount + i % kCount));
    ASSERT_TRUE(communicator.Broadcast(src.data(), dst.data(), kCount, DType::kI1, ranks - 1).ok());
    for (int64_t i = 0; i != kCount; ++i)
      EXPECT_EQ(dst[i], isSet(ranks - 1, i));
  });
}

/// Two groups of the same threads, whose ranks are numbered in opposite directions.
TEST_P(CommunicatorTest, GroupsDoNotMix) {
  auto first = GetParam().create(), second = GetParam().create();
  int ranks = static_cast<int>(first.size());
  std::vector<std::thread> threads;
  for (int thread = 0; thread != ranks; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round != 20; ++round)
        for (Communicator *communicator : {&*first[thread], &*second[ranks - 1 - thread]}) {
          float sign = communicator == &*first[thread] ? 1.0f : -1.0f;
          int own = communicator->rank();
          std::vector<float> sum{sign * static_cast<float>(own + round)}, all(ranks);
          ASSERT_TRUE(communicator->AllGather(sum.data(), all.data(), 1, DType::kF32).ok());
          for (int rank = 0; rank != ranks; ++rank)
            EXPECT_EQ(all[rank], sign * static_cast<float>(rank + round));
          ASSERT_TRUE(communicator->AllReduce(sum.data(), sum.data(), 1, DType::kF32, Reduction::kSum).ok());
          EXPECT_EQ(sum[0], sign * static_cast<float>(ranks * (ranks - 1) / 2 + ranks * round));
        }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_P(CommunicatorTest, AcceptsEqualPrograms) {
  ForEachRank([](Communicator &communicator) {
    EXPECT_TRUE(communicator.CompareProgram(uint64_t{1} << 63).ok());
    EXPECT_TRUE(communicator.CompareProgram(5).ok());
  });
}

/// Random blocks of all ranks, and collectives of them computed one after another.
template <typename T>
class Reference {
public:
  using Sum = std::conditional_t<sizeof(T) == 2, float, T>;

  Reference(int ranks, int64_t count) : blocks(ranks) {
    std::mt19937 engine(17 * ranks + count);
    std::normal_distribution<float> normal(0, 10);
    for (std::vector<T> &block : blocks)
      for (int64_t i = 0; i != ranks * count; ++i)
        block.push_back(static_cast<T>(normal(engine)));
  }

  T Reduced(int64_t i, Reduction reduction) const {
    Sum result = static_cast<Sum>(blocks[0][i]);
    for (size_t rank = 1; rank != blocks.size(); ++rank) {
      Sum value = static_cast<Sum>(blocks[rank][i]);
      result = reduction == Reduction::kMax   ? std::max(result, value)
               : reduction == Reduction::kMin ? std::min(result, value)
                                              : result + value;
    }
    return static_cast<T>(reduction == Reduction::kMean ? result / static_cast<Sum>(blocks.size()) : result);
  }

  std::vector<std::vector<T>> blocks;
};

template <typename T>
void CheckRank(Communicator &communicator, const Reference<T> &reference, int64_t count, DType dtype) {
  int ranks = communicator.size(), own = communicator.rank();
  const std::vector<T> &src = reference.blocks[own];
  std::vector<T> whole(ranks * count), part(count);
  for (Reduction reduction : {Reduction::kSum, Reduction::kMean, Reduction::kMax, Reduction::kMin}) {
    ASSERT_TRUE(communicator.AllReduce(src.data(), whole.data(), ranks * count, dtype, reduction).ok());
    for (int64_t i = 0; i != ranks * count; ++i)
      EXPECT_EQ(whole[i], reference.Reduced(i, reduction));
    ASSERT_TRUE(communicator.ReduceScatter(src.data(), part.data(), count, dtype, reduction).ok());
    for (int64_t i = 0; i != count; ++i)
      EXPECT_EQ(part[i], reference.Reduced(own * count + i, reduction));
  }
  ASSERT_TRUE(communicator.AllGather(src.data(), whole.data(), count, dtype).ok());
  for (int64_t i = 0; i != ranks * count; ++i)
    EXPECT_EQ(whole[i], reference.blocks[i / count][i % count]);
  ASSERT_TRUE(communicator.AllToAll(src.data(), whole.data(), count, dtype).ok());
  for (int64_t i = 0; i != ranks * count; ++i)
    EXPECT_EQ(whole[i], reference.blocks[i / count][own * count + i % count]);
  ASSERT_TRUE(communicator.Broadcast(src.data(), whole.data(), ranks * count, dtype, ranks - 1).ok());
  EXPECT_EQ(whole, reference.blocks[ranks - 1]);
}

/// Bit for bit, because reductions have an order: that of ranks, in f32 for 16-bit types.
TEST_P(CommunicatorTest, EqualsASequentialReference) {
  int ranks = static_cast<int>(GetParam().create().size());
  for (int64_t count : {1, 3, 250}) {
    Reference<double> f64(ranks, count);
    Reference<float> f32(ranks, count);
    Reference<Eigen::bfloat16> bf16(ranks, count);
    Reference<Eigen::half> f16(ranks, count);
    Reference<int64_t> i64(ranks, count);
    Reference<int32_t> i32(ranks, count);
    ForEachRank([&](Communicator &communicator) {
      CheckRank(communicator, f64, count, DType::kF64);
      CheckRank(communicator, f32, count, DType::kF32);
      CheckRank(communicator, bf16, count, DType::kBF16);
      CheckRank(communicator, f16, count, DType::kF16);
      CheckRank(communicator, i64, count, DType::kI64);
      CheckRank(communicator, i32, count, DType::kI32);
    });
  }
}

TEST_P(CommunicatorTest, ANaNOfAnyRankStays) {
  int ranks = static_cast<int>(GetParam().create().size());
  for (int from = 0; from != ranks; ++from)
    for (Reduction reduction : {Reduction::kSum, Reduction::kMean, Reduction::kMax, Reduction::kMin})
      ForEachRank([&](Communicator &communicator) {
        float value = communicator.rank() == from ? std::numeric_limits<float>::quiet_NaN() : 1.0f;
        EXPECT_TRUE(communicator.AllReduce(&value, &value, 1, DType::kF32, reduction).ok());
        EXPECT_TRUE(std::isnan(value));
      });
}

TEST_P(CommunicatorTest, SumsAreTheSameBitsOnEveryRankAndRun) {
  auto sums = [this] {
    std::vector<std::vector<float>> results(GetParam().create().size());
    ForEachRank([&](Communicator &communicator) {
      std::vector<float> block(100);
      for (size_t i = 0; i != block.size(); ++i)
        block[i] = 1.0f / static_cast<float>(3 + communicator.rank() + i);
      EXPECT_TRUE(communicator.AllReduce(block.data(), block.data(), 100, DType::kF32, Reduction::kSum).ok());
      results[communicator.rank()] = block;
    });
    return results;
  };
  auto first = sums();
  EXPECT_THAT(first, Each(first[0]));
  EXPECT_EQ(first, sums());
}

/// More than the pieces in which ranks that are processes exchange blocks, and not a multiple of them.
TEST_P(CommunicatorTest, ReducesLargeBlocks) {
  ForEachRank([](Communicator &communicator) {
    int ranks = communicator.size(), rank = communicator.rank();
    constexpr int64_t kCount = 3'000'017;
    std::vector<float> block(kCount);
    for (int64_t i = 0; i != kCount; ++i)
      block[i] = static_cast<float>(i % 1000 + rank);
    ASSERT_TRUE(communicator.AllReduce(block.data(), block.data(), kCount, DType::kF32, Reduction::kSum).ok());
    int64_t wrong = 0;
    for (int64_t i = 0; i != kCount; ++i)
      wrong += block[i] != static_cast<float>(i % 1000 * ranks + ranks * (ranks - 1) / 2);
    EXPECT_EQ(wrong, 0);
    int64_t part = kCount / ranks;
    std::vector<float> own(part), all(part * ranks);
    ASSERT_TRUE(communicator.ReduceScatter(block.data(), own.data(), part, DType::kF32, Reduction::kMax).ok());
    EXPECT_TRUE(std::equal(own.begin(), own.end(), block.begin() + rank * part));
    ASSERT_TRUE(communicator.AllGather(own.data(), all.data(), part, DType::kF32).ok());
    EXPECT_TRUE(std::equal(all.begin(), all.end(), block.begin()));
  });
}

INSTANTIATE_TEST_SUITE_P(All, CommunicatorTest, ::testing::ValuesIn(Backends()),
                         [](const auto &info) { return info.param.name; });

TEST(InProcessTest, SessionsRefuseProgramsForOtherRanks) {
  testing::ProgramBuilder program;
  program.executable().world_size = 4;
  program.Entry("train");
  SessionOptions options;
  options.communicator = std::move(CreateInProcessGroup(2)[0]);
  absl::Status status = Session::Create(*program.Build(), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("was compiled for 4 ranks, but this run has 2"));
}

/// A page whose first access takes two seconds.
class SlowPage {
public:
  SlowPage() {
    page = mmap(nullptr, Bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = {};
    action.sa_handler = [](int) {
      sleep(2);
      mprotect(page, Bytes(), PROT_READ | PROT_WRITE);
    };
    sigaction(SIGSEGV, &action, &previous_);
  }
  ~SlowPage() {
    sigaction(SIGSEGV, &previous_, nullptr);
    munmap(page, Bytes());
  }

  static size_t Bytes() { return sysconf(_SC_PAGESIZE); }
  static inline void *page;

private:
  struct sigaction previous_;
};

/// A rank that gives up would free a block that another rank is reading.
TEST(InProcessTest, RanksThatHaveComeAreWaitedFor) {
  auto group = CreateInProcessGroup(2, absl::Seconds(1));
  SlowPage slow;
  std::thread root([&] {
    std::vector<float> block(4, 1);
    absl::Status status = group[0]->Broadcast(block.data(), block.data(), 4, DType::kF32, 0);
    EXPECT_TRUE(status.ok()) << status;
  });
  float *copy = static_cast<float *>(SlowPage::page);
  std::vector<float> own(4);
  EXPECT_TRUE(group[1]->Broadcast(own.data(), copy, 4, DType::kF32, 0).ok());
  root.join();
  EXPECT_EQ(copy[3], 1);
}

TEST(InProcessTest, SessionsExchangeGradients) {
  using testing::MakeType;
  constexpr int kRanks = 3;
  testing::ProgramBuilder program;
  program.executable().world_size = kRanks;
  testing::EntryBuilder entry = program.Entry("train");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {2}));
  uint32_t mean = entry.Output("mean", MakeType(DType::kF32, {2}));
  uint32_t all = entry.Output("all", MakeType(DType::kF32, {kRanks, 2}));
  uint32_t part = entry.Output("part", MakeType(DType::kF32, {2}));
  uint32_t first = entry.Output("first", MakeType(DType::kF32, {2}));
  using format::CollectiveKind;
  entry.Collective(CollectiveKind::all_reduce, x, mean, format::Reduction::mean);
  entry.Collective(CollectiveKind::all_gather, x, all);
  entry.Collective(CollectiveKind::reduce_scatter, all, part, format::Reduction::max);
  entry.Collective(CollectiveKind::broadcast, x, first, format::Reduction::sum, 1);
  uint32_t exchanged = entry.Output("exchanged", MakeType(DType::kF32, {kRanks, 2}));
  entry.Collective(CollectiveKind::all_to_all, all, exchanged);
  // Column r of the matrix of all values, which is exchanged with rank r.
  uint32_t square = entry.Output("square", MakeType(DType::kF32, {2, kRanks, kRanks}));
  uint32_t wide = entry.Input("wide", MakeType(DType::kF32, {kRanks, 2 * kRanks}));
  entry.Collective(CollectiveKind::all_to_all, entry.View(wide, {kRanks, kRanks, 2}, {2, 2 * kRanks, 1}),
                   entry.View(square, {kRanks, kRanks, 2}, {2 * kRanks, 2, 1}));
  uint32_t rest = entry.Output("rest", MakeType(DType::kF32, {kRanks - 1, 2}));
  entry.GatherOthers(CollectiveKind::all_gather, x, rest);
  uint32_t columns_of_others = entry.Output("others", MakeType(DType::kF32, {kRanks - 1, kRanks, 2}));
  entry.GatherOthers(CollectiveKind::all_to_all, entry.View(wide, {kRanks, kRanks, 2}, {2, 2 * kRanks, 1}),
                     columns_of_others);
  // Parts are a multiple of 64 bytes apart.
  auto numbers_of_rank = MakeType(DType::kF32, {kRanks, 16});
  uint32_t rows = entry.Arena("rows", numbers_of_rank);
  entry.Copy(entry.Input("numbers", numbers_of_rank), rows);
  entry.Copy(entry.PartOf(rows), entry.Output("row", MakeType(DType::kF32, {16})));
  entry.Copy(entry.PartOf(rows, 2), entry.Output("row of another", MakeType(DType::kF32, {16})));
  // Each rank gathers the next row of its numbers into the place of its own row.
  uint32_t gathered = entry.Output("gathered", numbers_of_rank);
  entry.Copy(entry.PartOf(rows, 1), entry.PartOf(gathered));
  entry.Collective(CollectiveKind::all_gather, entry.PartOf(gathered), gathered);
  auto executable = *program.Build();
  auto group = CreateInProcessGroup(kRanks, absl::Seconds(30));
  std::vector<std::thread> threads;
  for (int rank = 0; rank != kRanks; ++rank)
    threads.emplace_back([&, rank] {
      SessionOptions options;
      options.num_threads = 1;
      options.communicator = std::move(group[rank]);
      auto session = *Session::Create(executable, options);
      float own = static_cast<float>(rank);
      Tensor value = testing::MakeTensor<float>(DType::kF32, {2}, {own, 10 * own});
      // Element i is 100·rank + i.
      std::vector<float> numbers(2 * kRanks * kRanks);
      std::iota(numbers.begin(), numbers.end(), 100 * own);
      Tensor wide_value = *Tensor::Create({DType::kF32, {kRanks, 2 * kRanks}});
      std::copy(numbers.begin(), numbers.end(), wide_value.mutable_values<float>().begin());
      Tensor all_rows = *Tensor::Create({DType::kF32, {kRanks, 16}});
      std::iota(all_rows.mutable_values<float>().begin(), all_rows.mutable_values<float>().end(), 0.0f);
      ASSERT_TRUE(session->Run("train", {{"x", value}, {"wide", wide_value}, {"numbers", all_rows}}).ok());
      auto output = [&](const char *name) {
        absl::Span<const float> values = session->Output("train", name)->values<float>();
        return std::vector<float>(values.begin(), values.end());
      };
      EXPECT_THAT(output("mean"), ::testing::ElementsAre(1, 10));
      EXPECT_THAT(output("all"), ::testing::ElementsAre(0, 0, 1, 10, 2, 20));
      EXPECT_THAT(output("part"), ::testing::ElementsAre(own, 10 * own));
      EXPECT_THAT(output("first"), ::testing::ElementsAre(1, 10));
      EXPECT_THAT(output("exchanged"), ::testing::ElementsAre(own, 10 * own, own, 10 * own, own, 10 * own));
      std::vector<float> columns;
      for (int from = 0; from != kRanks; ++from)
        for (int row = 0; row != kRanks; ++row)
          for (int column = 0; column != 2; ++column)
            columns.push_back(static_cast<float>(100 * from + row * 2 * kRanks + 2 * rank + column));
      EXPECT_EQ(output("square"), columns);
      std::vector<float> row(16);
      std::iota(row.begin(), row.end(), 16 * own);
      EXPECT_EQ(output("row"), row);
      std::iota(row.begin(), row.end(), static_cast<float>(16 * ((rank + 2) % kRanks)));
      EXPECT_EQ(output("row of another"), row);
      std::vector<float> next_rows(16 * kRanks);
      std::iota(next_rows.begin(), next_rows.end(), 0.0f);
      std::rotate(next_rows.begin(), next_rows.begin() + 16, next_rows.end());
      EXPECT_EQ(output("gathered"), next_rows);
      std::vector<float> rest;
      for (int from = 0; from != kRanks; ++from)
        if (from != rank)
          rest.insert(rest.end(), {static_cast<float>(from), static_cast<float>(10 * from)});
      EXPECT_EQ(output("rest"), rest);
      columns.erase(columns.begin() + rank * 2 * kRanks, columns.begin() + (rank + 1) * 2 * kRanks);
      EXPECT_EQ(output("others"), columns);
      // Leaving early would end the other ranks' last collective.
      static std::atomic<int> done{0};
      for (++done; done != kRanks;)
        std::this_thread::yield();
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
} // namespace cs336::runtime
