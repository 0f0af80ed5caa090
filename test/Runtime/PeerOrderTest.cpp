//===- PeerOrderTest.cpp - Collectives over peers' memory, in any order ---===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several ranks, each on its own thread, on fake GPUs that delay work at
// random. A result is right in every order of streams and ranks only if events
// and barriers exclude the wrong orders.
//
//===----------------------------------------------------------------------===//

#include "NcclGroupFixture.h"
#include "TcpTestGroup.h"

#include "absl/strings/str_cat.h"

#include <gmock/gmock.h>
#include <tuple>

namespace cs336::runtime::testing {
namespace {

using format::CollectiveKind;
using ::testing::IsEmpty;

/// The number of ranks, and whether they use graphs.
class PeerOrderTest : public NcclGroupTest, public ::testing::WithParamInterface<std::tuple<int, bool>> {
protected:
  void SetUp() override {
    NcclGroupTest::SetUp();
    fake.memory_bytes = int64_t{4} << 30;
    fake.refuses_sharing = false;
    fake.delays_work = true;
    program.executable().target = format::Target::cuda;
    program.executable().world_size = size;
    AddObject(program, "sm_90a");
  }

  /// Runs `body` with the session of each rank, on a thread per rank.
  void RunAll(const std::function<void(int, Session &)> &body) {
    // One rank at a time interprets kernels, which may take long on a busy machine.
    std::vector<std::unique_ptr<Communicator>> group = CreateInProcessGroup(size, absl::Minutes(3));
    std::vector<std::unique_ptr<Session>> sessions(size);
    std::vector<absl::Status> statuses = RunRanks(size, [&](int rank) {
      SessionOptions options;
      options.device = "cuda:0";
      options.communicator = std::move(group[rank]);
      options.use_graphs = use_graphs;
      options.exchange = GpuExchange::kPeers;
      absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(*program.Build(), options);
      if (session.ok())
        sessions[rank] = *std::move(session);
      return session.status();
    });
    for (const absl::Status &status : statuses)
      ASSERT_TRUE(status.ok()) << status;
    RunRanks(size, [&](int rank) {
      body(rank, *sessions[rank]);
      return absl::OkStatus();
    });
    EXPECT_THAT(nccl.calls, IsEmpty()) << "peers exchange everything";
  }

  static absl::Span<const float> Values(Session &session, const std::string &name) {
    absl::StatusOr<TensorView> value = session.Output("forward", name);
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? value->values<float>() : absl::Span<const float>();
  }

public:
  static std::string Name(const ::testing::TestParamInfo<ParamType> &info) {
    return std::to_string(std::get<0>(info.param)) + (std::get<1>(info.param) ? "WithGraphs" : "WithoutGraphs");
  }

protected:
  const int size = std::get<0>(GetParam());
  const bool use_graphs = std::get<1>(GetParam());
  ProgramBuilder program;
};

/// Each number of ranks once: interpreting the kernels takes seconds.
const auto kGroups = ::testing::Values(std::tuple(2, true), std::tuple(3, false), std::tuple(4, true));

INSTANTIATE_TEST_SUITE_P(Ranks, PeerOrderTest, kGroups, PeerOrderTest::Name);

/// A collective with one operand.
struct Exchange {
  CollectiveKind kind;
  int64_t part;        // Elements of a rank's part.
  bool others = false; // The result has the parts of other ranks.

