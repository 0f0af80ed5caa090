//===- TcpGroupTest.cpp - Joining a group of processes --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TcpTestGroup.h"
#include "comm/tcp/Mesh.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <arpa/inet.h>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <random>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cs336::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::PlaceOf;
using testing::RunRanks;

std::unique_ptr<Rendezvous> StartRendezvous(int size, const std::string &token, absl::Duration timeout) {
  RendezvousOptions options;
  options.size = size;
  options.token = token;
  options.timeout = timeout;
  return *Rendezvous::Start(options);
}

/// A connection of a process that does not belong to the group.
class Stranger {
public:
  explicit Stranger(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
    timeval limit = {20, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }
  ~Stranger() { close(socket_); }

  void Send(absl::string_view bytes) const { (void)!send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  /// Sends a message as ranks do.
  void SendMessage(absl::string_view text) const {
    uint32_t length = htonl(static_cast<uint32_t>(text.size()));
    Send(absl::string_view(reinterpret_cast<const char *>(&length), sizeof(length)));
    Send(text);
  }
  /// Returns whether the other side closes the connection without an answer.
  bool IsTurnedAway() const {
    char byte;
    ssize_t received = recv(socket_, &byte, 1, 0);
    return received == 0 || (received < 0 && errno == ECONNRESET);
  }

private:
  int socket_;
};

/// Takes all file descriptors that this process may have, but for one.
class TakenDescriptors {
public:
  TakenDescriptors() {
    getrlimit(RLIMIT_NOFILE, &previous_);
    rlimit limit = {256, previous_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int file; (file = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
      files_.push_back(file);
    close(files_.back());
    files_.pop_back();
  }
  ~TakenDescriptors() {
    for (int file : files_)
      close(file);
    setrlimit(RLIMIT_NOFILE, &previous_);
  }

private:
  rlimit previous_;
  std::vector<int> files_;
};

/// Nagle's algorithm would delay the end of a message by tens of milliseconds.
TEST(TcpGroupTest, ConnectionsSendShortMessagesAtOnce) {
  testing::TestGroup group = testing::CreateTcpGroup(3);
  int connections = 0;
  for (int file = 0; file != 1024; ++file) {
    sockaddr_in peer = {};
    socklen_t size = sizeof(peer);
    if (getpeername(file, reinterpret_cast<sockaddr *>(&peer), &size) != 0 || peer.sin_family != AF_INET)
      continue;
    int no_delay = 0;
    size = sizeof(no_delay);
    ASSERT_EQ(getsockopt(file, IPPROTO_TCP, TCP_NODELAY, &no_delay, &size), 0);
    EXPECT_NE(no_delay, 0);
    ++connections;
  }
  EXPECT_GE(connections, 6) << "two ends of each of the three pairs";
}

TEST(TcpGroupTest, ARankThatNeverArrivesIsNamed) {
  std::string token = CreateToken();
  absl::Time begin = absl::Now();
  auto rendezvous = StartRendezvous(4, token, absl::Seconds(1));
  for (const absl::Status &status : RunRanks(2, [&](int rank) {
         return JoinTcpGroup(PlaceOf(2 * rank, 4, *rendezvous, token), absl::Seconds(1)).status();
       })) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_EQ(status.message(), "waited 600ms for rank 1, rank 3 to join");
  }
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
}

TEST(TcpGroupTest, AnotherTokenIsTurnedAway) {
  std::string token = CreateToken();
  auto rendezvous = StartRendezvous(2, token, absl::Seconds(30));
  absl::Status status = JoinTcpGroup(PlaceOf(0, 2, *rendezvous, CreateToken()), absl::Seconds(30)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("CS336_TOKEN is another one there"));
  // The group still forms.
  for (const absl::Status &joined : RunRanks(
           2, [&](int rank) { return JoinTcpGroup(PlaceOf(rank, 2, *rendezvous, token), absl::Seconds(30)).status(); }))
    EXPECT_TRUE(joined.ok()) << joined;
}

TEST(TcpGroupTest, RefusesPlacesThatDoNotExist) {
  std::string token = CreateToken();
  auto rendezvous = StartRendezvous(2, token, absl::Seconds(30));
  auto join = [&](int rank, int size) {
    return std::string(JoinTcpGroup(PlaceOf(rank, size, *rendezvous, token), absl::Seconds(30)).status().message());
  };
  EXPECT_EQ(join(0, 3), "rank 0 was started for 3 ranks, but the group has 2");
  EXPECT_EQ(join(2, 2), "there is no rank 2 of 2");
  EXPECT_EQ(join(-1, 2), "there is no rank -1 of 2");
  std::thread first([&] { join(0, 2); });
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_THAT(join(0, 2), HasSubstr("rank 0 has joined already"));
  join(1, 2);
  first.join();
}

TEST(TcpGroupTest, NoRendezvousIsAnError) {
  std::string token = CreateToken();
  RankEnvironment place = PlaceOf(1, 2, *StartRendezvous(2, token, absl::Seconds(30)), token);
  absl::Status status = JoinTcpGroup(place, absl::Milliseconds(200)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("rank 1 does not reach the rendezvous at 127.0.0.1:", place.port)));
  place.address = "no-such-host.invalid";
  EXPECT_THAT(std::string(JoinTcpGroup(place, absl::Milliseconds(200)).status().message()),
              HasSubstr("'no-such-host.invalid' is not a known host"));
}

TEST(TcpGroupTest, RankZeroCanBeTheRendezvous) {
  std::string token = CreateToken();
  RankEnvironment place = PlaceOf(0, 3, *StartRendezvous(3, token, absl::Seconds(30)), token);
  place.is_hosted = false;
  for (const absl::Status &status : RunRanks(3, [&](int rank) {
         RankEnvironment own = place;
         own.rank = rank;
         absl::StatusOr<std::unique_ptr<Communicator>> joined = JoinTcpGroup(own, absl::Seconds(30));
         if (!joined.ok())
           return joined.status();
         int32_t value = rank;
         absl::Status status = (*joined)->AllReduce(&value, &value, 1, DType::kI32, Reduction::kSum);
         EXPECT_EQ(value, 3);
         return status;
       }))
    EXPECT_TRUE(status.ok()) << status;
}

/// Bytes of strangers reach neither a collective nor the process.
TEST(TcpGroupTest, StrangersAreTurnedAway) {
  std::string token = CreateToken();
  auto rendezvous = StartRendezvous(2, token, absl::Seconds(30));
  std::mt19937 engine(3);
  std::vector<std::string> texts = {"",
                                    "{}",
                                    "[]",
                                    "null",
                                    "{\"join\":3}",
                                    "{\"join\":{}}",
                                    R"({"join":{"protocol":1,"token":"","rank":0,"size":2,"port":1}})",
                                    R"({"join":{"protocol":1,"token":"guess","rank":1e300,"size":2,"port":1}})",
                                    R"({"join":{"protocol":1,"token":["x"],"rank":0,"size":2,"port":1}})",
                                    "{\"failure\":{\"code\":3,\"reason\":\"mine\"}}",
                                    "{\"leave\":true}",
                                    std::string(10000, '['),
                                    "\xff\xfe\x00"};
  for (const std::string &text : texts) {
    Stranger stranger(rendezvous->port());
    stranger.SendMessage(text);
    EXPECT_TRUE(stranger.IsTurnedAway()) << text.substr(0, 100);
  }
  Stranger large(rendezvous->port());
  large.Send("\xff\xff\xff\xff");
  EXPECT_TRUE(large.IsTurnedAway());
  for (int trial = 0; trial != 100; ++trial) {
    std::string bytes(engine() % 200, 0);
    for (char &byte : bytes)
      byte = static_cast<char>(engine());
    Stranger(rendezvous->port()).Send(bytes);
  }
  Stranger silent(rendezvous->port());
  for (const absl::Status &joined : RunRanks(
           2, [&](int rank) { return JoinTcpGroup(PlaceOf(rank, 2, *rendezvous, token), absl::Seconds(30)).status(); }))
    EXPECT_TRUE(joined.ok()) << joined;
}

TEST(TcpGroupTest, APortInUseIsAnError) {
  auto first = StartRendezvous(1, CreateToken(), absl::Seconds(30));
  RendezvousOptions options;
  options.port = first->port();
  absl::Status status = Rendezvous::Start(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), absl::StrCat("cannot listen on 127.0.0.1:", first->port(), ": Address already in use"));
}

TEST(TcpGroupTest, ConnectionsWaitForDescriptors) {
  std::string token = CreateToken();
  auto rendezvous = StartRendezvous(2, token, absl::Seconds(30));
  {
    TakenDescriptors taken;
    Stranger stranger(rendezvous->port());
    std::clock_t begin = std::clock();
    absl::SleepFor(absl::Milliseconds(500));
    double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 0.1) << "the rendezvous must not try again without a pause";
  }
  for (const absl::Status &joined : RunRanks(
           2, [&](int rank) { return JoinTcpGroup(PlaceOf(rank, 2, *rendezvous, token), absl::Seconds(30)).status(); }))
    EXPECT_TRUE(joined.ok()) << joined;
}

