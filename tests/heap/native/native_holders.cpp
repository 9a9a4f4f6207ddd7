// Holds Python objects in every kind of C++ storage that the native scan has to name.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace planted {

class Holder {
 public:
  explicit Holder(PyObject* object) : object_(object) {}
  virtual ~Holder() { Py_DECREF(object_); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

 private:
  [[maybe_unused]] long number_ = 7;
  PyObject* object_;
};

}  // namespace planted

// What the library exports, so that it can be named.
PyObject* planted_static = nullptr;
std::vector<PyObject*> planted_vector;

namespace {

constexpr int most = 1000;
PyObject* more_statics[most];
std::vector<std::unique_ptr<planted::Holder>> members;
std::map<int, PyObject*> map;
std::vector<std::function<PyObject*()>> lambdas;
std::vector<std::function<PyObject*()>> large_lambdas;
thread_local PyObject* locals[most];
std::string static_text;
std::vector<std::string> texts;
std::vector<void*> drained;
int count = 0;

PyObject* hold(PyObject*, PyObject* arguments) {
  const char* how;
  PyObject* object;
  if (!PyArg_ParseTuple(arguments, "sO", &how, &object)) return nullptr;
  const std::string kind = how;
  Py_INCREF(object);
  const int at = count++ % most;
  if (kind == "static") {
    (planted_static == nullptr ? planted_static : more_statics[at]) = object;
  } else if (kind == "vector") {
    planted_vector.push_back(object);
  } else if (kind == "member") {
    members.push_back(std::make_unique<planted::Holder>(object));
  } else if (kind == "map") {
    map.emplace(static_cast<int>(map.size()) * 7919 % 100003, object);
  } else if (kind == "lambda") {
    lambdas.emplace_back([object] { return object; });
  } else if (kind == "large lambda") {
    const long a = at, b = 2, c = 3;
    large_lambdas.emplace_back([a, b, object, c] { return a + b + c != 0 ? object : nullptr; });
  } else if (kind == "thread-local") {
    locals[at] = object;
  }  // "count": a reference that stands nowhere
  Py_RETURN_NONE;
}

// Gives the vector's last item back, and leaves its address where it stood.
PyObject* pop_vector(PyObject*, PyObject*) {
  PyObject* object = planted_vector.back();
  planted_vector.pop_back();
  return object;
}

// A block with the object's address that is given back at once.
PyObject* leave_stale_blocks(PyObject*, PyObject* object) {
  std::vector<void*> blocks;
  for (int i = 0; i < 64; ++i) {
    auto** block = static_cast<PyObject**>(std::malloc(24 + 16 * static_cast<size_t>(i)));
    for (int k = 0; k < 3 + 2 * i; ++k) block[k] = object;
    blocks.push_back(block);
  }
  for (void* block : blocks) std::free(block);
  for (void*& block : blocks) block = nullptr;
  Py_RETURN_NONE;
}

// Texts, in a variable and in a block, with the object's address behind their end, or as what they say.
PyObject* leave_behind_texts(PyObject*, PyObject* object) {
  texts.assign({"", "nn", "linear", "longer than sixteen"});
  static_text = "";
  std::memcpy(&static_text[0] + 8, &object, sizeof object);
  for (std::string& text : texts) std::memcpy(reinterpret_cast<char*>(&text) + 24, &object, sizeof object);
  texts.emplace_back(reinterpret_cast<const char*>(&object), sizeof object);
  Py_RETURN_NONE;
}

// Leaves malloc's list of blocks like those of a large lambda full, and takes so many more: whoever finds the cache in
// front of it empty fills it, and a block that is then given back is in the list, and still says what it said.
PyObject* fill_lists(PyObject*, PyObject* more) {
  constexpr size_t bytes = 40;
  const size_t taken = PyLong_AsSize_t(more);
  if (PyErr_Occurred() != nullptr) return nullptr;
  void* blocks[64];
  for (void*& block : blocks) {
    block = std::malloc(bytes);
    if (block != nullptr) static_cast<volatile uint64_t*>(block)[1] = 2;
  }
  for (void* block : blocks) std::free(block);
  for (size_t i = 0; i < taken; ++i) drained.push_back(std::malloc(bytes));
  Py_RETURN_NONE;
}

PyObject* lower_count(PyObject*, PyObject* object) {
  Py_DECREF(object);
  Py_RETURN_NONE;
}

void drop(PyObject*& object) {
  PyObject* held = object;
  object = nullptr;
  Py_XDECREF(held);
}

PyObject* let_go(PyObject*, PyObject*) {
  drop(planted_static);
  for (PyObject*& object : more_statics) drop(object);
  for (PyObject*& object : locals) drop(object);
  for (PyObject*& object : planted_vector) drop(object);
  for (auto& entry : map) drop(entry.second);
  for (auto& lambda : lambdas) Py_DECREF(lambda());
  for (auto& lambda : large_lambdas) Py_DECREF(lambda());
  planted_vector = std::vector<PyObject*>();
  map.clear();
  lambdas.clear();
  large_lambdas.clear();
  members.clear();
  texts = std::vector<std::string>();
  static_text = std::string();
  for (void* block : drained) std::free(block);
  drained.clear();
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"hold", hold, METH_VARARGS, nullptr},
                           {"pop_vector", pop_vector, METH_NOARGS, nullptr},
                           {"leave_stale_blocks", leave_stale_blocks, METH_O, nullptr},
                           {"leave_behind_texts", leave_behind_texts, METH_O, nullptr},
                           {"fill_lists", fill_lists, METH_O, nullptr},
                           {"lower_count", lower_count, METH_O, nullptr},
                           {"let_go", let_go, METH_NOARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "native_holders", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_native_holders() { return PyModule_Create(&definition); }
