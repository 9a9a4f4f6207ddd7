// Reads a snapshot file that may be damaged, of another kind, or made to do harm.
#pragma once

#include "heapgraph/file/format.hpp"
#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

// The file is read into memory, not mapped: what was checked stays as it was checked, whoever cuts or changes the file
// later, and takes no more memory than the file has bytes, and its tables once more. Errors: FileError;
// std::system_error.
std::unique_ptr<FrozenGraph> read_graph(int descriptor);

}  // namespace gradlife::heap
