#include "heap_py/interpreter/greenlets.hpp"

#include <cstring>
#include <new>

#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/library_layouts.hpp"
#include "heap_py/interpreter/module_names.hpp"

namespace gradlife::heap {
namespace {

// The fields of a greenlet that its header declares.
struct Greenlet {
  PyObject_HEAD PyObject *weak_references, *attributes;
  void* state;
};

const PyGetSetDef* attribute_of(const PyTypeObject* type, const char* name) {
  for (; type != nullptr; type = type->tp_base)
    for (const PyGetSetDef* found = type->tp_getset; is_static(type) && found != nullptr && found->name != nullptr;
         ++found)
      if (std::strcmp(found->name, name) == 0) return found;
  return nullptr;
}

// Returns a new reference to what an attribute of C code has, or nullptr. The attributes asked for return what is there
// already, or None.
PyObject* read(PyObject* greenlet, const char* name) {
  const PyGetSetDef* attribute = attribute_of(Py_TYPE(greenlet), name);
  PyObject* value = attribute == nullptr ? nullptr : attribute->get(greenlet, attribute->closure);
  if (attribute != nullptr && value == nullptr) PyErr_Clear();
  return value;
}

bool is_whole(const PyObject* object) { return reinterpret_cast<const Greenlet*>(object)->state != nullptr; }

// Whether it is the stack that a thread began with: only this has no parent.
bool is_main(PyObject* greenlet) {
  PyObject* parent = read(greenlet, "parent");
  Py_XDECREF(parent);  // another greenlet, or None: this was not the last reference
  return parent == Py_None;
}

void* newest_frame(PyObject* greenlet) {
  PyObject* frame = read(greenlet, "gr_frame");
  if (frame == nullptr) return nullptr;
  void* found = PyFrame_Check(frame) ? gl_frame_of_object(frame) : nullptr;
  Py_DECREF(frame);  // the frame itself has another reference to it
  return found;
}

struct Search {
  std::vector<void*> frames;
  const PyTypeObject* last = nullptr;  // the type of the object before: many follow one another
  bool is_last_greenlet = false;
  bool ran_out = false;  // no exception may pass through the collector's own code
};

void add_if_main(PyObject* object, void* state) {
  auto& search = *static_cast<Search*>(state);
  if (Py_TYPE(object) != search.last) {
    search.last = Py_TYPE(object);
    search.is_last_greenlet = is_greenlet(search.last);
  }
  if (!search.is_last_greenlet || !is_whole(object) || !is_main(object)) return;
  try {
    if (void* frame = newest_frame(object)) search.frames.push_back(frame);
  } catch (const std::bad_alloc&) {
    search.ran_out = true;
  }
}

}  // namespace

bool is_greenlet(const PyTypeObject* type) { return is_derived(type, "greenlet.greenlet"); }

void* greenlet_frame(PyObject* object) {
  if (!is_greenlet(Py_TYPE(object)) || !is_whole(object) || is_main(object)) return nullptr;
  return newest_frame(object);
}

void* first_greenlet_frame(PyObject* object) {
  void* first = nullptr;
  for (void* at = greenlet_frame(object); at != nullptr; at = gl_older_frame(at)) first = at;
  return first;
}

std::vector<void*> frames_of_main_greenlets() {
  Search search;
  if (value_named(PyImport_GetModuleDict(), "greenlet._greenlet") == nullptr) return {};
  gl_visit_tracked(add_if_main, &search);
  if (search.ran_out) throw std::bad_alloc();
  return std::move(search.frames);
}

}  // namespace gradlife::heap
