//===- MemorySnapshot.cpp - A timeline for pytorch.org/memory_viz ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timeline/MemorySnapshot.h"

#include "PickleWriter.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

using namespace cs336;
using namespace cs336::bench;

/// Addresses start here; CUDA's are similar.
static constexpr int64_t kBase = int64_t(1) << 44;
/// Longer names in frames are cut.
static constexpr size_t kMostNameBytes = 100;
/// Alignment of variables, and of segments.
static constexpr int64_t kAlignment = 512;

namespace {
/// An allocation with its address, and its frames once they are written.
struct Placed {
  const Allocation *allocation;
  int64_t address;
  /// True for allocations of the session, false for those of a step.
  bool isResident;
  std::optional<PickleWriter::Shared> frames;
};

struct Segment {
  int64_t address = 0, bytes = 0;
  /// Allocations that live when the step has ended, in order of addresses.
  std::vector<Placed *> blocks;
};

class SnapshotWriter {
public:
  SnapshotWriter(const MemoryTimeline &timeline, llvm::raw_ostream &os) : timeline(timeline), pickle(os) { place(); }

  void write();
  OmittedAllocations getOmitted() const { return omitted; }

private:
  void place();
  void writeFrames(Placed &placed);
  void writeFrame(llvm::StringRef file, llvm::StringRef name);
  void writeEvent(llvm::StringRef action, Placed &placed, double seconds);
  void writeSegmentEvent(const Segment &segment);
  void writeSegment(const Segment &segment);
  void writeBlock(int64_t address, int64_t bytes, Placed *placed);
  void writeBlocks(const Segment &segment);
  void writeTrace();
  /// Segments with bytes.
  std::vector<const Segment *> getSegments() const;

  const MemoryTimeline &timeline;
  PickleWriter pickle;
  std::vector<Placed> residents, arena;
  Segment residentSegment, arenaSegment;
  OmittedAllocations omitted;
};
} // namespace

std::vector<const Segment *> SnapshotWriter::getSegments() const {
  std::vector<const Segment *> segments;
  for (const Segment *segment : {&residentSegment, &arenaSegment})
    if (segment->bytes > 0)
      segments.push_back(segment);
  return segments;
}

static int64_t align(int64_t bytes) {
  return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(bytes), kAlignment));
}

/// Returns an upper bound of the bytes of an allocation's events, block and frames in the file.
static size_t getFileBytes(const Allocation &allocation) {
  constexpr size_t kWithoutNames = 260;
  size_t bytes = kWithoutNames;
  for (size_t size :
       {allocation.location.size(), allocation.source.size() + allocation.type.size(), allocation.source.size()})
    bytes += std::min(size, kMostNameBytes);
  return bytes;
}

/// Returns the largest allocations that fit into a file, and counts the others.
static llvm::DenseSet<const Allocation *> chooseLargest(const MemoryTimeline &timeline, OmittedAllocations &omitted) {
  std::vector<const Allocation *> all;
  for (const auto *allocations : {&timeline.residents, &timeline.allocations})
    for (const Allocation &allocation : *allocations)
      all.push_back(&allocation);
  llvm::stable_sort(all, [](const Allocation *a, const Allocation *b) { return a->bytes > b->bytes; });
  // The segments and the keys take less than 10 kB.
  size_t fileBytes = 10'000;
  llvm::DenseSet<const Allocation *> chosen;
  for (const Allocation *allocation : all) {
    fileBytes += getFileBytes(*allocation);
    if (fileBytes >= kMostSnapshotBytes)
      break;
    chosen.insert(allocation);
  }
  if (chosen.size() < all.size())
    omitted = {all.size() - chosen.size(), all[chosen.size()]->bytes};
  return chosen;
}

