//===- PeerGroupTest.cpp - Collectives over the memory of another GPU -----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclGroupFixture.h"

#include <cstring>
#include <cuda.h>
#include <deque>
#include <gmock/gmock.h>
#include <iterator>
#include <map>
#include <numeric>

namespace cs336::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

/// Rank 0 of two or more, whose peers share a block of memory for each address that rank 0 shares.
class SharingRanks : public AgreeingRanks {
public:
  int size() const override { return ranks; }
  absl::Status AllGather(const void *src, void *dst, int64_t count, DType dtype) override {
    auto *mine = static_cast<int64_t *>(dst);
    for (int rank = 0; rank != ranks; ++rank)
      std::memcpy(mine + rank * count, src, count * sizeof(int64_t));
    for (int64_t place = 0; place != count; place += kWords)
      own.push_back(reinterpret_cast<float *>(
          ToHostAddress(reinterpret_cast<void *>(mine[place + kStart] + mine[place + kOffset]))));
    for (int64_t *other = mine + count; other != mine + ranks * count; other += kWords) {
      *other ^= is_elsewhere;
      peer.emplace_back(floats.contains(peer.size()) ? floats[peer.size()] : 64);
      other[kStart] = static_cast<int64_t>(
          LendMemory(peer.back().data(), static_cast<int64_t>(peer.back().size() * sizeof(float))));
      other[kOffset] = 0;
    }
    return absl::OkStatus();
  }

  // Words of what a rank tells the others of an address.
  static constexpr int64_t kWords = 17, kStart = 7, kOffset = 8;
  int ranks = 2;
  bool is_elsewhere = false;        // The peer is on another host.
  std::map<size_t, int64_t> floats; // Lengths of the peer's blocks by position, if not 64.
  // By position: signals, then source and target of each collective.
  std::vector<float *> own;
  std::deque<std::vector<float>> peer;
};

class PeerGroupTest : public NcclGroupTest {
protected:
  void SetUp() override {
    NcclGroupTest::SetUp();
    fake.refuses_sharing = false;
    ranks = sharing;
    exchange = GpuExchange::kPeers;
  }

  std::shared_ptr<SharingRanks> sharing = std::make_shared<SharingRanks>();
};

TEST_F(PeerGroupTest, EachRankReducesAPartAndWritesItToAll) {
  for (bool use_graphs : {true, false}) {
    fake.barriers = 0;
    sharing->own.clear();
    sharing->peer.clear();
    auto session = CreateRank(TwoRankProgram(), use_graphs);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_EQ(sharing->peer.size(), 5u);
    std::fill_n(sharing->peer[1].begin(), 12, 10.0f);
    fake.at_barrier = [&](int barrier) {
      if (barrier == 2) // The end of all_reduce: the peer has reduced the other two vectors.
        std::fill_n(sharing->own[2] + 4, 8, 7.0f);
      if (barrier == 3) // The end of all_gather.
        std::fill_n(sharing->own[4] + 12, 12, 8.0f);
    };
    ASSERT_TRUE(Run(**session).ok());
    EXPECT_EQ(fake.barriers, 3);
    EXPECT_THAT(Row(**session, "total", 0), ElementsAre(5, 6, 7, 8));
    EXPECT_THAT(Row(**session, "total", 2), ElementsAre(7, 7, 7, 7));
    EXPECT_THAT(Row(**session, "whole", 0), ElementsAre(5, 6, 7, 8));
    EXPECT_THAT(Row(**session, "whole", 5), ElementsAre(8, 8, 8, 8));
    std::vector<float> &target = sharing->peer[2], &whole = sharing->peer[4];
    EXPECT_THAT(std::vector<float>(target.begin(), target.begin() + 5), ElementsAre(5, 6, 7, 8, 0));
    EXPECT_THAT(std::vector<float>(whole.begin(), whole.begin() + 5), ElementsAre(5, 6, 7, 8, 7));
    EXPECT_EQ(whole[12], 0) << "the peer writes its part itself";
  }
  EXPECT_THAT(nccl.calls, IsEmpty());
}

