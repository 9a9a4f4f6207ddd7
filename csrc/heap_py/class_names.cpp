#include "heap_py/class_names.hpp"

#include <cxxabi.h>
#ifdef __linux__
#include <link.h>
#endif

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace gradlife::heap {

ClassNames::ClassNames() {
#ifdef __linux__
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* state) {
        auto& ranges = *static_cast<std::vector<Range>*>(state);
        for (int i = 0; i < library->dlpi_phnum; ++i) {
          const auto& segment = library->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          const Address first = library->dlpi_addr + segment.p_vaddr;
          ranges.push_back({first, first + segment.p_memsz});
        }
        return 0;
      },
      &libraries_);
#endif
  std::sort(libraries_.begin(), libraries_.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
}

bool ClassNames::is_in_library(Address address) const {
  auto after = std::upper_bound(libraries_.begin(), libraries_.end(), address,
                                [](Address wanted, const Range& range) { return wanted < range.first; });
  return after != libraries_.begin() && address < (--after)->last;
}

// A vtable has the address of the type information in front of it, and that its name in its second word.
std::string ClassNames::read_name(uint64_t vtable) const {
  uint64_t information, name;
  if (!reader_.read_word(vtable - 8, &information) || !is_in_library(information)) return "";
  if (!reader_.read_word(information + 8, &name) || !is_in_library(name)) return "";
  std::string text;
  char piece[64];
  while (text.size() < 512 && reader_.read(name + text.size(), piece, sizeof piece)) {
    const size_t length = static_cast<size_t>(std::find(piece, piece + sizeof piece, '\0') - piece);
    text.append(piece, length);
    if (length < sizeof piece) break;
  }
  if (!text.empty() && text[0] == '*') text.erase(0, 1);  // a class that is local to its library
  const bool is_name = text.size() > 2 && (text[0] == 'N' || text[0] == 'S' || std::isdigit(text[0]) != 0);
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) { return std::isalnum(c) != 0 || c == '_'; });
  return is_name && is_plain ? text : "";
}

const std::string* ClassNames::of_vtable(uint64_t vtable) {
  if (!looks_like_pointer(vtable) || !is_in_library(vtable)) return nullptr;
  auto found = known_.find(vtable);
  if (found == known_.end()) found = known_.emplace(vtable, read_name(vtable)).first;
  return found->second.empty() ? nullptr : &found->second;
}

const std::string* ClassNames::of_object(Address address) {
  uint64_t vtable;
  return looks_like_pointer(address) && reader_.read_word(address, &vtable) ? of_vtable(vtable) : nullptr;
}

std::string ClassNames::readable(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  const std::string result = status == 0 && text != nullptr ? text : mangled;
  std::free(text);
  return result;
}

}  // namespace gradlife::heap
