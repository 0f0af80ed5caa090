//===- CollectiveOrder.cpp - The collectives commands depend on -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/Transforms/CollectiveOrder.h"

#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

bool exec::communicates(Operation *command) {
  auto collective = dyn_cast<CollectiveOp>(command);
  return collective && static_cast<int64_t>(collective.getGroup()) > 1;
}

SmallVector<unsigned> exec::findLatestCollectives(ArrayRef<CommandOpInterface> commands) {
  /// The latest collectives of all commands so far that read and that write a piece of storage.
  struct Accesses {
    unsigned read = 0, write = 0;
  };
  llvm::DenseMap<const void *, Accesses> accesses;
  SmallVector<unsigned> latest;
  unsigned collectives = 0;
  for (CommandOpInterface command : commands) {
    SmallVector<Value> reads = command.getReads(), writes = command.getWrites();
    unsigned own = communicates(command) ? ++collectives : 0;
    for (Value read : reads)
      own = std::max(own, accesses[getStorageIdentity(read)].write);
    for (Value write : writes) {
      const Accesses &earlier = accesses[getStorageIdentity(write)];
      own = std::max({own, earlier.read, earlier.write});
    }
    for (Value read : reads) {
      unsigned &last = accesses[getStorageIdentity(read)].read;
      last = std::max(last, own);
    }
    for (Value write : writes)
      accesses[getStorageIdentity(write)].write = own;
    latest.push_back(own);
  }
  return latest;
}

SmallVector<unsigned> exec::orderByLatestCollective(ArrayRef<CommandOpInterface> commands) {
  SmallVector<unsigned> latest = findLatestCollectives(commands);
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, commands.size()));
  auto last = llvm::find_if(llvm::reverse(order), [&](unsigned position) { return communicates(commands[position]); });
  // The sort keeps all dependences, because numbers do not decrease along them.
  std::stable_sort(last.base(), order.end(), [&](unsigned lhs, unsigned rhs) { return latest[lhs] < latest[rhs]; });
  return order;
}
