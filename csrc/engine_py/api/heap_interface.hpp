#pragma once

#include "base/pyref.hpp"

namespace gradlife {

Ref make_heap_interface();  // the capsule `_heap_interface` of the module

}  // namespace gradlife