constexpr const char *kAdvice = "Too many open files: raise the limit of open files (ulimit -n)";

TEST(TcpGroupTest, MissingDescriptorsAreTheReasonForMissingRanks) {
  absl::Status reported;
  RendezvousOptions options;
  options.size = 2;
  options.token = CreateToken();
  options.timeout = absl::Milliseconds(200);
  options.on_failure = [&](const absl::Status &failure) { reported = failure; };
  std::unique_ptr<Rendezvous> rendezvous = *Rendezvous::Start(options);
  TakenDescriptors taken;
  Stranger stranger(rendezvous->port());
  absl::SleepFor(absl::Seconds(1));
  rendezvous.reset();
  EXPECT_EQ(reported, absl::ResourceExhaustedError(absl::StrCat(
                          "waited 120ms for rank 0, rank 1 to join, and cannot accept connections: ", kAdvice)));
}

TEST(TcpGroupTest, MissingDescriptorsEndTheMeeting) {
  Mesh mesh(0, 2);
  absl::StatusOr<int> port = mesh.Listen(asio::ip::address_v4::loopback());
  ASSERT_TRUE(port.ok()) << port.status();
  TakenDescriptors taken;
  Stranger stranger(*port);
  EXPECT_EQ(mesh.Connect({{}, {}}, absl::Seconds(30)),
            absl::ResourceExhaustedError(absl::StrCat("cannot accept the connection of a rank: ", kAdvice)));
}

