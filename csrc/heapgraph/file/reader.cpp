#include "heapgraph/file/reader.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/visible_text.hpp"
#include "heapgraph/file/checks.hpp"

namespace gradlife::heap {
namespace {

void read_all(int descriptor, uint64_t offset, void* data, size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes != 0) {
    const ssize_t got = ::pread(descriptor, at, std::min<size_t>(bytes, size_t{1} << 30), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category());
    if (got == 0) throw FileError("ends too early");
    at += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
}

uint64_t file_size(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0) throw std::system_error(errno, std::generic_category());
  if (!S_ISREG(status.st_mode)) throw FileError("is no ordinary file");
  return static_cast<uint64_t>(status.st_size);
}

// A path shows a name or a text once for each of its steps: one of a megabyte would fill memory.
constexpr size_t longest_name = 400, longest_bases = 2000, short_text = 400;  // bytes

// The names and the texts of all objects take at most this many bytes for each of the file's, and some more: an object
// takes some 20 bytes of a file, and the name of an attribute rarely has more than 100 letters. Else they are cut.
constexpr uint64_t most_shown = 32, always_shown = uint64_t{1} << 20;

// Returns the beginning of a text, without half a letter at its end.
std::string_view shortened(std::string_view text, size_t longest) {
  if (text.size() <= longest) return text;
  while (longest != 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;
  return text.substr(0, longest);
}

// Shortens each long text.
void shorten(Buffer<uint32_t>& ends, Buffer<char>& letters) {
  Buffer<uint32_t> new_ends;
  Buffer<char> kept;
  new_ends.reserve(ends.size());
  new_ends.push_back(0);
  for (size_t i = 1; i < ends.size(); ++i) {
    for (const char letter : shortened({letters.data() + ends[i - 1], ends[i] - ends[i - 1]}, short_text))
      kept.push_back(letter);
    new_ends.push_back(static_cast<uint32_t>(kept.size()));
  }
  ends = std::move(new_ends);
  letters = std::move(kept);
}

class Reader {
 public:
  explicit Reader(int descriptor) : descriptor_(descriptor), file_bytes_(file_size(descriptor)) {
    read_header();
    read_table();
  }

  std::unique_ptr<FrozenGraph> run() {
    auto frozen = std::make_unique<FrozenGraph>();
    read_nodes(frozen->graph);
    read_references(frozen->graph);
    read_types(frozen->graph);
    read_numbers(Section::counts, frozen->counts);
    check_graph(frozen->graph, header_.nodes, header_.edges);
    if (has(Section::arrivals)) {
      frozen->words = std::make_unique<Words>(read_words());
      check_words(*frozen->words, frozen->graph);
    }
    const Buffer<char> notes = read<char>(Section::notes, max_notes);
    frozen->notes.assign(notes.data(), notes.size());
    return frozen;
  }

 private:
  static constexpr uint64_t max_notes = 1 << 22;  // bytes: a program of thousands of modules has a note for each

  void read_header() {
    if (file_bytes_ < sizeof(FileHeader::magic)) throw FileError("is no snapshot of gradlife");
    read_all(descriptor_, 0, &header_, std::min<uint64_t>(file_bytes_, sizeof header_));
    if (!std::equal(std::begin(file_magic), std::end(file_magic), header_.magic))
      throw FileError("is no snapshot of gradlife");
    if (file_bytes_ < sizeof header_) throw FileError("ends too early");
    if (header_.byte_order != file_byte_order) throw FileError("is damaged: its byte order is unknown");
    if (header_.version > file_version)
      throw FileError("was written by a newer gradlife (format " + std::to_string(header_.version) +
                      ", known here: " + std::to_string(file_version) + ")");
    if (header_.version == 0 || header_.checksum != checksum_of(&header_, offsetof(FileHeader, checksum)))
      throw FileError("is damaged: its header does not add up");
    if (header_.file_bytes > file_bytes_) throw FileError("ends too early");
    check_header(header_);
  }

  void read_table() {
    table_.resize(header_.sections);
    const size_t bytes = table_.size() * sizeof(SectionEntry);
    if (bytes > file_bytes_ - sizeof header_) throw FileError("ends too early");
    read_all(descriptor_, sizeof header_, table_.data(), bytes);
    if (header_.table_checksum != checksum_of(table_.data(), bytes))
      throw FileError("is damaged: its table of sections does not add up");
    for (const SectionEntry& entry : table_)
      if (entry.offset > file_bytes_ || entry.bytes > file_bytes_ - entry.offset)
        throw FileError("is damaged: a section lies outside of it");
  }

  const SectionEntry* find(Section section) const {
    for (const SectionEntry& entry : table_)
      if (entry.section == static_cast<uint32_t>(section)) return &entry;
    return nullptr;
  }
  bool has(Section section) const { return find(section) != nullptr; }
  const SectionEntry& need(Section section) const {
    const SectionEntry* entry = find(section);
    if (entry == nullptr) throw FileError("is damaged: a section is missing");
    return *entry;
  }

  // Reads a section of at most `most` elements.
  template <class T>
  Buffer<T> read(Section section, uint64_t most) {
    const SectionEntry& entry = need(section);
    if (entry.element_bytes != sizeof(T) || entry.bytes % sizeof(T) != 0 || entry.bytes / sizeof(T) > most)
      throw FileError("is damaged: a section has the wrong size");
    Buffer<T> values(entry.bytes / sizeof(T));
    read_all(descriptor_, entry.offset, values.data(), entry.bytes);
    if (entry.checksum != checksum_of(values.data(), entry.bytes))
      throw FileError("is damaged: a section does not add up");
    return values;
  }
  template <class T>
  Buffer<T> read_exactly(Section section, uint64_t count) {
    Buffer<T> values = read<T>(section, count);
    if (values.size() != count) throw FileError("is damaged: a section has the wrong size");
    return values;
  }

  void read_nodes(Graph& graph) {
    graph.addresses = read_exactly<Address>(Section::addresses, header_.nodes);
    graph.tracked_begin = header_.tracked_begin;
    graph.tracked_end = header_.tracked_end;
    if (need(Section::types).element_bytes == sizeof(uint16_t)) {
      for (uint16_t type : read_exactly<uint16_t>(Section::types, header_.nodes)) graph.types.push_back(type);
    } else {
      graph.types = read_exactly<uint32_t>(Section::types, header_.nodes);
    }
    read_sizes(graph);
  }
  void read_sizes(Graph& graph) {
    if (need(Section::sizes).element_bytes == sizeof(uint16_t)) {
      for (uint16_t bytes : read_exactly<uint16_t>(Section::sizes, header_.nodes))
        graph.sizes.push_back(bytes != big_short_size ? bytes : Graph::big_size);
    } else {
      graph.sizes = read_exactly<uint32_t>(Section::sizes, header_.nodes);
    }
    for (const BigSize& big : read<BigSize>(Section::big_sizes, header_.nodes)) {
      if (big.node >= header_.nodes) throw FileError("is damaged: a size belongs to no object");
      graph.set_size(static_cast<NodeId>(big.node), big.bytes);
    }
    if (has(Section::borrowed)) graph.borrowed = read_by_node<BorrowedBytes>(Section::borrowed);
    if (has(Section::sequence_numbers))
      graph.sequence_numbers = read_by_node<SequenceNumber>(Section::sequence_numbers);
    if (has(Section::births)) read_births(graph);
    if (has(Section::lengths)) read_numbers(Section::lengths, graph.lengths);
    if (has(Section::atom_bytes)) read_numbers(Section::atom_bytes, graph.atom_bytes);
    if (has(Section::unset)) read_numbers(Section::unset, graph.unset);
  }
  void read_births(Graph& graph) {
    const Buffer<uint64_t> births = read<uint64_t>(Section::births, header_.nodes + 1);
    if (births.empty() || births[0] == 0) throw FileError("is damaged: its births have no line");
    graph.birth_line = births[0];
    uint64_t least = header_.tracked_begin;
    for (size_t i = 1; i < births.size(); ++i) {
      if (births[i] < least || births[i] > header_.tracked_end)
        throw FileError("is damaged: its births are in no order");
      least = births[i];
      graph.birth_begins.push_back(static_cast<uint32_t>(least));
    }
  }
  template <class Entry>
  Buffer<Entry> read_by_node(Section section) {
    Buffer<Entry> entries = read<Entry>(section, header_.nodes);
    uint64_t least = 0;
    for (const Entry& entry : entries) {
      if (entry.node >= header_.nodes) throw FileError("is damaged: a number belongs to no object");
      if (entry.node < least) throw FileError("is damaged: its numbers are in no order");
      least = entry.node + 1;
    }
    return entries;
  }
  void read_references(Graph& graph) {
    if (need(Section::first_references).element_bytes == sizeof(uint8_t)) {
      graph.references.first = read_row_lengths();
    } else {
      graph.references.first = read_exactly<uint32_t>(Section::first_references, header_.nodes + 1);
    }
    graph.references.targets = read_exactly<NodeId>(Section::references, header_.edges);
    read_numbers(Section::first_hidden, graph.first_hidden);
    if (has(Section::kept_wrappers)) read_numbers(Section::kept_wrappers, graph.kept_wrappers);
    if (has(Section::cleared_dicts)) read_numbers(Section::cleared_dicts, graph.cleared_dicts);
    if (has(Section::latent)) graph.latent = read<LatentReference>(Section::latent, no_node);
    if (has(Section::coupled)) graph.coupled = read<NodeId>(Section::coupled, header_.nodes);
  }
  Buffer<uint32_t> read_row_lengths() {
    const Buffer<uint8_t> lengths = read_exactly<uint8_t>(Section::first_references, header_.nodes);
    const Buffer<NodeNumber> long_rows = read<NodeNumber>(Section::long_rows, header_.nodes);
    Buffer<uint32_t> first;
    first.reserve(lengths.size() + 1);
    uint64_t sum = 0;
    const NodeNumber* next = long_rows.begin();
    for (size_t node = 0; node <= lengths.size(); ++node) {
      first.push_back(static_cast<uint32_t>(sum));
      if (node == lengths.size()) break;
      const bool is_long = lengths[node] == long_row;
      if (is_long && (next == long_rows.end() || next->node != node))
        throw FileError("is damaged: a number of references is missing");
      sum += is_long ? next++->number : lengths[node];
      if (sum > header_.edges) throw FileError("is damaged: it has more references than it says");
    }
    return first;
  }
  void read_numbers(Section section, NodeNumbers& numbers) {
    uint64_t least = 0;
    for (const NodeNumber& entry : read<NodeNumber>(section, header_.nodes)) {
      if (entry.node >= header_.nodes) throw FileError("is damaged: a number belongs to no object");
      if (entry.node < least) throw FileError("is damaged: its numbers are in no order");
      numbers.add(entry.node, entry.number);
      least = uint64_t{entry.node} + 1;
    }
  }
  void read_types(Graph& graph) {
    const Buffer<TypeInfo> info = read<TypeInfo>(Section::type_info, no_node);
    const Buffer<uint32_t> ends = read_exactly<uint32_t>(Section::type_name_ends, info.size() + 1);
    const Buffer<char> names = read<char>(Section::type_names, UINT32_MAX);
    check_ends(ends, names.size());
    for (size_t i = 0; i < info.size(); ++i) {
      if (info[i].kind > static_cast<uint32_t>(NodeKind::root) || info[i].step_cost > UINT8_MAX)
        throw FileError("is damaged: a type is of no known kind");
      const char *name = names.data() + ends[i], *stop = names.data() + ends[i + 1];
      if (std::find(name, stop, '\0') != stop) throw FileError("is damaged: the name of a type has a zero byte");
      graph.type_rows.push_back({visible({name, static_cast<size_t>(stop - name)}), static_cast<NodeKind>(info[i].kind),
                                 info[i].address, static_cast<uint8_t>(info[i].step_cost)});
    }
    if (has(Section::type_bases)) read_bases(graph);
    shorten_names(graph);
  }
  // Shortens the names of types if those of all objects together are longer than the file.
  void shorten_names(Graph& graph) const {
    uint64_t shown = 0;
    for (const uint32_t type : graph.types)
      if (type < graph.type_rows.size())
        shown += graph.type_rows[type].name.size() + graph.type_rows[type].bases.size();
    if (shown <= always_shown + most_shown * file_bytes_) return;
    for (TypeRow& row : graph.type_rows) {
      row.name.resize(shortened(row.name, longest_name).size());
      row.bases.resize(shortened(row.bases, longest_bases).size());
    }
  }
  // The bytes of the texts of all objects and references, as often as they are shown.
  static uint64_t shown_bytes(const Buffer<uint32_t>& ends, const Buffer<uint32_t>& descriptions,
                              const Buffer<uint32_t>& arrivals, const Buffer<EdgeLabel>& others) {
    uint64_t shown = 0;
    const auto add = [&](uint64_t text) {
      if (text + 1 < ends.size()) shown += ends[text + 1] - ends[text];
    };
    const auto add_label = [&](uint32_t label) {
      if (PackedLabel::relation(label) != Words::item_relation) add(PackedLabel::payload(label));
    };
    for (const uint32_t text : descriptions) add(text);
    for (const uint32_t label : arrivals) add_label(label);
    for (const EdgeLabel& other : others) add_label(other.label);
    return shown;
  }
  void read_bases(Graph& graph) {
    const Buffer<char> bases = read<char>(Section::type_bases, UINT32_MAX);
    const char *at = bases.data(), *end = at + bases.size();
    for (TypeRow& row : graph.type_rows) {
      const char* stop = std::find(at, end, '\0');
      if (stop == end) throw FileError("is damaged: bases of a type are missing");
      row.bases.assign(at, stop);
      at = stop + 1;
    }
  }
  Words read_words() {
    Buffer<uint32_t> ends = read<uint32_t>(Section::text_ends, Texts::most + 1);
    Buffer<char> letters = read<char>(Section::texts, UINT32_MAX);
    check_ends(ends, letters.size());
    Buffer<uint32_t> descriptions = read_exactly<uint32_t>(Section::descriptions, header_.nodes);
    Buffer<uint32_t> arrivals = read_exactly<uint32_t>(Section::arrivals, header_.nodes);
    Buffer<EdgeLabel> others = read_other_labels();
    const uint64_t most = always_shown + most_shown * file_bytes_;
    if (shown_bytes(ends, descriptions, arrivals, others) > most) {
      shorten(ends, letters);
      if (shown_bytes(ends, descriptions, arrivals, others) > most)
        throw FileError("is damaged: its texts are longer than the file");
    }
    return Words{Texts(std::move(ends), std::move(letters)), std::move(descriptions), std::move(arrivals),
                 std::move(others)};
  }
  Buffer<EdgeLabel> read_other_labels() {
    if (need(Section::other_labels).element_bytes == sizeof(EdgeLabel))
      return read<EdgeLabel>(Section::other_labels, header_.edges);
    const Buffer<uint32_t> labels = read<uint32_t>(Section::other_labels, header_.edges);
    const Buffer<uint8_t> gaps = read_exactly<uint8_t>(Section::label_gaps, labels.size());
    const Buffer<uint32_t> long_gaps = read<uint32_t>(Section::long_gaps, labels.size());
    Buffer<EdgeLabel> others;
    others.reserve(labels.size());
    uint64_t edge = 0;
    const uint32_t* next = long_gaps.begin();
    for (size_t i = 0; i < labels.size(); ++i) {
      if (gaps[i] == long_gap && next == long_gaps.end())
        throw FileError("is damaged: the place of a label is missing");
      edge += gaps[i] == long_gap ? *next++ : gaps[i];
      if (edge >= header_.edges) throw FileError("is damaged: a label belongs to no reference");
      others.push_back({static_cast<uint32_t>(edge++), labels[i]});
    }
    return others;
  }

  const int descriptor_;
  const uint64_t file_bytes_;
  FileHeader header_ = {};
  Buffer<SectionEntry> table_;
};

}  // namespace

std::unique_ptr<FrozenGraph> read_graph(int descriptor) { return Reader(descriptor).run(); }

}  // namespace gradlife::heap
