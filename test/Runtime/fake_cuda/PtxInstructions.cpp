//===- PtxInstructions.cpp - Instructions that are interpreted ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fake_cuda/PtxInstructions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

namespace cs336::runtime::testing {

namespace {

template <typename T, typename Op>
void Combine(PtxThread &thread, const PtxOperands &operands) {
  thread.Set<T>(operands[0], Op()(thread.Get<T>(operands[1]), thread.Get<T>(operands[2])));
}
template <typename T, typename Op>
void Compare(PtxThread &thread, const PtxOperands &operands) {
  thread.Set<uint64_t>(operands[0], Op()(thread.Get<T>(operands[1]), thread.Get<T>(operands[2])));
}
template <typename To, typename From = To>
void Move(PtxThread &thread, const PtxOperands &operands) {
  thread.Set<To>(operands[0], static_cast<To>(thread.Get<From>(operands[1])));
}
template <typename T>
void MultiplyAdd(PtxThread &thread, const PtxOperands &operands) {
  thread.Set<T>(operands[0], thread.Get<T>(operands[1]) * thread.Get<T>(operands[2]) + thread.Get<T>(operands[3]));
}
void MultiplyWide(PtxThread &thread, const PtxOperands &operands) {
  thread.Set<uint64_t>(operands[0], uint64_t{thread.Get<uint32_t>(operands[1])} * thread.Get<uint32_t>(operands[2]));
}

/// A shift by at least the number of bits gives 0.
template <typename T>
void ShiftLeft(PtxThread &thread, const PtxOperands &operands) {
  auto bits = thread.Get<uint32_t>(operands[2]);
  thread.Set<T>(operands[0], bits >= 8 * sizeof(T) ? T{0} : T(thread.Get<T>(operands[1]) << bits));
}
template <typename T>
void ShiftRight(PtxThread &thread, const PtxOperands &operands) {
  auto bits = thread.Get<uint32_t>(operands[2]);
  thread.Set<T>(operands[0], bits >= 8 * sizeof(T) ? T{0} : T(thread.Get<T>(operands[1]) >> bits));
}

/// NaN if an operand is NaN; -0 is less than +0.
template <bool is_max>
struct Extreme {
  float operator()(float a, float b) const {
    if (std::isnan(a) || std::isnan(b))
      return std::numeric_limits<float>::quiet_NaN();
    bool is_less = a < b || (a == b && std::signbit(a));
    return is_less == is_max ? b : a;
  }
};

struct Least {
  uint64_t operator()(uint64_t a, uint64_t b) const { return std::min(a, b); }
};

template <typename T>
void LoadGlobal(PtxThread &thread, const PtxOperands &operands) {
  T value = 0;
  if (const char *host = thread.Global(thread.Get<uint64_t>(operands[1]), sizeof(T)))
    std::memcpy(&value, host, sizeof(T));
  thread.Set<T>(operands[0], value);
}
template <typename T>
void StoreGlobal(PtxThread &thread, const PtxOperands &operands) {
  T value = thread.Get<T>(operands[1]);
  if (char *host = thread.Global(thread.Get<uint64_t>(operands[0]), sizeof(T)))
    std::memcpy(host, &value, sizeof(T));
}
void StoreGlobalVector(PtxThread &thread, const PtxOperands &operands) {
  uint32_t words[4];
  for (int i = 0; i != 4; ++i)
    words[i] = thread.Get<uint32_t>(operands[1 + i]);
  if (char *host = thread.Global(thread.Get<uint64_t>(operands[0]), sizeof(words)))
    std::memcpy(host, words, sizeof(words));
}
void LoadSharedVector(PtxThread &thread, const PtxOperands &operands) {
  uint32_t words[4] = {};
  thread.ReadShared(thread.Get<uint32_t>(operands[4]), words, sizeof(words));
  for (int i = 0; i != 4; ++i)
    thread.Set<uint32_t>(operands[i], words[i]);
}

void Select(PtxThread &thread, const PtxOperands &operands) {
  Move<uint32_t>(thread, {operands[0], operands[thread.Get<bool>(operands[3]) ? 1 : 2]});
}
void Unpack(PtxThread &thread, const PtxOperands &operands) {
  auto word = thread.Get<uint32_t>(operands[2]);
  thread.Set<uint16_t>(operands[0], static_cast<uint16_t>(word));
  thread.Set<uint16_t>(operands[1], static_cast<uint16_t>(word >> 16));
}

uint16_t RoundToBF16(float value) {
  if (std::isnan(value))
    return 0x7fff;
  auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
uint16_t RoundToF16(float value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }
/// The first source is the high half.
template <uint16_t (*round)(float)>
void Pack(PtxThread &thread, const PtxOperands &operands) {
  uint32_t high = round(thread.Get<float>(operands[1])), low = round(thread.Get<float>(operands[2]));
  thread.Set<uint32_t>(operands[0], high << 16 | low);
}
void WidenF16(PtxThread &thread, const PtxOperands &operands) {
  thread.Set<float>(operands[0], std::bit_cast<_Float16>(thread.Get<uint16_t>(operands[1])));
}

/// Copies some bytes of 16, which are the last operand.
void Copy(PtxThread &thread, const PtxOperands &operands) {
  if (thread.Get<uint64_t>(operands[2]) != SharedMemory::kPlace)
    return thread.Fail("cp.async.cg copies 16 bytes");
  thread.BeginCopy(thread.Get<uint32_t>(operands[0]), thread.Get<uint64_t>(operands[1]),
                   thread.Get<uint32_t>(operands[3]));
}

constexpr PtxInstruction kInstructions[] = {
    {"add.u32", "Www", Combine<uint32_t, std::plus<>>},
    {"add.u64", "Lll", Combine<uint64_t, std::plus<>>},
    {"add.rn.f32", "Fff", Combine<float, std::plus<>>},
    {"and.b32", "Www", Combine<uint32_t, std::bit_and<>>},
    {"bra", "b", [](PtxThread &thread, const PtxOperands &operands) { thread.Jump(operands[0]); }},
    {"cp.async.cg.shared.global", "sglw", Copy},
    {"cp.async.commit_group", "", [](PtxThread &thread, const PtxOperands &) { thread.CommitCopies(); }},
    {"cp.async.wait_group", "l",
     [](PtxThread &thread, const PtxOperands &operands) { thread.WaitForCopies(thread.Get<uint64_t>(operands[0])); }},
    {"cvt.f32.f16", "Fh", WidenF16},
    {"cvt.rn.bf16x2.f32", "Wff", Pack<RoundToBF16>},
    {"cvt.rn.f16x2.f32", "Wff", Pack<RoundToF16>},
    {"cvt.u32.u64", "Wl", Move<uint32_t, uint64_t>},
    {"cvt.u64.u32", "Lw", Move<uint64_t, uint32_t>},
    {"cvta.to.global.u64", "Ll", Move<uint64_t>},
    {"div.rn.f32", "Fff", Combine<float, std::divides<>>},
    {"ld.global.u64", "Lg", LoadGlobal<uint64_t>},
    {"ld.param.u64", "La", Move<uint64_t>},
    {"ld.shared.v4.b32", "Qs", LoadSharedVector},
    {"ld.volatile.global.u64", "Lg", LoadGlobal<uint64_t>},
    {"mad.lo.u32", "Wwww", MultiplyAdd<uint32_t>},
    {"mad.lo.u64", "Llll", MultiplyAdd<uint64_t>},
    {"max.NaN.f32", "Fff", Combine<float, Extreme<true>>},
    {"min.NaN.f32", "Fff", Combine<float, Extreme<false>>},
    {"min.u64", "Lll", Combine<uint64_t, Least>},
    {"mov.b32", "Dx", Unpack},
    {"mov.b32", "Xx", Move<uint32_t>},
    {"mov.f32", "Ff", Move<float>},
    {"mov.u32", "Ww", Move<uint32_t>},
    {"mov.u64", "Ll", Move<uint64_t>},
    {"mul.lo.u32", "Www", Combine<uint32_t, std::multiplies<>>},
    {"mul.rn.f32", "Fff", Combine<float, std::multiplies<>>},
    {"mul.wide.u32", "Lww", MultiplyWide},
    {"ret", "", [](PtxThread &thread, const PtxOperands &) { thread.Return(); }},
    {"selp.b32", "Wwwp", Select},
    {"setp.eq.u32", "Pww", Compare<uint32_t, std::equal_to<>>},
    {"setp.eq.u64", "Pll", Compare<uint64_t, std::equal_to<>>},
    {"setp.ge.u64", "Pll", Compare<uint64_t, std::greater_equal<>>},
    {"setp.gt.u32", "Pww", Compare<uint32_t, std::greater<>>},
    {"setp.lt.u32", "Pww", Compare<uint32_t, std::less<>>},
    {"setp.lt.u64", "Pll", Compare<uint64_t, std::less<>>},
    {"setp.ne.u64", "Pll", Compare<uint64_t, std::not_equal_to<>>},
    {"shl.b32", "Www", ShiftLeft<uint32_t>},
    {"shl.b64", "Llw", ShiftLeft<uint64_t>},
    {"shr.u64", "Llw", ShiftRight<uint64_t>},
    {"st.global.b16", "gh", StoreGlobal<uint16_t>},
    {"st.global.b32", "gw", StoreGlobal<uint32_t>},
    {"st.global.v4.b32", "gq", StoreGlobalVector},
    {"sub.u64", "Lll", Combine<uint64_t, std::minus<>>},
};

char ShapeOf(char letter) {
  switch (letter) {
  case 'd':
  case 'D':
  case 'q':
  case 'Q':
    return '{';
  case 'a':
  case 'g':
  case 's':
    return '[';
  default:
    return ' ';
  }
}

} // namespace

const PtxInstruction *FindPtxInstruction(absl::string_view name, absl::string_view shapes) {
  auto found = std::find_if(std::begin(kInstructions), std::end(kInstructions), [&](const PtxInstruction &each) {
    return each.name == name && std::equal(each.operands.begin(), each.operands.end(), shapes.begin(), shapes.end(),
                                           [](char letter, char shape) { return ShapeOf(letter) == shape; });
  });
  return found == std::end(kInstructions) ? nullptr : &*found;
}

} // namespace cs336::runtime::testing
