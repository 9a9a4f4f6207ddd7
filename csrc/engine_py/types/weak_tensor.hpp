// torch._C._WeakTensorRef: asks whether the C++ half of a tensor is still there, whatever became of its wrapper.
#pragma once

#include "base/pyref.hpp"

namespace gradlife {

Ref make_weak_tensor_type();

}  // namespace gradlife
