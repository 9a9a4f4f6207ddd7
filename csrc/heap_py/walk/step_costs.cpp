#include "heap_py/walk/step_costs.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/labels.hpp"
#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/module_names.hpp"

namespace gradlife::heap {
namespace {

// How many steps longer a path through the program may be than one through such a node.
constexpr uint8_t of_interpreter = 8;
constexpr uint8_t of_standard_variables = 8;
constexpr uint8_t of_library = 3;  // frames, modules and variables of libraries that a program calls

Address address_of(const void* object) { return static_cast<Address>(reinterpret_cast<uintptr_t>(object)); }

void* pointer_to(Address address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

bool is_below_packages(std::string_view file) {
  return file.find("/site-packages/") != std::string_view::npos ||
         file.find("/dist-packages/") != std::string_view::npos;
}

class StepCosts {
 public:
  StepCosts(Graph& graph, const Builder& builder) : graph_(graph), builder_(builder) {}

  void run() {
    raise_interpreter();
    read_standard_names();
    PyObject *name, *module;
    for (Py_ssize_t at = 0; PyDict_Next(PyImport_GetModuleDict(), &at, &name, &module) != 0;)
      if (PyModule_Check(module)) raise_module(plain_text(name), module);
    for (NodeId node = process_root + 1; node < graph_.tracked_begin; ++node)
      if (graph_.type_of(node).name == labels::running_frame) raise_frame(node, pointer_to(graph_.addresses[node]));
    raise_frame_objects();
  }

 private:
  // A node's cost is that of its type: nodes with a higher cost get a row of their own.
  void raise(const PyObject* object, uint8_t more) {
    const NodeId node = object != nullptr ? builder_.find(address_of(object)) : no_node;
    if (node != no_node) raise(node, more);
  }
  void raise(NodeId node, uint8_t more) {
    if (!raised_.insert(node).second) return;
    const auto [row, is_new] = rows_.emplace(std::make_pair(graph_.types[node], more), 0);
    if (is_new) {
      TypeRow costly = graph_.type_of(node);
      costly.step_cost = static_cast<uint8_t>(costly.step_cost + more);
      graph_.type_rows.push_back(std::move(costly));
      row->second = static_cast<uint32_t>(graph_.type_rows.size() - 1);
    }
    graph_.types[node] = row->second;
  }

  // Raises the cost of the interpreter's tables, which fill themselves; callbacks that a program registers are its own.
  void raise_interpreter() {
    gl_visit_interpreter(
        PyInterpreterState_Get(),
        [](const char* label, PyObject* object, void* state) {
          const bool is_registered =
              std::strstr(label, "callback") != nullptr || std::strcmp(label, "signal handler") == 0;
          if (!is_registered && std::strcmp(label, "sys.modules") != 0)
            static_cast<StepCosts*>(state)->raise(object, of_interpreter);
        },
        this);
  }

  void read_standard_names() {
    const std::string_view file = file_text(module_variable("os", "__file__"), room_);
    folder_ = file.substr(0, file.rfind('/') + 1);
    PyObject* names = module_variable("sys", "stdlib_module_names");
    if (names == nullptr || !PyAnySet_Check(names)) return;
    const auto* set = reinterpret_cast<PySetObject*>(names);
    for (Py_ssize_t i = 0; i <= set->mask; ++i)
      if (set->table[i].key != nullptr) standard_.emplace(plain_text(set->table[i].key));
  }

  void raise_module(std::string_view name, PyObject* module) {
    PyObject* variables = PyModule_GetDict(module);
    if (standard_.count(name.substr(0, name.find('.'))) != 0) {
      raise(variables, of_standard_variables);
      raise(module, of_library);
    } else if (is_below_packages(file_text(value_named(variables, "__file__"), room_))) {
      raise(variables, of_library);
    }
  }

  // Raises the cost of library frames, which call the program or are called by it.
  void raise_frame(NodeId node, void* address) {
    gl_frame frame;
    if (address == nullptr || gl_read_frame(address, &frame) == 0) return;
    const std::string_view file = file_text(frame.code->co_filename, room_);
    if (is_below_packages(file) || (!folder_.empty() && file.substr(0, folder_.size()) == folder_))
      raise(node, of_library);
  }

  // Raises the cost of the frame objects of library frames: an exception's traceback holds such objects.
  void raise_frame_objects() {
    const auto is_frames = [](const TypeRow& row) { return row.address == address_of(&PyFrame_Type); };
    const auto found = std::find_if(graph_.type_rows.begin(), graph_.type_rows.end(), is_frames);
    if (found == graph_.type_rows.end()) return;
    const auto row = static_cast<uint32_t>(found - graph_.type_rows.begin());
    for (size_t node = graph_.tracked_begin; node < graph_.tracked_end; ++node)
      if (graph_.types[node] == row)
        raise_frame(static_cast<NodeId>(node),
                    gl_frame_of_object(static_cast<PyObject*>(pointer_to(graph_.addresses[node]))));
  }

  Graph& graph_;
  const Builder& builder_;
  std::string folder_, room_;                      // the folder of the standard library
  std::unordered_set<std::string_view> standard_;  // names in sys
  std::unordered_set<NodeId> raised_;
  std::map<std::pair<uint32_t, uint8_t>, uint32_t> rows_;
};

}  // namespace

void raise_step_costs(Graph& graph, const Builder& builder) { StepCosts(graph, builder).run(); }

}  // namespace gradlife::heap