TEST_F(PeerGroupTest, GraphsUseThePriorityOfTheStreamOfCollectives) {
  auto session = CreateRank(TwoRankProgram());
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(fake.graph_flags, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
}

TEST_F(PeerGroupTest, TheLastBarrierCountsTheCollective) {
  ranks->limit = absl::Milliseconds(200);
  auto session = CreateRank(TwoRankProgram());
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(Run(**session).ok());
  absl::SleepFor(absl::Milliseconds(600));
  EXPECT_TRUE(ranks->reported.ok()) << "all collectives are done: " << ranks->reported;
}

TEST_F(PeerGroupTest, CopiesToOtherRanksAndToItselfAreInTwoStreams) {
  // Two of the copies of equal length to this rank itself are one of two rows; the last is at another distance.
  const int64_t operands[] = {1024, 10, 1024, (int64_t{5} << 18) + 1, 1024};
  ProgramBuilder program = TwoRankProgram();
  EntryBuilder entry(program.executable(), *program.executable().entries[0]);
  entry.entry().commands.clear();
  entry.entry().events = 0;
  std::vector<Tensor> inputs;
  inputs.push_back(*Tensor::Create({DType::kF32, {3, 4}}));
  std::vector<std::string> names = {"x"};
  format::CollectiveT gather;
  int64_t bytes = 0;
  for (int64_t elements : operands) {
    Tensor &input = inputs.emplace_back(*Tensor::Create({DType::kF32, {elements}}));
    std::iota(input.mutable_values<float>().begin(), input.mutable_values<float>().end(), 1.0f);
    names.push_back("part" + std::to_string(names.size()));
    gather.sources.push_back(entry.Input(names.back(), MakeType(DType::kF32, {elements})));
    gather.targets.push_back(entry.Output("whole" + names.back(), MakeType(DType::kF32, {2 * elements})));
    sharing->floats[2 * names.size() - 2] = 2 * elements;
    bytes += 4 * elements;
  }
  entry.Collective(format::CollectiveKind::all_gather, gather.sources[0], gather.targets[0]);
  entry.entry().commands.back()->stream = 1;
  entry.entry().commands.back()->body.AsCollective()->sources = gather.sources;
  entry.entry().commands.back()->body.AsCollective()->targets = gather.targets;
  auto session = CreateRank(program);
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<int64_t> by_stream;
  for (auto [stream, copied] : fake.copied_bytes)
    by_stream.push_back(copied);
  EXPECT_THAT(by_stream, ElementsAre(bytes, bytes));
  EXPECT_THAT(fake.pitched_copies, Not(IsEmpty()));

  std::vector<NamedTensor> named;
  for (size_t i = 0; i != inputs.size(); ++i)
    named.push_back({names[i], inputs[i]});
  ASSERT_TRUE((*session)->Run("forward", named).ok());
  for (size_t i = 1; i != inputs.size(); ++i) {
    absl::Span<const float> part = inputs[i].values<float>();
    absl::StatusOr<TensorView> whole = (*session)->Output("forward", "whole" + names[i]);
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_EQ(whole->values<float>().subspan(0, part.size()), part);
    EXPECT_EQ(absl::MakeConstSpan(sharing->peer[2 * i]).subspan(0, part.size()), part) << "in the peer's memory";
  }
}

TEST_F(PeerGroupTest, GathersInPlaceCopyToOtherRanksOnly) {
  constexpr int64_t kPart = 64;
  ProgramBuilder program = TwoRankProgram();
  format::VariableT &variable = program.Variable("w", MakeType(DType::kF32, {2 * kPart}));
  variable.shards = 2;
  variable.gathered = true;
  EntryBuilder entry(program.executable(), *program.executable().entries[0]);
  entry.entry().mode = format::Mode::train;
  entry.entry().commands.clear();
  entry.entry().events = 0;
  entry.Collective(format::CollectiveKind::all_gather, entry.OwnPart("w"), entry.AllParts("w"));
  entry.entry().commands.back()->stream = 1;
  sharing->floats = {{2, 2 * kPart}};
  auto session = CreateRank(program);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_EQ(fake.copied_bytes.size(), 1u);
  EXPECT_EQ(fake.copied_bytes.begin()->second, kPart * sizeof(float));

  Tensor whole = *Tensor::Create({DType::kF32, {2 * kPart}});
  std::iota(whole.mutable_values<float>().begin(), whole.mutable_values<float>().end(), 1.0f);
  ASSERT_TRUE((*session)->SetVariable("w", whole).ok());
  ASSERT_TRUE(Run(**session).ok());
  absl::Span<const float> sent = absl::MakeConstSpan(sharing->peer[2]).subspan(0, kPart);
  EXPECT_EQ(sent, whole.values<float>().subspan(0, kPart)) << "at its place in the peer's memory";
  EXPECT_THAT(absl::MakeConstSpan(sharing->peer[2]).subspan(kPart), ::testing::Each(0)) << "the peer's own part";
}

TEST_F(PeerGroupTest, ExchangesPartsAndColumns) {
  constexpr int64_t kRows = 3, kColumns = 4, kElements = 2 * kRows * kColumns;
  for (bool exchanges_columns : {false, true}) {
    ProgramBuilder program = TwoRankProgram();
    EntryBuilder entry(program.executable(), *program.executable().entries[0]);
    entry.entry().commands.clear();
    entry.entry().events = 0;
    uint32_t source = entry.Input("values", MakeType(DType::kF32, {kRows, 2 * kColumns}));
    uint32_t parts = entry.View(source, {2, kRows, kColumns}, {kColumns, 2 * kColumns, 1});
    uint32_t target = entry.Output("parts", MakeType(DType::kF32, {2, kRows, kColumns}));
    entry.Collective(format::CollectiveKind::all_to_all, exchanges_columns ? parts : source, target);
    entry.entry().commands.back()->stream = 1;
    sharing->own.clear();
    sharing->peer.clear();
    auto session = CreateRank(program);
    ASSERT_TRUE(session.ok()) << session.status();
    Tensor x = *Tensor::Create({DType::kF32, {3, 4}}), values = *Tensor::Create({DType::kF32, {kRows, 2 * kColumns}});
    std::iota(values.mutable_values<float>().begin(), values.mutable_values<float>().end(), 0.0f);
    ASSERT_TRUE((*session)->Run("forward", {{"x", x}, {"values", values}}).ok());
    absl::Span<const float> own = (*session)->Output("forward", "parts")->values<float>();
    // This rank is rank 0: it keeps part 0, and part 1 becomes the first part of the peer.
    const std::vector<float> &sent = sharing->peer[2];
    for (int64_t i = 0; i != kElements / 2; ++i) {
      int64_t first = exchanges_columns ? i / kColumns * 2 * kColumns + i % kColumns : i;
      int64_t second = exchanges_columns ? first + kColumns : i + kElements / 2;
      EXPECT_EQ(own[i], static_cast<float>(first)) << i;
      EXPECT_EQ(sent[i], static_cast<float>(second)) << i;
      EXPECT_EQ(sent[kElements / 2 + i], 0) << i;
    }
  }
  EXPECT_THAT(nccl.calls, IsEmpty());
}

TEST_F(PeerGroupTest, CopiesOfAChainOfGathersDoNotWaitForItsBarriers) {
  const auto type = MakeType(DType::kF32, {64}), gathered = MakeType(DType::kF32, {128});
  for (bool same_target : {false, true}) {
    ProgramBuilder program = TwoRankProgram();
    EntryBuilder entry(program.executable(), *program.executable().entries[0]);
    entry.entry().commands.clear();
    entry.entry().events = 0;
    uint32_t source = entry.Arena("part", type), target = entry.Arena("whole", gathered);
    for (uint32_t each : {target, same_target ? target : entry.Arena("other", gathered)}) {
      entry.Collective(format::CollectiveKind::all_gather, source, each);
      entry.entry().commands.back()->stream = 1;
    }
    sharing->peer.clear();
    sharing->floats = {{2, 128}, {4, 128}};
    fake.copied_bytes.clear();
    fake.waits.clear();
    ASSERT_TRUE(CreateRank(program).ok());
    ASSERT_EQ(fake.copied_bytes.size(), 2u);
    for (auto [stream, copied] : fake.copied_bytes)
      EXPECT_EQ(fake.waits[stream], same_target ? 2 : 1)
          << "for the first barrier, and the last one of the first gather";
  }
}

/// TwoRankProgram() with other commands between its two collectives, and the number of barriers of a run.
struct Between {
  std::string name;
  std::function<void(EntryBuilder &)> add;
  int barriers;
};

class FirstBarrierTest : public PeerGroupTest, public ::testing::WithParamInterface<Between> {};

TEST_P(FirstBarrierTest, DependsOnTheCommandsBetween) {
  for (bool use_graphs : {true, false}) {
    ProgramBuilder program = TwoRankProgram();
    EntryBuilder entry(program.executable(), *program.executable().entries[0]);
    entry.entry().events = 3;
    auto &commands = entry.entry().commands;
    std::vector<std::unique_ptr<format::CommandT>> rest(std::make_move_iterator(commands.begin() + 4),
                                                        std::make_move_iterator(commands.end()));
    commands.resize(4);
    GetParam().add(entry);
    std::move(rest.begin(), rest.end(), std::back_inserter(commands));
    fake.barriers = 0;
    auto session = CreateRank(program, use_graphs);
    ASSERT_TRUE(session.ok()) << session.status();
    for (int run = 1; run != 3; ++run) {
      ASSERT_TRUE(Run(**session).ok());
      EXPECT_EQ(fake.barriers, run * GetParam().barriers);
    }
  }
}

const Between kBetween[] = {
    {"Nothing", [](EntryBuilder &) {}, 3},
    {"ARecord",
     [](EntryBuilder &entry) {
       entry.Record(2);
       entry.entry().commands.back()->stream = 1;
     },
     3},
    {"WorkOfAnotherStream",
     [](EntryBuilder &entry) { entry.Copy(0, entry.Arena("other", MakeType(DType::kF32, {3, 4}))); }, 3},
    {"AWait",
     [](EntryBuilder &entry) {
       entry.Record(2);
       entry.Wait(2);
       entry.entry().commands.back()->stream = 1;
     },
     4},
    {"Work",
     [](EntryBuilder &entry) {
       entry.Copy(0, entry.Arena("other", MakeType(DType::kF32, {3, 4})));
       entry.entry().commands.back()->stream = 1;
     },
     4},
    {"ACollectiveOfNCCL",
     [](EntryBuilder &entry) {
       uint32_t numbers = entry.Arena("numbers", MakeType(DType::kI32, {4}));
       entry.Collective(format::CollectiveKind::broadcast, numbers, numbers);
       entry.entry().commands.back()->stream = 1;
     },
     4},
};

INSTANTIATE_TEST_SUITE_P(Commands, FirstBarrierTest, ::testing::ValuesIn(kBetween),
                         [](const auto &info) { return info.param.name; });

TEST_F(PeerGroupTest, LargeReductionsAreStagedInRounds) {
  constexpr int64_t kElements = int64_t{33} << 20; // 132 MiB, of which this rank reduces 66 MiB.
  ProgramBuilder program = TwoRankProgram();
  EntryBuilder entry(program.executable(), *program.executable().entries[0]);
  uint32_t large = entry.Input("large", MakeType(DType::kF32, {kElements}));
  uint32_t mean = entry.Output("mean", MakeType(DType::kF32, {kElements}));
  uint32_t part = entry.Output("part", MakeType(DType::kF32, {kElements / 2}));
  entry.Collective(format::CollectiveKind::all_reduce, large, mean, format::Reduction::mean);
  entry.entry().commands.back()->stream = 1;
  entry.Collective(format::CollectiveKind::reduce_scatter, large, part, format::Reduction::mean);
  entry.entry().commands.back()->stream = 1;
  fake.memory_bytes = int64_t{4} << 30;
  ranks->limit = absl::Minutes(3); // Kernels are interpreted.
  sharing->floats = {{6, kElements / 2}, {7, kElements / 2}};
  auto session = CreateRank(program);
  ASSERT_TRUE(session.ok()) << session.status();
  // Positions: signals, four operands, source and target of the mean, staging memory, source and target of the part.
  // Both reductions have four rounds of copies, a barrier and sums, and a last barrier. Rounds use the halves of the
  // staging memory in turn.
  ASSERT_EQ(sharing->peer.size(), 10u);
  constexpr int64_t kRounds = 4, kSlot = (int64_t{32} << 20) / 4;
  const int64_t half = kElements / 2, round = half / kRounds + 4; // A vector more, so that the last one has less.
  auto slot_of = [&](int64_t i) { return i / round % 2 * kSlot + i % round; };
  fake.at_barrier = [&](int barrier) {
    bool is_mean = barrier <= 3 + kRounds + 1; // Barriers 1 to 3 belong to the other collectives.
    int place = is_mean ? barrier - 3 : barrier - 3 - (kRounds + 1);
    for (int64_t i = (place - 1) * round; 1 <= place && i < std::min(place * round, half); ++i)
      sharing->own[7][slot_of(i)] = static_cast<float>(i % 1000) + 2;
    if (is_mean && place == kRounds + 1)
      std::fill_n(sharing->own[6] + half, half, 5.0f);
  };
  Tensor x = *Tensor::Create({DType::kF32, {3, 4}}), values = *Tensor::Create({DType::kF32, {kElements}});
  std::fill_n(x.mutable_values<float>().data(), 12, 2.0f);
  for (int64_t i = 0; i != kElements; ++i)
    values.mutable_values<float>()[i] = static_cast<float>(i % 1000);
  ASSERT_TRUE((*session)->Run("forward", {{"x", x}, {"large", values}}, nullptr).ok());
  EXPECT_EQ(fake.barriers, 3 + 2 * (kRounds + 1));
  absl::StatusOr<TensorView> got_mean = (*session)->Output("forward", "mean");
  absl::StatusOr<TensorView> got_part = (*session)->Output("forward", "part");
  ASSERT_TRUE(got_mean.ok() && got_part.ok());
  int64_t wrong = 0;
  for (int64_t i = 0; i != half; ++i) {
    float expected = static_cast<float>(i % 1000) + 1;
    wrong += got_mean->values<float>()[i] != expected;
    wrong += got_part->values<float>()[i] != expected;
    wrong += got_mean->values<float>()[half + i] != 5;
    wrong += sharing->peer[6][i] != expected; // The result in the peer's memory.
  }
  // The peer's part of this rank's values, in the peer's staging memory: that of the last two rounds.
  for (int64_t i = 2 * round; i != half; ++i)
    wrong += sharing->peer[7][slot_of(i)] != static_cast<float>((half + i) % 1000);
  EXPECT_EQ(wrong, 0);
}

/// Adds a reduction of an input of f32 in the stream of collectives to TwoRankProgram().
void AddReduction(ProgramBuilder &program, format::CollectiveKind kind, int64_t elements, int64_t results) {
  EntryBuilder entry(program.executable(), *program.executable().entries[0]);
  uint32_t input = entry.Input("input", MakeType(DType::kF32, {elements})),
           result = entry.Output("result", MakeType(DType::kF32, {results}));
  entry.Collective(kind, input, result, format::Reduction::mean);
  entry.entry().commands.back()->stream = 1;
}

TEST_F(PeerGroupTest, NcclExchangesOddPartsAndOtherStreams) {
  ProgramBuilder program = TwoRankProgram();
  AddReduction(program, format::CollectiveKind::reduce_scatter, 6, 3);
  EntryBuilder entry(program.executable(), *program.executable().entries[0]);
  uint32_t even = entry.Input("even", MakeType(DType::kF32, {8})),
           other = entry.Output("other", MakeType(DType::kF32, {8}));
  entry.Collective(format::CollectiveKind::all_reduce, even, other);
  auto session = CreateRank(program);
  ASSERT_TRUE(session.ok()) << session.status();
  // Computation's stream is enqueued before the stream of collectives.
  EXPECT_THAT(nccl.calls, ElementsAre("ncclAllReduce 8 7", "ncclReduceScatter 3 7"));
}

TEST_F(PeerGroupTest, OneNumberIsReducedWithoutNccl) {
  nccl.version = 22706; // It could not be loaded.
  ProgramBuilder program = TwoRankProgram();
  AddReduction(program, format::CollectiveKind::all_reduce, 1, 1);
  auto session = CreateRank(program);
  ASSERT_TRUE(session.ok()) << session.status();
  // Its only vector is the other rank's, which has it at the end.
  fake.at_barrier = [&](int barrier) {
    if (barrier == 4)
      sharing->own[6][0] = 7;
  };
  Tensor x = *Tensor::Create({DType::kF32, {3, 4}}), loss = *Tensor::Create({DType::kF32, {1}});
  ASSERT_TRUE((*session)->Run("forward", {{"x", x}, {"input", loss}}).ok());
  EXPECT_EQ(fake.barriers, 4);
  EXPECT_THAT((*session)->Output("forward", "result")->values<float>(), ElementsAre(7));
}

TEST_F(PeerGroupTest, ACollectiveThatNeedsNcclIsAnErrorWithoutIt) {
  nccl.version = 22706;
  ProgramBuilder program = TwoRankProgram();
  AddReduction(program, format::CollectiveKind::reduce_scatter, 6, 3);
  absl::Status status = CreateRank(program).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("with --exchange peers, this collective needs NCCL: "));
  EXPECT_THAT(Message(status), HasSubstr("NCCL 2.27.6, but 2.28.3 is needed"));
}