TEST(TcpGroupTest, NoDescriptorsAreAnError) {
  std::string token = CreateToken();
  auto rendezvous = StartRendezvous(2, token, absl::Seconds(30));
  TakenDescriptors taken;
  absl::Status status = Rendezvous::Start({}).status();
  EXPECT_EQ(status, absl::ResourceExhaustedError(absl::StrCat("cannot start the rendezvous of the ranks: ", kAdvice)));
  status = JoinTcpGroup(PlaceOf(1, 2, *rendezvous, token)).status();
  EXPECT_EQ(status, absl::ResourceExhaustedError(absl::StrCat("rank 1 cannot join the group: ", kAdvice)));
}

TEST(TcpGroupTest, TheFirstFailureIsReported) {
  std::string token = CreateToken();
  absl::Status reported;
  RendezvousOptions options;
  options.size = 2;
  options.token = token;
  options.on_failure = [&](const absl::Status &failure) { reported = failure; };
  std::unique_ptr<Rendezvous> rendezvous = *Rendezvous::Start(options);
  std::vector<absl::Status> statuses = RunRanks(2, [&](int rank) -> absl::Status {
    absl::StatusOr<std::unique_ptr<Communicator>> joined = JoinTcpGroup(PlaceOf(rank, 2, *rendezvous, token));
    if (!joined.ok())
      return joined.status();
    if (rank == 1) {
      absl::SleepFor(absl::Milliseconds(100));
      rendezvous->Fail(absl::AbortedError("rank 1 was ended by signal 9"));
      rendezvous->Fail(absl::AbortedError("later"));
    }
    // An all-reduce may end before the failure has arrived.
    float value = 0;
    absl::Status status;
    while (status.ok())
      status = (*joined)->AllReduce(&value, &value, 1, DType::kF32, Reduction::kSum);
    return status;
  });
  rendezvous.reset();
  EXPECT_EQ(statuses[0], absl::AbortedError("rank 1 was ended by signal 9"));
  EXPECT_EQ(statuses[1], statuses[0]);
  EXPECT_EQ(reported, statuses[0]);
}

TEST(TcpGroupTest, ALongReasonIsCut) {
  for (size_t length : {size_t{20'000}, size_t{3'000'000}}) {
    testing::TestGroup group = testing::CreateTcpGroup(2);
    std::vector<Communicator *> ranks;
    for (auto &rank : group)
      ranks.push_back(&*rank);
    std::string reason(length, 'x');
    ranks[1]->Fail(absl::InternalError(reason));
    std::string expected = absl::StrCat("rank 1: ", reason).substr(0, 64 << 10);
    for (Communicator *rank : ranks) {
      float value = 0;
      absl::Status status;
      while (status.ok())
        status = rank->AllReduce(&value, &value, 1, DType::kF32, Reduction::kSum);
      EXPECT_EQ(status.message().substr(0, 100), expected.substr(0, 100));
      EXPECT_LE(status.message().size(), expected.size() + 100);
    }
  }
}

} // namespace
} // namespace cs336::runtime
