#include "heap_py/providers/engine/provider.hpp"

#include <string>

#include "base/counters.hpp"
#include "base/labels.hpp"
#include "base/pyref.hpp"

namespace gradlife::heap {
namespace {

enum class Counted : uint8_t { strong, weak, borrowed, coupled };  // in the order of Ownership

bool is_owner(uint8_t ownership) {
  return ownership == static_cast<uint8_t>(Counted::strong) || ownership == static_cast<uint8_t>(Counted::coupled);
}

NodeKind node_kind(uint8_t kind) {
  switch (static_cast<Kind>(kind)) {
    case Kind::tensor:
      return NodeKind::tensor;
    case Kind::storage:
      return NodeKind::storage;
    case Kind::node:
      return NodeKind::grad_node;
    default:
      return NodeKind::native;
  }
}

}  // namespace

const HeapInterface* EngineProvider::find_interface() {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "gradlife._engine");
  if (module == nullptr || !PyModule_Check(module)) return nullptr;
  PyObject* capsule = PyDict_GetItemString(PyModule_GetDict(module), "_heap_interface");
  if (capsule == nullptr || PyCapsule_IsValid(capsule, HeapInterface::capsule_name) == 0) return nullptr;
  const auto* found = static_cast<const HeapInterface*>(PyCapsule_GetPointer(capsule, HeapInterface::capsule_name));
  return found->version == HeapInterface::current_version ? found : nullptr;
}

void EngineProvider::start(Builder& builder) {
  builder_ = &builder;
  types_.clear();
  is_own_.clear();
}

uint32_t EngineProvider::type_of(const void* managed) {
  const std::pair<uint8_t, std::string> key{engine_.kind(managed), engine_.name(managed)};
  const auto known = types_.find(key);
  if (known != types_.end()) return known->second;
  const uint32_t row = builder_->add_type({"engine::" + key.second, node_kind(key.first), 0, 2});
  is_own_.resize(row + 1);
  is_own_[row] = true;
  types_[key] = row;
  return row;
}

void EngineProvider::expand_python(PyObject* object, ReferenceSink& sink) {
  const void* managed = engine_.object_behind(object);
  if (managed == nullptr || !engine_.wrapper_owns(object)) return;
  if (engine_.outlives_references(object))
    sink.keeper(managed, type_of(managed), labels::its_impl);
  else
    sink.native(managed, type_of(managed), labels::its_impl);
  const char* label;
  if (const void* other = engine_.goes_with(object, &label)) sink.native(other, type_of(other), label);
  expand_latent(object, sink);
}

void EngineProvider::expand_latent(PyObject* object, ReferenceSink& sink) {
  struct Call {
    EngineProvider* provider;
    PyObject* wrapper;
    ReferenceSink* sink;
  } call{this, object, &sink};
  const auto tell = [](void* state, void* target, const HeapLatent& latent) {
    const Call& call = *static_cast<Call*>(state);
    IntermediateOwner between[2];
    for (size_t i = 0; i < 2; ++i)
      if (latent.between[i] != nullptr)
        between[i] = {latent.between[i], call.provider->type_of(latent.between[i]), latent.owners[i]};
    call.sink->latent(call.wrapper, static_cast<PyObject*>(target), between[0], between[1]);
  };
  engine_.visit_latent(object, tell, &call);
}

void EngineProvider::expand_silent(PyObject* object, ReferenceSink& sink) {
  if (!engine_.outlives_references(object)) return Provider::expand_silent(object, sink);
  const auto refer = [](void* state, void* target, bool is_taken) {
    ReferenceSink& sink = *static_cast<ReferenceSink*>(state);
    PyObject* shown = static_cast<PyObject*>(target);
    if (target == nullptr) return;
    is_taken ? sink.taken(shown, Relation::unknown, "") : sink.python(shown, Relation::unknown, "", -1);
  };
  engine_.visit_kept(object, refer, &sink);
}

void EngineProvider::expand_native(const void* object, uint32_t, ReferenceSink& sink) {
  struct Call {
    EngineProvider* provider;
    ReferenceSink* sink;
  } call{this, &sink};
  const HeapVisitor visitor = {
      &call,
      [](void* state, const char* label, const void* target, uint8_t ownership, int64_t index) {
        const Call& call = *static_cast<Call*>(state);
        if (is_owner(ownership)) call.sink->native(target, call.provider->type_of(target), label, index);
      },
      [](void* state, const char* label, void* target, uint8_t ownership) {
        ReferenceSink& sink = *static_cast<Call*>(state)->sink;
        PyObject* object = static_cast<PyObject*>(target);
        if (static_cast<Counted>(ownership) == Counted::coupled)
          sink.coupled(object, label);
        else if (is_owner(ownership))
          sink.python(object, Relation::native, label);
      }};
  engine_.visit(object, visitor);
}

void EngineProvider::find_natives(const std::function<void(const void* object, uint32_t type)>& tell) {
  struct Call {
    EngineProvider* provider;
    const std::function<void(const void* object, uint32_t type)>* tell;
  } call{this, &tell};
  const auto visit = [](void* state, const void* managed) {
    const Call& call = *static_cast<Call*>(state);
    (*call.tell)(managed, call.provider->type_of(managed));
  };
  engine_.each_live(visit, &call);
}

namespace {

// The label of a native object's reference to a Python object.
struct LabelSearch {
  const void* target;
  const char* label = nullptr;
  const void* node = nullptr;  // the node of a tensor
};

void search(const HeapInterface& engine, const void* managed, LabelSearch& wanted) {
  const HeapVisitor visitor = {&wanted,
                               [](void* state, const char* label, const void* target, uint8_t, int64_t) {
                                 if (std::string(label) == "grad_fn") static_cast<LabelSearch*>(state)->node = target;
                               },
                               [](void* state, const char* label, void* target, uint8_t) {
                                 LabelSearch& wanted = *static_cast<LabelSearch*>(state);
                                 if (target == wanted.target && wanted.label == nullptr) wanted.label = label;
                               }};
  engine.visit(managed, visitor);
}

}  // namespace

// The traverse of a tensor shows its node's Python object or hooks if only the tensor owns the node.
Label EngineProvider::describe_edge(PyObject* source, PyObject* target) {
  const void* managed = engine_.object_behind(source);
  if (managed == nullptr) return {};
  if (PyDict_Check(target)) {
    LabelSearch wanted{target};
    search(engine_, managed, wanted);
    if (wanted.label == nullptr && wanted.node != nullptr) search(engine_, wanted.node, wanted);
    return {Relation::native, wanted.label != nullptr ? wanted.label : labels::hook_table};
  }
  if (static_cast<Kind>(engine_.kind(managed)) != Kind::tensor) return {};
  if (!engine_.knows_type(Py_TYPE(target))) return {};
  const void* behind = engine_.object_behind(target);
  const bool is_node = behind != nullptr && static_cast<Kind>(engine_.kind(behind)) == Kind::node;
  return is_node ? Label{Relation::native, "grad_fn"} : Label{};
}

std::string EngineProvider::describe_python(PyObject* object) {
  const void* managed = engine_.object_behind(object);
  return managed != nullptr ? describe_native(managed, 0) : std::string();
}

std::string EngineProvider::describe_native(const void* object, uint32_t) {
  char text[200];
  engine_.describe(object, text, sizeof text);
  return text;
}

}  // namespace gradlife::heap
