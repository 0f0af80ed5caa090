//===- Endpoint.cpp - Names of hosts as addresses -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/tcp/Endpoint.h"

#include "status/SystemError.h"

#include "absl/strings/str_cat.h"

#include <sstream>

namespace cs336::runtime {

using asio::ip::tcp;

absl::StatusOr<tcp::endpoint> ResolveEndpoint(asio::io_context &context, const std::string &address, int port) {
  asio::error_code error;
  tcp::resolver::results_type found = tcp::resolver(context).resolve(address, absl::StrCat(port), error);
  if (error || found.empty())
    return absl::UnavailableError(absl::StrCat("'", address, "' is not a known host: ", error.message()));
  return found.begin()->endpoint();
}

absl::Status Listen(tcp::acceptor &acceptor, const tcp::endpoint &endpoint) {
  asio::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error)
    acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error)
    acceptor.bind(endpoint, error);
  if (!error)
    acceptor.listen(tcp::acceptor::max_listen_connections, error);
  std::ostringstream text;
  text << "cannot listen on " << endpoint;
  return SystemError(error, text.str());
}

} // namespace cs336::runtime
