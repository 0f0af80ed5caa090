//===- ModelProfileData.h - Profiles of a model as JSON ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_MODELPROFILEDATA_H
#define CS336_BENCH_MODEL_MODELPROFILEDATA_H

#include "cs336/Bench/Model/ModelReport.h"

namespace cs336::bench {

/// Returns the columns that only JSON contains: every profile by every key, whichever tables are printed, and the
/// roofline with its ceilings. They are empty for rows without a profile, those of the roofline also for rows without
/// ceilings.
std::vector<Column<ModelRow>> getProfileDataColumns();

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELPROFILEDATA_H
