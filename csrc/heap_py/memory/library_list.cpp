#include "heap_py/memory/library_list.hpp"

#include <algorithm>

#ifdef __linux__
#include <link.h>
#endif

namespace gradlife::heap {
namespace {

LibraryList& list() {
  static auto* known = new LibraryList;  // never destroyed: a walk may run while the process ends
  return *known;
}

uint64_t count_changes() {
  uint64_t count = 0;
#ifdef __linux__
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* state) {
        *static_cast<uint64_t*>(state) = info->dlpi_adds + info->dlpi_subs;
        return 1;
      },
      &count);
#endif
  return count;
}

}  // namespace

const LibraryList& LibraryList::current() {
  LibraryList& known = list();
  if (known.is_kept_) return known;
  const uint64_t now = count_changes();
  if (known.ranges_.empty() || known.changes_ != now) known.read();
  known.changes_ = now;
  return known;
}

void LibraryList::keep() { list().is_kept_ = true; }

void LibraryList::read() {
  ranges_.clear();
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
      &ranges_);
#endif
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
}

bool LibraryList::contains(Address address) const {
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](Address wanted, const Range& range) { return wanted < range.first; });
  return after != ranges_.begin() && address < (--after)->last;
}

}  // namespace gradlife::heap
