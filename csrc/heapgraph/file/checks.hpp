// Checks of a file's numbers: every number used as an index must be in range.
#pragma once

#include "heapgraph/file/format.hpp"
#include "heapgraph/frozen/names.hpp"

namespace gradlife::heap {

// Each throws FileError.
void check_header(const FileHeader& header);
void check_ends(const Buffer<uint32_t>& ends, size_t letters);  // texts stored one after the other
void check_graph(const Graph& graph, uint64_t nodes, uint64_t edges);
void check_words(const Words& words, const Graph& graph);

}  // namespace gradlife::heap
