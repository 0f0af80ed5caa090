//===- CudaEvent.cpp - A point in a stream's work -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaEvent.h"

#include "status/StatusMacros.h"

namespace cs336::runtime {

absl::StatusOr<CudaEvent> CudaEvent::Create(const CudaContext &context) {
  CudaEvent event;
  event.context_ = &context;
  CurrentContext current(context);
  CS336_RETURN_IF_ERROR(current.status());
  CS336_RETURN_IF_ERROR(context.driver().EventCreate(&event.event_, CU_EVENT_DEFAULT));
  return event;
}

CudaEvent::~CudaEvent() {
  if (!event_ || context_->is_lost())
    return;
  CurrentContext current(*context_);
  context_->driver().EventDestroy(event_).IgnoreError();
}

absl::Status CudaEvent::Record(CUstream stream) {
  CurrentContext current(*context_);
  CS336_RETURN_IF_ERROR(current.status());
  return context_->driver().EventRecord(event_, stream);
}

absl::Status CudaEvent::RecordInGraph(CUstream stream) {
  CurrentContext current(*context_);
  CS336_RETURN_IF_ERROR(current.status());
  return context_->driver().EventRecordWithFlags(event_, stream, CU_EVENT_RECORD_EXTERNAL);
}

absl::Status CudaEvent::Synchronize() const {
  CurrentContext current(*context_);
  CS336_RETURN_IF_ERROR(current.status());
  return context_->WaitForEvent(event_);
}

absl::Status CudaEvent::Block(CUstream stream) const {
  CurrentContext current(*context_);
  CS336_RETURN_IF_ERROR(current.status());
  return context_->driver().StreamWaitEvent(stream, event_, CU_EVENT_WAIT_DEFAULT);
}

absl::StatusOr<absl::Duration> CudaEvent::Since(const CudaEvent &start) const {
  CurrentContext current(*context_);
  CS336_RETURN_IF_ERROR(current.status());
  float milliseconds = 0;
  CS336_RETURN_IF_ERROR(context_->driver().EventElapsedTime(&milliseconds, start.event_, event_));
  return absl::Milliseconds(double{milliseconds});
}

} // namespace cs336::runtime
