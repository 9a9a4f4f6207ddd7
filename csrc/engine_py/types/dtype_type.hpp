// The Python type of dtypes: four singletons.
#pragma once

#include "base/pyref.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

Ref make_dtype_type();
Ref make_dtype(DType dtype);

}  // namespace gradlife
