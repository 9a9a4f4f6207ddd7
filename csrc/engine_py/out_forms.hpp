// Functions of the module that write their result into a tensor that is there: `torch.mul(a, b, out=c)`.
#pragma once

#include "engine/error.hpp"
#include "engine_py/args.hpp"

namespace gradlife {

// What such a function asks of the dtype of the tensor that it writes into.
enum class Fit : uint8_t {
  cast,      // one that the result may be stored as
  same,      // that of the result
  any,       // none: the result is converted
  leading,   // none: it decides which dtype the result has
  reducing,  // the same for what is smaller than its input, whose memory it may share
};

struct OutForm {
  const char* name;
  const char* refused_as;  // where it would be recorded; nullptr: nothing is
  Fit fit;
  // What it says of another dtype: of the result's (%r), and of the given one (%o), or by C's names (%R, %O).
  const char* words = "Expected out tensor to have dtype %R, but got %O instead";
  ErrorKind error = ErrorKind::runtime;
};

// nullptr: the engine's function of this name takes no `out`.
const OutForm* out_form(const char* name);

bool has_out(PyObject* names);
// Calls the function without its `out` and writes what it gives into that.
PyObject* call_with_out(const char* name, FastMethod function, PyObject* const* arguments, Py_ssize_t count,
                        PyObject* names);
// PyTorch knows this form, the engine does not.
[[noreturn]] void refuse_out(const char* function);

}  // namespace gradlife
