#include "heap_py/walk/walker.hpp"

#include <algorithm>

#include "base/labels.hpp"
#include "heap_py/interpreter/greenlets.hpp"
#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/module_names.hpp"
#include "heap_py/walk/step_costs.hpp"

namespace gradlife::heap {
namespace {

Address address_of(const void* pointer) { return static_cast<Address>(reinterpret_cast<uintptr_t>(pointer)); }
void* pointer_to(Address address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

int visit_reference(PyObject* target, void* builder) {
  if (target != nullptr) static_cast<Builder*>(builder)->refer(address_of(target));
  return 0;
}

void visit_labelled(const char*, PyObject* target, void* builder) {
  static_cast<Builder*>(builder)->refer(address_of(target));
}

// Passes the references of one object on to the builder. The base class says what each kind of reference is.
class WalkSink final : public ReferenceSink {
 public:
  explicit WalkSink(Builder& builder) : builder_(builder) {}
  // The references so far are those that the traverse keeps silent about.
  void end_silent() { silent_ = count_; }
  void python(PyObject* target, Relation, const char*, int64_t) override {
    if (target == nullptr) return;
    builder_.refer(address_of(target));
    ++count_;
  }
  void taken(PyObject* target, Relation relation, const char* label) override {
    builder_.begin_cleared_dict();
    python(target, relation, label, -1);
  }
  void keeper(const void* target, uint32_t type, const char* label) override {
    builder_.keep_wrapper(silent_);
    native(target, type, label, -1);
  }
  void coupled(PyObject* wrapper, const char*) override {
    builder_.begin_coupled();
    builder_.refer(address_of(wrapper));
  }
  void native(const void* target, uint32_t type, const char*, int64_t) override {
    if (target != nullptr) builder_.refer(address_of(target), type);
  }
  void latent(PyObject* wrapper, PyObject* target, const IntermediateOwner& first,
              const IntermediateOwner& second) override {
    const auto between = [](const IntermediateOwner& owner) {
      return Builder::Between{address_of(owner.native), owner.type, owner.owners};
    };
    builder_.add_latent(address_of(wrapper), address_of(target), between(first), between(second));
  }

 private:
  Builder& builder_;
  uint32_t count_ = 0;
  uint32_t silent_ = 0;  // references that a wrapper's traverse does not show while native code shares its object
};

bool is_file_below(PyObject* file, const std::string& folder) {
  if (folder.empty()) return false;
  std::string room;
  const std::string_view name = file_text(file, room);
  return name.size() > folder.size() && name.compare(0, folder.size(), folder) == 0;
}

bool is_number(const PyObject* object) {
  const PyTypeObject* type = Py_TYPE(object);
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyComplex_Type ||
         object == Py_None || object == Py_Ellipsis;
}

bool is_plain_constant(PyObject* constant, int levels);

bool are_plain_constants(PyObject* tuple, int levels) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    if (!is_plain_constant(PyTuple_GET_ITEM(tuple, i), levels)) return false;
  return true;
}

bool are_plain_members(const PySetObject* set, int levels) {
  for (Py_ssize_t i = 0; i <= set->mask; ++i)
    if (set->table[i].key != nullptr && !is_plain_constant(set->table[i].key, levels)) return false;
  return true;
}

// The compiler makes slices since 3.14.
bool is_plain_slice(const PySliceObject* slice, int levels) {
  return is_plain_constant(slice->start, levels) && is_plain_constant(slice->stop, levels) &&
         is_plain_constant(slice->step, levels);
}

// Whether the compiler can have made the constant. A program can put any object among the constants of its code.
bool is_plain_constant(PyObject* constant, int levels) {
  if (PyUnicode_CheckExact(constant) || PyBytes_CheckExact(constant) || is_number(constant)) return true;
  if (levels == 0) return false;
  if (PyTuple_CheckExact(constant)) return are_plain_constants(constant, levels - 1);
  if (PyFrozenSet_CheckExact(constant)) return are_plain_members(reinterpret_cast<PySetObject*>(constant), levels - 1);
  if (PySlice_Check(constant)) return is_plain_slice(reinterpret_cast<PySliceObject*>(constant), levels - 1);
  return PyCode_Check(constant) &&
         are_plain_constants(reinterpret_cast<PyCodeObject*>(constant)->co_consts, levels - 1);
}

bool is_small_atom_at(Address address, size_t min_bytes) {
  return is_small_atom(static_cast<PyObject*>(pointer_to(address)), min_bytes);
}

// Bytes of an object that is left out if only one reference keeps it. Those of code belong to its function.
uint32_t owned_bytes_at(Address address) {
  auto* object = static_cast<PyObject*>(pointer_to(address));
  if (Py_REFCNT(object) != 1) return 0;
  const PyTypeObject* type = Py_TYPE(object);
  if (type == &PyUnicode_Type) {
    const size_t letters = static_cast<size_t>(PyUnicode_GET_LENGTH(object)) + 1;
    const size_t head = PyUnicode_IS_COMPACT_ASCII(object) ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject);
    return static_cast<uint32_t>(head + letters * static_cast<size_t>(PyUnicode_KIND(object)));
  }
  if (type == &PyBytes_Type) return static_cast<uint32_t>(type->tp_basicsize + PyBytes_GET_SIZE(object));
  if (type == &PyLong_Type) return static_cast<uint32_t>(sizeof(PyObject) + sizeof(Py_ssize_t) + sizeof(digit));
  return is_number(object) ? static_cast<uint32_t>(type->tp_basicsize) : 0;
}

}  // namespace

