//===- PeerKernels.cpp - Kernels that access other GPUs' memory -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/PeerKernels.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace cs336::runtime {

namespace {

/// Words of 32 bits in a vector.
constexpr int kWords = 4;

/// Shared memory of the ring, below the 163 KiB that a block has on compute capability 8.0, and its most stages.
constexpr int64_t kRingBytes = int64_t{160} << 10;
constexpr int64_t kMostStages = 12;

constexpr char kSynchronise[] = R"(
.version 7.0
.target sm_75
.address_size 64

.visible .entry synchronise(.param .u64 blocks, .param .u64 rank, .param .u64 ranks, .param .u64 offset,
                            .param .u64 abandoned, .param .u64 done)
{
  .reg .pred %is_outside, %is_first, %is_here, %has_come, %is_kept, %is_counted;
  .reg .b32 %lane, %looks, %turn;
  .reg .b64 %thread, %rank, %ranks, %blocks, %offset, %abandoned, %block, %own, %other, %counter, %call, %signal;

  mov.u32 %lane, %tid.x;
  cvt.u64.u32 %thread, %lane;
  ld.param.u64 %rank, [rank];
  ld.param.u64 %ranks, [ranks];
  ld.param.u64 %blocks, [blocks];
  cvta.to.global.u64 %blocks, %blocks;
  ld.param.u64 %offset, [offset];
  ld.param.u64 %abandoned, [abandoned];
  cvta.to.global.u64 %abandoned, %abandoned;

  // The number of this call.
  mad.lo.u64 %block, %rank, 8, %blocks;
  ld.global.u64 %block, [%block];
  cvta.to.global.u64 %block, %block;
  add.u64 %own, %block, %offset;
  mad.lo.u64 %counter, %ranks, 8, %own;
  ld.volatile.global.u64 %call, [%counter];
  add.u64 %call, %call, 1;
  bar.sync 0;
  setp.eq.u64 %is_first, %thread, 0;
  @%is_first st.volatile.global.u64 [%counter], %call;
  setp.ge.u64 %is_outside, %thread, %ranks;
  @%is_outside bra come;
  setp.eq.u64 %is_here, %thread, %rank;
  @%is_here bra come;

  // Tells the rank of this thread's number.
  mad.lo.u64 %other, %thread, 8, %blocks;
  ld.global.u64 %other, [%other];
  cvta.to.global.u64 %other, %other;
  add.u64 %other, %other, %offset;
  mad.lo.u64 %other, %rank, 8, %other;
  fence.acq_rel.sys;
  st.release.sys.global.u64 [%other], %call;

  // Waits for that rank. The word in the host's memory is read at every 256th look. Other kernels read the first word
  // of the block.
  mad.lo.u64 %own, %thread, 8, %own;
  mov.u32 %looks, 0;
again:
  ld.acquire.sys.global.u64 %signal, [%own];
  setp.ge.u64 %has_come, %signal, %call;
  @%has_come bra come;
  add.u32 %looks, %looks, 1;
  and.b32 %turn, %looks, 255;
  setp.ne.u32 %is_kept, %turn, 0;
  @%is_kept bra again;
  ld.volatile.global.u64 %signal, [%abandoned];
  setp.eq.u64 %is_kept, %signal, 0;
  @%is_kept bra again;
  st.volatile.global.u64 [%block], %signal;

  // Counts one more collective if this is its last barrier.
come:
  bar.sync 0;
  ld.param.u64 %own, [done];
  setp.ne.and.u64 %is_counted, %own, 0, %is_first;
  @!%is_counted ret;
  cvta.to.global.u64 %own, %own;
  ld.volatile.global.u64 %call, [%own];
  add.u64 %call, %call, 1;
  st.volatile.global.u64 [%own], %call;
}
)";

/// A block walks through the operands in chunks of a vector per thread. The chunks are numbered through all operands,
/// and a block takes those of every `blocks`-th number, so many small operands are divided as one large one. Each
/// thread copies its vector of a chunk from all ranks to places of its own in a ring of `stages` stages in shared
/// memory, and adds those that have come. No register waits for another GPU, so a few multiprocessors keep NVLink busy.
///
/// The threads of a block take each chunk together, also those that have no vector in it. If each went on to the next
/// operand by itself, ptxas would still keep the operand in a register that the threads of a warp share.
///
/// The last vector of an operand may have fewer bytes than 16. Its thread fills it with zeros, and stores its values
/// one by one.
///
/// $0: name. $1: declarations. $2: stages. $3: neutral sums. $4: adds %word0, …, %word3. $5: rounds into these.
/// $6: stores the first %rest bytes of these at %address. $7: threads of a block. $8: the binary logarithm of $7.
constexpr char kReduce[] = R"(
.version 7.0
.target sm_80
.address_size 64

