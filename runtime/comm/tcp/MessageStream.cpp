//===- MessageStream.cpp - Messages of a connection -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/tcp/MessageStream.h"

#include "absl/strings/str_cat.h"

#include <asio/read.hpp>
#include <asio/write.hpp>

namespace cs336::runtime {

MessageStream::MessageStream(asio::ip::tcp::socket socket, uint32_t max_bytes)
    : socket_(std::move(socket)), max_bytes_(max_bytes) {
  asio::error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void MessageStream::Receive(Handler handler) {
  auto self = shared_from_this();
  asio::async_read(socket_, asio::buffer(length_), [self, handler](asio::error_code error, size_t) {
    if (error)
      return handler(absl::UnavailableError(error.message()));
    uint32_t bytes = 0;
    for (unsigned char byte : self->length_)
      bytes = bytes << 8 | byte;
    if (bytes > self->max_bytes_)
      return handler(absl::InvalidArgumentError(absl::StrCat("a message of ", bytes, " bytes")));
    self->body_.resize(bytes);
    asio::async_read(self->socket_, asio::buffer(self->body_), [self, handler](asio::error_code error, size_t) {
      if (error)
        return handler(absl::UnavailableError(error.message()));
      handler(self->Parse());
    });
  });
}

absl::StatusOr<nlohmann::json> MessageStream::Parse() const {
  nlohmann::json message = nlohmann::json::parse(body_, nullptr, /*allow_exceptions=*/false);
  if (!message.is_object())
    return absl::InvalidArgumentError("a message that is not a JSON object");
  return message;
}

void MessageStream::Send(const nlohmann::json &message) {
  // Reasons of failures may have bytes that are not UTF-8.
  std::string body = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string text;
  for (int shift : {24, 16, 8, 0})
    text.push_back(static_cast<char>(body.size() >> shift & 0xff));
  unsent_.push_back(text + body);
  if (unsent_.size() == 1)
    SendNext();
}

void MessageStream::SendNext() {
  auto self = shared_from_this();
  asio::async_write(socket_, asio::buffer(unsent_.front()), [self](asio::error_code error, size_t) {
    self->unsent_.pop_front();
    // The receiving side notices that the connection has ended.
    if (error)
      self->unsent_.clear();
    if (!self->unsent_.empty())
      self->SendNext();
  });
}

void MessageStream::Close() {
  asio::error_code ignored;
  socket_.close(ignored);
}

} // namespace cs336::runtime
