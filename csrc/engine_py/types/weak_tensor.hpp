// torch._C._WeakTensorRef: tells whether the C++ half of a tensor is alive, independent of its wrapper.
#pragma once

#include "base/pyref.hpp"

namespace gradlife {

Ref make_weak_tensor_type();

}  // namespace gradlife
