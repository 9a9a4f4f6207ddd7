#include "heap_py/api/search_function.hpp"

#include <algorithm>
#include <ctime>

#include "heap_py/interpreter/exception_border.hpp"
#include "heap_py/native/blocks.hpp"
#include "heap_py/native/word_search.hpp"

namespace gradlife::heap {
namespace {

ScanVector<Address> sorted_addresses(PyObject* list, ScanArena& arena) {
  ScanVector<Address> addresses(arena.memory());
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    addresses.push_back(PyLong_AsUnsignedLongLong(PyList_GET_ITEM(list, i)));
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

}  // namespace

PyObject* malloc_cache_key(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(find_cache_key()); }

PyObject* search_memory(PyObject*, PyObject* wanted) {
  return guarded([&] {
    if (wanted != Py_None && !PyList_Check(wanted)) {
      PyErr_SetString(PyExc_TypeError, "search_memory() takes a list of addresses, or None");
      throw PythonErrorSet();
    }
    ScanArena arena;
    const MemoryMap map(arena);
    MemorySearch search(map, arena);
    ScanVector<WordHit> hits(arena.memory());
    const ScanVector<Address> addresses =
        wanted != Py_None ? sorted_addresses(wanted, arena) : ScanVector<Address>(arena.memory());
    const AddressSet set(addresses, arena);
    const std::clock_t start = std::clock();
    if (wanted != Py_None) {
      search.search(set, hits);
    } else {
      search.read_only();
    }
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    return Py_BuildValue("Knd", static_cast<unsigned long long>(search.bytes_read()),
                         static_cast<Py_ssize_t>(hits.size()), seconds);
  });
}

}  // namespace gradlife::heap
