//===- StepSimulation.cpp - Predicted time of an order --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSimulation.h"

#include "cs336/Cost/DeviceModel.h"
#include "cs336/Dialect/Exec/Transforms/CollectiveOrder.h"
#include "cs336/Dialect/Exec/Transforms/CommandWork.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

/// Returns the bytes of the whole operands: the targets of a gather, and the sources of other kinds.
static int64_t getWholeBytes(CollectiveOp collective) {
  int64_t bytes = 0;
  for (Value source : collective.getSources())
    bytes += getStorageBytes(bufferType(source));
  return collective.getKind() == CollectiveKind::AllGather ? bytes * static_cast<int64_t>(collective.getGroup())
                                                           : bytes;
}

/// Predicts a gather by copy engines.
static double predictCopies(CollectiveOp gather, const DeviceModel &model, double linkRatio) {
  auto group = static_cast<int64_t>(gather.getGroup());
  int64_t sentBytes = getRingBytes(gather.getKind(), group, getWholeBytes(gather));
  return model.interconnect.startSeconds + static_cast<double>(sentBytes) * linkRatio / model.memoryBytes;
}

static double predict(CommandOpInterface command, WorkCounter &counter, const DeviceModel &model) {
  Work work = counter.measure(command);
  if (work.getCommands() == 0)
    return 0;
  Arithmetic arithmetic = counter.getArithmetic(command);
  double computing =
      arithmetic.elementType ? work.flops / model.getFlops(arithmetic.elementType, arithmetic.precision) : 0;
  return model.commandSeconds + std::max(computing, work.bytes / model.memoryBytes);
}

StepSimulation::StepSimulation(EntryOp entry, ArrayRef<CommandOpInterface> entryCommands, double linkRatio) {
  const DeviceModel &model = getDefaultDeviceModel(/*isForGPU=*/true);
  WorkCounter counter(entry);
  llvm::DenseMap<const void *, unsigned> numbers;
  auto getNumber = [&](Value buffer) {
    return numbers.try_emplace(getStorageIdentity(buffer), numbers.size()).first->second;
  };
  for (CommandOpInterface each : entryCommands) {
    Command &command = commands.emplace_back();
    command.isGemm = isa<GemmOp>(each.getOperation());
    command.communicates = communicates(each);
    numGemms += command.isGemm;
    if (command.communicates) {
      auto collective = cast<CollectiveOp>(each.getOperation());
      RankGroup group{static_cast<int64_t>(collective.getGroup())};
      bool gathers = collective.getKind() == CollectiveKind::AllGather;
      command.seconds = command.secondsAfterGemms =
          model.interconnect.predict(collective.getKind(), group, getWholeBytes(collective)).getTotal();
      if (gathers)
        command.seconds = predictCopies(collective, model, linkRatio);
      if (gathers && group.size == 2)
        command.secondsAfterGemms = command.seconds;
    } else {
      command.seconds = command.secondsAfterGemms = predict(each, counter, model);
    }
    llvm::append_range(command.reads, llvm::map_range(each.getReads(), getNumber));
    llvm::append_range(command.writes, llvm::map_range(each.getWrites(), getNumber));
  }
  numStorages = numbers.size();
}

double StepSimulation::run(ArrayRef<unsigned> order) const {
  // The ends of the last accesses of each piece of storage.
  SmallVector<double> lastRead(numStorages), lastWrite(numStorages);
  double ends[2] = {0, 0};
  unsigned gemms = 0;
  for (unsigned position : order) {
    const Command &command = commands[position];
    double &end = ends[command.communicates];
    for (unsigned read : command.reads)
      end = std::max(end, lastWrite[read]);
    for (unsigned write : command.writes)
      end = std::max({end, lastRead[write], lastWrite[write]});
    gemms += command.isGemm;
    end += gemms == numGemms ? command.secondsAfterGemms : command.seconds;
    for (unsigned read : command.reads)
      lastRead[read] = std::max(lastRead[read], end);
    for (unsigned write : command.writes)
      lastWrite[write] = end;
  }
  return std::max(ends[0], ends[1]);
}
