#include "heap_py/memory/class_names.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace gradlife::heap {
namespace {

constexpr uint32_t max_bases = 64;

// Unlike `isalnum`, it does not ask for the locale: the names of all classes are hundreds of thousands of letters.
bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

// The address of the type information precedes a vtable.
std::string ClassNames::read_name(uint64_t vtable) const {
  uint64_t information;
  return library_memory_.read_word(vtable - 8, &information) ? read_name_of(information) : "";
}

// The type information has its name in its second word.
std::string ClassNames::read_name_of(Address information) const {
  uint64_t name;
  if (!libraries_.contains(information)) return "";
  if (!library_memory_.read_word(information + 8, &name) || !libraries_.contains(name)) return "";
  std::string text;
  char piece[256];
  for (size_t step = sizeof piece; text.size() < 1024 && step >= 16;) {
    if (!library_memory_.read(name + text.size(), piece, step)) {
      step /= 2;  // the memory after the name may not be readable
      continue;
    }
    const size_t length = static_cast<size_t>(std::find(piece, piece + step, '\0') - piece);
    text.append(piece, length);
    if (length < step) break;
  }
  if (!text.empty() && text[0] == '*') text.erase(0, 1);  // a class that is local to its library
  const bool is_name = text.size() > 2 && (text[0] == 'N' || text[0] == 'S' || std::isdigit(text[0]) != 0);
  const bool is_plain = std::all_of(text.begin(), text.end(), is_of_name);
  return is_name && is_plain ? text : "";
}

const std::string* ClassNames::of_vtable(uint64_t vtable) {
  if (!looks_like_pointer(vtable) || !libraries_.contains(vtable)) return nullptr;
  auto found = known_.find(vtable);
  if (found == known_.end()) found = known_.emplace(vtable, read_name(vtable)).first;
  return found->second.empty() ? nullptr : &found->second;
}

const std::string* ClassNames::of_object(Address address) {
  uint64_t vtable;
  return looks_like_pointer(address) && reader_.read_word(address, &vtable) ? of_vtable(vtable) : nullptr;
}

std::vector<std::string> ClassNames::lineage(uint64_t vtable) {
  std::vector<std::string> names;
  std::vector<Address> pending(1);
  if (of_vtable(vtable) == nullptr || !library_memory_.read_word(vtable - 8, pending.data())) return names;
  constexpr size_t most = 32;
  while (!pending.empty() && names.size() < most) {
    const Address information = pending.back();
    pending.pop_back();
    const std::string name = read_name_of(information);
    if (name.empty()) continue;
    names.push_back(readable(name));
    const size_t known = pending.size();
    add_bases(information, Bases::at_its_address, pending);
    std::reverse(pending.begin() + static_cast<ptrdiff_t>(known), pending.end());  // the first one is the next
  }
  return names;
}

// The Itanium C++ ABI has three classes of type information, by the number of bases. A base at another address than the
// object's own cannot be seen from a pointer to the object. Empty bases, too, are at the object's own, and a class
// without virtual functions may be named before the one that begins the object.
void ClassNames::add_bases(Address information, Bases wanted, std::vector<Address>& into) {
  constexpr uint64_t is_virtual = 1;
  constexpr unsigned offset_shift = 8;
  uint64_t vtable, base;
  if (!library_memory_.read_word(information, &vtable)) return;
  const std::string* known = of_vtable(vtable);
  if (known == nullptr) return;
  const std::string& kind = *known;
  if (kind == "N10__cxxabiv120__si_class_type_infoE" && library_memory_.read_word(information + 16, &base)) {
    into.push_back(base);
  } else if (kind == "N10__cxxabiv121__vmi_class_type_infoE") {
    uint32_t flags_and_count[2];
    if (!library_memory_.read(information + 16, flags_and_count, sizeof flags_and_count)) return;
    for (uint32_t i = 0; i < std::min(flags_and_count[1], max_bases); ++i) {
      uint64_t entry[2];  // the base, and where it is
      if (!library_memory_.read(information + 24 + 16 * uint64_t{i}, entry, sizeof entry)) continue;
      const bool is_at_start = (entry[1] & is_virtual) == 0 && entry[1] >> offset_shift == 0;
      if (wanted == Bases::all || is_at_start) into.push_back(entry[0]);
    }
  }
}

std::vector<std::string> ClassNames::ancestors(uint64_t vtable) {
  std::vector<std::string> names;
  std::vector<Address> pending(1);
  if (!library_memory_.read_word(vtable - 8, pending.data())) return names;
  while (!pending.empty() && names.size() < max_bases) {
    const Address information = pending.back();
    pending.pop_back();
    std::string name = read_name_of(information);
    if (name.empty()) continue;
    names.push_back(std::move(name));
    add_bases(information, Bases::all, pending);
  }
  return names;
}

std::string ClassNames::readable(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  const std::string result = status == 0 && text != nullptr ? text : mangled;
  std::free(text);
  return result;
}

}  // namespace gradlife::heap
