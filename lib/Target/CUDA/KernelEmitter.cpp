//===- KernelEmitter.cpp - The schedules and the text of a kernel ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "AttentionProblem.h"
#include "FunctionName.h"
#include "OutputBoxes.h"
#include "cs336/Dialect/CS336/IR/Strides.h"
#include "cs336/Dialect/Exec/IR/CommandSource.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

int64_t cuda::getAlignment(MemRefType type) {
  int64_t elementBytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8), offset;
  SmallVector<int64_t> strides;
  if (failed(getStridesAndOffset(type, strides, offset)) || ShapedType::isDynamic(offset))
    return elementBytes;
  return std::gcd(offset * elementBytes, DeviceKernel::storageAlignment);
}

FailureOr<DeviceKernel> KernelEmitter::readKernel(exec::KernelOp kernel, OpBuilder &builder) const {
  FailureOr<DeviceKernel> form = DeviceKernel::read(kernel, builder);
  if (failed(form))
    return failure();
  for (exec::LaunchOp launch : launches.lookup(kernel.getSymName()))
    for (auto [alignment, buffer] :
         llvm::zip_equal(form->alignments, llvm::concat<Value>(launch.getInputs(), launch.getOutputs())))
      alignment = std::gcd(alignment, getAlignment(cast<MemRefType>(buffer.getType())));
  form->overwritesRows = llvm::any_of(launches.lookup(kernel.getSymName()), [&](exec::LaunchOp launch) {
    return llvm::any_of(llvm::enumerate(launch.getOutputs()), [&](auto output) {
      return llvm::is_contained(launch.getInputs(), output.value()) && kernel.writesRows(output.index());
    });
  });
  return form;
}

/// Returns the distinct operations of the kernel's body in order: "Computes cs336.sigmoid, cs336.mul".
static std::string listOperations(exec::KernelOp kernel) {
  llvm::SmallSetVector<StringRef, 8> names;
  for (Operation &op : kernel.getBody().front().without_terminator())
    names.insert(op.getName().getStringRef());
  return names.empty() ? "Copies operands" : "Computes " + llvm::join(names, ", ");
}

/// Describes a grid: "6 blocks of 256 threads".
static std::string describeGrid(const KernelFunction &function) {
  std::string text = std::to_string(function.blocks) + (function.blocks == 1 ? " block" : " blocks") + " of " +
                     std::to_string(function.threads) + " threads";
  if (function.sharedBytes != 0)
    text += " with " + std::to_string(function.sharedBytes) + " bytes of shared memory";
  if (function.cluster != 1)
    text += " in clusters of " + std::to_string(function.cluster);
  return text;
}

void KernelEmitter::emitComment(exec::KernelOp kernel, const DeviceKernel &form, ArrayRef<ScheduledPart> parts,
                                const KernelText &text, raw_ostream &os) const {
  os << "\n//===- " << form.name << " -===//\n//\n// " << listOperations(kernel) << ".\n";
  SmallVector<exec::LaunchOp> uses = launches.lookup(form.name);
  if (!uses.empty()) {
    auto first = cast<exec::CommandOpInterface>(uses.front().getOperation());
    StringRef path = exec::getSourcePath(first->getLoc()), phase = exec::stringifyCommandPhase(first.getPhase());
    os << "// Launched for " << (path.empty() ? phase.str() : (path + " (" + phase + ")").str());
    if (uses.size() > 1)
      os << " and " << uses.size() - 1 << (uses.size() == 2 ? " other" : " others");
    os << ".\n";
  }
  for (const ScheduledPart &part : parts)
    os << "// Schedule " << part.schedule << ": " << part.kernel->describe() << ".\n";
  os << "// Grid of ";
  llvm::interleave(text.grids, os, [&](const KernelFunction &function) { os << describeGrid(function); }, ", then ");
  if (text.workspaceBytes != 0)
    os << "; a workspace of " << text.workspaceBytes << " bytes";
  os << ".\n//\n";
  std::string operands = parts.front().kernel->describeOperands();
  if (operands.empty())
    for (auto [i, type] : llvm::enumerate(form.operands))
      os << "//   " << form.getOperandName(i) << ": " << type << "\n";
  os << operands << "//\n//===----------------------------------------------------------------------===//\n\n";
}

