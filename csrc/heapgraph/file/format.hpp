// A snapshot file: a header, a table of sections, and the sections, each an array of little-endian values.
//
// Nothing in it is executed, and nothing refers to anything outside it. Every number is checked before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace gradlife::heap {

// The reason why a file is not a readable snapshot, worded to follow the file's name.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr char file_magic[8] = {'G', 'L', 'H', 'E', 'A', 'P', '\r', '\n'};  // the line end detects text mode
constexpr uint32_t file_version = 2;
constexpr uint32_t file_byte_order = 0x01020304;

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;
  uint64_t nodes;
  uint64_t edges;
  uint64_t file_bytes;
  uint64_t sections;
  uint64_t tracked_begin, tracked_end;
  uint64_t table_checksum;
  uint64_t checksum;  // of the header up to here
};
static_assert(sizeof(FileHeader) == 80, "as it stands in files");

enum class Section : uint32_t {
  addresses = 1,
  types,
  sizes,
  big_sizes,
  first_references,
  references,
  first_hidden,
  counts,
  type_info,
  type_name_ends,
  type_names,
  descriptions,  // this and the following: only in snapshots with labels
  arrivals,
  other_labels,
  text_ends,
  texts,
  notes,
  type_bases,  // the bases of each type, ended by a zero
  long_rows,   // nodes with more references than the regular array can count
  coupled,
  kept_wrappers,
  latent,  // LatentReference
  label_gaps,
  long_gaps,
  cleared_dicts,
  borrowed,          // BorrowedBytes
  sequence_numbers,  // SequenceNumber
  births,            // the line of marks, and the first object behind each
  lengths,
  atom_bytes,
  unset,
};
constexpr uint32_t max_sections = 31;

// Some arrays come in two widths, given by the size of their elements: types of 2 or 4 bytes; sizes of 2 or 4, where
// the largest number refers to big_sizes; first_references of 4, or numbers of references of 1, where 255 refers to
// long_rows.
constexpr uint16_t big_short_size = UINT16_MAX;
constexpr uint8_t long_row = UINT8_MAX;

// other_labels have 4 bytes, and label_gaps count the references between a label's own and the previous one with a
// label, where 255 refers to the next of long_gaps; in format 1 they have 8 bytes, including the reference.
constexpr uint8_t long_gap = UINT8_MAX;

struct SectionEntry {
  uint32_t section;
  uint32_t element_bytes;
  uint64_t offset;
  uint64_t bytes;
  uint64_t checksum;
};
static_assert(sizeof(SectionEntry) == 32, "as it stands in files");

struct TypeInfo {
  uint64_t address;
  uint32_t kind;
  uint32_t step_cost;
};
struct BigSize {
  uint64_t node;
  uint64_t bytes;
};

// Detects damage, not malice: four streams of multiplied words.
inline uint64_t checksum_of(const void* data, size_t bytes) {
  constexpr uint64_t prime = 0x9E3779B97F4A7C15ull;
  const auto* at = static_cast<const unsigned char*>(data);
  uint64_t lanes[4] = {1, 2, 3, bytes};
  const auto mix = [](uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * prime;
    return hash ^ (hash >> 29);
  };
  for (; bytes >= 32; bytes -= 32, at += 32) {
    uint64_t words[4];
    __builtin_memcpy(words, at, sizeof words);
    for (unsigned i = 0; i < 4; ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  for (; bytes != 0; --bytes, ++at) lanes[0] = mix(lanes[0], *at);
  return mix(mix(lanes[0], lanes[1]), mix(lanes[2], lanes[3]));
}

}  // namespace gradlife::heap
