//===- CommandVisitor.h - Dispatch on the kind of a command -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_COMMANDVISITOR_H
#define CS336_RUNTIME_FORMAT_COMMANDVISITOR_H

#include "cs336/runtime/format/Executable_generated.h"

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace cs336::runtime {

/// Calls `visit` with the body of a command in its own type. This is the only
/// place that lists the kinds.
template <typename Visitor>
decltype(auto) VisitBody(const format::CommandBodyUnion &body, Visitor &&visit) {
  switch (body.type) {
  case format::CommandBody::Launch:
    return visit(*body.AsLaunch());
  case format::CommandBody::Gemm:
    return visit(*body.AsGemm());
  case format::CommandBody::Copy:
    return visit(*body.AsCopy());
  case format::CommandBody::Collective:
    return visit(*body.AsCollective());
  case format::CommandBody::Record:
    return visit(*body.AsRecord());
  case format::CommandBody::Wait:
    return visit(*body.AsWait());
  case format::CommandBody::CheckBound:
    return visit(*body.AsCheckBound());
  case format::CommandBody::NONE:
    break;
  }
  std::abort(); // Verification rejects commands without a body.
}

/// Combines overloads in one visitor.
template <typename... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <typename... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

/// Returns the kind: "launch", "gemm", ...
absl::string_view KindName(format::CommandBody kind);

/// Returns the layer of a command's source: "layers.0.attn" for "layers.0.attn.q_proj"; "" outside of layers.
absl::string_view LayerOf(absl::string_view source);

/// Returns text for errors, such as "gemm 'c0' of layers.0 at model.mlir:1".
std::string DescribeCommand(const format::CommandT &command);

/// Returns the buffers that a command reads, by index in the entry.
absl::InlinedVector<uint32_t, 4> ReadBuffers(const format::CommandT &command);

/// Returns the buffers that a command writes, by index in the entry. The workspace is not among them.
absl::InlinedVector<uint32_t, 4> WrittenBuffers(const format::CommandT &command);

/// Returns the buffer that is the command's workspace, if there is one.
std::optional<uint32_t> FindWorkspace(const format::CommandT &command);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_FORMAT_COMMANDVISITOR_H
