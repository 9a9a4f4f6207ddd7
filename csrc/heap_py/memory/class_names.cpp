#include "heap_py/memory/class_names.hpp"

#include <cxxabi.h>
#ifdef __linux__
#include <link.h>
#endif

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

// The address of the type information precedes a vtable.
std::string ClassNames::read_name(uint64_t vtable) const {
  uint64_t information;
  return library_memory_.read_word(vtable - 8, &information) ? read_name_of(information) : "";
}

// The type information has its name in its second word.
std::string ClassNames::read_name_of(Address information) const {
  uint64_t name;
  if (!is_in_library(information)) return "";
  if (!library_memory_.read_word(information + 8, &name) || !is_in_library(name)) return "";
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
  if (!looks_like_pointer(vtable) || !is_in_library(vtable)) return nullptr;
  auto found = known_.find(vtable);
  if (found == known_.end()) found = known_.emplace(vtable, read_name(vtable)).first;
  return found->second.empty() ? nullptr : &found->second;
}

const std::string* ClassNames::of_object(Address address) {
  uint64_t vtable;
  return looks_like_pointer(address) && reader_.read_word(address, &vtable) ? of_vtable(vtable) : nullptr;
}

// The type information of a class with bases is of one of two classes, which store them differently (the Itanium C++
// ABI). A base at another address than the object's own cannot be seen from a pointer to it.
Address ClassNames::first_base(Address information) {
  uint64_t kind, base, flags;
  if (!library_memory_.read_word(information, &kind)) return 0;
  const std::string* name = of_vtable(kind);
  if (name == nullptr) return 0;
  if (*name == "N10__cxxabiv120__si_class_type_infoE")
    return library_memory_.read_word(information + 16, &base) ? base : 0;
  if (*name != "N10__cxxabiv121__vmi_class_type_infoE") return 0;
  const bool is_read =
      library_memory_.read_word(information + 24, &base) && library_memory_.read_word(information + 32, &flags);
  return is_read && (flags >> 8) == 0 ? base : 0;
}

std::vector<std::string> ClassNames::lineage(uint64_t vtable) {
  std::vector<std::string> names;
  uint64_t information;
  if (of_vtable(vtable) == nullptr || !library_memory_.read_word(vtable - 8, &information)) return names;
  constexpr size_t deepest = 16;
  while (information != 0 && names.size() < deepest) {
    const std::string name = read_name_of(information);
    if (name.empty()) break;
    names.push_back(readable(name));
    information = first_base(information);
  }
  return names;
}

// The C++ ABI has three classes of type information, by the number of bases.
void ClassNames::add_bases(Address information, std::vector<Address>& into) {
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
    for (uint32_t i = 0; i < std::min(flags_and_count[1], max_bases); ++i)
      if (library_memory_.read_word(information + 24 + 16 * uint64_t{i}, &base)) into.push_back(base);
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
    add_bases(information, pending);
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
