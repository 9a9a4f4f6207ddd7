// Checks of a file's numbers: every one that will be used as an index is in range.
#pragma once

#include "heapgraph/file/format.hpp"
#include "heapgraph/frozen/names.hpp"

namespace gradlife::heap {

// Each throws FileError.
void check_header(const FileHeader& header);
void check_ends(const Buffer<uint32_t>& ends, size_t letters);  // of texts that lie one behind the other
void check_graph(const Graph& graph, uint64_t nodes, uint64_t edges);
void check_words(const Words& words, const Graph& graph);

}  // namespace gradlife::heap
