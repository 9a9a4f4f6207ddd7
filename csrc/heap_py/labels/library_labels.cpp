#include <cstring>

#include "base/labels.hpp"
#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/key_text.hpp"
#include "heap_py/labels/container_labels.hpp"
#include "heap_py/labels/type_labels.hpp"

namespace gradlife::heap {
namespace {

Label internal(const char* text) { return {Relation::internal, text}; }

PyObject* word_at(PyObject* object, Py_ssize_t offset) {
  if (offset + static_cast<Py_ssize_t>(sizeof(PyObject*)) > Py_TYPE(object)->tp_basicsize) return nullptr;
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
}

bool is_callable(PyObject* object) {
  return PyFunction_Check(object) || PyMethod_Check(object) || PyCFunction_Check(object);
}

// --- functools.lru_cache

PyObject* cache_of(PyObject* wrapper) {
  struct Search {
    PyObject *attributes, *cache;
  } search{gl_existing_dict(wrapper), nullptr};
  Py_TYPE(wrapper)->tp_traverse(
      wrapper,
      [](PyObject* visited, void* state) {
        Search& search = *static_cast<Search*>(state);
        if (PyDict_CheckExact(visited) && visited != search.attributes && search.cache == nullptr)
          search.cache = visited;
        return 0;
      },
      &search);
  return search.cache;
}

constexpr const char* cached_result = "a cached result";

// A bounded cache keeps its results in links.
PyObject* result_of(PyObject* value) {
  const Py_ssize_t result_of_link = 48;
  const bool is_link = std::strcmp(Py_TYPE(value)->tp_name, "functools._lru_list_elem") == 0;
  return is_link ? word_at(value, result_of_link) : value;
}

// If a result is also an argument, the result is shown.
Label in_cache(PyObject* cache, PyObject* target) {
  PyObject *key, *value;
  bool is_key = false;
  for (Py_ssize_t at = 0; PyDict_Next(cache, &at, &key, &value) != 0;) {
    if (result_of(value) == target) return internal(cached_result);
    is_key = is_key || key == target;
  }
  return is_key ? internal(labels::cached_arguments) : Label{};
}

Label in_lru_cache(PyObject* wrapper, PyObject* target) {
  if (gl_existing_dict(wrapper) == target) return internal("__dict__");
  PyObject* cache = cache_of(wrapper);
  if (cache == target) return internal("cache");
  const Label found = cache != nullptr ? in_cache(cache, target) : Label{};
  if (found.relation != Relation::unknown) return found;
  return is_callable(target) ? internal("the cached function") : Label{};
}

// --- asyncio

struct Place {
  Py_ssize_t offset;
  const char* name;
};
constexpr Place future_places[] = {{16, "_loop"},      {24, "_callbacks"}, {32, "the context of a callback"},
                                   {40, "_callbacks"}, {48, "_exception"}, {56, "the traceback of its exception"},
                                   {64, "_result"}};

Label in_future(PyObject* future, PyObject* target) {
  for (const Place& place : future_places)
    if (word_at(future, place.offset) == target) return internal(place.name);
  if (PyCoro_CheckExact(target) || gl_generator_frame(target) != nullptr) return internal("_coro");
  if (PyContext_CheckExact(target)) return internal("the context that it runs in");
  return base_named(target, "_asyncio.Future") != nullptr || base_named(target, "_asyncio.Task") != nullptr
             ? internal("_fut_waiter")
             : Label{};
}

// --- contextvars

// A node of a context's tree: keys and values alternate; a value without a key is another node.
Label in_context_pairs(PyObject* node, PyObject* target) {
  const Py_ssize_t first = 32;  // after head, size and the bits that tell which entries exist
  PyObject* const* items = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(node) + first);
  for (Py_ssize_t i = 0; i + 1 < Py_SIZE(node); i += 2) {
    if (items[i] == target) return internal("a contextvar");
    if (items[i + 1] != target) continue;
    PyObject* name = items[i] != nullptr ? gl_context_variable_name(items[i]) : nullptr;
    return name != nullptr ? Label{Relation::internal, "contextvar '" + text_of(name) + "'"} : internal("variables");
  }
  return {};
}

// --- others

}  // namespace

bool is_lru_cache(PyTypeObject* type) { return base_named(type, "functools._lru_cache_wrapper") != nullptr; }

void show_lru_cache(PyObject* wrapper, ReferenceSink& sink) {
  PyObject *key, *value, *cache = cache_of(wrapper);
  sink.python(gl_existing_dict(wrapper), Relation::internal, "__dict__");
  sink.python(cache, Relation::internal, "cache");
  if (cache == nullptr) return;
  for (Py_ssize_t at = 0; PyDict_Next(cache, &at, &key, &value) != 0;)
    sink.python(result_of(value), Relation::internal, cached_result);
  for (Py_ssize_t at = 0; PyDict_Next(cache, &at, &key, &value) != 0;)
    sink.python(key, Relation::internal, labels::cached_arguments);
}

Label label_in_library_type(PyObject* source, PyObject* target) {
  PyTypeObject* type = Py_TYPE(source);
  if (reinterpret_cast<PyObject*>(type) == target) return {};
  if (std::strcmp(type->tp_name, "hamt") == 0 || std::strcmp(type->tp_name, "hamt_array_node") == 0)
    return internal("variables");
  if (std::strcmp(type->tp_name, "hamt_bitmap_node") == 0 || std::strcmp(type->tp_name, "hamt_collision_node") == 0)
    return in_context_pairs(source, target);
  if (is_lru_cache(type)) return in_lru_cache(source, target);
  if (base_named(source, "_asyncio.Future") != nullptr || base_named(source, "_asyncio.Task") != nullptr)
    return in_future(source, target);
  if (base_named(source, "_thread._local") != nullptr && PyDict_CheckExact(target))
    return internal(labels::thread_dicts);
  return {};
}

namespace {

// Fields of library types that keep data in an internal table, besides functions and iterables.
struct Store {
  const char* type;
  const char* name;
};
constexpr Store stores[] = {{"_pickle.Pickler", "its memo of what it has pickled"},
                            {"_pickle.Unpickler", "its memo of what it has read"},
                            {"operator.itemgetter", "its arguments"},
                            {"operator.methodcaller", "its arguments"}};

// Iterators that keep items to return them again. The offset is the same in all releases.
Label in_repeating_iterator(PyObject* source, PyObject* target) {
  const Py_ssize_t first = 16, second = 24, next_data = 32;
  const char* type = Py_TYPE(source)->tp_name;
  if (std::strcmp(type, "itertools.cycle") == 0)
    return word_at(source, second) == target && PyList_CheckExact(target) ? internal("the items that it repeats")
                                                                          : Label{};
  if (std::strcmp(type, "itertools._tee") == 0) return internal("the items that were read ahead");
  if (std::strcmp(type, "itertools._tee_dataobject") != 0) return {};
  if (word_at(source, first) == target) return internal("what it iterates over");
  return internal(word_at(source, next_data) == target ? "the items after these" : "an item that was read ahead");
}

}  // namespace

// An iterator does not name its iterable; a function among the referents is the one that it calls.
Label label_by_use(PyObject* source, PyObject* target) {
  const Label repeated = in_repeating_iterator(source, target);
  if (repeated.relation != Relation::unknown) return repeated;
  if (is_callable(target)) return internal("the function that it calls");
  for (const Store& store : stores)
    if (base_named(source, store.type) != nullptr) return internal(store.name);
  return Py_TYPE(source)->tp_iter == PyObject_SelfIter ? internal("what it iterates over") : Label{};
}

}  // namespace gradlife::heap
