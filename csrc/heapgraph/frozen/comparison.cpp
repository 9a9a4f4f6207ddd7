#include "heapgraph/frozen/comparison.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace gradlife::heap {
namespace {

// --- by identity ---

struct Placed {
  Address address;
  NodeId node;
};

// A radix sort: addresses come unordered, and files may be crafted to attack a hash table.
Buffer<Placed> by_address(const Graph& graph, const Buffer<NodeId>& nodes) {
  constexpr unsigned digit_bits = 13;
  constexpr size_t digits = size_t{1} << digit_bits;
  Buffer<Placed> sorted(nodes.size()), other(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) sorted[i] = {graph.addresses[nodes[i]], nodes[i]};
  for (unsigned shift = 0; shift < 64; shift += digit_bits) {
    Buffer<size_t> first;
    first.assign_zero(digits + 1);
    for (const Placed& placed : sorted) ++first[(placed.address >> shift) % digits + 1];
    if (*std::max_element(first.begin(), first.end()) == sorted.size()) continue;
    for (size_t i = 0; i < digits; ++i) first[i + 1] += first[i];
    for (const Placed& placed : sorted) other[first[(placed.address >> shift) % digits]++] = placed;
    std::swap(sorted, other);
  }
  return sorted;
}

// Common numbers for the type rows of both graphs: the same number for the same name and kind.
class CommonTypes {
 public:
  CommonTypes(const Graph& before, const Graph& after) : before_(number(before)), after_(number(after)) {}
  uint32_t before(uint32_t row) const { return before_[row]; }
  uint32_t after(uint32_t row) const { return after_[row]; }
  std::vector<TypeChange> rows() const {
    std::vector<TypeChange> rows(numbers_.size());
    for (const auto& [key, number] : numbers_) rows[number] = {key.first, key.second, {}, {}, {}, {}};
    return rows;
  }

 private:
  std::vector<uint32_t> number(const Graph& graph) {
    std::vector<uint32_t> numbers;
    for (const TypeRow& row : graph.type_rows)
      numbers.push_back(
          numbers_.emplace(std::make_pair(row.name, row.kind), static_cast<uint32_t>(numbers_.size())).first->second);
    return numbers;
  }
  std::map<std::pair<std::string, NodeKind>, uint32_t> numbers_;
  std::vector<uint32_t> before_, after_;
};

uint64_t bytes_of(const Graph& graph, NodeId node) { return graph.sizes.empty() ? 0 : graph.size_of(node); }
void count(Tally& tally, uint64_t bytes) {
  tally.count += 1;
  tally.bytes += bytes;
}

// What the collector tracks since the earlier graph, at an address where it knew nothing then: the same object only if
// it is a dict, which is tracked from its first container on, and a holder of the one holds the other.
class LateTracking {
 public:
  LateTracking(const Graph& before, const Graph& after) : before_(before), after_(after) {}

  bool may_be(NodeId old, NodeId fresh) {
    const TypeRow& type = after_.type_of(fresh);
    if (!is_tracked_since(fresh) || before_.is_tracked(old) || type.kind != NodeKind::python) return true;
    if (type.name == "tuple") return false;  // an untracked one stays so
    return type.name != "dict" || have_common_holder(old, fresh);
  }

 private:
  struct Held {
    NodeId target, holder;
    bool operator<(const Held& other) const {
      return target != other.target ? target < other.target : holder < other.holder;
    }
  };

  bool is_tracked_since(NodeId fresh) const {
    return before_.birth_line != 0 && after_.birth_line == before_.birth_line &&
           after_.birth_of(fresh) > static_cast<int64_t>(before_.birth_begins.size());
  }

  bool have_common_holder(NodeId old, NodeId fresh) {
    if (before_.references.rows() == 0 || after_.references.rows() == 0) return true;
    if (!is_read_) {
      read(before_, olds_, [&](NodeId node) { return !before_.is_tracked(node); });
      read(after_, news_, [&](NodeId node) { return is_tracked_since(node); });
      is_read_ = true;
    }
    std::vector<std::pair<Address, std::string_view>> holders;
    each_holder(olds_, old,
                [&](NodeId holder) { holders.emplace_back(before_.addresses[holder], before_.type_of(holder).name); });
    std::sort(holders.begin(), holders.end());
    bool is_common = false;
    each_holder(news_, fresh, [&](NodeId holder) {
      const std::pair<Address, std::string_view> one{after_.addresses[holder], after_.type_of(holder).name};
      is_common = is_common || (!is_tracked_since(holder) && std::binary_search(holders.begin(), holders.end(), one));
    });
    return is_common;
  }

  template <class Wanted>
  static void read(const Graph& graph, std::vector<Held>& found, const Wanted& is_wanted) {
    std::vector<bool> is_dict;
    for (const TypeRow& row : graph.type_rows) is_dict.push_back(row.name == "dict" && row.kind == NodeKind::python);
    for (size_t node = 0; node < graph.size(); ++node)
      for (const NodeId target : graph.references.of(static_cast<NodeId>(node)))
        if (is_dict[graph.types[target]] && is_wanted(target)) found.push_back({target, static_cast<NodeId>(node)});
    std::sort(found.begin(), found.end());
  }