  int64_t SourceElements(int ranks) const { return kind == CollectiveKind::all_gather ? part : part * ranks; }
  int64_t ResultElements(int ranks) const {
    return kind == CollectiveKind::reduce_scatter ? part : part * (others ? ranks - 1 : ranks);
  }
};

/// Returns an element of a rank's source in a step. Sums over ranks are exact.
float Element(int rank, int step, int64_t index) {
  return static_cast<float>(1000 * (rank + 1) + 100 * step + index % 97);
}

/// Returns an element of a rank's result: a mean, or a rank's own element.
float ResultElement(const Exchange &exchange, int ranks, int rank, int step, int64_t index) {
  int from = static_cast<int>(index / exchange.part);
  from += exchange.others && from >= rank;
  if (exchange.kind == CollectiveKind::all_gather)
    return Element(from, step, index % exchange.part);
  if (exchange.kind == CollectiveKind::all_to_all)
    return Element(from, step, rank * exchange.part + index % exchange.part);
  int64_t first = exchange.kind == CollectiveKind::reduce_scatter ? rank * exchange.part : 0;
  float sum = 0;
  for (int each = 0; each != ranks; ++each)
    sum += Element(each, step, first + index);
  return sum / static_cast<float>(ranks);
}

TEST_P(PeerOrderTest, ResultsAreRightForEverySize) {
  // Larger parts are staged. No GEMM follows.
  const int64_t staged = (int64_t{size == 2 ? 16 : 8} << 20) / 4 / size / 4 * 4;
  const Exchange exchanges[] = {
      {CollectiveKind::all_gather, 1},          {CollectiveKind::all_gather, 1023},
      {CollectiveKind::all_gather, 1 << 18},    {CollectiveKind::reduce_scatter, 4},
      {CollectiveKind::reduce_scatter, staged}, {CollectiveKind::all_gather, 4},
      {CollectiveKind::all_gather, 12},         {CollectiveKind::reduce_scatter, staged + 4},
      {CollectiveKind::all_reduce, 4},          {CollectiveKind::all_reduce, staged + 8},
      {CollectiveKind::all_reduce, 1},          {CollectiveKind::all_reduce, staged + 9},
      {CollectiveKind::all_to_all, 1023},       {CollectiveKind::all_to_all, 1023, true},
      {CollectiveKind::all_gather, 12, true},   {CollectiveKind::all_gather, 1023, true},
  };
  constexpr size_t kCount = std::size(exchanges);
  EntryBuilder entry = program.Entry("forward");
  entry.entry().streams = 2;
  entry.entry().events = 1;
  std::vector<uint32_t> sources;
  std::vector<std::string> names;
  std::vector<format::TensorTypeT> types;
  for (const Exchange &each : exchanges) {
    names.push_back("x" + std::to_string(names.size()));
    types.push_back(MakeType(DType::kF32, {each.SourceElements(size)}));
    uint32_t input = entry.Input(names.back(), types.back());
    sources.push_back(entry.Arena("source", types.back()));
    entry.Copy(input, sources.back());
  }
  entry.Record(0);
  entry.Wait(0);
  entry.entry().commands.back()->stream = 1;
  for (size_t i = 0; i != kCount; ++i) {
    uint32_t result = entry.Output("y" + names[i], MakeType(DType::kF32, {exchanges[i].ResultElements(size)}));
    entry.Collective(exchanges[i].kind, sources[i], result, format::Reduction::mean);
    entry.entry().commands.back()->body.AsCollective()->others = exchanges[i].others;
    entry.entry().commands.back()->stream = 1;
  }

  RunAll([&](int rank, Session &session) {
    std::vector<Tensor> inputs;
    std::vector<NamedTensor> named;
    for (const format::TensorTypeT &type : types)
      inputs.push_back(*Tensor::Create(ToTensorType(type)));
    for (size_t i = 0; i != kCount; ++i)
      named.push_back({names[i], inputs[i]});
    for (int step = 0; step != 2; ++step) {
      for (Tensor &input : inputs)
        for (int64_t k = 0; float &value : input.mutable_values<float>())
          value = Element(rank, step, k++);
      ASSERT_TRUE(session.Run("forward", named).ok());
      for (size_t i = 0; i != kCount; ++i) {
        int64_t wrong = 0, k = 0;
        for (float value : Values(session, "y" + names[i]))
          wrong += value != ResultElement(exchanges[i], size, rank, step, k++);
        EXPECT_EQ(k, exchanges[i].ResultElements(size));
        EXPECT_EQ(wrong, 0) << "result " << i << " of rank " << rank << " in step " << step;
      }
    }
  });
}

/// Collectives of several operands.
class ReducedTogether : public PeerOrderTest {
protected:
  /// Reduces operands, whose results have these numbers of elements, by one collective.
  void Reduce(CollectiveKind kind, const std::vector<int64_t> &sizes) {
    int64_t parts = kind == CollectiveKind::reduce_scatter ? size : 1;
    EntryBuilder entry = program.Entry("forward");
    entry.entry().streams = 2;
    entry.entry().events = 1;
    std::vector<uint32_t> inputs, sources, targets;
    for (size_t i = 0; i != sizes.size(); ++i) {
      auto type = MakeType(DType::kF32, {sizes[i] * parts});
      inputs.push_back(entry.Input(absl::StrCat("x", i), type));
      sources.push_back(entry.Arena(absl::StrCat("source", i), type));
      targets.push_back(entry.Output(absl::StrCat("y", i), MakeType(DType::kF32, {sizes[i]})));
      entry.Copy(inputs.back(), sources.back());
    }
    entry.Record(0);
    entry.Wait(0);
    entry.entry().commands.back()->stream = 1;
    entry.Collective(kind, sources[0], targets[0], format::Reduction::mean);
    format::CommandT &command = *entry.entry().commands.back();
    command.stream = 1;
    command.body.AsCollective()->sources = sources;
    command.body.AsCollective()->targets = targets;

    RunAll([&](int rank, Session &session) {
      std::vector<Tensor> values;
      std::vector<std::string> names;
      for (int64_t elements : sizes) {
        names.push_back(absl::StrCat("x", names.size()));
        Tensor &value = values.emplace_back(*Tensor::Create({DType::kF32, {elements * parts}}));
        for (int64_t k = 0; float &each : value.mutable_values<float>())
          each = Element(rank, 0, k++);
      }
      std::vector<NamedTensor> named;
      for (size_t i = 0; i != sizes.size(); ++i)
        named.push_back({names[i], values[i]});
      ASSERT_TRUE(session.Run("forward", named).ok());
      for (size_t i = 0; i != sizes.size(); ++i) {
        int64_t wrong = 0, k = 0;
        for (float value : Values(session, absl::StrCat("y", i)))
          wrong += value != ResultElement({kind, sizes[i]}, size, rank, 0, k++);
        EXPECT_EQ(k, sizes[i]);
        EXPECT_EQ(wrong, 0) << "operand " << i << " of rank " << rank;
      }
    });
  }
};

/// A part of 25 MiB is staged in four rounds, so that the third one writes to staging memory that the first one has
/// read.
TEST_P(ReducedTogether, OperandsThatSpanRounds) {
  Reduce(CollectiveKind::reduce_scatter, {int64_t{11} << 19, 12, int64_t{1} << 19, (int64_t{1} << 18) + 4, 4});
}

TEST_P(ReducedTogether, TheGainsOfNormsAndTheLoss) {
  std::vector<int64_t> sizes(74, 1280);
  sizes.push_back(1);
  Reduce(CollectiveKind::all_reduce, sizes);
}

TEST_P(ReducedTogether, StagedOperandsOfAnyLength) {
  Reduce(CollectiveKind::all_reduce, {1, 5, (int64_t{size == 2 ? 17 : 9} << 18) + 3, 1, 1280, 7});
}

INSTANTIATE_TEST_SUITE_P(Ranks, ReducedTogether, kGroups, PeerOrderTest::Name);

/// Stream 1 runs these collectives:
///
///     whole = gather(source) of x
///     small = gather(few) of y           directly after it: no first barrier
///     mean  = all_reduce(mean) of y      neither
///     whole = gather(source) of z        after stream 0 has read `whole`, and has written z
TEST_P(PeerOrderTest, NoRankOverwritesWhatAnotherOneUses) {
  const int64_t elements = 1027;
  EntryBuilder entry = program.Entry("forward");
  entry.entry().streams = 2;
  entry.entry().events = 5;
  auto type = [](int64_t elements) { return MakeType(DType::kF32, {elements}); };
  uint32_t x = entry.Input("x", type(elements)), y = entry.Input("y", type(4 * size)),
           z = entry.Input("z", type(elements));
  uint32_t source = entry.Arena("source", type(elements)), few = entry.Arena("few", type(4 * size));
  uint32_t mean = entry.Arena("mean", type(4 * size)), whole = entry.Arena("whole", type(elements * size));
  uint32_t small = entry.Arena("small", type(4 * size * size));
  auto on_side = [&] { entry.entry().commands.back()->stream = 1; };
  auto copy_out = [&](uint32_t from, const char *name, int64_t count) {
    entry.Copy(from, entry.Output(name, type(count)));
  };
  entry.Copy(x, source);
  entry.Copy(y, few);
  entry.Copy(y, mean);
  entry.Record(0);
  entry.Wait(0);
  on_side();
  entry.Collective(CollectiveKind::all_gather, source, whole);
  on_side();
  entry.Record(1);
  on_side();
  entry.Collective(CollectiveKind::all_gather, few, small);
  on_side();
  entry.Collective(CollectiveKind::all_reduce, mean, mean, format::Reduction::mean);
  on_side();
  entry.Record(2);
  on_side();
  entry.Wait(1);
  copy_out(whole, "first", elements * size);
  entry.Copy(z, source);
  entry.Record(3);
  entry.Wait(3);
  on_side();
  entry.Collective(CollectiveKind::all_gather, source, whole);
  on_side();
  entry.Record(4);
  on_side();
  entry.Wait(2);
  copy_out(small, "small_copy", 4 * size * size);
  copy_out(mean, "mean_copy", 4 * size);
  entry.Wait(4);
  copy_out(whole, "second", elements * size);

  constexpr int kSteps = 25;
  RunAll([&](int rank, Session &session) {
    Tensor inputs[] = {*Tensor::Create({DType::kF32, {elements}}), *Tensor::Create({DType::kF32, {4 * size}}),
                       *Tensor::Create({DType::kF32, {elements}})};
    auto value = [](int rank, int step, int input) { return static_cast<float>(100 * step + 10 * input + rank); };
    auto expect = [&](const char *name, int step, int input) {
      absl::Span<const float> values = Values(session, name);
      size_t part = values.size() / size;
      for (int each = 0; each != size; ++each) {
        absl::Span<const float> from = values.subspan(each * part, part);
        EXPECT_EQ(std::count(from.begin(), from.end(), value(each, step, input)), static_cast<int64_t>(part))
            << name << " on rank " << rank << " from rank " << each << " in step " << step;
      }
    };
    for (int step = 0; step != kSteps; ++step) {
      for (int input = 0; input != 3; ++input) {
        absl::Span<float> values = inputs[input].mutable_values<float>();
        std::fill(values.begin(), values.end(), value(rank, step, input));
      }
      ASSERT_TRUE(session.Run("forward", {{"x", inputs[0]}, {"y", inputs[1]}, {"z", inputs[2]}}).ok());
      expect("second", step, 2);
      expect("first", step, 0);
      expect("small_copy", step, 1);
      float sum = 0;
      for (int each = 0; each != size; ++each)
        sum += value(each, step, 1);
      EXPECT_THAT(Values(session, "mean_copy"), ::testing::Each(sum / static_cast<float>(size)))
          << "rank " << rank << ", step " << step;
    }
  });
  EXPECT_EQ(fake.barriers, kSteps * size * (2 + 1 + 1 + 2));
}

/// Stream 1 runs these gathers directly after each other. Each one uses bytes of the one before it:
///
///     whole  = gather(source) of x
///     source = gather(few) of y      writes what the first one reads on other ranks
///     twice  = gather(source)        reads what other ranks have just written
///     twice  = gather(many) of z     from the second element of `twice` on: other parts, of other ranks
TEST_P(PeerOrderTest, GathersOfTheSameBytesAreInOrder) {
  const int64_t part = 25, elements = part * size, shifted = elements - 1;
  EntryBuilder entry = program.Entry("forward");
  entry.entry().streams = 2;
  entry.entry().events = 2;
  auto type = [](int64_t elements) { return MakeType(DType::kF32, {elements}); };
  uint32_t x = entry.Input("x", type(elements)), y = entry.Input("y", type(part)), z = entry.Input("z", type(shifted));
  uint32_t source = entry.Arena("source", type(elements)), few = entry.Arena("few", type(part)),
           many = entry.Arena("many", type(shifted)), whole = entry.Arena("whole", type(elements * size)),
           twice = entry.Arena("twice", type(elements * size));
  uint32_t rest = entry.View(twice, {shifted * size}, {1}, sizeof(float));
  entry.Copy(x, source);
  entry.Copy(y, few);
  entry.Copy(z, many);
  entry.Record(0);
  entry.Wait(0);
  entry.entry().commands.back()->stream = 1;
  const std::pair<uint32_t, uint32_t> gathers[] = {{source, whole}, {few, source}, {source, twice}, {many, rest}};
  for (auto [from, to] : gathers) {
    entry.Collective(CollectiveKind::all_gather, from, to);
    entry.entry().commands.back()->stream = 1;
  }
  entry.Record(1);
  entry.entry().commands.back()->stream = 1;
  entry.Wait(1);
  entry.Copy(whole, entry.Output("first", type(elements * size)));
  entry.Copy(twice, entry.Output("last", type(elements * size)));

  auto value = [](int rank, int step, int64_t index, int input) {
    return static_cast<float>(10000 * input + 1000 * rank + 100 * (step % 10) + index % 97);
  };
  RunAll([&](int rank, Session &session) {
    Tensor inputs[] = {*Tensor::Create({DType::kF32, {elements}}), *Tensor::Create({DType::kF32, {part}}),
                       *Tensor::Create({DType::kF32, {shifted}})};
    for (int step = 0; step != 25; ++step) {
      for (int input = 0; input != 3; ++input)
        for (int64_t k = 0; float &each : inputs[input].mutable_values<float>())
          each = value(rank, step, k++, input);
      ASSERT_TRUE(session.Run("forward", {{"x", inputs[0]}, {"y", inputs[1]}, {"z", inputs[2]}}).ok());
      int64_t wrong = 0;
      for (int64_t k = 0; float each : Values(session, "first")) {
        wrong += each != value(static_cast<int>(k / elements), step, k % elements, 0);
        ++k;
      }
      EXPECT_EQ(wrong, 0) << "first gather, rank " << rank << ", step " << step;
      absl::Span<const float> last = Values(session, "last");
      EXPECT_EQ(last[0], value(0, step, 0, 1)) << "third gather, rank " << rank << ", step " << step;
      for (int64_t k = 1; k != elements * size; ++k) {
        int64_t of_many = k - 1;
        wrong += of_many < shifted * size
                     ? last[k] != value(static_cast<int>(of_many / shifted), step, of_many % shifted, 2)
                     : last[k] != value(static_cast<int>(k % elements / part), step, k % part, 1);
      }
      EXPECT_EQ(wrong, 0) << "fourth gather, rank " << rank << ", step " << step;
    }
  });
}

} // namespace
} // namespace cs336::runtime::testing
