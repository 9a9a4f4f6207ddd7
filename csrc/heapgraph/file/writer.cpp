#include "heapgraph/file/writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "heapgraph/file/format.hpp"

namespace gradlife::heap {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian");

void write_all(int descriptor, const void* data, size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes != 0) {
    const ssize_t written = ::write(descriptor, at, std::min<size_t>(bytes, size_t{1} << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw std::system_error(written < 0 ? errno : EIO, std::generic_category());
    at += written;
    bytes -= static_cast<size_t>(written);
  }
}

class Writer {
 public:
  explicit Writer(const FrozenGraph& frozen) : frozen_(frozen), graph_(frozen.graph) {}

  void add_graph() {
    add(Section::addresses, graph_.addresses);
    if (graph_.type_rows.size() <= UINT16_MAX) {
      short_types_.reserve(graph_.size());
      for (uint32_t type : graph_.types) short_types_.push_back(static_cast<uint16_t>(type));
      add(Section::types, short_types_);
    } else {
      add(Section::types, graph_.types);
    }
    add_sizes();
    add_row_lengths();
    add(Section::references, graph_.references.targets);
    add(Section::first_hidden, graph_.first_hidden.pairs());
    add(Section::counts, frozen_.counts.pairs());
    add(Section::coupled, graph_.coupled);
    add(Section::kept_wrappers, graph_.kept_wrappers.pairs());
    add(Section::latent, graph_.latent);
    if (graph_.cleared_dicts.begin() != graph_.cleared_dicts.end())
      add(Section::cleared_dicts, graph_.cleared_dicts.pairs());
    if (!graph_.borrowed.empty()) add(Section::borrowed, graph_.borrowed);
    if (!graph_.sequence_numbers.empty()) add(Section::sequence_numbers, graph_.sequence_numbers);
    if (graph_.birth_line != 0) {
      births_.push_back(graph_.birth_line);
      for (uint32_t first : graph_.birth_begins) births_.push_back(first);
      add(Section::births, births_);
    }
    add(Section::lengths, graph_.lengths.pairs());
    add(Section::atom_bytes, graph_.atom_bytes.pairs());
    add(Section::unset, graph_.unset.pairs());
    add_types();
  }
  void add_words(const Words& words) {
    add(Section::descriptions, words.descriptions);
    add(Section::arrivals, words.arrivals);
    add_other_labels(words.others);
    add(Section::text_ends, words.texts.first());
    add(Section::texts, words.texts.letters());
  }
  void add_notes(const std::string& notes) { add(Section::notes, notes.data(), notes.size(), 1); }

  void write(int descriptor) {
    uint64_t offset = sizeof(FileHeader) + table_.size() * sizeof(SectionEntry);
    for (SectionEntry& entry : table_) {
      entry.offset = offset;
      offset += padded(entry.bytes);
    }
    const FileHeader header = make_header(offset);
    write_all(descriptor, &header, sizeof header);
    write_all(descriptor, table_.data(), table_.size() * sizeof(SectionEntry));
    static constexpr char padding[8] = {};
    for (size_t i = 0; i < table_.size(); ++i) {
      write_all(descriptor, contents_[i], table_[i].bytes);
      write_all(descriptor, padding, padded(table_[i].bytes) - table_[i].bytes);
    }
  }

 private:
  static uint64_t padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

  template <class T>
  void add(Section section, const Buffer<T>& values) {
    add(section, values.data(), values.size() * sizeof(T), sizeof(T));
  }
  void add(Section section, const void* data, size_t bytes, size_t element_bytes) {
    table_.push_back(
        {static_cast<uint32_t>(section), static_cast<uint32_t>(element_bytes), 0, bytes, checksum_of(data, bytes)});
    contents_.push_back(data);
  }
  void add_sizes() {
    short_sizes_.reserve(graph_.size());
    for (size_t i = 0; i < graph_.size(); ++i) {
      const uint64_t bytes = graph_.size_of(static_cast<NodeId>(i));
      short_sizes_.push_back(static_cast<uint16_t>(std::min<uint64_t>(bytes, big_short_size)));
      if (bytes >= big_short_size) big_sizes_.push_back({i, bytes});
    }
    add(Section::sizes, short_sizes_);
    add(Section::big_sizes, big_sizes_);
  }
  void add_row_lengths() {
    row_lengths_.reserve(graph_.size());
    for (size_t i = 0; i < graph_.size(); ++i) {
      const NodeId node = static_cast<NodeId>(i);
      const size_t length = graph_.references.of(node).size();
      row_lengths_.push_back(static_cast<uint8_t>(std::min<size_t>(length, long_row)));
      if (length >= long_row) long_rows_.push_back({node, static_cast<uint32_t>(length)});
    }
    add(Section::first_references, row_lengths_);
    add(Section::long_rows, long_rows_);
  }
  void add_other_labels(const Buffer<EdgeLabel>& others) {
    other_labels_.reserve(others.size());
    label_gaps_.reserve(others.size());
    uint32_t expected = 0;
    for (const EdgeLabel& other : others) {
      const uint32_t gap = other.edge - expected;
      label_gaps_.push_back(static_cast<uint8_t>(std::min<uint32_t>(gap, long_gap)));
      if (gap >= long_gap) long_gaps_.push_back(gap);
      other_labels_.push_back(other.label);
      expected = other.edge + 1;
    }
    add(Section::other_labels, other_labels_);
    add(Section::label_gaps, label_gaps_);
    add(Section::long_gaps, long_gaps_);
  }
  void add_types() {
    name_ends_.push_back(0);
    for (const TypeRow& row : graph_.type_rows) {
      type_info_.push_back({row.address, static_cast<uint32_t>(row.kind), row.step_cost});
      names_ += row.name;
      name_ends_.push_back(static_cast<uint32_t>(names_.size()));
      bases_.append(row.bases.c_str(), row.bases.size() + 1);
    }
    add(Section::type_info, type_info_);
    add(Section::type_name_ends, name_ends_);
    add(Section::type_names, names_.data(), names_.size(), 1);
    add(Section::type_bases, bases_.data(), bases_.size(), 1);
  }
  FileHeader make_header(uint64_t file_bytes) const {
    FileHeader header = {};
    std::copy(std::begin(file_magic), std::end(file_magic), header.magic);
    header.version = file_version;
    header.byte_order = file_byte_order;
    header.nodes = graph_.size();
    header.edges = graph_.references.targets.size();
    header.file_bytes = file_bytes;
    header.sections = table_.size();
    header.tracked_begin = graph_.tracked_begin;
    header.tracked_end = graph_.tracked_end;
    header.table_checksum = checksum_of(table_.data(), table_.size() * sizeof(SectionEntry));
    header.checksum = checksum_of(&header, offsetof(FileHeader, checksum));
    return header;
  }

  const FrozenGraph& frozen_;
  const Graph& graph_;
  Buffer<SectionEntry> table_;
  Buffer<const void*> contents_;
  Buffer<uint16_t> short_types_, short_sizes_;
  Buffer<uint8_t> row_lengths_, label_gaps_;
  Buffer<uint32_t> other_labels_, long_gaps_;
  Buffer<BigSize> big_sizes_;
  Buffer<uint64_t> births_;
  Buffer<NodeNumber> long_rows_;
  Buffer<TypeInfo> type_info_;
  Buffer<uint32_t> name_ends_;
  std::string names_, bases_;
};

}  // namespace

void write_graph(int descriptor, const FrozenGraph& frozen, const std::string& notes, bool with_labels) {
  Writer writer(frozen);
  writer.add_graph();
  if (with_labels && frozen.words != nullptr) writer.add_words(*frozen.words);
  writer.add_notes(notes);
  writer.write(descriptor);
}

}  // namespace gradlife::heap