  template <class Visit>
  static void each_holder(const std::vector<Held>& all, NodeId target, const Visit& visit) {
    for (auto at = std::lower_bound(all.begin(), all.end(), Held{target, 0}); at != all.end() && at->target == target;
         ++at)
      visit(at->holder);
  }

  const Graph& before_;
  const Graph& after_;
  std::vector<Held> olds_, news_;
  bool is_read_ = false;
};

class ObjectComparison {
 public:
  ObjectComparison(const Graph& before, const Graph& after, size_t examples)
      : before_(before),
        after_(after),
        examples_(examples),
        types_(before, after),
        rows_(types_.rows()),
        late_tracking_(before, after) {}

  // Matches the same objects in both graphs; those without a match are sorted.
  std::vector<TypeChange> run() {
    Buffer<NodeId> olds, news;
    is_met_.assign_zero(before_.size());
    for (size_t fresh = 0; fresh < after_.size(); ++fresh) {
      const size_t old = find(fresh);
      if (old == nowhere) {
        news.push_back(static_cast<NodeId>(fresh));
        continue;
      }
      is_met_[old] = 1;
      meet(static_cast<NodeId>(old), static_cast<NodeId>(fresh));
    }
    for (size_t old = 0; old < before_.size(); ++old)
      if (is_met_[old] == 0) olds.push_back(static_cast<NodeId>(old));
    compare_sorted(by_address(before_, olds), by_address(after_, news));
    const auto is_unchanged = [](const TypeChange& row) {
      return row.appeared.count + row.vanished.count + row.grown.count == 0;
    };
    rows_.erase(std::remove_if(rows_.begin(), rows_.end(), is_unchanged), rows_.end());
    return std::move(rows_);
  }

 private:
  static constexpr size_t nowhere = SIZE_MAX;

  bool is_same(size_t old, size_t fresh) {
    return old < before_.size() && is_met_[old] == 0 && before_.addresses[old] == after_.addresses[fresh] &&
           may_be(static_cast<NodeId>(old), static_cast<NodeId>(fresh));
  }
  // Whether two nodes at one address may be the same object.
  bool may_be(NodeId old, NodeId fresh) {
    return types_.before(before_.types[old]) == types_.after(after_.types[fresh]) &&
           after_.may_be(fresh, before_, old) && (!is_grad_node(fresh) || have_same_number(old, fresh)) &&
           late_tracking_.may_be(old, fresh);
  }
  bool is_grad_node(size_t fresh) const { return after_.type_rows[after_.types[fresh]].kind == NodeKind::grad_node; }
  bool have_same_number(NodeId old, NodeId fresh) const {
    const uint64_t number = before_.sequence_number_of(old), now = after_.sequence_number_of(fresh);
    return number == now || number == SequenceNumber::none || now == SequenceNumber::none;
  }

  // The walk finds old objects in nearly the same order again. It takes those that the collector knows from both ends
  // of a list in turn, so that two distances between an object's places alternate; behind them a few more do.
  size_t find(size_t fresh) {
    for (size_t i = 0; i < distances_.size(); ++i) {
      const size_t old = fresh - distances_[i];
      if (!is_same(old, fresh)) continue;
      if (i > 1) std::rotate(distances_.begin(), distances_.begin() + i, distances_.begin() + i + 1);
      missed_ = 0;
      return old;
    }
    return find_again(fresh);
  }

  // Searches around the place where the object should be: a bit, or far behind it if many objects in a row may be gone.
  // The number of probes is limited, so that two graphs with little in common cost no more than a sort.
  size_t find_again(size_t fresh) {
    constexpr size_t near = 64, far = 65536;
    ++missed_;
    if ((missed_ & (missed_ - 1)) != 0) return nowhere;
    const size_t expected = std::min(fresh - distances_[0], before_.size());
    const size_t end = std::min(before_.size(), expected + (missed_ < near ? near : far));
    for (size_t old = expected - std::min(expected, near); old < end && probes_left_ > 0; ++old, --probes_left_)
      if (is_same(old, fresh)) {
        std::rotate(distances_.begin(), distances_.end() - 1, distances_.end());
        distances_[0] = fresh - old;
        missed_ = 0;
        return old;
      }
    return nowhere;
  }

