// Arguments that operations along dimensions share.
#pragma once

#include "engine/ops/reduction_ops.hpp"
#include "engine_py/call/args.hpp"

namespace gradlife {

// A dtype argument for the operations: nullptr if none was given.
struct GivenDType {
  GivenDType(const Args& args, size_t i) : dtype(args.dtype(i, DType::float32)), is_given(args.has(i)) {}
  const DType* get() const { return is_given ? &dtype : nullptr; }
  DType dtype;
  bool is_given;
};

inline ops::OptionalDims optional_dims(const Args& args, size_t i) {
  if (!args.has(i)) return std::nullopt;
  return args.dims(i);
}

inline Dims dims_or_all(const Args& args, size_t i) { return args.has(i) ? args.dims(i) : Dims(); }

}  // namespace gradlife
