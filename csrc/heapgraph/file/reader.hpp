// Reads a snapshot file that may be damaged, of another kind, or malicious.
#pragma once

#include "heapgraph/file/format.hpp"
#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

// The file is read into memory, not mapped, so that checked data cannot change if the file is truncated or modified.
// Memory: at most the size of the file, and its tables once more. Errors: FileError; std::system_error.
std::unique_ptr<FrozenGraph> read_graph(int descriptor);

}  // namespace gradlife::heap