bool is_small_atom(PyObject* object, size_t min_bytes) {
  constexpr int max_levels = 8;
  const PyTypeObject* type = Py_TYPE(object);
  if (type == &PyUnicode_Type)
    return static_cast<size_t>(PyUnicode_GET_LENGTH(object)) * static_cast<size_t>(PyUnicode_KIND(object)) < min_bytes;
  if (type == &PyBytes_Type) return static_cast<size_t>(PyBytes_GET_SIZE(object)) < min_bytes;
  if (type == &PyCode_Type) return are_plain_constants(reinterpret_cast<PyCodeObject*>(object)->co_consts, max_levels);
  return is_number(object);
}

int64_t count_own_references(const PyObject* object, const WalkOptions& options, bool is_argument) {
  int64_t count = 0;
  // The caller has the object on its evaluation stack. Before 3.14 a running frame does not store that stack's height,
  // so the reference is added here.
  bool is_caller = is_argument;
  gl_frame frame;
  for (void* at = gl_newest_frame(PyThreadState_Get()); at != nullptr; at = gl_older_frame(at)) {
    if (gl_read_frame(at, &frame) == 0) continue;
    if (is_caller && !frame.has_stack_height) ++count;
    is_caller = false;
    if (!is_file_below(frame.code->co_filename, options.hidden_sources)) continue;
    for (int i = 0; i < frame.fast_count + frame.stack_count; ++i)
      count += gl_slot_reference(&frame, i) == object ? 1 : 0;
  }
  return count;
}

// The most room that is reserved ahead for a budget; a budget may be far larger than the heap.
constexpr size_t max_room_ahead = size_t{1} << 19;

Walker::Walker(Graph& graph, const WalkOptions& options, const std::vector<Provider*>& providers)
    : graph_(graph),
      options_(options),
      providers_(providers),
      builder_(graph, 2 * std::min(options.budget, max_room_ahead), options.with_leaves),
      types_(builder_, providers_),
      modules_(PyImport_GetModuleDict()) {
  for (const PyObject* object : options.hidden_objects) builder_.exclude(address_of(object));
  for (const PyObject* frame : options.frames) builder_.exclude(address_of(frame));
  if (options.min_atom_bytes != 0) builder_.leave_out(is_small_atom_at, options.min_atom_bytes, owned_bytes_at);
}

