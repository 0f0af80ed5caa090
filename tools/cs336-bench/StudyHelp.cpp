//===- StudyHelp.cpp - Help about one study -------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudyHelp.h"

#include "StudyForecast.h"
#include "cs336/Bench/Report/ReportWriter.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace cs336::bench;

namespace {
/// A flag that a step sets.
struct FlagRow {
  std::string flag, onCPU, onGPU, description;
};
/// The flags and cells of one device.
struct DeviceRow {
  std::string device, forecast;
};
} // namespace

static std::string getFlagValue(const StudyFlags &flags, llvm::StringRef name) {
  auto found = llvm::find_if(flags, [&](const auto &flag) { return flag.first == name; });
  if (found == flags.end())
    return "default";
  return found->second.empty() ? "yes" : found->second.str();
}

static std::vector<FlagRow> listFlags(const StudyFlags &onCPU, const StudyFlags &onGPU, llvm::cl::SubCommand &command) {
  std::vector<FlagRow> rows;
  for (const auto &[name, value] : onCPU) {
    const llvm::cl::Option *option = command.OptionsMap.lookup(name);
    rows.push_back(
        {"--" + name.str(), getFlagValue(onCPU, name), getFlagValue(onGPU, name), option ? option->HelpStr.str() : ""});
  }
  return rows;
}

static void writeTable(Table table, llvm::raw_ostream &stream) {
  ReportWriter::create(Format::Table)->write({{}, {std::move(table)}, {}}, stream);
}

static std::vector<Column<FlagRow>> getFlagColumns() {
  using Row = FlagRow;
  return {{"flag", "flag", [](const Row &row) { return Cell(row.flag); }},
          {"on the CPU", "cpu", [](const Row &row) { return Cell(row.onCPU); }},
          {"on a GPU, or --full", "gpu", [](const Row &row) { return Cell(row.onGPU); }},
          {"meaning", "meaning", [](const Row &row) { return Cell(row.description); }, Show::Text}};
}

static std::string listColumns(const Command &command) {
  std::vector<std::string> names;
  for (const ColumnHead &head : command.getColumns())
    if (head.show != Show::Data)
      names.push_back(head.key);
  return llvm::join(names, ", ");
}

static absl::Status forecastDevice(const Study &study, const StudyArguments &arguments, const std::string &program,
                                   llvm::ArrayRef<Command *> commands, bool isSmall, std::string &summary) {
  if (absl::Status status = arguments.check(study, commands); !status.ok())
    return status;
  std::vector<StudyLine> lines = arguments.expand(study, commands, /*onGPU=*/!isSmall, isSmall);
  auto isDevice = [](llvm::StringRef word) { return word.starts_with("--device"); };
  for (StudyLine &line : lines)
    if (hasFlag(commands, line.front(), "device") && llvm::none_of(line, isDevice))
      line.insert(line.end(), {"--device", isSmall ? "cpu" : "cuda"});
  summary = summarize(addForecasts(forecastLines(program, commands, lines)));
  return absl::OkStatus();
}

absl::Status cs336::bench::writeStudyHelp(const Study &study, const StudyArguments &arguments,
                                          const std::string &program, llvm::ArrayRef<Command *> commands,
                                          llvm::raw_ostream &stream) {
  std::vector<DeviceRow> devices{{"the CPU", ""}, {"a GPU", ""}};
  for (DeviceRow &row : devices)
    if (absl::Status status =
            forecastDevice(study, arguments, program, commands, /*isSmall=*/&row == &devices.front(), row.forecast);
        !status.ok())
      return status;

  stream << "USAGE: cs336-bench study " << study.name
         << " [--full] [--edition 2025|2026] [flags of its commands, instead of its own]\n\n";
  writeTable({"", "",
              std::vector<Column<DeviceRow>>{
                  {"measures", "measures", [&](const DeviceRow &) { return Cell(study.description); }, Show::Text},
                  {"source", "source", [&](const DeviceRow &) { return Cell(study.source); }, Show::Text}},
              llvm::ArrayRef(devices).take_front()},
             stream);
  stream << "\n";
  writeTable({"", "",
              std::vector<Column<DeviceRow>>{
                  {"on", "on", [](const DeviceRow &row) { return Cell(row.device); }},
                  {"takes", "takes", [](const DeviceRow &row) { return Cell(row.forecast); }, Show::Text}},
              llvm::ArrayRef(devices)},
             stream);
  for (const StudyStep *step : study.getSteps(/*isOnGPU=*/true, arguments.getEdition())) {
    Command *command =
        *llvm::find_if(commands, [&](Command *known) { return known->getSubCommand().getName() == step->command; });
    auto getFlags = [&](bool isSmall) { return getStepFlags(study, *step, commands, arguments.getEdition(), isSmall); };
    std::vector<FlagRow> flags =
        listFlags(getFlags(/*isSmall=*/true), getFlags(/*isSmall=*/false), command->getSubCommand());
    stream << "\ncs336-bench " << step->command << ": " << command->getSubCommand().getDescription()
           << (step->needsGPU ? ", on a GPU" : "") << "\n\n";
    if (!flags.empty())
      writeTable({"", "", getFlagColumns(), llvm::ArrayRef(flags)}, stream);
    Report columns{
        {}, {}, {"all flags: cs336-bench " + step->command.str() + " --help", "columns: " + listColumns(*command)}};
    stream << (flags.empty() ? "" : "\n");
    ReportWriter::create(Format::Table)->write(columns, stream);
  }
  return absl::OkStatus();
}