.extern .shared .align 16 .b8 ring[];

.visible .entry $0(.param .u64 operands, .param .u64 count, .param .u64 ranks, .param .u64 targets,
                   .param .u64 abandoned)
{
  .reg .pred %is_end, %is_next, %is_whole;
  .reg .b16 %low, %high;
  .reg .b32 %block, %lane, %threads, %bits, %rank_bytes, %ring, %ring_end, %slot, %place, %filled, %rest;
  .reg .f32 %value;
  .reg .b64 %ranks, %targets, %record_bytes, %thread, %first, %step, %left, %field, %address, %offset, %index;
  .reg .b64 %load_record, %load_operands, %load_bytes, %load_end, %load_chunk;
  .reg .b64 %add_record, %add_operands, %add_bytes, %add_end, %add_chunk;
  .reg .b32 %add_slot, %word<4>;
$1
  ld.param.u64 %address, [abandoned];
  cvta.to.global.u64 %address, %address;
  ld.volatile.global.u64 %left, [%address];
  setp.ne.u64 %is_end, %left, 0;
  @%is_end ret;

  ld.param.u64 %load_record, [operands];
  cvta.to.global.u64 %load_record, %load_record;
  ld.param.u64 %load_operands, [count];
  ld.param.u64 %ranks, [ranks];
  ld.param.u64 %targets, [targets];
  add.u64 %record_bytes, %ranks, %targets;
  mad.lo.u64 %record_bytes, %record_bytes, 8, 8;
  mov.u32 %lane, %tid.x;
  cvt.u64.u32 %thread, %lane;
  mov.u32 %threads, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mul.wide.u32 %first, %block, %threads;
  mov.u32 %block, %nctaid.x;
  mul.wide.u32 %step, %block, %threads;

  // A stage has a vector of each rank per thread.
  shl.b32 %rank_bytes, %threads, 4;
  mov.u32 %ring, ring;
  mad.lo.u32 %ring, %lane, 16, %ring;
  cvt.u32.u64 %bits, %ranks;
  mul.lo.u32 %threads, %rank_bytes, %bits;
  mad.lo.u32 %ring_end, %threads, $2, %ring;
  mov.u32 %slot, %ring;
  mov.u32 %add_slot, %ring;
  mov.u32 %filled, 0;

  ld.global.u64 %load_bytes, [%load_record];
  add.u64 %load_end, %load_bytes, 15;
  shr.u64 %load_end, %load_end, 4;
  mov.u64 %load_chunk, %first;
  mov.u64 %add_record, %load_record;
  mov.u64 %add_operands, %load_operands;
  mov.u64 %add_bytes, %load_bytes;
  mov.u64 %add_end, %load_end;
  mov.u64 %add_chunk, %first;

load:
  setp.eq.u64 %is_end, %load_operands, 0;
  @%is_end bra.uni loaded;
  setp.lt.u64 %is_next, %load_chunk, %load_end;
  @%is_next bra.uni load_chunk;
  sub.u64 %load_operands, %load_operands, 1;
  setp.eq.u64 %is_end, %load_operands, 0;
  @%is_end bra.uni loaded;
  add.u64 %left, %load_end, $7 - 1;
  shr.u64 %left, %left, $8;
  shl.b64 %left, %left, $8;
  sub.u64 %load_chunk, %load_chunk, %left;
  add.u64 %load_record, %load_record, %record_bytes;
  ld.global.u64 %load_bytes, [%load_record];
  add.u64 %load_end, %load_bytes, 15;
  shr.u64 %load_end, %load_end, 4;
  bra.uni load;
load_chunk:
  add.u64 %index, %load_chunk, %thread;
  setp.ge.u64 %is_end, %index, %load_end;
  @%is_end bra fill_next;
  shl.b64 %offset, %index, 4;
  sub.u64 %left, %load_bytes, %offset;
  min.u64 %left, %left, 16;
  cvt.u32.u64 %rest, %left;
  mov.u64 %field, %load_record;
  mov.u64 %left, %ranks;
  mov.u32 %place, %slot;
load_rank:
  add.u64 %field, %field, 8;
  ld.global.u64 %address, [%field];
  cvta.to.global.u64 %address, %address;
  add.u64 %address, %address, %offset;
  cp.async.cg.shared.global [%place], [%address], 16, %rest;
  add.u32 %place, %place, %rank_bytes;
  sub.u64 %left, %left, 1;
  setp.ne.u64 %is_next, %left, 0;
  @%is_next bra load_rank;
fill_next:
  add.u64 %load_chunk, %load_chunk, %step;
  add.u32 %slot, %slot, %threads;
  setp.eq.u32 %is_end, %slot, %ring_end;
  selp.b32 %slot, %ring, %slot, %is_end;
loaded:
  cp.async.commit_group;
  add.u32 %filled, %filled, 1;
  setp.lt.u32 %is_next, %filled, $2;
  @%is_next bra.uni load;

  cp.async.wait_group $2 - 1;
add:
  setp.lt.u64 %is_next, %add_chunk, %add_end;
  @%is_next bra.uni add_chunk;
  sub.u64 %add_operands, %add_operands, 1;
  setp.eq.u64 %is_end, %add_operands, 0;
  @%is_end ret.uni;
  add.u64 %left, %add_end, $7 - 1;
  shr.u64 %left, %left, $8;
  shl.b64 %left, %left, $8;
  sub.u64 %add_chunk, %add_chunk, %left;
  add.u64 %add_record, %add_record, %record_bytes;
  ld.global.u64 %add_bytes, [%add_record];
  add.u64 %add_end, %add_bytes, 15;
  shr.u64 %add_end, %add_end, 4;
  bra.uni add;
add_chunk:
  add.u64 %index, %add_chunk, %thread;
  setp.ge.u64 %is_end, %index, %add_end;
  @%is_end bra stored;
$3
  shl.b64 %offset, %index, 4;
  mov.u64 %field, %add_record;
  mov.u64 %left, %ranks;
  mov.u32 %place, %add_slot;
add_rank:
  add.u64 %field, %field, 8;
  ld.shared.v4.b32 {%word0, %word1, %word2, %word3}, [%place];
$4
  add.u32 %place, %place, %rank_bytes;
  sub.u64 %left, %left, 1;
  setp.ne.u64 %is_next, %left, 0;
  @%is_next bra add_rank;
$5
  sub.u64 %left, %add_bytes, %offset;
  setp.ge.u64 %is_whole, %left, 16;
  cvt.u32.u64 %rest, %left;
  mov.u64 %left, %targets;
  @!%is_whole bra store_rest;
store:
  add.u64 %field, %field, 8;
  ld.global.u64 %address, [%field];
  cvta.to.global.u64 %address, %address;
  add.u64 %address, %address, %offset;
  st.global.v4.b32 [%address], {%word0, %word1, %word2, %word3};
  sub.u64 %left, %left, 1;
  setp.ne.u64 %is_next, %left, 0;
  @%is_next bra store;
  bra stored;
store_rest:
  add.u64 %field, %field, 8;
  ld.global.u64 %address, [%field];
  cvta.to.global.u64 %address, %address;
  add.u64 %address, %address, %offset;
$6
  sub.u64 %left, %left, 1;
  setp.ne.u64 %is_next, %left, 0;
  @%is_next bra store_rest;
stored:
  add.u64 %add_chunk, %add_chunk, %step;
  add.u32 %add_slot, %add_slot, %threads;
  setp.eq.u32 %is_end, %add_slot, %ring_end;
  selp.b32 %add_slot, %ring, %add_slot, %is_end;
  bra.uni load;
}
)";

