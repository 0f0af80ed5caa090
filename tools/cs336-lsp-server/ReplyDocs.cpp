//===- ReplyDocs.cpp - Documentation in replies to editors ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReplyDocs.h"

#include "llvm/ADT/Twine.h"

using namespace cs336::lsp;
using namespace llvm;

ReplyDocs::ReplyDocs() : docs(readOperationDocs()) {
  for (StringRef name : docs.keys())
    ++dialects[name.split('.').first];
}

/// Adds the operation's documentation. The server's text of an operation begins with its name in quotes.
bool ReplyDocs::addToHover(json::Object &hover) const {
  json::Object *contents = hover.getObject("contents");
  std::optional<StringRef> text = contents ? contents->getString("value") : std::nullopt;
  if (!text || !text->starts_with("\""))
    return false;
  StringRef rest = text->drop_front();
  auto found = docs.find(rest.take_until([](char c) { return c == '"'; }));
  if (found == docs.end())
    return false;
  auto [title, generic] = text->split("\n\n");
  (*contents)["value"] = (title + "\n\n" + found->second.text + "\n\n---\n\n" + generic).str();
  return true;
}

/// Returns the name of an item that is an operation, without its dialect; else an empty string.
static StringRef getOperation(const json::Value &item) {
  const json::Object *object = item.getAsObject();
  bool isOperation = object && object->getString("detail").value_or("") == "operation";
  return isOperation ? object->getString("label").value_or("") : "";
}

/// Returns the dialect of the listed operations, which the server does not name: the one that has exactly these.
StringRef ReplyDocs::findDialect(const json::Array &items) const {
  for (const auto &[dialect, count] : dialects) {
    auto isDocumented = [&, dialect = StringRef(dialect)](const json::Value &item) {
      return docs.contains((dialect + "." + getOperation(item)).str());
    };
    if (items.size() == count && llvm::all_of(items, isDocumented))
      return dialect;
  }
  return "";
}

bool ReplyDocs::addToCompletion(json::Array &items) const {
  StringRef dialect = findDialect(items);
  if (dialect.empty())
    return false;
  for (json::Value &item : items) {
    const OperationDoc &doc = docs.find((dialect + "." + getOperation(item)).str())->second;
    json::Object &object = *item.getAsObject();
    object["detail"] = doc.summary;
    object["documentation"] = json::Object{{"kind", "markdown"}, {"value", doc.text}};
  }
  return true;
}

bool ReplyDocs::addTo(json::Value &message) const {
  json::Object *object = message.getAsObject();
  json::Object *result = object ? object->getObject("result") : nullptr;
  if (!result)
    return false;
  if (json::Array *items = result->getArray("items"))
    return addToCompletion(*items);
  return addToHover(*result);
}