/// Schedules that read the kernel in the same way reject it for the same reason.
static void addRefusal(Refusals &refusals, StringRef reason, StringRef schedule) {
  if (!refusals.empty() && refusals.back().first == reason)
    refusals.back().second += ", " + schedule.str();
  else
    refusals.emplace_back(reason, schedule);
}

/// Calls KernelSchedule::schedule, and rejects schedules that launches in place do not allow.
static std::unique_ptr<ScheduledKernel> scheduleInPlace(const KernelSchedule &schedule, const DeviceKernel &kernel,
                                                        std::string &whyNot) {
  if (!kernel.overwritesRows || schedule.canOverwriteRows())
    return schedule.schedule(kernel, whyNot);
  whyNot = "writes over rows that it reduces";
  return nullptr;
}

ScheduledPart KernelEmitter::schedulePart(const DeviceKernel &part, Refusals refusals, std::string &whyNot) const {
  for (const std::unique_ptr<KernelSchedule> &schedule : schedules) {
    std::string reason;
    if (std::unique_ptr<ScheduledKernel> scheduled = scheduleInPlace(*schedule, part, reason))
      return {schedule->getName(), std::move(scheduled)};
    addRefusal(refusals, reason, schedule->getName());
  }
  for (auto &[reason, names] : refusals)
    whyNot += (whyNot.empty() ? "" : "; ") + names + ": it " + reason;
  whyNot = "has no CUDA text: no schedule accepts it (" + whyNot + ")";
  return {};
}

/// Groups the kernel's outputs by the shape of their points, in the order of first occurrence.
static SmallVector<DeviceKernel> splitByShape(const DeviceKernel &kernel) {
  SmallVector<std::pair<SmallVector<int64_t>, SmallVector<unsigned>>> outputs;
  for (unsigned output = 0; output < kernel.operands.size() - kernel.numInputs; ++output) {
    SmallVector<int64_t> shape = getPointShape(kernel, output);
    auto *known = llvm::find_if(outputs, [&](const auto &entry) { return entry.first == shape; });
    if (known == outputs.end())
      known = &outputs.emplace_back(std::move(shape), SmallVector<unsigned>());
    known->second.push_back(output);
  }
  SmallVector<DeviceKernel> parts;
  for (auto &[shape, numbers] : outputs) {
    DeviceKernel &part = parts.emplace_back(kernel);
    part.outputs.assign(numbers.begin(), numbers.end());
    if (outputs.size() > 1)
      part.name += "_" + std::to_string(parts.size() - 1);
  }
  return parts;
}

SmallVector<ScheduledPart> KernelEmitter::chooseParts(const DeviceKernel &kernel, std::string &whyNot) const {
  SmallVector<ScheduledPart> parts;
  Refusals refusals;
  auto scheduleWhole = [&](const KernelSchedule &schedule, std::string &reason) {
    std::unique_ptr<ScheduledKernel> whole = scheduleInPlace(schedule, kernel, reason);
    if (whole)
      parts.push_back({schedule.getName(), std::move(whole)});
    return !parts.empty();
  };
  for (const std::unique_ptr<KernelSchedule> &schedule : ofOperations) {
    std::string reason;
    if (scheduleWhole(*schedule, reason))
      return parts;
    if (!reason.empty())
      addRefusal(refusals, reason, schedule->getName());
  }
  for (const std::unique_ptr<KernelSchedule> &schedule : wholeKernelSchedules) {
    std::string whyNotWhole;
    if (scheduleWhole(*schedule, whyNotWhole))
      return parts;
  }
  for (const DeviceKernel &part : splitByShape(kernel)) {
    parts.push_back(schedulePart(part, refusals, whyNot));
    if (!parts.back().kernel)
      return {};
  }
  return parts;
}

InFlightDiagnostic cuda::emitRefusal(exec::KernelOp kernel, StringRef whyNot) {
  return emitError(kernel.getLoc()) << "kernel '" << kernel.getSymName() << "' " << whyNot;
}

