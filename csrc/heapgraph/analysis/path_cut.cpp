#include "heapgraph/analysis/path_cut.hpp"

#include <algorithm>

namespace gradlife::heap {
namespace {

constexpr size_t max_whole = 1000;    // Python's own limit of recursion, and so of most tracebacks
constexpr size_t end_length = 60;     // described at either end: a report shows thirty steps, of one to three objects
constexpr size_t neighbours = 4;      // around an object of a rare type: one step merges up to three references
constexpr size_t max_landmarks = 64;  // rare types have few objects each; more types than these are no rare ones

// Adds the first or the last object of each type in the middle of a path, in the order given.
template <class Iterator>
void add_landmarks(const Graph& graph, const std::vector<NodeId>& nodes, Iterator first, Iterator last,
                   std::vector<size_t>& landmarks) {
  std::vector<char> is_known(graph.type_rows.size());
  size_t count = 0;
  for (Iterator at = first; at != last && count < max_landmarks; ++at) {
    char& known = is_known[graph.types[*at]];
    if (known != 0) continue;
    known = 1;
    ++count;
    landmarks.push_back(static_cast<size_t>(&*at - nodes.data()));
  }
}

}  // namespace

std::vector<PathPiece> cut_path(const Graph& graph, const std::vector<NodeId>& nodes) {
  const size_t length = nodes.size();
  if (length <= max_whole) return {{0, length, 0}};
  std::vector<size_t> landmarks;
  const auto middle = nodes.begin() + end_length, end = nodes.end() - end_length;
  add_landmarks(graph, nodes, middle, end, landmarks);
  add_landmarks(graph, nodes, std::make_reverse_iterator(end), std::make_reverse_iterator(middle), landmarks);
  std::sort(landmarks.begin(), landmarks.end());
  std::vector<PathPiece> pieces{{0, end_length, 0}};
  const auto add = [&pieces](size_t first, size_t last) {
    PathPiece& before = pieces.back();
    if (first > before.last) {
      before.left_out = first - before.last;
      pieces.push_back({first, last, 0});
    } else {
      before.last = std::max(before.last, last);
    }
  };
  for (const size_t at : landmarks) add(at - neighbours, at + neighbours + 1);
  add(length - end_length, length);
  return pieces;
}

}  // namespace gradlife::heap