  void compare_sorted(const Buffer<Placed>& olds, const Buffer<Placed>& news) {
    size_t at = 0;
    for (const Placed& fresh : news) {
      for (; at < olds.size() && olds[at].address < fresh.address; ++at) vanish(olds[at].node);
      if (at < olds.size() && olds[at].address == fresh.address) {
        meet(olds[at++].node, fresh.node);
      } else {
        appear(fresh.node);
      }
    }
    for (; at < olds.size(); ++at) vanish(olds[at].node);
  }
  void vanish(NodeId node) { count(rows_[types_.before(before_.types[node])].vanished, bytes_of(before_, node)); }
  void appear(NodeId node) {
    TypeChange& row = rows_[types_.after(after_.types[node])];
    count(row.appeared, bytes_of(after_, node));
    if (row.examples.size() < examples_) row.examples.push_back(node);
  }
  void meet(NodeId old, NodeId fresh) {
    if (!may_be(old, fresh)) {
      vanish(old);
      appear(fresh);
    } else if (bytes_of(after_, fresh) > bytes_of(before_, old)) {
      count(rows_[types_.after(after_.types[fresh])].grown, bytes_of(after_, fresh) - bytes_of(before_, old));
    }
  }

  const Graph& before_;
  const Graph& after_;
  const size_t examples_;
  CommonTypes types_;
  std::vector<TypeChange> rows_;
  LateTracking late_tracking_;
  Buffer<uint8_t> is_met_;             // by the old object: whether it has a match
  std::array<size_t, 8> distances_{};  // how much later objects were found than before, the latest first; may wrap
  size_t missed_ = 0;                  // objects without a match in a row
  size_t probes_left_ = 8 * (before_.size() + after_.size());
};

// --- by path ---

uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325ull;
  for (char letter : text) hash = (hash ^ static_cast<uint8_t>(letter)) * 0x100000001B3ull;
  return hash;
}
uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t hash = (a ^ (b * 0x9E3779B97F4A7C15ull)) * 0xFF51AFD7ED558CCDull;
  return hash ^ (hash >> 32);
}

// A hash per node of the text of its path; 0 if no root reaches it.
class PathHashes {
 public:
  explicit PathHashes(FrozenGraph& frozen) : graph_(frozen.graph), words_(*frozen.words), paths_(frozen.need_paths()) {
    for (const TypeRow& row : graph_.type_rows) types_.push_back(hash_of(row.name));
    for (uint32_t i = 0; i < words_.texts.size(); ++i) {
      const std::string_view text = words_.texts[i];
      texts_.push_back(hash_of(text));
      is_place_.push_back(!text.empty() && std::string_view("-0123456789(").find(text[0]) != std::string_view::npos);
    }
    hashes_.assign_zero(graph_.size());
    hashes_[process_root] = 1;
    for (size_t node = 0; node < graph_.size(); ++node)
      if (paths_.is_reached(static_cast<NodeId>(node))) climb(static_cast<NodeId>(node));
  }
  Buffer<uint64_t> take() { return std::move(hashes_); }

 private:
  void climb(NodeId node) {
    for (; hashes_[node] == 0; node = paths_.parent(node)) path_.push_back(node);
    while (!path_.empty()) {
      const NodeId next = path_.back();
      path_.pop_back();
      hashes_[next] = mixed(mixed(hashes_[node], label_hash(words_.arrivals[next])), types_[graph_.types[next]]) | 1;
      node = next;
    }
  }
  uint64_t label_hash(uint32_t label) const {
    const uint32_t text = PackedLabel::payload(label);
    const uint64_t relation = PackedLabel::relation(label);
    return relation == Words::item_relation || is_place_[text] != 0 ? relation : mixed(relation, texts_[text]);
  }

  const Graph& graph_;
  const Words& words_;
  const PathTree& paths_;
  Buffer<uint64_t> types_, texts_, hashes_;
  Buffer<uint8_t> is_place_;  // by text: keys that are numbers or tuples
  Buffer<NodeId> path_;
};

}  // namespace

std::vector<TypeChange> compare_objects(const Graph& before, const Graph& after, size_t examples) {
  return ObjectComparison(before, after, examples).run();
}

std::vector<PathChange> compare_paths(FrozenGraph& before, FrozenGraph& after) {
  struct Place {
    uint64_t hash;
    NodeId node;
    bool is_after;
  };
  Buffer<Place> places;
  for (FrozenGraph* frozen : {&after, &before}) {
    const Buffer<uint64_t> hashes = PathHashes(*frozen).take();
    for (size_t i = 0; i < hashes.size(); ++i)
      if (hashes[i] != 0) places.push_back({hashes[i], static_cast<NodeId>(i), frozen == &after});
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.hash < b.hash; });
  std::vector<PathChange> changes;
  for (size_t i = 0; i < places.size();) {
    PathChange row{{}, {}, places[i].node, places[i].is_after};
    const uint64_t hash = places[i].hash;
    for (; i < places.size() && places[i].hash == hash; ++i)
      count(places[i].is_after ? row.after : row.before,
            bytes_of(places[i].is_after ? after.graph : before.graph, places[i].node));
    if (row.before.count != row.after.count || row.before.bytes != row.after.bytes) changes.push_back(row);
  }
  return changes;
}

}  // namespace gradlife::heap