bool Walker::run() {
  for (Provider* provider : providers_) provider->start(builder_);
  add_roots();
  // If tracked objects are not added ahead, the walk goes outwards from the roots.
  graph_.tracked_begin = graph_.tracked_end = graph_.size();
  if (options_.budget == 0) add_tracked();
  const size_t last = options_.budget != 0 ? graph_.size() + options_.budget : SIZE_MAX;
  size_t node = expand_from(0, last);
  graph_.is_partial = node < graph_.size();
  if (options_.with_natives && !graph_.is_partial) {
    add_natives();
    node = expand_from(node, last);
  }
  for (; node < graph_.size(); ++node) {
    builder_.begin_next();
    if (graph_.types[node] == Builder::unknown_type) name_type(static_cast<NodeId>(node));
  }
  builder_.resolve();
  raise_step_costs(graph_, builder_);
  builder_.finish();
  return !graph_.is_partial;
}

// Returns the first node that was not expanded.
size_t Walker::expand_from(size_t node, size_t last) {
  constexpr size_t ahead = 12;
  for (; node < graph_.size() && node < last; ++node) {
    if (node + ahead < graph_.size()) {
      const char* next = static_cast<const char*>(pointer_to(graph_.addresses[node + ahead]));
      __builtin_prefetch(next);
      __builtin_prefetch(next - 16);
    }
    builder_.begin_next();
    expand(static_cast<NodeId>(node));
    if (builder_.is_full() || node + 1 == graph_.size() || node + 1 == last) builder_.resolve();
  }
  return node;
}

void Walker::add_natives() {
  const auto add = [this](const void* object, uint32_t type) {
    if (builder_.find(address_of(object)) == no_node) builder_.add(address_of(object), type);
  };
  for (Provider* provider : providers_) provider->find_natives(add);
}

// --- roots
// -------------------------------------------------------------------------------------------------------------

// The process is no object. This stands for its address: not 0, aligned as addresses are, and in no mapped page.
constexpr Address address_of_process = 8;

void Walker::add_roots() {
  roots_.process = builder_.add_type({"process", NodeKind::root, 0, 1});
  roots_.interpreter = builder_.add_type({"interpreter", NodeKind::root, 0, 0});
  roots_.thread = builder_.add_type({"thread", NodeKind::root, 0, 2});
  roots_.frame = builder_.add_type({labels::running_frame, NodeKind::root, 0, 4});
  types_.add_native_rows();
  builder_.add(address_of_process, roots_.process);
  builder_.add(address_of(PyInterpreterState_Get()), roots_.interpreter);
  for (PyObject* frame : options_.frames) builder_.add(address_of(gl_frame_of_object(frame)), roots_.frame);
  for (void* newest : frames_of_main_greenlets()) add_frames(newest);
  add_threads();
}

void Walker::add_threads() {
  PyThreadState* thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
  for (; thread != nullptr; thread = PyThreadState_Next(thread)) {
    builder_.add(address_of(thread), roots_.thread);
    add_frames(gl_newest_frame(thread));
  }
}

void Walker::add_frames(void* newest) {
  gl_frame frame;
  for (void* at = newest; at != nullptr; at = gl_older_frame(at)) {
    if (gl_read_frame(at, &frame) == 0 || is_file_below(frame.code->co_filename, options_.hidden_sources)) continue;
    builder_.add(address_of(at), roots_.frame);
    if (frame.is_generator) running_generators_.insert(at);
  }
}

void Walker::expand_root(NodeId node) {
  void* address = pointer_to(graph_.addresses[node]);
  const uint32_t type = graph_.types[node];
  if (type == roots_.process) {
    for (size_t root = process_root + 1; root < graph_.tracked_begin; ++root) builder_.refer(graph_.addresses[root]);
  } else if (type == roots_.interpreter) {
    gl_visit_interpreter(static_cast<PyInterpreterState*>(address), visit_labelled, &builder_);
  } else if (type == roots_.thread) {
    gl_visit_thread(static_cast<PyThreadState*>(address), visit_labelled, &builder_);
  } else {
    expand_frame(address);
  }
}

