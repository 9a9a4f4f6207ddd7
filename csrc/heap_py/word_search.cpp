#include "heap_py/word_search.hpp"

#include <algorithm>

#ifdef __linux__
#include <fcntl.h>
#include <unistd.h>
#endif

namespace gradlife::heap {
namespace {

constexpr uint64_t piece_bytes = uint64_t{1} << 18;  // fits the second cache
constexpr size_t row = 8;
constexpr uint64_t is_present_or_swapped = uint64_t{3} << 62;

unsigned bits_for(size_t addresses) {
  unsigned bits = 15;
  while (bits < 20 && (size_t{1} << bits) < 128 * addresses) ++bits;
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
    : addresses_(sorted), bits_(arena.memory()), shift_(64 - bits_for(sorted.size())) {
  bits_.assign((size_t{1} << (64 - shift_)) / 64, 0);
  for (const Address address : sorted) {
    const uint64_t hash = (address * 0x9E3779B97F4A7C15ull) >> shift_;
    bits_[hash >> 6] |= uint64_t{1} << (hash & 63);
  }
}

uint32_t AddressSet::find(uint64_t word) const {
  const auto found = std::lower_bound(addresses_.begin(), addresses_.end(), word);
  return found != addresses_.end() && *found == word ? static_cast<uint32_t>(found - addresses_.begin()) : none;
}

void search_words(const uint64_t* words, size_t count, Address start, const AddressSet& wanted,
                  ScanVector<WordHit>& hits) {
  for (size_t i = 0; i < count; i += row) {
    const size_t width = std::min(row, count - i);
    bool may = false;
    for (size_t k = 0; k < width; ++k) may |= wanted.may_contain(words[i + k]);
    if (!may) continue;
    for (size_t k = 0; k < width; ++k) {
      const uint32_t place = wanted.may_contain(words[i + k]) ? wanted.find(words[i + k]) : AddressSet::none;
      if (place != AddressSet::none) hits.push_back({start + (i + k) * sizeof(uint64_t), place});
    }
  }
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

void MemorySearch::search(const AddressSet& wanted, ScanVector<WordHit>& hits) {
  for (const Mapping& mapping : map_.all()) {
    const bool is_memory = mapping.is_readable && mapping.is_writable && mapping.is_private;
    if (is_memory && mapping.what != Mapping::What::special) search_mapping(mapping, wanted, hits);
  }
}

void MemorySearch::search_mapping(AddressRange range, const AddressSet& wanted, ScanVector<WordHit>& hits) {
  for (Address at = range.first; at < range.last; at += piece_bytes)
    search_piece({at, std::min(range.last, at + piece_bytes)}, wanted, hits);
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

// Runs of pages that are there are read in one go.
void MemorySearch::search_piece(AddressRange piece, const AddressSet& wanted, ScanVector<WordHit>& hits) {
  const bool knows_pages = note_present_pages(piece);
  const size_t count = (piece.last - piece.first) / page_bytes_;
  const auto is_there = [&](size_t page) {
    const Address first = piece.first + page * page_bytes_;
    return (!knows_pages || (pages_[page] & is_present_or_swapped) != 0) && !is_left_out({first, first + page_bytes_});
  };
  for (size_t page = 0, next; page < count; page = next + 1) {
    for (next = page; next < count && is_there(next); ++next) continue;
    const AddressRange run{piece.first + page * page_bytes_, piece.first + next * page_bytes_};
    if (search_run(run, wanted, hits)) continue;
    for (Address at = run.first; at < run.last; at += page_bytes_) search_run({at, at + page_bytes_}, wanted, hits);
  }
}

bool MemorySearch::search_run(AddressRange run, const AddressSet& wanted, ScanVector<WordHit>& hits) {
  const uint64_t bytes = run.last - run.first;
  if (!reader_.read(run.first, words_.data(), bytes)) return false;
  bytes_read_ += bytes;
  const size_t known = hits.size();
  search_words(words_.data(), bytes / sizeof(uint64_t), run.first, wanted, hits);
  const auto is_own = [&](const WordHit& hit) { return is_left_out({hit.at, hit.at + sizeof(uint64_t)}); };
  hits.erase(std::remove_if(hits.begin() + static_cast<ptrdiff_t>(known), hits.end(), is_own), hits.end());
  return true;
}

bool MemorySearch::is_left_out(AddressRange part) const {
  return std::any_of(left_out_.begin(), left_out_.end(),
                     [&](AddressRange range) { return range.contains(part.first) && part.last <= range.last; });
}

}  // namespace gradlife::heap
