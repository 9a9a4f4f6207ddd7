// The Python type of storages.
#pragma once

#include "base/pyref.hpp"

namespace gradlife {

Ref make_storage_type();

}  // namespace gradlife
