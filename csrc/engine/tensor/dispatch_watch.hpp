// A watcher below autograd: it receives the name (as in `aten`) and the arguments of an operation whose node is ready,
// and returns the result in its place.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "engine/tensor/scalar.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

using Argument = std::variant<std::monostate, Tensor, Scalar, Dims, TensorList, DType>;

class OperationWatcher {
 public:
  virtual TensorList answer(const char* name, std::vector<Argument>&& arguments) = 0;

 protected:
  ~OperationWatcher() = default;
};

// Sets the watcher of this thread (nullptr: none). Returns the previous one.
OperationWatcher* set_operation_watcher(OperationWatcher* watcher);
OperationWatcher* operation_watcher();

// True while the watcher itself runs: no recording, no view relations, no version counts.
bool is_in_watcher();
bool set_in_watcher(bool inside);  // returns the previous value

template <class T>
Argument as_argument(const T& value) {
  return Argument(value);
}
inline Argument as_argument(bool value) { return Argument(Scalar::boolean(value)); }
inline Argument as_argument(int64_t value) { return Argument(Scalar(value)); }
template <class T>
Argument as_argument(const std::optional<T>& value) {
  return value ? as_argument(*value) : Argument();
}

// Returns what the watcher, such as a dispatch mode, makes of an operation; nothing if there is none.
template <class... Arguments>
TensorList ask_watcher(const char* name, const Arguments&... arguments) {
  OperationWatcher* watcher = operation_watcher();
  if (watcher == nullptr) return {};
  std::vector<Argument> list;
  list.reserve(sizeof...(arguments));
  (list.push_back(as_argument(arguments)), ...);
  return watcher->answer(name, std::move(list));
}

// Returns the one tensor. Error if there is not exactly one.
Tensor only(TensorList&& answer);

// Returns the result of an operation: the watcher's, or the computed one.
template <class Compute, class... Arguments>
Tensor lowered(const char* name, Compute&& compute, const Arguments&... arguments) {
  if (operation_watcher() == nullptr) return compute();
  return only(ask_watcher(name, arguments...));
}

// Makes an in-place change: by the watcher, or by computing it.
template <class Compute, class... Arguments>
void lowered_change(const char* name, Compute&& compute, const Arguments&... arguments) {
  if (operation_watcher() == nullptr) {
    compute();
  } else {
    ask_watcher(name, arguments...);
  }
}

// The watcher's answer to an operation that makes a view, for the next view made in this scope.
class ViewFromWatcher {
 public:
  template <class... Arguments>
  explicit ViewFromWatcher(const char* name, const Arguments&... arguments) {
    if (operation_watcher() != nullptr) keep(ask_watcher(name, arguments...));
  }
  ~ViewFromWatcher() {
    if (was_asked_) const Tensor unused = take_view();
  }
  ViewFromWatcher(const ViewFromWatcher&) = delete;
  ViewFromWatcher& operator=(const ViewFromWatcher&) = delete;
  static Tensor take_view();  // empty if there is none

 private:
  void keep(TensorList&& answer);
  bool was_asked_ = false;
};

}  // namespace gradlife