/// Gives each allocation its address. An omitted variable leaves a gap in its segment.
void SnapshotWriter::place() {
  llvm::DenseSet<const Allocation *> chosen = chooseLargest(timeline, omitted);
  int64_t address = kBase;
  for (const Allocation &resident : timeline.residents) {
    if (chosen.contains(&resident))
      residents.push_back({&resident, address, /*isResident=*/true, std::nullopt});
    address += align(resident.bytes);
  }
  residentSegment = {kBase, address - kBase, {}};
  for (Placed &placed : residents)
    residentSegment.blocks.push_back(&placed);
  for (const Allocation &allocation : timeline.allocations)
    if (chosen.contains(&allocation))
      arena.push_back({&allocation, address + allocation.offset, /*isResident=*/false, std::nullopt});
  arenaSegment = {address, align(timeline.arenaBytes), {}};
  for (Placed &placed : arena)
    if (placed.allocation->outlivesCommands)
      arenaSegment.blocks.push_back(&placed);
  llvm::sort(arenaSegment.blocks, [](const Placed *a, const Placed *b) { return a->address < b->address; });
}

/// Returns the start of a name that is longer than `kMostNameBytes`. Does not cut a character of UTF-8 apart.
static std::string shorten(llvm::StringRef name) {
  if (name.size() <= kMostNameBytes)
    return name.str();
  size_t size = kMostNameBytes - 3;
  while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xc0) == 0x80)
    --size;
  return (name.take_front(size) + "...").str();
}

void SnapshotWriter::writeFrame(llvm::StringRef file, llvm::StringRef name) {
  pickle.writeDictionary([&] {
    pickle.writeItem("filename", shorten(file));
    pickle.writeItem("line", 0);
    pickle.writeItem("name", shorten(name));
  });
}

/// Writes the frames, the innermost first: the operation with its type, then the layer, then the phase.
void SnapshotWriter::writeFrames(Placed &placed) {
  if (placed.frames)
    return pickle.writeShared(*placed.frames);
  const Allocation &allocation = *placed.allocation;
  llvm::StringRef kind = stringifyMemoryKind(allocation.kind), source = allocation.source;
  // Without quotes: `backward(layers.0.ffn.w2)`.
  std::string location = allocation.location;
  llvm::erase(location, '"');
  auto [layer, operation] = source.rsplit('.');
  if (operation.empty())
    std::swap(layer, operation);
  pickle.writeList(3, [&](size_t index) {
    if (index == 0)
      writeFrame(location, (operation + " " + allocation.type).str());
    else if (index == 1)
      writeFrame("layer", layer.empty() ? "model" : layer);
    else
      writeFrame(kind, placed.isResident ? "session" : exec::stringifyCommandPhase(allocation.firstPhase));
  });
  placed.frames = pickle.share();
}

static int64_t getMicroseconds(double seconds) { return static_cast<int64_t>(seconds * 1e6); }

void SnapshotWriter::writeEvent(llvm::StringRef action, Placed &placed, double seconds) {
  pickle.writeDictionary([&] {
    pickle.writeItem("action", action);
    pickle.writeItem("addr", placed.address);
    pickle.writeItem("size", placed.allocation->bytes);
    pickle.writeItem("stream", 0);
    pickle.writeItem("time_us", getMicroseconds(seconds));
    pickle.writeItem("category", stringifyMemoryKind(placed.allocation->kind));
    pickle.writeString("frames");
    writeFrames(placed);
  });
}

void SnapshotWriter::writeSegmentEvent(const Segment &segment) {
  pickle.writeDictionary([&] {
    pickle.writeItem("action", "segment_alloc");
    pickle.writeItem("addr", segment.address);
    pickle.writeItem("size", segment.bytes);
    pickle.writeItem("stream", 0);
    pickle.writeItem("time_us", 0);
    pickle.writeItem("category", "unknown");
    pickle.writeString("frames");
    pickle.writeList(0, [](size_t) {});
  });
}

/// Writes a block, which is inactive if `placed` is null.
void SnapshotWriter::writeBlock(int64_t address, int64_t bytes, Placed *placed) {
  pickle.writeDictionary([&] {
    pickle.writeItem("address", address);
    pickle.writeItem("size", bytes);
    pickle.writeItem("requested_size", placed ? placed->allocation->bytes : 0);
    pickle.writeItem("state", placed ? "active_allocated" : "inactive");
    pickle.writeString("frames");
    if (placed)
      writeFrames(*placed);
    else
      pickle.writeList(0, [](size_t) {});
  });
}

