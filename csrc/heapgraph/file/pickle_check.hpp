// Checks the operations of a pickle before Python's unpickler runs them: it believes every number in the file.
#pragma once

#include <cstddef>

#include "heapgraph/file/format.hpp"

namespace gradlife::heap {

// Requires that the pickle takes memory and time in proportion to its size: each length lies within it, each number in
// its memo is below its size, integers are short, and keys are texts, whose hashes nobody can choose. The check ends at
// an operation that names a class or a persistent object, which
// the unpickler refuses by its name. Errors: FileError.
void check_pickle(const char* data, size_t bytes);

}  // namespace gradlife::heap