// Expands a frame. Above the stored height, a slot of the stack may hold a popped value. It counts only if
// it is the address of an object that the collector tracks.
void Walker::expand_frame(void* address) {
  gl_frame frame;
  if (gl_read_frame(address, &frame) == 0) return;
  if (!frame.is_generator)  // a generator shows these itself
    for (PyObject* held : {frame.function, frame.locals, frame.frame_object, reinterpret_cast<PyObject*>(frame.code)})
      visit_reference(held, &builder_);
  for (int i = 0; i < frame.fast_count; ++i) visit_reference(gl_slot_reference(&frame, i), &builder_);
  const int height = gl_stack_height(address);
  for (int i = frame.fast_count; i < frame.fast_count + height; ++i) {
    PyObject* held = gl_slot_reference(&frame, i);
    if (i < frame.fast_count + frame.stack_count || graph_.is_tracked(builder_.find(address_of(held))))
      visit_reference(held, &builder_);
  }
}

// --- objects
// -----------------------------------------------------------------------------------------------------------

void Walker::add_tracked() {
  graph_.tracked_begin = graph_.size();
  graph_.addresses.reserve(graph_.size() + gl_estimate_tracked());
  struct Call {
    Walker* walker;
    bool ran_out;  // no exception may pass through the collector's own code
  } call{this, false};
  const auto visit = [](PyObject* object, void* state) {
    Call& call = *static_cast<Call*>(state);
    if (!call.walker->builder_.is_excluded(address_of(object)) && !call.walker->builder_.append(address_of(object)))
      call.ran_out = true;
  };
  const auto begin = [](void* state) {
    Call& call = *static_cast<Call*>(state);
    Graph& graph = call.walker->graph_;
    if (!graph.birth_begins.try_push_back(static_cast<uint32_t>(graph.size()))) call.ran_out = true;
  };
  if (options_.births != nullptr && options_.births->visit_tracked(visit, begin, &call))
    graph_.birth_line = options_.births->line();
  else
    gl_visit_tracked(visit, &call);
  if (call.ran_out) throw std::bad_alloc();
  builder_.index_appended();
  graph_.tracked_end = graph_.size();
}

// A step through sys.modules is free: everything is reachable from there, so a path that begins there says nothing.
uint32_t Walker::modules_row(uint32_t row) {
  TypeRow free_of_charge = graph_.type_rows[row];
  free_of_charge.step_cost = 0;
  return builder_.add_type(std::move(free_of_charge));
}

// The collector does not track a type of C code, but the type holds what is put into it.
void Walker::expand_static_type(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030c0000
  PyObject* names = PyType_GetDict(type);
  visit_reference(names, &builder_);
  Py_XDECREF(names);
#else
  visit_reference(type->tp_dict, &builder_);
#endif
  for (PyObject* held : {type->tp_bases, type->tp_mro, reinterpret_cast<PyObject*>(type->tp_base)})
    visit_reference(held, &builder_);
}

void Walker::expand_fields(PyObject* object, const std::vector<Py_ssize_t>& fields) {
  for (Py_ssize_t offset : fields)
    visit_reference(*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset), &builder_);
}

void Walker::expand(NodeId node) {
  const uint32_t type = graph_.types[node];
  if (type == Builder::unknown_type) {
    expand_python(node, static_cast<PyObject*>(pointer_to(graph_.addresses[node])));
  } else if (graph_.type_rows[type].kind == NodeKind::root) {
    expand_root(node);
  } else {
    WalkSink sink(builder_);
    for (Provider* provider : providers_)
      if (provider->owns_type(type)) provider->expand_native(pointer_to(graph_.addresses[node]), type, sink);
  }
}

uint32_t Walker::name_type(NodeId node) {
  const auto* object = static_cast<PyObject*>(pointer_to(graph_.addresses[node]));
  const uint32_t row = types_.row_of(Py_TYPE(object));
  graph_.types[node] = object == modules_ ? modules_row(row) : row;
  return row;
}

