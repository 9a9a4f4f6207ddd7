#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "heap_py/native_scan.hpp"

#include <algorithm>
#include <stdexcept>

namespace gradlife::heap {
namespace {

constexpr uint32_t most_levels = 10;
constexpr size_t most_items = 200000;
constexpr size_t most_words = 100000;     // of one search
constexpr uint64_t searched_starts = 64;  // pointers to a block lead to its first bytes: some have a head in front

int own_data;  // stands in this library's static data

PyObject* object_at(Address address) { return reinterpret_cast<PyObject*>(static_cast<uintptr_t>(address)); }
Address address_of(const void* pointer) { return static_cast<Address>(reinterpret_cast<uintptr_t>(pointer)); }

std::string short_class(const std::string& mangled) {
  const std::string readable = ClassNames::readable(mangled);
  const size_t colon = readable.rfind("::", readable.find('<'));
  return colon == std::string::npos ? readable : readable.substr(colon + 2);
}

std::string short_type(const std::string& name) {
  const size_t mark = std::max(name.rfind('.') + 1, name.rfind(':') + 1);
  return name.substr(mark);
}

}  // namespace

const char* sureness_name(Sureness sureness) {
  static constexpr const char* names[] = {"sure", "likely", "unsure"};
  return names[static_cast<size_t>(sureness)];
}

const char* end_name(NativeHolder::End end) {
  static constexpr const char* names[] = {"object", "static", "thread_local", "stack", "block"};
  return names[static_cast<size_t>(end)];
}

const char* NativeScan::why_not() {
#if defined(__linux__) && defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
  return MemoryReader::is_available() ? nullptr : "the kernel does not let this process read its own memory";
#else
  return "the native scan works on Linux with glibc, on x86-64 and arm64";
#endif
}

NativeScan::NativeScan(const Graph& graph)
    : graph_(graph),
      map_(arena_),
      threads_(map_, libraries_, arena_),
      malloc_blocks_(map_, arena_),
      search_(map_, arena_),
      static_nodes_(arena_.memory()),
      targets_(arena_.memory()),
      target_nodes_(arena_.memory()),
      origins_(arena_.memory()),
      items_(arena_.memory()),
      seekers_(arena_.memory()),
      arrivals_(arena_.memory()) {
  if (why_not() != nullptr) throw std::runtime_error(why_not());
  const Address first = address_of(graph.addresses.data());
  search_.leave_out({first, first + graph.addresses.bytes()});
  own_library_ = libraries_.owner_of(address_of(&own_data));
  for (size_t node = 0; node < graph.size(); ++node)
    if (graph.type_rows[graph.types[node]].kind == NodeKind::python && libraries_.owner_of(graph.addresses[node]))
      static_nodes_.push_back(static_cast<NodeId>(node));
  std::sort(static_nodes_.begin(), static_nodes_.end(),
            [&](NodeId a, NodeId b) { return graph.addresses[a] < graph.addresses[b]; });
}

std::vector<NativeHolder> NativeScan::run() {
  for (uint32_t i = 0; i < targets_.size(); ++i) {
    Item item;
    item.first = item.last = targets_[i];
    item.shape = Shape::target;
    items_.push_back(item);
    seekers_.push_back({targets_[i], i});
    target_nodes_.push_back(graph_.find(targets_[i]));
  }
  for (uint32_t level = 0; level < most_levels && !seekers_.empty(); ++level) search(level);
  std::vector<NativeHolder> holders;
  for (uint32_t i = 0; i < origins_.size(); ++i) {
    if (!origins_[i].is_closed) offer_block(i);
    if (origins_[i].has_offer) holders.push_back(tell(origins_[i]));
  }
  return holders;
}

// --- one step outwards, for all blocks together

void NativeScan::search(uint32_t level) {
  std::sort(seekers_.begin(), seekers_.end(), [](const Seeker& a, const Seeker& b) { return a.address < b.address; });
  ScanVector<Address> addresses(arena_.memory());
  for (const Seeker& seeker : seekers_)
    if (addresses.empty() || addresses.back() != seeker.address) addresses.push_back(seeker.address);
  const AddressSet wanted(addresses, arena_);
  ScanVector<WordHit> hits(arena_.memory());
  search_.search(wanted, hits);
  if (hits.size() > most_words) hits.resize(most_words);
  ScanVector<Seeker> seekers(arena_.memory());
  seekers.swap(seekers_);
  for (const WordHit& hit : hits) {
    auto seeker = std::lower_bound(seekers.begin(), seekers.end(), addresses[hit.place],
                                   [](const Seeker& a, Address wanted_address) { return a.address < wanted_address; });
    for (; seeker != seekers.end() && seeker->address == addresses[hit.place]; ++seeker)
      arrive(hit.at, seeker->item, level);
  }
  for (uint32_t round = level; !arrivals_.empty(); ++round) {  // what is settled may lead on without a search
    ScanVector<Arrival> arrivals(arena_.memory());
    arrivals.swap(arrivals_);
    find_nodes(arrivals);
    for (const Arrival& arrival : arrivals) settle(arrival, round);
  }
  close_level();
}

uint32_t NativeScan::origin_of(uint32_t item, uint32_t level) {
  if (level != 0) return items_[item].origin;
  Origin origin;
  origin.target = item;
  origins_.push_back(std::move(origin));
  return static_cast<uint32_t>(origins_.size() - 1);
}

// Where a word stands. Stacks of the scan itself and of the interpreter tell nothing: frames are known without them.
void NativeScan::arrive(Address at, uint32_t item, uint32_t level) {
  if (level != 0 && origins_[items_[item].origin].is_closed) return;
  const ThreadMemory::Place place = threads_.find(at);
  if (place.what == ThreadMemory::What::nothing) return arrive_in_process(at, item, level);
  if (place.what == ThreadMemory::What::own_stack || place.what == ThreadMemory::What::python_stack) return;
  Offer found;
  found.at = at;
  found.item = item;
  found.thread = place.thread;
  found.end = NativeHolder::End::stack;
  if (place.what == ThreadMemory::What::thread_local_data) {
    if (place.library->is_python || !read_shape(at, items_[item], &found.is_function)) return;
    found.end = NativeHolder::End::thread_local_data;
    found.library = place.library;
    found.sureness = Sureness::sure;
  }
  offer(origin_of(item, level), found);
}

void NativeScan::arrive_in_process(Address at, uint32_t item, uint32_t level) {
  if (level == 0 && is_weak_list(at, targets_[item])) return;
  Offer found;
  found.at = at;
  found.item = item;
  found.library = libraries_.owner_of(at);
  if (found.library != nullptr) {
    const NodeId node = static_node_at(at);
    if (node != no_node) {
      arrivals_.push_back({at, item, Block(), false, node});
      return;
    }
    if (found.library->is_python || found.library == own_library_ || !read_shape(at, items_[item], &found.is_function))
      return;
    found.end = NativeHolder::End::static_data;
    found.sureness = Sureness::sure;
    return offer(origin_of(item, level), found);
  }
  std::optional<Block> block = python_blocks_.find(at);
  if (!block) block = malloc_blocks_.find(at);
  if (!block && threads_.is_behind_guard(at)) {
    found.end = NativeHolder::End::stack;
    return offer(origin_of(item, level), found);
  }
  if (!block || block->is_free || is_dead_object(*block)) return;
  Arrival arrival{at, item, *block, false, no_node};
  if (read_shape(at, items_[item], &arrival.is_function)) arrivals_.push_back(arrival);
}

// What the words around a reference say of the block it leads to. False: the reference to the target is behind the end
// of a vector, so it is stale.
bool NativeScan::read_shape(Address at, Item& inner, bool* is_function) {
  uint64_t words[4];
  if (!reader_.read(at, words, sizeof words)) return true;
  const bool has_functions = map_.is_code(words[2]) && map_.is_code(words[3]);
  if (has_functions) *is_function = true;
  if (inner.shape != Shape::block || inner.name != nullptr || words[0] != inner.first) return true;
  if (has_functions) {
    inner.shape = Shape::captures;
  } else if (words[0] <= words[1] && words[1] <= words[2] && words[0] < words[2] && words[2] <= inner.last) {
    if (inner.offset >= words[1] - words[0]) {
      origins_[inner.origin].is_closed = true;
      return false;
    }
    inner.shape = Shape::vector;
  }
  return true;
}

// The known objects among the blocks that were met: an object's address is its block's, or behind a head of its own.
void NativeScan::find_nodes(ScanVector<Arrival>& arrivals) {
  ScanVector<Seeker> starts(arena_.memory());
  for (uint32_t i = 0; i < arrivals.size(); ++i)
    for (const uint64_t head : {0, 16, 32})
      if (arrivals[i].block.bytes() > head && arrivals[i].node == no_node)
        starts.push_back({arrivals[i].block.first + head, i});
  std::sort(starts.begin(), starts.end(), [](const Seeker& a, const Seeker& b) { return a.address < b.address; });
  ScanVector<Address> addresses(arena_.memory());
  for (const Seeker& start : starts)
    if (addresses.empty() || addresses.back() != start.address) addresses.push_back(start.address);
  const AddressSet wanted(addresses, arena_);
  ScanVector<WordHit> hits(arena_.memory());
  search_words(graph_.addresses.data(), graph_.size(), 0, wanted, hits);
  for (const WordHit& hit : hits) {
    const Address address = addresses[hit.place];
    auto start = std::lower_bound(starts.begin(), starts.end(), address,
                                  [](const Seeker& a, Address wanted_address) { return a.address < wanted_address; });
    for (; start != starts.end() && start->address == address; ++start)
      arrivals[start->item].node = static_cast<NodeId>(hit.at / sizeof(uint64_t));
  }
}

void NativeScan::settle(const Arrival& arrival, uint32_t level) {
  if (level != 0 && origins_[items_[arrival.item].origin].is_closed) return;
  const uint32_t origin = origin_of(arrival.item, level);
  if (arrival.node != no_node) return settle_node(arrival, origin);
  add_block(arrival, origin);
}

// --- known objects

bool NativeScan::explains(NodeId node, Address target) const {
  const Row row = graph_.references.of(node);
  return std::any_of(row.begin(), row.end(), [&](NodeId to) { return graph_.addresses[to] == target; });
}

// Does everything that instances of this type refer to show in their traverse? The interpreter's own types are so.
bool NativeScan::is_trusted(PyTypeObject* type) const {
  if (type == &PyCapsule_Type) return false;
  for (const PyTypeObject* base = type; base != nullptr; base = base->tp_base) {
    const bool is_heap_type = (base->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
    if (!libraries_.is_python(address_of(reinterpret_cast<const void*>(base->tp_dealloc))) ||
        (!is_heap_type && !libraries_.is_python(address_of(base))))
      return false;
  }
  return true;
}

// Tensors and storages are known whole; so is every object of the interpreter's own types.
bool NativeScan::would_show(NodeId node) const {
  const NodeKind kind = graph_.type_of(node).kind;
  if (kind == NodeKind::python) return is_trusted(Py_TYPE(object_at(graph_.addresses[node])));
  return kind == NodeKind::tensor || kind == NodeKind::storage;
}

// A C++ object knows the wrapper that owns it.
bool NativeScan::is_back_pointer(NodeId node, uint32_t target) const {
  const NodeId from = target_nodes_[target];
  return from != no_node && graph_.type_of(node).kind != NodeKind::python && explains(from, graph_.addresses[node]);
}

// Static types are known objects, too.
NodeId NativeScan::static_node_at(Address address) const {
  const auto after = std::upper_bound(static_nodes_.begin(), static_nodes_.end(), address,
                                      [&](Address wanted, NodeId node) { return wanted < graph_.addresses[node]; });
  if (after == static_nodes_.begin()) return no_node;
  const NodeId node = *(after - 1);
  const PyTypeObject* type = Py_TYPE(object_at(graph_.addresses[node]));
  return address < graph_.addresses[node] + static_cast<Address>(type->tp_basicsize) ? node : no_node;
}

// A weak reference is known to its referent, which does not own it.
bool NativeScan::is_weak_list(Address at, Address target) const {
  PyObject* object = object_at(target);
  if (!PyWeakref_Check(object)) return false;
  PyObject* referent = reinterpret_cast<PyWeakReference*>(object)->wr_object;
  const Py_ssize_t offset = Py_TYPE(referent)->tp_weaklistoffset;
  return offset > 0 && at == address_of(referent) + static_cast<Address>(offset);
}

void NativeScan::settle_node(const Arrival& arrival, uint32_t origin) {
  const Address target = targets_[origins_[origin].target];
  const TypeRow& row = graph_.type_of(arrival.node);
  if (arrival.node == target_nodes_[origins_[origin].target]) {  // a part of it that points back
    origins_[origin].is_stale = true;
    return;
  }
  if (row.kind == NodeKind::root || explains(arrival.node, target)) {
    origins_[origin].is_closed = true;
    origins_[origin].has_offer = false;
    return;
  }
  if (would_show(arrival.node) || is_back_pointer(arrival.node, origins_[origin].target)) {
    origins_[origin].is_stale = true;
    return;
  }
  Offer found;
  found.end = NativeHolder::End::object;
  found.sureness = Sureness::sure;
  found.item = arrival.item;
  found.at = arrival.at;
  found.node = arrival.node;
  found.is_function = arrival.is_function;
  offer(origin, found);
}

// A block that has been given back to one of the interpreter's free lists is in use for the allocator.
bool NativeScan::is_dead_object(const Block& block) const {
  for (const uint64_t head : {0, 16, 32}) {
    uint64_t words[2], metatype;
    if (block.bytes() < head + sizeof words || !reader_.read(block.first + head, words, sizeof words)) continue;
    if (words[0] != 0 || !looks_like_pointer(words[1]) || !reader_.read_word(words[1] + 8, &metatype)) continue;
    if (metatype == address_of(&PyType_Type)) return true;
  }
  return false;
}

// --- raw blocks

// A block of which nothing is known.
bool NativeScan::is_plain(uint32_t item) const {
  return items_[item].shape == Shape::block && items_[item].name == nullptr;
}

// The tool's own objects; and a storage, whose block has a tensor's numbers, or what was there before them.
bool NativeScan::is_no_holder(const Arrival& arrival, const std::string& name) const {
  uint64_t vtable = 0;
  if (reader_.read_word(arrival.block.first, &vtable) && own_library_ != nullptr &&
      libraries_.owner_of(vtable) == own_library_)
    return true;
  return name.find("StorageImplE") != std::string::npos && is_plain(arrival.item);
}

void NativeScan::add_block(const Arrival& arrival, uint32_t origin) {
  for (const Item* item = &items_[arrival.item]; item->shape != Shape::target; item = &items_[item->inner])
    if (item->first == arrival.block.first) return;
  if (items_.size() >= most_items) return;
  Item item;
  static_cast<AddressRange&>(item) = arrival.block;
  item.name = names_.of_object(item.first);
  if (item.name != nullptr && is_no_holder(arrival, *item.name)) {
    origins_[origin].is_stale = true;
    return;
  }
  item.is_function = arrival.is_function;
  item.inner = arrival.item;
  item.origin = origin;
  item.offset = arrival.at - item.first;
  // The last word may be what malloc gave beyond the object.
  const bool is_inside = item.name != nullptr && item.offset + 2 * sizeof(uint64_t) <= arrival.block.bytes();
  item.sureness = is_inside ? Sureness::sure : Sureness::likely;
  items_.push_back(item);
  const auto added = static_cast<uint32_t>(items_.size() - 1);
  if (origins_[origin].item == 0) origins_[origin].item = added;
  if (item.name == nullptr && climb_tree(added)) return;
  for (Address start = item.first; start < std::min(item.last, item.first + searched_starts); start += 8)
    seekers_.push_back({start, added});
}

// A node of std::map and its kin: colour, parent, left, right. Parents lead to the header, which stands in the map.
bool NativeScan::climb_tree(uint32_t item) {
  struct Node {
    uint64_t colour, parent, left, right;
  } node, parent;
  Address at = items_[item].first;
  for (int steps = 0; steps < 96; ++steps) {
    if (!reader_.read(at, &node, sizeof node) || (node.colour & 0xffffffff) > 1) return false;
    if (!looks_like_pointer(node.parent) || !reader_.read(node.parent, &parent, sizeof parent)) return false;
    if (parent.parent == at && (parent.colour & 0xffffffff) == 0) {  // the header; the root's parent is the header
      items_[item].shape = Shape::map_node;
      arrive(node.parent, item, 1);
      return true;
    }
    if (parent.left != at && parent.right != at) return false;
    at = node.parent;
  }
  return false;
}

// --- what is told

// A way is as sure as its least sure step, and no surer than its blocks: one of an unknown kind may have uses of its
// own for a word, two in a row may be anything.
void NativeScan::offer(uint32_t origin, Offer offer) {
  int plain_blocks = 0;
  for (uint32_t at = offer.item; items_[at].shape != Shape::target; at = items_[at].inner) {
    offer.sureness = std::max(offer.sureness, items_[at].sureness);
    plain_blocks += is_plain(at) ? 1 : 0;
  }
  if (plain_blocks > 1) offer.sureness = Sureness::unsure;
  Origin& found = origins_[origin];
  if (found.is_closed || (found.has_offer && found.best.sureness <= offer.sureness)) return;
  found.has_offer = true;
  found.best = offer;
}

// Nothing that can be named points at what was met.
void NativeScan::offer_block(uint32_t origin) {
  Offer found;
  found.item = origins_[origin].item;
  if (found.item == 0 || origins_[origin].is_stale) return;
  if (items_[found.item].name != nullptr) found.sureness = Sureness::likely;
  offer(origin, found);
}

// The shortest way is told; words of a target with a better one have been named too by then.
void NativeScan::close_level() {
  for (Origin& origin : origins_)
    origin.is_closed = origin.is_closed || (origin.has_offer && origin.best.end != NativeHolder::End::stack);
  seekers_.erase(std::remove_if(seekers_.begin(), seekers_.end(),
                                [&](const Seeker& seeker) { return origins_[items_[seeker.item].origin].is_closed; }),
                 seekers_.end());
}

// --- in words

NativeHolder NativeScan::tell(const Origin& origin) const {
  const Offer& offer = origin.best;
  NativeHolder holder;
  holder.target = origin.target;
  holder.end = offer.end;
  holder.sureness = offer.sureness;
  if (offer.library != nullptr) holder.library = offer.library->path;
  if (offer.end == NativeHolder::End::static_data) holder.symbol = Libraries::symbol_at(offer.at);
  holder.description = outermost_text(offer, holder.symbol) + (offer.is_function ? " → std::function" : "");
  for (const Item* at = &items_[offer.item]; at->shape != Shape::target; at = &items_[at->inner])
    holder.description += (holder.description.empty() ? "" : " → ") + item_text(*at);
  return holder;
}

std::string NativeScan::outermost_text(const Offer& offer, const std::string& symbol) const {
  switch (offer.end) {
    case NativeHolder::End::object:
      return short_type(graph_.type_of(offer.node).name) + " +" +
             std::to_string(static_cast<int64_t>(offer.at - graph_.addresses[offer.node]));
    case NativeHolder::End::static_data:
      return (symbol.empty() ? "static data of " : symbol + " in ") + offer.library->name();
    case NativeHolder::End::thread_local_data:
      return "thread-local data of " + offer.library->name() + " in " + ThreadMemory::name_of(offer.thread);
    case NativeHolder::End::stack:
      return "the stack of " + ThreadMemory::name_of(offer.thread);
    case NativeHolder::End::block:
      return "";
  }
  return "";
}

std::string NativeScan::item_text(const Item& item) const {
  const std::string offset = " +" + std::to_string(item.offset);
  const std::string function = item.is_function ? " → std::function" : "";
  if (item.name != nullptr) return short_class(*item.name) + offset + function;
  switch (item.shape) {
    case Shape::vector:
      return "std::vector[" + std::to_string(item.offset / (item.is_function ? 32 : 8)) + "]" + function;
    case Shape::map_node:
      return "std::map node" + offset + function;
    case Shape::captures:
      return "captured variables" + offset + function;
    default:
      return "block of " + std::to_string(item.last - item.first) + " bytes" + offset + function;
  }
}

}  // namespace gradlife::heap
