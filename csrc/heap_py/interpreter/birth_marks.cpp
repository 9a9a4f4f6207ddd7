#include "heap_py/interpreter/birth_marks.hpp"

#include "heap_py/interpreter/exception_border.hpp"

namespace gradlife::heap {
namespace {

struct MarkObject {
  PyObject_HEAD BirthMarks* owner;  // nullptr once the mark is of no use
};

int traverse_mark(PyObject* self, visitproc visit, void* arg) {
  if (BirthMarks* owner = reinterpret_cast<MarkObject*>(self)->owner) owner->note_order(self);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

void dealloc_mark(PyObject* self) {
  PyObject_GC_UnTrack(self);
  free_object(self);
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_mark)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_mark)},
                       {0, nullptr}};
PyType_Spec spec = {
    "gradlife._heap.BirthMark", sizeof(MarkObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

Address address_of(const PyObject* object) { return static_cast<Address>(reinterpret_cast<uintptr_t>(object)); }

}  // namespace

BirthMarks::BirthMarks(PyObject* module) : type_(checked(PyType_FromModuleAndSpec(module, &spec, nullptr))) {}

BirthMarks::~BirthMarks() { drop(); }

void BirthMarks::begin(PyObject* callback) {
  if (users_++ != 0) return;
  callback_ = Ref::borrow(callback);
  PyObject* callbacks = gl_collector_callbacks();
  if (callbacks != nullptr) checked_status(PyList_Append(callbacks, callback));
  place();
}

void BirthMarks::end() {
  if (users_ == 0 || --users_ != 0) return;
  PyObject* callbacks = gl_collector_callbacks();
  for (Py_ssize_t i = callbacks != nullptr ? PyList_GET_SIZE(callbacks) : 0; i-- > 0;)
    if (PyList_GET_ITEM(callbacks, i) == callback_.get() && PyList_SetSlice(callbacks, i, i + 1, nullptr) < 0)
      PyErr_Clear();
  callback_ = Ref();
  drop();
}

void BirthMarks::drop() {
  for (PyObject* mark : pointers_) reinterpret_cast<MarkObject*>(mark)->owner = nullptr;
  pointers_.clear();
  marks_.clear();
  front_ = Ref();
  is_reordered_ = false;
}

Ref BirthMarks::new_mark() {
  auto* type = reinterpret_cast<PyTypeObject*>(type_.get());
  Ref mark = checked(type->tp_alloc(type, 0));
  reinterpret_cast<MarkObject*>(mark.get())->owner = this;
  return mark;
}

void BirthMarks::place() {
  if (!is_on()) return;
  const gl_birth_marks marks = list();
  const bool is_lost = is_reordered_ || (marks.front != nullptr && gl_is_in_order(&marks) == 0);
  if (is_lost) drop();
  pointers_.reserve(pointers_.size() + 1);
  marks_.reserve(marks_.size() + 1);
  if (!front_) {
    front_ = new_mark();
    gl_place_front(front_.get());
    ++line_;
  }
  Ref mark = new_mark();
  gl_place_mark(mark.get());
  pointers_.push_back(mark.get());
  marks_.push_back(std::move(mark));
}

void BirthMarks::unfreeze() {
  if (front_) gl_unfreeze_as_old(front_.get());
}

bool BirthMarks::visit_tracked(gl_object_visitor visit, gl_epoch_visitor begin, void* state) const {
  const gl_birth_marks marks = list();
  return !is_reordered_ && front_ && gl_visit_by_birth(&marks, visit, begin, state) != 0;
}

int BirthMarks::traverse(visitproc visit, void* arg) {
  Py_VISIT(type_.get());
  Py_VISIT(callback_.get());
  Py_VISIT(front_.get());
  for (const Ref& mark : marks_) Py_VISIT(mark.get());
  return 0;
}

void BirthMarks::note_order(PyObject* mark) noexcept {
  if (pointers_.empty() || mark != pointers_.front() || gl_is_before_reordering(mark) == 0) return;
  const Py_ssize_t collections = gl_full_collections();
  if (is_reordered_) {
    has_order_ &= collections == collections_;  // else a collection before had no end
    return;
  }
  is_reordered_ = has_order_ = true;
  collections_ = collections;
  addresses_.clear();
  epochs_.clear();
  epoch_ = 0;
  const gl_birth_marks marks = list();
  gl_visit_behind(
      &marks,
      [](PyObject* object, void* state) {
        auto* self = static_cast<BirthMarks*>(state);
        self->has_order_ &=
            self->addresses_.try_push_back(address_of(object)) && self->epochs_.try_push_back(self->epoch_);
      },
      [](void* state) { ++static_cast<BirthMarks*>(state)->epoch_; }, this);
}

void BirthMarks::restore() {
  if (!is_reordered_ || !has_order_) return;
  struct Order {
    const Buffer<uint32_t>& epochs;
    AddressIndex index;
  } order{epochs_, AddressIndex(addresses_.size())};
  for (size_t i = 0; i < addresses_.size(); ++i) order.index.insert(addresses_[i], static_cast<NodeId>(i), addresses_);
  const gl_birth_marks marks = list();
  const int is_done = gl_restore_order(
      &marks,
      [](PyObject* object, void* state) -> size_t {
        const Order& order = *static_cast<Order*>(state);
        const NodeId found = order.index.find(address_of(object));
        return found != no_node ? order.epochs[found] : 0;
      },
      &order);
  if (is_done != 0) is_reordered_ = false;
  addresses_.release();
  epochs_.release();
}

}  // namespace gradlife::heap
