#include "heap_py/native/word_search.hpp"

#include <algorithm>

#ifdef __linux__
#include <fcntl.h>
#include <unistd.h>
#endif

namespace gradlife::heap {
namespace {

constexpr uint64_t piece_bytes = uint64_t{1} << 18;  // fits into the second-level cache
constexpr size_t row = AddressSet::row;
constexpr uint64_t is_present_or_swapped = uint64_t{3} << 62;

unsigned bits_for(size_t addresses) {
  unsigned bits = 13;
  while (bits < 20 && (size_t{1} << bits) < 100 * addresses) ++bits;
  return bits;
}

uint64_t page_size() {
#ifdef __linux__
  return static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
#else
  return 4096;
#endif
}

}  // namespace

AddressSet::AddressSet(const ScanVector<Address>& sorted, ScanArena& arena)
    : addresses_(sorted), marks_(arena.memory()), shift_(64 - bits_for(sorted.size())) {
  marks_.assign(size_t{1} << (64 - shift_), 0);
  for (const Address address : sorted) marks_[(address * 0x9E3779B97F4A7C15ull) >> shift_] = 1;
}

uint32_t AddressSet::find(uint64_t word) const {
  const auto found = std::lower_bound(addresses_.begin(), addresses_.end(), word);
  return found != addresses_.end() && *found == word ? static_cast<uint32_t>(found - addresses_.begin()) : none;
}

void search_words(const uint64_t* words, size_t count, Address start, const AddressSet& wanted,
                  ScanVector<WordHit>& hits) {
  const auto look = [&](size_t i) {
    const uint32_t place = wanted.may_contain(words[i]) ? wanted.find(words[i]) : AddressSet::none;
    if (place != AddressSet::none) hits.push_back({start + i * sizeof(uint64_t), place});
  };
  size_t i = 0;
  for (; i + row <= count; i += row) {
    if (!wanted.may_contain_any(words + i)) continue;
    for (size_t k = 0; k < row; ++k) look(i + k);
  }
  for (; i < count; ++i) look(i);
}

MemorySearch::MemorySearch(const MemoryMap& map, ScanArena& arena)
    : map_(map), left_out_(arena.memory()), words_(arena.memory()), pages_(arena.memory()), page_bytes_(page_size()) {
  words_.resize(piece_bytes / sizeof(uint64_t));
  pages_.resize(piece_bytes / page_bytes_);
  leave_out(arena.range());
#ifdef __linux__
  page_file_ = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
#endif
}

MemorySearch::~MemorySearch() {
#ifdef __linux__
  if (page_file_ >= 0) close(page_file_);
#endif
}

void MemorySearch::search(const AddressSet& wanted, ScanVector<WordHit>& hits) { read_all({&wanted, &hits}); }

void MemorySearch::read_only() { read_all({}); }

void MemorySearch::read_all(Task task) {
  for (const Mapping& mapping : map_.all()) {
    const bool is_memory = mapping.is_readable && mapping.is_writable && mapping.is_private;
    if (!is_memory || mapping.what == Mapping::What::special) continue;
    for (Address at = mapping.first; at < mapping.last; at += piece_bytes)
      read_piece({at, std::min(mapping.last, at + piece_bytes)}, task);
  }
}

bool MemorySearch::note_present_pages(AddressRange piece) {
#ifdef __linux__
  const size_t bytes = (piece.last - piece.first) / page_bytes_ * sizeof(uint64_t);
  const auto offset = static_cast<off_t>(piece.first / page_bytes_ * sizeof(uint64_t));
  return page_file_ >= 0 && pread(page_file_, pages_.data(), bytes, offset) == static_cast<ssize_t>(bytes);
#else
  return piece.first == piece.last;
#endif
}

// Reads runs of present pages together.
void MemorySearch::read_piece(AddressRange piece, Task task) {
  const bool knows_pages = note_present_pages(piece);
  const size_t count = (piece.last - piece.first) / page_bytes_;
  const auto is_there = [&](size_t page) {
    const Address first = piece.first + page * page_bytes_;
    return (!knows_pages || (pages_[page] & is_present_or_swapped) != 0) && !is_left_out({first, first + page_bytes_});
  };
  for (size_t page = 0, next; page < count; page = next + 1) {
    for (next = page; next < count && is_there(next); ++next) continue;
    const AddressRange run{piece.first + page * page_bytes_, piece.first + next * page_bytes_};
    if (read_run(run, task)) continue;
    for (Address at = run.first; at < run.last; at += page_bytes_) read_run({at, at + page_bytes_}, task);
  }
}

bool MemorySearch::read_run(AddressRange run, Task task) {
  const uint64_t bytes = run.last - run.first;
  if (bytes == 0) return true;
  if (!reader_.read(run.first, words_.data(), bytes)) return false;
  bytes_read_ += bytes;
  if (task.wanted == nullptr) return true;
  ScanVector<WordHit>& hits = *task.hits;
  const size_t known = hits.size();
  search_words(words_.data(), bytes / sizeof(uint64_t), run.first, *task.wanted, hits);
  const auto is_own = [&](const WordHit& hit) { return is_left_out({hit.at, hit.at + sizeof(uint64_t)}); };
  hits.erase(std::remove_if(hits.begin() + static_cast<ptrdiff_t>(known), hits.end(), is_own), hits.end());
  return true;
}

namespace {

bool begins_behind(Address address, AddressRange range) { return address < range.first; }

}  // namespace

void MemorySearch::leave_out(AddressRange range) {
  left_out_.insert(std::upper_bound(left_out_.begin(), left_out_.end(), range.first, begins_behind), range);
}

bool MemorySearch::is_left_out(AddressRange part) const {
  const auto after = std::upper_bound(left_out_.begin(), left_out_.end(), part.first, begins_behind);
  return after != left_out_.begin() && part.last <= (after - 1)->last;
}

}  // namespace gradlife::heap
