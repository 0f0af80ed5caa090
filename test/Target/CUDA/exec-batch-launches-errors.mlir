// RUN: not cs336-opt --exec-batch-launches=min-members=1 %s 2>&1 | FileCheck %s

// CHECK: error: min-members must be at least 2, is 1
exec.entry @forward mode<forward> {
}