TEST_F(PeerGroupTest, NcclDoesReductionsThatItDoesFaster) {
  const struct {
    int ranks;
    int64_t mib;
    GpuExchange exchange;
    bool by_nccl;
  } cases[] = {
      {2, 9, GpuExchange::kAuto, false}, {2, 257, GpuExchange::kAuto, false}, {3, 8, GpuExchange::kAuto, false},
      {3, 9, GpuExchange::kAuto, true},  {3, 9, GpuExchange::kPeers, false},
  };
  fake.memory_bytes = int64_t{4} << 30;
  for (const auto &[size, mib, how, by_nccl] : cases) {
    ProgramBuilder program = TwoRankProgram();
    program.executable().world_size = size;
    program.executable().entries[0]->commands.clear();
    program.executable().entries[0]->events = 0;
    const int64_t elements = mib << 18;
    AddReduction(program, format::CollectiveKind::all_reduce, elements, elements);
    sharing->ranks = size;
    exchange = how;
    nccl.calls.clear();
    auto session = CreateRank(program);
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_EQ(!nccl.calls.empty(), by_nccl) << mib << " MiB among " << size << " ranks";
  }
}

TEST_F(PeerGroupTest, NcclDoesGathersThatNoGemmFollows) {
  nccl.version = 22706; // It cannot be loaded, which is an error where it is needed.
  const struct {
    int ranks;
    bool has_gemm;
    GpuExchange exchange;
    bool by_nccl;
    bool others = false;
  } cases[] = {
      {2, false, GpuExchange::kAuto, false},
      {3, true, GpuExchange::kAuto, false},
      {3, false, GpuExchange::kAuto, true},
      {3, false, GpuExchange::kPeers, false},
      {3, false, GpuExchange::kAuto, false, /*others=*/true},
  };
  for (const auto &[size, has_gemm, how, by_nccl, others] : cases) {
    ProgramBuilder program = TwoRankProgram();
    program.executable().world_size = size;
    EntryBuilder entry(program.executable(), *program.executable().entries[0]);
    entry.entry().commands.clear();
    entry.entry().events = 0;
    uint32_t part = entry.Input("part", MakeType(DType::kF32, {4})),
             whole = entry.Output("all", MakeType(DType::kF32, {4 * (others ? size - 1 : size)}));
    entry.Collective(format::CollectiveKind::all_gather, part, whole);
    entry.entry().commands.back()->stream = 1;
    entry.entry().commands.back()->body.AsCollective()->others = others;
    if (has_gemm) {
      uint32_t x = entry.Input("matrix", MakeType(DType::kF32, {4, 4})),
               y = entry.Output("product", MakeType(DType::kF32, {4, 4}));
      entry.Gemm(x, x, y);
    }
    sharing->ranks = size;
    exchange = how;
    std::string error = Message(CreateRank(program).status());
    EXPECT_EQ(error.find("NCCL 2.27.6") != std::string::npos, by_nccl)
        << size << " ranks, GEMM after the gather: " << has_gemm << ", error: " << error;
  }
}

