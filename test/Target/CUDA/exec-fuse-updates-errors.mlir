// RUN: not cs336-opt --exec-fuse-updates=rounds=0 %s 2>&1 | FileCheck %s --check-prefix=ROUNDS
// RUN: not cs336-opt --exec-fuse-updates=most-members=0 %s 2>&1 | FileCheck %s --check-prefix=MEMBERS

// ROUNDS: error: rounds must be at least 1, is 0
// MEMBERS: error: most-members must be at least 1, is 0
exec.entry @forward mode<forward> {
}
