#include "heap_py/memory/present_pages.hpp"

#include <algorithm>

#ifdef __linux__
#include <fcntl.h>
#include <unistd.h>
#endif

namespace gradlife::heap {

#ifdef __linux__

PresentPages::PresentPages()
    : page_bytes_(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))),
      file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}

PresentPages::~PresentPages() {
  if (file_ >= 0) close(file_);
}

void PresentPages::ask(Address address, Address last) {
  const Address first = address / page_bytes_ * page_bytes_;
  const uint64_t count = std::clamp<uint64_t>((last - first) / page_bytes_, 1, pages_at_once);
  const auto bytes = static_cast<ssize_t>(count * sizeof(uint64_t));
  known_ = {first, first + count * page_bytes_};
  const auto offset = static_cast<off_t>(first / page_bytes_ * sizeof(uint64_t));
  is_known_ = pread(file_, entries_.data(), static_cast<size_t>(bytes), offset) == bytes;
  if (!is_known_) entries_.fill(UINT64_MAX);
}

bool PresentPages::has(Address address, Address last) {
  constexpr uint64_t is_present_or_swapped = uint64_t{3} << 62;
  if (file_ < 0) return true;
  if (!known_.contains(address)) ask(address, last);
  return (entries_[(address - known_.first) / page_bytes_] & is_present_or_swapped) != 0;
}

#else

PresentPages::PresentPages() : page_bytes_(4096) {}
PresentPages::~PresentPages() = default;
void PresentPages::ask(Address, Address) {}
bool PresentPages::has(Address, Address) { return true; }

#endif

}  // namespace gradlife::heap
