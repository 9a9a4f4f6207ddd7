// Descriptions of the native scan's findings.
#include "heap_py/native/scan.hpp"

#include <algorithm>

#include "heap_py/memory/class_families.hpp"

namespace gradlife::heap {
namespace {

std::string short_class(const std::string& mangled) {
  const std::string readable = readable_class(mangled);
  const size_t colon = readable.rfind("::", readable.find('<'));
  return colon == std::string::npos ? readable : readable.substr(colon + 2);
}

std::string short_type(const std::string& name) {
  const size_t mark = std::max(name.rfind('.') + 1, name.rfind(':') + 1);
  return name.substr(mark);
}

}  // namespace

const char* confidence_name(Confidence confidence) {
  static constexpr const char* names[] = {"sure", "likely", "unsure"};
  return names[static_cast<size_t>(confidence)];
}

const char* end_name(NativeHolder::End end) {
  static constexpr const char* names[] = {"object", "static", "thread_local", "stack", "block"};
  return names[static_cast<size_t>(end)];
}

NativeHolder NativeScan::describe(const Origin& origin) const {
  const Offer& offer = origin.best;
  NativeHolder holder;
  holder.target = origin.target;
  holder.end = offer.end;
  holder.confidence = offer.confidence;
  if (offer.end == NativeHolder::End::object) holder.node = offer.node;
  if (offer.library != nullptr) holder.library = offer.library->path;
  if (offer.end == NativeHolder::End::static_data) holder.symbol = libraries_.symbol_at(offer.at);
  if (offer.end == NativeHolder::End::thread_local_data)
    holder.symbol = Libraries::thread_local_symbol(*offer.library, offer.at - offer.locals);
  holder.description = outermost_text(offer, holder.symbol) + (offer.is_function ? " → std::function" : "");
  for (const Item* at = &items_[offer.item]; at->shape != Shape::target; at = &items_[at->inner])
    holder.description += (holder.description.empty() ? "" : " → ") + item_text(*at);
  return holder;
}

std::string NativeScan::outermost_text(const Offer& offer, const std::string& symbol) const {
  switch (offer.end) {
    case NativeHolder::End::object:
      return short_type(graph_.type_of(offer.node).name) + " +" +
             std::to_string(static_cast<int64_t>(offer.at - graph_.addresses[offer.node]));
    case NativeHolder::End::static_data:
      return (symbol.empty() ? "static data of " : symbol + " in ") + offer.library->name();
    case NativeHolder::End::thread_local_data:
      return (symbol.empty() ? "thread-local data of " : "thread-local " + symbol + " in ") + offer.library->name() +
             " in " + ThreadMemory::name_of(offer.thread);
    case NativeHolder::End::stack:
      return "the stack of " + ThreadMemory::name_of(offer.thread);
    case NativeHolder::End::block:
      return "";
  }
  return "";
}

std::string NativeScan::item_text(const Item& item) const {
  const std::string offset = " +" + std::to_string(item.offset);
  const std::string function = item.is_function ? " → std::function" : "";
  if (item.name != nullptr) return short_class(*item.name) + offset + function;
  switch (item.shape) {
    case Shape::vector:
      return "std::vector[" + std::to_string(item.offset / (item.is_function ? 32 : 8)) + "]" + function;
    case Shape::map_node:
      return "std::map node" + offset + function;
    case Shape::captures:
      return "captured variables" + offset + function;
    default:
      return "block of " + std::to_string(item.last - item.first) + " bytes" + offset + function;
  }
}

}  // namespace gradlife::heap