/// Writes the blocks, which cover the segment without gaps.
void SnapshotWriter::writeBlocks(const Segment &segment) {
  struct Block {
    int64_t address, end;
    Placed *placed;
  };
  std::vector<Block> blocks;
  int64_t address = segment.address;
  for (Placed *placed : segment.blocks) {
    if (placed->address > address)
      blocks.push_back({address, placed->address, nullptr});
    address = placed->address + placed->allocation->bytes;
    blocks.push_back({placed->address, address, placed});
  }
  if (address < segment.address + segment.bytes)
    blocks.push_back({address, segment.address + segment.bytes, nullptr});
  pickle.writeList(blocks.size(), [&](size_t index) {
    const Block &block = blocks[index];
    writeBlock(block.address, block.end - block.address, block.placed);
  });
}

void SnapshotWriter::writeSegment(const Segment &segment) {
  int64_t active = 0;
  for (const Placed *placed : segment.blocks)
    active += placed->allocation->bytes;
  pickle.writeDictionary([&] {
    pickle.writeItem("device", 0);
    pickle.writeItem("address", segment.address);
    pickle.writeItem("total_size", segment.bytes);
    pickle.writeItem("allocated_size", active);
    pickle.writeItem("active_size", active);
    pickle.writeItem("requested_size", active);
    pickle.writeItem("stream", 0);
    pickle.writeItem("segment_type", "large");
    pickle.writeString("blocks");
    writeBlocks(segment);
  });
}

/// Writes the events: segments, variables and inputs, then the step's allocations in the order of its commands. Times
/// do not decrease: if an earlier command of another stream has started later, the following events have the time of
/// that start.
void SnapshotWriter::writeTrace() {
  struct Event {
    llvm::StringRef action;
    Placed *placed;
    double seconds;
  };
  std::vector<llvm::SmallVector<Placed *, 2>> started(timeline.commands.size()), ended(timeline.commands.size());
  for (Placed &placed : arena) {
    started[placed.allocation->first].push_back(&placed);
    if (!placed.allocation->outlivesCommands)
      ended[placed.allocation->last].push_back(&placed);
  }
  std::vector<Event> events;
  for (Placed &placed : residents)
    events.push_back({"alloc", &placed, 0});
  double now = 0;
  for (auto [position, command] : llvm::enumerate(timeline.commands)) {
    now = std::max(now, command.start);
    for (Placed *placed : started[position])
      events.push_back({"alloc", placed, now});
    bool isLast = position + 1 == timeline.commands.size();
    double end = isLast ? timeline.getSeconds() : std::max(now, timeline.commands[position + 1].start);
    for (Placed *placed : ended[position])
      for (llvm::StringRef action : {"free_requested", "free_completed"})
        events.push_back({action, placed, end});
  }
  std::vector<const Segment *> segments = getSegments();
  pickle.writeList(segments.size() + events.size(), [&](size_t index) {
    if (index < segments.size())
      return writeSegmentEvent(*segments[index]);
    const Event &event = events[index - segments.size()];
    writeEvent(event.action, *event.placed, event.seconds);
  });
}

void SnapshotWriter::write() {
  pickle.writeDictionary([&] {
    // Events come first, because they are most of the file, and the references to the first strings are the shortest.
    pickle.writeString("device_traces");
    pickle.writeList(1, [&](size_t) { writeTrace(); });
    pickle.writeString("segments");
    std::vector<const Segment *> segments = getSegments();
    pickle.writeList(segments.size(), [&](size_t index) { writeSegment(*segments[index]); });
  });
  pickle.finish();
}

OmittedAllocations cs336::bench::writeMemorySnapshot(const MemoryTimeline &timeline, llvm::raw_ostream &os) {
  SnapshotWriter writer(timeline, os);
  writer.write();
  return writer.getOmitted();
}
