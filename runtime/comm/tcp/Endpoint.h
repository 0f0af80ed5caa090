//===- Endpoint.h - Names of hosts as addresses -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_COMM_TCP_ENDPOINT_H
#define CS336_RUNTIME_COMM_TCP_ENDPOINT_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <string>

namespace cs336::runtime {

/// Returns the first endpoint of a host name or IP address, or UNAVAILABLE.
absl::StatusOr<asio::ip::tcp::endpoint> ResolveEndpoint(asio::io_context &context, const std::string &address,
                                                        int port);

/// Listens on an endpoint, or on any free port for port 0. An error, as of
/// SystemError(), names the endpoint.
absl::Status Listen(asio::ip::tcp::acceptor &acceptor, const asio::ip::tcp::endpoint &endpoint);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMM_TCP_ENDPOINT_H
