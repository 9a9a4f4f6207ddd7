#include "heap_py/native/scan.hpp"

#include <algorithm>
#include <stdexcept>

namespace gradlife::heap {
namespace {

constexpr uint32_t max_levels = 14;
constexpr size_t max_words = 100000;  // limit of one search

int own_data;  // an address in this library's static data

Address address_of(const void* pointer) { return static_cast<Address>(reinterpret_cast<uintptr_t>(pointer)); }

}  // namespace

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
      static_types_(arena_.memory()),
      targets_(arena_.memory()),
      target_nodes_(arena_.memory()),
      origins_(arena_.memory()),
      items_(arena_.memory()),
      seekers_(arena_.memory()),
      arrivals_(arena_.memory()) {
  if (why_not() != nullptr) throw std::runtime_error(why_not());
  visit_own([this](Address first, Address last) { search_.leave_out({first, last}); });
  own_library_ = libraries_.owner_of(address_of(&own_data));
  note_static_types();
}

void NativeScan::note_static_types() {
  ScanVector<bool> is_type(graph_.type_rows.size(), false, arena_.memory());
  for (size_t row = 0; row < is_type.size(); ++row) {
    auto* type = reinterpret_cast<PyTypeObject*>(static_cast<uintptr_t>(graph_.type_rows[row].address));
    is_type[row] = type != nullptr && PyType_IsSubtype(type, &PyType_Type) != 0;
  }
  for (size_t node = 0; node < graph_.size(); ++node)
    if (is_type[graph_.types[node]] && libraries_.owner_of(graph_.addresses[node]) != nullptr)
      static_types_.push_back(static_cast<NodeId>(node));
  std::sort(static_types_.begin(), static_types_.end(),
            [&](NodeId a, NodeId b) { return graph_.addresses[a] < graph_.addresses[b]; });
}

void NativeScan::add_native_target(Address object) {
  is_for_natives_ = true;
  add_target(object);
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
  for (uint32_t level = 0; level < max_levels && !seekers_.empty(); ++level) search(level);
  for (uint32_t i = 0; i < items_.size(); ++i)
    if (items_[i].name != nullptr && plain_blocks(i) <= 1) origins_[items_[i].origin].outermost = i;
  std::vector<NativeHolder> holders;
  for (uint32_t i = 0; i < origins_.size(); ++i) {
    if (!origins_[i].is_closed) offer_block(i);
    if (origins_[i].has_offer) holders.push_back(describe(origins_[i]));
  }
  return holders;
}

// --- one step outwards for all blocks together

void NativeScan::search(uint32_t level) {
  std::sort(seekers_.begin(), seekers_.end(), [](const Seeker& a, const Seeker& b) { return a.address < b.address; });
  ScanVector<Address> addresses(arena_.memory());
  for (const Seeker& seeker : seekers_)
    if (addresses.empty() || addresses.back() != seeker.address) addresses.push_back(seeker.address);
  const AddressSet wanted(addresses, arena_);
  ScanVector<WordHit> hits(arena_.memory());
  search_.search(wanted, hits);
  if (hits.size() > max_words) hits.resize(max_words);
  ScanVector<Seeker> seekers(arena_.memory());
  seekers.swap(seekers_);
  for (const WordHit& hit : hits) {
    auto seeker = std::lower_bound(seekers.begin(), seekers.end(), addresses[hit.place],
                                   [](const Seeker& a, Address wanted_address) { return a.address < wanted_address; });
    for (; seeker != seekers.end() && seeker->address == addresses[hit.place]; ++seeker)
      arrive(hit.at, seeker->item, level);
  }
  for (uint32_t round = level; !arrivals_.empty(); ++round) {  // explained words may lead on without a search
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

// Classifies the region of a word. Stacks of the scan itself and of the interpreter do not count: frames are known
// already.
void NativeScan::arrive(Address at, uint32_t item, uint32_t level) {
  if (level != 0 && (items_[item].is_stale || origins_[items_[item].origin].is_closed)) return;
  const ThreadMemory::Place place = threads_.find(at);
  if (place.what == ThreadMemory::What::nothing) return arrive_in_process(at, item, level);
  if (place.what == ThreadMemory::What::own_stack || place.what == ThreadMemory::What::python_stack) return;
  Offer found;
  found.at = at;
  found.item = item;
  found.thread = place.thread;
  found.end = NativeHolder::End::stack;
  if (place.what == ThreadMemory::What::thread_local_data) {
    // The C library's thread data owns nothing: it refers to malloc's free blocks with their stale contents.
    if (place.library->is_python || place.library->is_libc) return;
    if (!read_shape(at, items_[item], &found.is_function)) return;
    found.end = NativeHolder::End::thread_local_data;
    found.library = place.library;
    found.locals = place.first;
    found.confidence = Confidence::sure;
  }
  offer(origin_of(item, level), found);
}

void NativeScan::arrive_in_process(Address at, uint32_t item, uint32_t level) {
  if (level == 0 && !is_for_natives_ && is_weak_list(at, targets_[item])) return;
  if (is_in_short_text(at) || is_behind_long_text(at)) return;
  Offer found;
  found.at = at;
  found.item = item;
  found.library = libraries_.owner_of(at);
  if (found.library != nullptr) {
    const NodeId node = static_type_at(at);
    if (node != no_node) {
      arrivals_.push_back({at, item, Block(), false, node});
      return;
    }
    if (found.library->is_python || found.library == own_library_ || !read_shape(at, items_[item], &found.is_function))
      return;
    found.end = NativeHolder::End::static_data;
    found.confidence = Confidence::sure;
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

// Finds the known objects among the blocks: an object's address is its block's, or lies behind a header.
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
  if (level != 0 && (items_[arrival.item].is_stale || origins_[items_[arrival.item].origin].is_closed)) return;
  const uint32_t origin = origin_of(arrival.item, level);
  if (arrival.node != no_node) return settle_node(arrival, origin);
  add_block(arrival, origin);
}

// --- results

int NativeScan::plain_blocks(uint32_t item) const {
  int count = 0;
  for (uint32_t at = item; items_[at].shape != Shape::target; at = items_[at].inner) count += is_plain(at) ? 1 : 0;
  return count;
}

// A path is only as certain as its least certain step and its blocks: a block of an unknown kind may use a word for
// something else, two in a row may be anything.
void NativeScan::offer(uint32_t origin, Offer offer) {
  for (uint32_t at = offer.item; items_[at].shape != Shape::target; at = items_[at].inner)
    offer.confidence = std::max(offer.confidence, items_[at].confidence);
  if (plain_blocks(offer.item) > 1) offer.confidence = Confidence::unsure;
  Origin& found = origins_[origin];
  if (found.is_closed || (found.has_offer && found.best.confidence <= offer.confidence)) return;
  found.has_offer = true;
  found.best = offer;
}

// If no pointer to the block has a name, the outermost C++ object on the path is shown, or the first block.
void NativeScan::offer_block(uint32_t origin) {
  Offer found;
  found.item = origins_[origin].item;
  if (found.item == 0 || origins_[origin].is_stale) return;
  if (origins_[origin].outermost != 0) found.item = origins_[origin].outermost;
  if (items_[found.item].name != nullptr) found.confidence = Confidence::likely;
  offer(origin, found);
}

// The shortest path is shown; all words of a target that have a better one have been named by then.
void NativeScan::close_level() {
  for (Origin& origin : origins_)
    origin.is_closed = origin.is_closed || (origin.has_offer && origin.best.end != NativeHolder::End::stack);
  seekers_.erase(std::remove_if(seekers_.begin(), seekers_.end(),
                                [&](const Seeker& seeker) { return origins_[items_[seeker.item].origin].is_closed; }),
                 seekers_.end());
}

}  // namespace gradlife::heap
