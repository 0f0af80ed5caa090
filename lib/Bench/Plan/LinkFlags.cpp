//===- LinkFlags.cpp - Links between devices as flags ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/LinkFlags.h"

#include "cs336/Driver/Flags/GivenFlags.h"
#include "cs336/Support/ByteSize.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;

std::optional<double> cs336::bench::parseSeconds(llvm::StringRef text) {
  static constexpr std::pair<llvm::StringLiteral, double> kUnits[] = {
      {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}};
  for (const auto &[suffix, unit] : kUnits) {
    if (!text.consume_back(suffix))
      continue;
    double number;
    if (text.trim().getAsDouble(number) || !(number >= 0 && number * unit <= 1))
      return std::nullopt;
    return number * unit;
  }
  return std::nullopt;
}

std::optional<Link> cs336::bench::parseLink(llvm::StringRef text) {
  auto [time, rate] = text.split(',');
  std::optional<double> seconds = parseSeconds(time.trim());
  rate = rate.trim();
  std::optional<int64_t> bytes = rate.consume_back("/s") ? parseBytes(rate) : std::nullopt;
  if (!seconds || !bytes)
    return std::nullopt;
  return Link{*seconds, static_cast<double>(*bytes)};
}

std::string cs336::bench::describeLink(const Link &link) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g us, %g GB/s", link.stepSeconds * 1e6, link.bytesPerSecond / 1e9);
  return text;
}

LinkFlags::LinkFlags(cl::OptionCategory &category, cl::SubCommand &subcommand)
    : link("link",
           cl::desc("Link between the devices of a host, by which times of collectives are predicted: seconds per step "
                    "and bus bandwidth, e.g. 3us,320GB/s (default: that of --predict-on)"),
           cl::value_desc("time,rate"), cl::cat(category), cl::sub(subcommand)),
      network("network", cl::desc("Link of each device to other hosts, e.g. 5us,50GB/s"), cl::value_desc("time,rate"),
              cl::cat(category), cl::sub(subcommand)),
      start("collective-start", cl::desc("Time before the first step of a collective, e.g. 12us"),
            cl::value_desc("time"), cl::cat(category), cl::sub(subcommand)),
      devicesPerHost("devices-per-host", cl::desc("Devices that share the faster link (default: that of --predict-on)"),
                     cl::value_desc("number"), cl::init(0), cl::cat(category), cl::sub(subcommand)) {}

absl::Status LinkFlags::check() const {
  for (const TextFlag *flag : {&link, &network})
    if (flag->getNumOccurrences() > 0 && !parseLink(flag->getValue()))
      return absl::InvalidArgumentError(absl::StrCat("--", flag->ArgStr.str(), " is '", flag->getValue(),
                                                     "', must be a time and a rate such as 3us,320GB/s"));
  if (start.getNumOccurrences() > 0 && !parseSeconds(start.getValue()))
    return absl::InvalidArgumentError(
        absl::StrCat("--collective-start is '", start.getValue(), "', must be a time such as 12us"));
  if (devicesPerHost.getNumOccurrences() > 0 && devicesPerHost < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("--devices-per-host is ", devicesPerHost.getValue(), ", must be at least 1"));
  return absl::OkStatus();
}

absl::Status LinkFlags::refuse(llvm::StringRef reason) const {
  for (const cl::Option *flag : std::initializer_list<const cl::Option *>{&link, &network, &start, &devicesPerHost})
    if (absl::Status status = refuseFlag(*flag, reason); !status.ok())
      return status;
  return absl::OkStatus();
}

Interconnect LinkFlags::apply(Interconnect links) const {
  links.link = parseLink(link.getValue()).value_or(links.link);
  links.network = parseLink(network.getValue()).value_or(links.network);
  links.startSeconds = parseSeconds(start.getValue()).value_or(links.startSeconds);
  if (devicesPerHost > 0)
    links.devicesPerHost = devicesPerHost;
  return links;
}