/// A number of type float32 in PTX.
std::string Literal(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return absl::StrFormat("0f%08X", bits);
}

int ValuesPerWord(DType dtype) { return dtype == DType::kF32 ? 1 : 2; }

std::string Sum(int word, int value) { return absl::StrCat("%sum", word, "_", value); }

/// The value of ranks that none has added to, so that the first one's bits are kept.
float Neutral(Reduction reduction) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return reduction == Reduction::kMax ? -kInfinity : reduction == Reduction::kMin ? kInfinity : -0.0f;
}

absl::string_view Instruction(Reduction reduction) {
  return reduction == Reduction::kMax ? "max.NaN.f32" : reduction == Reduction::kMin ? "min.NaN.f32" : "add.rn.f32";
}

/// Concatenates text for each value of a vector: its word, and its position there.
template <typename Write>
std::string ForEachValue(DType dtype, const Write &write) {
  std::string text;
  for (int word = 0; word != kWords; ++word)
    for (int value = 0; value != ValuesPerWord(dtype); ++value)
      absl::StrAppend(&text, write(word, value));
  return text;
}

/// Text that converts a value of a word to float32 in %value.
std::string Unpack(DType dtype, int word, int value) {
  std::string from = absl::StrCat("%word", word);
  if (dtype == DType::kF32)
    return absl::StrCat("  mov.b32 %value, ", from, ";\n");
  if (dtype == DType::kBF16)
    return absl::StrCat(value == 0 ? "  shl.b32 %bits, " : "  and.b32 %bits, ", from,
                        value == 0 ? ", 16;\n" : ", 0xffff0000;\n", "  mov.b32 %value, %bits;\n");
  return absl::StrCat("  mov.b32 {%low, %high}, ", from, ";\n  cvt.f32.f16 %value, ", value == 0 ? "%low" : "%high",
                      ";\n");
}

