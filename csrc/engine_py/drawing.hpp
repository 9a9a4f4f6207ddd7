// Random draws from a generator of the caller's.
#pragma once

#include "engine_py/args.hpp"

namespace gradlife {

// While it stands every draw comes from the generator that was given, if one was: `with generator.drawing():`.
class DrawingFrom {
 public:
  // Errors (TypeError): this is no generator.
  explicit DrawingFrom(PyObject* generator);
  DrawingFrom(const Args& args, size_t i) : DrawingFrom(args.has(i) ? args[i] : nullptr) {}
  DrawingFrom(const DrawingFrom&) = delete;
  DrawingFrom& operator=(const DrawingFrom&) = delete;
  ~DrawingFrom();

 private:
  Ref manager_;
};

}  // namespace gradlife
