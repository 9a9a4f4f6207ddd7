// References that torch's wrappers will show the collector once they alone own the objects in between.
#include <algorithm>

#include "heap_py/providers/torch/provider.hpp"

namespace gradlife::heap {
namespace {

void* pointer_to(Address address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

}  // namespace

uint32_t TorchProvider::count_of(Address object) const {
  uint64_t count;
  if (layout_.count_in_target == TorchLayout::absent) return 0;
  return reader_.read_word(object + layout_.count_in_target, &count) ? static_cast<uint32_t>(count) : 0;
}

// Returns the owner count of a tensor's grad_fn. Nodes without a count of their own have one in the control block of a
// std::shared_ptr, which its second word points to.
uint32_t TorchProvider::count_of_node(Address node, Address meta) const {
  if (layout_.are_nodes_coupled) return count_of(node);
  constexpr uint32_t count_in_block = 8, max_owners = 1 << 24;
  Address block, counts;
  if (!read(meta, layout_.node_in_meta + sizeof(uint64_t), &block) || !read(block, count_in_block, &counts)) return 0;
  const uint32_t count = static_cast<uint32_t>(counts);
  return count < max_owners ? count : 0;
}

bool TorchProvider::wrapper_of(Address object, uint32_t wrapper_offset, uint32_t object_in_wrapper,
                               Address* wrapper) const {
  Address back;
  return object_in_wrapper != TorchLayout::absent && read(object, wrapper_offset, wrapper) && is_object(*wrapper) &&
         read(*wrapper, object_in_wrapper, &back) && back == object;
}

// Returns the Python object of a node: its context, or its wrapper.
bool TorchProvider::python_object_of(Address node, const KnownClass& known, Address* shown) const {
  if (known.what == TorchClass::context_node)
    return wrapper_of(node, layout_.context_in_node, layout_.node_in_context, shown);
  return layout_.are_nodes_coupled && wrapper_of(node, layout_.wrapper_in_node, layout_.node_in_wrapper, shown);
}

// Adds the Python object of a tensor's node, which the tensor will show.
void TorchProvider::await_face(Address impl, Address meta, ReferenceSink& sink) {
  Address wrapper, node, shown;
  if (!read(meta, layout_.node_in_meta, &node) || !is_node(class_of(node).what)) return;
  if (!wrapper_of(impl, layout_.wrapper_in_impl, layout_.impl_in_wrapper, &wrapper)) return;
  const KnownClass& known = class_of(node);
  const uint32_t own = layout_.are_nodes_coupled ? 2 : 1;  // the owners: the tensor, and that object
  const uint32_t owners = count_of(impl), owners_of_node = count_of_node(node, meta);
  if (!python_object_of(node, known, &shown) || owners < 1 || owners_of_node < own ||
      (owners == 1 && owners_of_node == own))
    return;
  sink.latent(static_cast<PyObject*>(pointer_to(wrapper)), static_cast<PyObject*>(pointer_to(shown)),
              {pointer_to(impl), row_of(class_of(impl), NodeKind::tensor, impl), owners - 1},
              {pointer_to(node), row_of(known, NodeKind::grad_node, node), owners_of_node - own});
}

}  // namespace gradlife::heap
