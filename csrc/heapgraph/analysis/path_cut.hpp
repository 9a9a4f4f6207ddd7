// Long paths, cut to what a report can show and a rule can ask for.
//
// A label costs microseconds, and a reference in Python as much again: a linked list of a million objects would take
// half a minute to describe, of which a report shows sixty objects.
#pragma once

#include <vector>

#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

// A piece of a path that is described, and the number of objects left out after it.
struct PathPiece {
  size_t first, last;  // indexes of the path, `last` excluded
  size_t left_out;
};

// Returns the pieces of a path to describe: all of a path of up to a thousand objects. Of a longer one both ends, and
// in between the first and the last object of each type with its neighbours, so that whoever looks for an object of
// some type finds it. Time: that of the path's length, some nanoseconds per object.
std::vector<PathPiece> cut_path(const Graph& graph, const std::vector<NodeId>& nodes);

}  // namespace gradlife::heap
