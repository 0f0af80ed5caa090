//===- Endpoint.cpp - Names of hosts as addresses -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/tcp/Endpoint.h"

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
  auto succeeds = [&](auto &&) { return !error; };
  bool listens = succeeds(acceptor.open(endpoint.protocol(), error)) &&
                 succeeds(acceptor.set_option(tcp::acceptor::reuse_address(true), error)) &&
                 succeeds(acceptor.bind(endpoint, error)) &&
                 succeeds(acceptor.listen(tcp::acceptor::max_listen_connections, error));
  if (listens)
    return absl::OkStatus();
  std::ostringstream text;
  text << endpoint;
  return absl::UnavailableError(absl::StrCat("cannot listen on ", text.str(), ": ", error.message()));
}

} // namespace cs336::runtime