// The text of a dict's keys counts from this many on: most dicts are small, and their keys are names in code.
constexpr Py_ssize_t many_keys = 16;

void Walker::own_text_keys(PyObject* dict) {
  struct Sum {
    size_t min_bytes;
    uint64_t bytes;
  } sum{options_.min_atom_bytes, 0};
  gl_visit_text_keys(
      dict,
      [](PyObject* key, void* state) {
        Sum& sum = *static_cast<Sum*>(state);
        const Address address = address_of(key);
        if (is_small_atom_at(address, sum.min_bytes)) sum.bytes += owned_bytes_at(address);
      },
      &sum);
  if (sum.bytes != 0) builder_.own_atoms(static_cast<uint32_t>(std::min<uint64_t>(sum.bytes, UINT32_MAX)));
}

Py_ssize_t Walker::note_unset(NodeId node, PyObject* list) {
  const Py_ssize_t length = PyList_GET_SIZE(list);
  PyObject** items = reinterpret_cast<PyListObject*>(list)->ob_item;
  const auto unset = length != 0 ? std::count(items, items + length, Py_None) : 0;
  if (unset != 0) graph_.unset.add(node, static_cast<uint32_t>(std::min<Py_ssize_t>(unset, UINT32_MAX)));
  return length;
}

void Walker::note_length(NodeId node, PyObject* object, const TypeTable::Entry& entry) {
  Py_ssize_t length = 0;
  if (PyList_Check(object))
    length = note_unset(node, object);
  else if (entry.is_dict)
    length = reinterpret_cast<PyDictObject*>(object)->ma_used;
  else if (entry.is_set)
    length = reinterpret_cast<PySetObject*>(object)->used;
  else if (entry.is_deque)
    length = Py_SIZE(object);
  if (entry.is_dict && length >= many_keys && options_.min_atom_bytes != 0) own_text_keys(object);
  if (length > 0) graph_.lengths.add(node, static_cast<uint32_t>(std::min<Py_ssize_t>(length, UINT32_MAX)));
}

void Walker::expand_python(NodeId node, PyObject* object) {
  const TypeTable::Entry& entry = types_.entry(name_type(node));
  const bool is_container = graph_.is_tracked(node) || !entry.asks_is_gc || PyObject_IS_GC(object);
  note_length(node, object, entry);
  if (entry.provider != nullptr) return expand_wrapper(object, entry);
  if (entry.is_generator && expand_generator(object, entry.traverse)) return;
  if (entry.is_greenlet) return expand_greenlet(object, is_container ? entry.traverse : nullptr);
  if (entry.traverse != nullptr && is_container) entry.traverse(object, visit_reference, &builder_);
  if (!is_container && PyType_Check(object)) {
    builder_.begin_hidden();
    expand_static_type(reinterpret_cast<PyTypeObject*>(object));
  }
  if (entry.fields.empty()) return;
  builder_.begin_hidden();
  expand_fields(object, entry.fields);
}

namespace {

// A generator's references, and those among them that its frame shows, which is a root, or only borrows.
struct OfGenerator {
  Builder& builder;
  std::vector<const PyObject*> of_frame;
};

int visit_of_generator(PyObject* target, void* state) {
  auto& [builder, of_frame] = *static_cast<OfGenerator*>(state);
  const auto shown = std::find(of_frame.begin(), of_frame.end(), target);
  if (shown == of_frame.end()) return visit_reference(target, &builder);
  of_frame.erase(shown);
  return 0;
}

struct Shown {
  Builder& builder;
  const PyObject* type;
  bool is_empty;  // whether only its type was shown
};

int visit_of_wrapper(PyObject* target, void* state) {
  Shown& shown = *static_cast<Shown*>(state);
  if (target != shown.type) shown.is_empty = false;
  return visit_reference(target, &shown.builder);
}

}  // namespace