/// Returns whether `parameters` has all those of `selected`, whose dictionaries may leave some out.
static bool hasParameters(DictionaryAttr parameters, DictionaryAttr selected) {
  return llvm::all_of(selected, [&](NamedAttribute wanted) {
    Attribute found = parameters ? parameters.get(wanted.getName()) : Attribute();
    auto foundParts = dyn_cast_or_null<DictionaryAttr>(found),
         wantedParts = dyn_cast<DictionaryAttr>(wanted.getValue());
    return foundParts && wantedParts ? hasParameters(foundParts, wantedParts) : found == wanted.getValue();
  });
}

/// Returns the part with the selected schedule if it is one of `schedules`, or else a part without a kernel, and in
/// `whyNot` the reason if the schedule rejects the part.
static ScheduledPart selectSchedule(ArrayRef<std::unique_ptr<KernelSchedule>> schedules, const DeviceKernel &part,
                                    const SelectedSchedule &selected, std::string &whyNot) {
  for (const std::unique_ptr<KernelSchedule> &schedule : schedules) {
    if (schedule->getName() != selected.name)
      continue;
    DeviceKernel withParameters = part;
    withParameters.parameters = selected.parameters;
    std::string reason;
    std::unique_ptr<ScheduledKernel> scheduled = scheduleInPlace(*schedule, withParameters, reason);
    // Only schedules of single operations reject a part without a reason.
    if (!scheduled)
      whyNot = "cannot have the selected schedule '" + selected.name + "': it " +
               (reason.empty() ? "computes another operation" : reason);
    else if (selected.parameters && !hasParameters(scheduled->getParameters(), selected.parameters))
      whyNot = "selects parameters that schedule '" + selected.name + "' does not have";
    else
      return {schedule->getName(), std::move(scheduled)};
    return {};
  }
  return {};
}

std::string KernelEmitter::whyUnknown(const ScheduleSelection &selection) const {
  auto names = llvm::map_to_vector(
      llvm::concat<const std::unique_ptr<KernelSchedule>>(ofOperations, wholeKernelSchedules, schedules),
      [](const std::unique_ptr<KernelSchedule> &schedule) { return schedule->getName(); });
  for (const SelectedSchedule &selected : selection)
    if (!llvm::is_contained(names, selected.name))
      return "selects schedule '" + selected.name + "', which does not exist; there are " + llvm::join(names, ", ");
  return "";
}

SmallVector<ScheduledPart> KernelEmitter::selectParts(const DeviceKernel &kernel, const ScheduleSelection &selection,
                                                      std::string &whyNot) const {
  whyNot = whyUnknown(selection);
  SmallVector<ScheduledPart> parts;
  for (ArrayRef<std::unique_ptr<KernelSchedule>> whole : {ArrayRef(ofOperations), ArrayRef(wholeKernelSchedules)}) {
    if (selection.size() != 1 || !whyNot.empty())
      break;
    ScheduledPart part = selectSchedule(whole, kernel, selection.front(), whyNot);
    if (part.kernel) {
      parts.push_back(std::move(part));
      return parts;
    }
  }
  if (!whyNot.empty())
    return {};
  SmallVector<DeviceKernel> split = splitByShape(kernel);
  if (split.size() != selection.size()) {
    whyNot = "has " + std::to_string(split.size()) + (split.size() == 1 ? " part" : " parts") +
             ", but 'exec.schedules' lists " + std::to_string(selection.size()) + " schedules: list one for each part";
    return {};
  }
  for (auto [part, selected] : llvm::zip_equal(split, selection)) {
    parts.push_back(selectSchedule(schedules, part, selected, whyNot));
    if (parts.back().kernel)
      continue;
    if (whyNot.empty())
      whyNot = "selects schedule '" + selected.name + "' for one of its " + std::to_string(split.size()) +
               " parts, but this schedule computes all parts of a kernel: list it once, alone";
    return {};
  }
  return parts;
}

FailureOr<SmallVector<ScheduledPart>> KernelEmitter::scheduleParts(const DeviceKernel &kernel,
                                                                   std::string &whyNot) const {
  FailureOr<std::optional<ScheduleSelection>> selection = readSelection(kernel.source, target);
  if (failed(selection))
    return failure();
  if (!*selection)
    return chooseParts(kernel, whyNot);
  SmallVector<ScheduledPart> parts = selectParts(kernel, **selection, whyNot);
  // An explicit selection is never replaced silently.
  if (parts.empty())
    return emitRefusal(kernel.source, whyNot);
  return parts;
}