/// A process of its own, because the memory of a device that was given up is not released.
TEST_F(PeerGroupTest, ABarrierThatDoesNotEndEndsTheGroup) {
  auto run = [this] {
    ranks->limit = absl::Milliseconds(200);
    auto session = CreateRank(TwoRankProgram());
    bool is_ok = session.ok() && Run(**session).ok();
    fake.drops_work = true;
    is_ok = is_ok && Run(**session).ok();
    fake.is_busy = true;
    std::string message = Message((*session)->Synchronize());
    is_ok = is_ok && message.find("no collective has ended for 120ms, while 'c3'") != std::string::npos;
    std::_Exit(is_ok && nccl.comms == 0 ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST_F(PeerGroupTest, MemoryThatCannotBeSharedIsAnError) {
  fake.refuses_sharing = true;
  ranks = std::make_shared<AgreeingRanks>();
  absl::Status status = CreateRank(TwoRankProgram()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("GPUs of 1 ranks cannot access the memory of the others; here: "));
}

TEST_F(PeerGroupTest, MemoryOfAnotherHostIsAnError) {
  sharing->is_elsewhere = true;
  absl::Status status = CreateRank(TwoRankProgram()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("rank 1 is on another host"));
}

TEST_F(PeerGroupTest, NcclExchangesWhatAutomaticPeersCannotReach) {
  exchange = GpuExchange::kAuto;
  sharing->is_elsewhere = true;
  auto session = CreateRank(TwoRankProgram());
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_THAT(nccl.calls, Not(IsEmpty()));
  sharing->is_elsewhere = false;
  nccl.calls.clear();
  session = CreateRank(TwoRankProgram());
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_THAT(nccl.calls, IsEmpty());
}

TEST_F(PeerGroupTest, OlderGpusAreRefused) {
  fake.major = 7;
  fake.minor = 5;
  ranks = std::make_shared<AgreeingRanks>();
  ProgramBuilder program = TwoRankProgram();
  program.executable().objects.clear();
  AddObject(program, "sm_75");
  absl::Status status = CreateRank(program).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("compute capability 8.0"));
}

} // namespace
} // namespace cs336::runtime::testing
