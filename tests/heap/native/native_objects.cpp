// Makes C++ objects in every kind that a census has to distinguish.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace made {

class Base {
 public:
  virtual ~Base() = default;
  long number = 7;
};
class Small : public Base {};
class Large : public Base {  // malloc gives it a mapping of its own
  char content_[300000] = {};
};
class Shared : public Base {};
struct Plain {
  long numbers[5] = {};
};
class Churned : public Base {};

}  // namespace made

namespace {

std::vector<std::unique_ptr<made::Base>> objects;
std::vector<std::shared_ptr<made::Shared>> shared;
std::vector<std::shared_ptr<made::Plain>> plain;
std::vector<std::weak_ptr<made::Shared>> weak;
std::atomic<bool> is_churning{false};
std::vector<std::thread> threads;

void make_one(const std::string& kind) {
  if (kind == "small") {
    objects.push_back(std::make_unique<made::Small>());
  } else if (kind == "large") {
    objects.push_back(std::make_unique<made::Large>());
  } else if (kind == "shared") {
    shared.push_back(std::make_shared<made::Shared>());
  } else if (kind == "separate") {
    shared.push_back(std::shared_ptr<made::Shared>(new made::Shared));
  } else if (kind == "plain") {
    plain.push_back(std::make_shared<made::Plain>());
  } else if (kind == "weak") {
    weak.push_back(std::make_shared<made::Shared>());
  } else if (kind == "freed") {
    std::make_unique<made::Small>();
  }
}

PyObject* make(PyObject*, PyObject* arguments) {
  const char* kind;
  int count;
  if (!PyArg_ParseTuple(arguments, "si", &kind, &count)) return nullptr;
  for (int i = 0; i < count; ++i) make_one(kind);
  Py_RETURN_NONE;
}

PyObject* make_in_thread(PyObject*, PyObject* arguments) {
  const char* kind;
  int count;
  if (!PyArg_ParseTuple(arguments, "si", &kind, &count)) return nullptr;
  std::thread([&] {
    for (int i = 0; i < count; ++i) make_one(kind);
  }).join();
  Py_RETURN_NONE;
}

PyObject* drop(PyObject*, PyObject*) {
  objects.clear();
  shared.clear();
  plain.clear();
  weak.clear();
  Py_RETURN_NONE;
}

// Leaves the words of live objects in blocks that hold none.
PyObject* leave_copies(PyObject*, PyObject*) {
  for (int i = 0; i < 100; ++i) {
    void* block = std::malloc(sizeof(made::Small));
    made::Small* object = new (block) made::Small;
    object->~Small();
    std::free(block);
  }
  Py_RETURN_NONE;
}

// Memory that comes and goes while others look.
void use_a_mapping(size_t pages) {
  constexpr size_t page = 4096;
  void* start = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return;
  for (size_t i = 0; i < pages; ++i) static_cast<char*>(start)[i * page] = 1;
  munmap(start, pages * page);
}

// Threads that Python does not know allocate and free as fast as they can.
PyObject* start_churning(PyObject*, PyObject* count) {
  is_churning = true;
  for (long i = 0; i < PyLong_AsLong(count); ++i)
    threads.emplace_back([] {
      std::vector<std::unique_ptr<made::Base>> own(64);
      std::vector<std::unique_ptr<char[]>> blocks(64);
      for (size_t k = 0; is_churning; k = k * 31 + 7) {
        own[k % 64] = std::make_unique<made::Churned>();
        blocks[k % 61] = std::make_unique<char[]>(k % 5000);
        use_a_mapping(1 + k % 64);
      }
    });
  Py_RETURN_NONE;
}

PyObject* stop_churning(PyObject*, PyObject*) {
  is_churning = false;
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"make", make, METH_VARARGS, nullptr},
                           {"make_in_thread", make_in_thread, METH_VARARGS, nullptr},
                           {"drop", drop, METH_NOARGS, nullptr},
                           {"leave_copies", leave_copies, METH_NOARGS, nullptr},
                           {"start_churning", start_churning, METH_O, nullptr},
                           {"stop_churning", stop_churning, METH_NOARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "native_objects", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_native_objects() { return PyModule_Create(&definition); }