// A running generator shows the variables of its frame again if the height of its stack is stored: before 3.14 if the
// frame has called another Python function. Any generator also shows what slots of its frame only borrow. Returns false
// for a generator that shows nothing too much.
bool Walker::expand_generator(PyObject* object, traverseproc traverse) {
  void* address = gl_generator_frame(object);
  gl_frame frame;
  if (address == nullptr || gl_read_frame(address, &frame) == 0 || !frame.has_stack_height) return false;
  const bool is_running = running_generators_.count(address) != 0;
  OfGenerator state{builder_, {}};
  for (int i = 0; i < frame.fast_count + frame.stack_count; ++i) {
    const PyObject* shown = gl_slot_object(&frame, i);
    if (shown != nullptr && (is_running || gl_slot_reference(&frame, i) == nullptr)) state.of_frame.push_back(shown);
  }
  if (state.of_frame.empty()) return false;
  traverse(object, visit_of_generator, &state);
  return true;
}

// Calls a function for each frame of a greenlet that waits. A generator whose stack has a stored height shows its
// variables itself.
template <class Visit>
void visit_frames(PyObject* greenlet, Visit visit) {
  gl_frame frame;
  for (void* at = greenlet_frame(greenlet); at != nullptr; at = gl_older_frame(at))
    if (gl_read_frame(at, &frame) != 0 && !(frame.is_generator && frame.has_stack_height)) visit(at, frame);
}

std::vector<const PyObject*> objects_in_frames(PyObject* greenlet) {
  std::vector<const PyObject*> objects;
  visit_frames(greenlet, [&](void*, const gl_frame& frame) {
    for (int i = 0; i < frame.fast_count + frame.stack_count; ++i)
      if (const PyObject* object = gl_slot_object(&frame, i)) objects.push_back(object);
    for (const PyObject* held :
         {frame.function, frame.locals, frame.frame_object, reinterpret_cast<PyObject*>(frame.code)})
      if (held != nullptr) objects.push_back(held);
  });
  return objects;
}

// Expands a greenlet and its frames. The collector sees the frames from Python 3.15 on: then its traverse shows them
// all, and what they borrow too. There is no traverse if the collector does not list the greenlet.
void Walker::expand_greenlet(PyObject* greenlet, traverseproc traverse) {
  const std::vector<const PyObject*> in_frames = objects_in_frames(greenlet);
  OfGenerator state{builder_, in_frames};
  if (traverse != nullptr) traverse(greenlet, visit_of_generator, &state);
  if (in_frames.empty() || !state.of_frame.empty()) {
    for (const PyObject* object : in_frames) {
      const auto not_shown = std::find(state.of_frame.begin(), state.of_frame.end(), object);
      if (not_shown == state.of_frame.end())
        visit_reference(const_cast<PyObject*>(object), &builder_);  // in a frame, and shown for another reason
      else
        state.of_frame.erase(not_shown);
    }
    builder_.begin_hidden();
  }
  visit_frames(greenlet, [&](void* frame, const gl_frame&) { expand_frame(frame); });
}

void Walker::expand_wrapper(PyObject* object, const TypeTable::Entry& entry) {
  Shown shown{builder_, reinterpret_cast<PyObject*>(Py_TYPE(object)), true};
  if (entry.traverse != nullptr && PyObject_IS_GC(object)) entry.traverse(object, visit_of_wrapper, &shown);
  builder_.begin_hidden();
  expand_fields(object, entry.fields);
  WalkSink sink(builder_);
  if (shown.is_empty) entry.provider->expand_silent(object, sink);
  sink.end_silent();
  entry.provider->expand_python(object, sink);
}

bool walk_heap(Graph& graph, WalkOptions options, const std::vector<Provider*>& providers) {
  const bool is_whole = Walker(graph, options, providers).run();
  if (!is_whole || options.budget == 0) return is_whole;
  // The heap fits the budget: walk it again with what only a walk without a budget reads, such as unreachable objects.
  options.budget = 0;
  graph = Graph();
  return Walker(graph, options, providers).run();
}

std::string budget_limit(size_t budget) {
  return "only the " + std::to_string(budget) +
         " objects nearest to the roots were looked at (the budget): this answer is partial";
}

}  // namespace gradlife::heap
