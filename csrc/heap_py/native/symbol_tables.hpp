// Names of variables in a library's file: from its full symbol table if that was not stripped, else from the exported
// symbols.
#pragma once

#include <string>

#include "heap_py/memory/memory_reader.hpp"

namespace gradlife::heap {

// Returns the mangled name of the variable at an offset from the library's load address, or from its thread-local data;
// "": the file has none. The file's contents are not trusted: it may have been replaced since it was loaded.
std::string find_variable(const std::string& path, Address offset, bool is_thread_local);

}  // namespace gradlife::heap
