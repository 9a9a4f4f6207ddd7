// Offsets in bytes of references in torch's objects that no public name shows: found on toy objects with known parts
// (gradlife/heap/torch_layout/torch.py), and checked again by class wherever they are used.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "heap_py/memory/dlpack.hpp"
#include "heap_py/providers/torch/classes.hpp"

namespace gradlife::heap {

struct TorchLayout {
  static constexpr uint32_t absent = UINT32_MAX;

  // Types and fields in Python.
  const PyTypeObject* tensor_type = nullptr;  // torch._C.TensorBase, and so on
  const PyTypeObject* storage_type = nullptr;
  const PyTypeObject* context_type = nullptr;       // torch._C._FunctionBase
  const PyTypeObject* saved_tensor_type = nullptr;  // a slot as a Python object, which owns or shows it
  traverseproc node_traverse = nullptr;             // of the wrappers of C++ nodes, which have no common base
  uint32_t impl_in_wrapper = absent;
  uint32_t impl_in_storage_wrapper = absent;
  uint32_t tensor_hooks_in_wrapper = absent;
  uint32_t post_accumulate_hooks_in_wrapper = absent;
  uint32_t node_in_wrapper = absent;
  uint32_t node_in_context = absent;
  uint32_t to_save_in_context = absent;  // these four hold tuples during forward
  uint32_t saved_for_forward_in_context = absent;
  uint32_t non_differentiable_in_context = absent;
  uint32_t dirty_in_context = absent;
  uint32_t slot_in_saved_tensor = absent;
  uint32_t ownership_of_saved_tensor = absent;  // a bit: 0 if the slot is a node's
  // Fields in C++.
  uint32_t count_in_target = absent;  // the strong count: the low half of a word
  uint32_t storage_in_impl = absent;
  uint32_t meta_in_impl = absent;
  uint32_t wrapper_in_impl = absent;
  uint32_t wrapper_in_storage = absent;
  uint32_t bytes_in_storage = absent;
  uint32_t data_in_storage = absent;
  uint32_t storage_block = absent;       // bytes of an empty storage's block, which malloc makes larger now and then
  uint32_t context_in_storage = absent;  // the argument of the data's deleter
  uint32_t deleter_in_storage = absent;
  uint32_t owner_in_function = absent;  // of a deleter that is a std::function: its captured object
  uint32_t code_in_function = absent;
  Address function_deleter = 0;                  // deletes such a function
  std::unordered_map<Address, DLPack> closures;  // by code: none if they capture a Python object
  uint32_t device_in_storage = absent;           // two bytes: type and index
  uint32_t dimensions_in_impl = absent;
  uint32_t sizes_in_impl = absent;  // at most five are stored here, else the address of all
  uint32_t dtype_in_impl = absent;  // two bytes
  uint32_t grad_in_meta = absent;
  uint32_t node_in_meta = absent;
  uint32_t tangents_in_meta = absent;
  uint32_t list_in_tangents = absent;  // its entries: next, level, tensor
  uint32_t hooks_in_meta = absent;     // a vector
  uint32_t post_accumulate_hook_in_meta = absent;
  uint32_t base_in_meta = absent;      // for a view
  uint32_t has_base_in_meta = absent;  // a byte: 0 if nothing was ever written there
  uint32_t impl_bytes = absent;        // bytes of the TensorImpl at the beginning of every kind of tensor
  uint32_t edges_in_node = absent;     // a vector
  uint32_t edge_bytes = absent;
  uint32_t wrapper_in_node = absent;
  uint32_t sequence_number_in_node = absent;
  uint32_t context_in_node = absent;   // for a custom Function's node
  uint32_t saved_in_context = absent;  // a vector of slots
  uint32_t metadata_in_node = absent;
  uint32_t tensor_hooks_in_node = absent;  // these three are vectors
  uint32_t prehooks_in_node = absent;
  uint32_t hooks_in_node = absent;
  uint32_t shapes_in_node = absent;  // of its outputs: address and number
  uint32_t shape_bytes = absent;     // bytes of one shape
  uint32_t sizes_in_shape = absent;  // a tensor if the byte of the kind is 1
  uint32_t sort_in_shape = absent;
  uint32_t variable_in_accumulator = absent;
  uint32_t dict_in_hook = absent;
  uint32_t dict_in_metadata = absent;
  uint32_t pack_in_hooks = absent;  // for a saved tensor's pair of hooks
  uint32_t unpack_in_hooks = absent;
  uint32_t packed_in_hooks = absent;
  uint32_t slots_in_node = absent;  // the end of the fields that every node has
  uint32_t slot_bytes = absent;
  uint32_t hooks_in_slot = absent;
  uint32_t flags_in_slot = absent;    // four truths, a byte each
  uint32_t grad_fn_in_slot = absent;  // for a saved tensor: offset from its data
  uint32_t accumulator_in_slot = absent;
  uint32_t tangents_in_slot = absent;  // of a saved result, which is stored without its autograd metadata
  TorchClassTable classes;
  std::unordered_map<int64_t, std::string> device_names;  // by the type's number: "cuda"
  std::unordered_map<int64_t, std::string> dtype_names;   // "float32"
  // The names of each node class's saved tensors, in the order of their slots.
  std::unordered_map<std::string, std::vector<std::string>> saved_names;
  bool are_counts_coupled = false;  // since 2.10 an impl with several owners owns its wrapper
  bool are_nodes_coupled = false;   // the same for nodes
  bool context_owns_node = false;   // the reference was weak before
};

// The layout in use, or nullptr: no torch, or a layout that was not verified. It may be replaced whenever Python code
// runs.
const TorchLayout* torch_layout();
std::shared_ptr<const TorchLayout> shared_torch_layout();  // for those that keep it meanwhile
// The layout that this thread verifies, else the one in use.
const TorchLayout* tried_torch_layout();
// set_torch_layout({name: value, ...} or None): called by gradlife.heap.torch_layout.torch. ValueError for an unknown
// name.
PyObject* set_torch_layout(PyObject* module, PyObject* layout);
// try_torch_layout({name: value, ...} or None): the same for the functions below in this thread only, until the next
// set_torch_layout or the thread's end.
PyObject* try_torch_layout(PyObject* module, PyObject* layout);
// find_word(address, bytes, value) -> offset or None; class_at(address) -> mangled name or None. For calibration.
PyObject* find_word(PyObject* module, PyObject* arguments);
PyObject* class_at(PyObject* module, PyObject* address);
PyObject* read_word(PyObject* module, PyObject* address);  // read_word(address) -> int or None
// torch_references(object or address) -> [(label, index, kind, address), ...]: the references that the provider shows.
PyObject* torch_references(PyObject* module, PyObject* object);
// torch_description(address) -> (as a tensor, as a storage, its device, its bytes): for an object of one of these
// kinds.
PyObject* torch_description(PyObject* module, PyObject* address);
PyObject* torch_memory(PyObject* module, PyObject* address);   // address of a storage's memory, or None
PyObject* torch_block(PyObject* module, PyObject* address);    // bytes of the block that contains the object
PyObject* torch_label(PyObject* module, PyObject* arguments);  // torch_label(source, target) -> label of the reference

}  // namespace gradlife::heap
