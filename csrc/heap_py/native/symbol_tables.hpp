// Names of variables in a library's file: in the table of all symbols, where that was not stripped, or of the exported.
#pragma once

#include <string>

#include "heap_py/memory/memory_reader.hpp"

namespace gradlife::heap {

// The mangled name of the variable at an address counted from where the library is loaded, or from where its
// thread-local data begin; "": the file does not say. What stands in the file is not trusted: it may have been replaced
// since it was loaded.
std::string find_variable(const std::string& path, Address offset, bool is_thread_local);

}  // namespace gradlife::heap