/// Text that rounds the sums of a word.
std::string Pack(DType dtype, int word) {
  if (dtype == DType::kF32)
    return absl::StrCat("  mov.b32 %word", word, ", ", Sum(word, 0), ";\n");
  return absl::StrCat("  cvt.rn.", dtype == DType::kBF16 ? "bf16x2" : "f16x2", ".f32 %word", word, ", ", Sum(word, 1),
                      ", ", Sum(word, 0), ";\n");
}

/// Text that stores a value of a word if %rest has it, and moves %address to the next one.
std::string StoreRest(DType dtype, int word, int value) {
  int64_t bytes = ByteSize(dtype);
  std::string from = absl::StrCat("%word", word), type = ".b32", text;
  if (dtype != DType::kF32) {
    text = absl::StrCat("  mov.b32 {%low, %high}, ", from, ";\n");
    from = value == 0 ? "%low" : "%high";
    type = ".b16";
  }
  return absl::StrCat(text, "  setp.gt.u32 %is_next, %rest, ", (word * ValuesPerWord(dtype) + value) * bytes,
                      ";\n  @%is_next st.global", type, " [%address], ", from, ";\n  add.u64 %address, %address, ",
                      bytes, ";\n");
}

/// Text that divides a sum. Multiplication by the inverse of a power of 2 is as exact, and takes one instruction.
std::string Divide(const std::string &sum, int ranks) {
  auto divisor = static_cast<float>(ranks);
  bool is_power = (ranks & (ranks - 1)) == 0;
  return absl::StrCat(is_power ? "  mul.rn.f32 " : "  div.rn.f32 ", sum, ", ", sum, ", ",
                      Literal(is_power ? 1 / divisor : divisor), ";\n");
}

std::string PrintRounding(DType dtype, Reduction reduction, int ranks) {
  std::string text;
  if (reduction == Reduction::kMean)
    text = ForEachValue(dtype, [&](int word, int value) { return Divide(Sum(word, value), ranks); });
  for (int word = 0; word != kWords; ++word)
    absl::StrAppend(&text, Pack(dtype, word));
  return text;
}

/// Stages of the ring: as many as shared memory has, up to a number that keeps NVLink busy.
int64_t StageBytes(int ranks) { return int64_t{16} * kReduceThreads * ranks; }
int64_t Stages(int ranks) { return std::clamp<int64_t>(kRingBytes / StageBytes(ranks), 2, kMostStages); }

} // namespace

std::string SynchroniseText() { return kSynchronise; }

std::string ReduceName(DType dtype, Reduction reduction) {
  constexpr absl::string_view kReductions[] = {"sum", "mean", "max", "min"};
  return absl::StrCat("reduce_peers_", kReductions[static_cast<size_t>(reduction)], "_", Name(dtype));
}

int64_t ReduceSharedBytes(int ranks) { return Stages(ranks) * StageBytes(ranks); }

std::string ReduceText(DType dtype, Reduction reduction, int ranks) {
  std::string declarations =
      ForEachValue(dtype, [](int word, int value) { return absl::StrCat("  .reg .f32 ", Sum(word, value), ";\n"); });
  std::string neutral = ForEachValue(dtype, [&](int word, int value) {
    return absl::StrCat("  mov.f32 ", Sum(word, value), ", ", Literal(Neutral(reduction)), ";\n");
  });
  std::string add = ForEachValue(dtype, [&](int word, int value) {
    std::string sum = Sum(word, value);
    return absl::StrCat(Unpack(dtype, word, value), "  ", Instruction(reduction), " ", sum, ", ", sum, ", %value;\n");
  });
  std::string store = ForEachValue(dtype, [&](int word, int value) { return StoreRest(dtype, word, value); });
  return absl::Substitute(kReduce, ReduceName(dtype, reduction), declarations, Stages(ranks), neutral, add,
                          PrintRounding(dtype, reduction, ranks), store, kReduceThreads,
                          std::countr_zero(kReduceThreads));
}

} // namespace cs336::runtime