int64_t ScheduledParts::getWorkspaceBytes() const {
  int64_t bytes = 0;
  for (const ScheduledPart &part : parts)
    bytes = std::max(bytes, part.kernel->getWorkspaceBytes());
  return bytes;
}

ScheduleSelection ScheduledParts::getSelection() const {
  ScheduleSelection selection;
  for (const ScheduledPart &part : parts)
    selection.push_back({part.schedule.str(), part.kernel->getParameters()});
  return selection;
}

FailureOr<ScheduledParts> KernelEmitter::schedule(exec::KernelOp kernel, std::string &whyNot) const {
  if (!isFunctionName(kernel.getSymName()))
    return kernel.emitError(
        "has a name that no CUDA function can have: use letters, digits and underscores, and no keyword of C++");
  OwningOpRef<ModuleOp> linalgForm = ModuleOp::create(kernel.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(linalgForm->getBody());
  FailureOr<DeviceKernel> form = readKernel(kernel, builder);
  if (failed(form))
    return failure();
  FailureOr<SmallVector<ScheduledPart>> parts = scheduleParts(*form, whyNot);
  if (failed(parts))
    return failure();
  return ScheduledParts{std::move(linalgForm), *std::move(form), *std::move(parts)};
}

FailureOr<TunableKernel> KernelEmitter::listCandidates(exec::KernelOp kernel) const {
  OwningOpRef<ModuleOp> linalgForm = ModuleOp::create(kernel.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(linalgForm->getBody());
  FailureOr<DeviceKernel> form = readKernel(kernel, builder);
  if (failed(form))
    return failure();
  TunableKernel tunable{kernel, "", {}};
  std::string whyNot;
  if (FailureOr<AttentionProblem> problem = AttentionProblem::read(*form, whyNot); succeeded(problem))
    tunable.problem = problem->describe(*form);
  for (const std::unique_ptr<KernelSchedule> &schedule : ofOperations)
    for (DictionaryAttr parameters : schedule->listCandidates(*form)) {
      SelectedSchedule candidate{schedule->getName().str(), parameters};
      if (selectSchedule(ofOperations, *form, candidate, whyNot).kernel)
        tunable.candidates.push_back(ScheduleSelection{std::move(candidate)});
    }
  return tunable;
}

FailureOr<KernelText> KernelEmitter::emit(exec::KernelOp kernel, std::string &whyNot) const {
  FailureOr<ScheduledParts> scheduled = schedule(kernel, whyNot);
  if (failed(scheduled))
    return failure();
  KernelText text;
  if (scheduled->parts.empty())
    return text;
  text.alignments = scheduled->form.alignments;
  text.schedules = scheduled->getSelection();
  text.workspaceBytes = scheduled->getWorkspaceBytes();
  for (const ScheduledPart &part : scheduled->parts) {
    part.kernel->collectDeviceSources(text.sources);
    llvm::append_range(text.grids, part.kernel->getFunctions());
  }
  llvm::raw_string_ostream os(text.functions);
  emitComment(kernel, scheduled->form, scheduled->parts, text, os);
  llvm::interleave(scheduled->parts, os, [&](const ScheduledPart &part) { part.kernel->emit(os); }, "\n");
  return text;
}

std::vector<TargetEmitter> cuda::createEmitters(ModuleOp module, ArrayRef<std::string> architectures) {
  llvm::MapVector<const TargetDescription *, SmallVector<std::string>> architecturesOf;
  for (const std::string &architecture : architectures)
    if (auto &names = architecturesOf[&getTarget(architecture)]; !llvm::is_contained(names, architecture))
      names.push_back(architecture);
  if (architectures.empty())
    architecturesOf[&portableTarget] = {};
  std::vector<TargetEmitter> emitters;
  for (auto &[target, names] : architecturesOf)
    emitters.push_back({names, KernelEmitter(module, *target)});
  return emitters;
}

LogicalResult cuda::forEachInParallel(MLIRContext *context, size_t count,
                                      function_ref<LogicalResult(size_t)> function) {
  ParallelDiagnosticHandler diagnostics(context);
  return failableParallelForEachN(context, 0, count, [&](size_t index) {
    diagnostics.setOrderIDForThread(index);
    LogicalResult result = function(index);
    diagnostics.eraseOrderIDForThread();
    return result;
  });
}
