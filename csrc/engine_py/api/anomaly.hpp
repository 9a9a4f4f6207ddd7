// Anomaly mode's part in Python: stacks, and the warning about a failure.
#pragma once

#include "base/pyref.hpp"

namespace gradlife {

extern PyMethodDef anomaly_functions[];
void install_anomaly_reporter();

}  // namespace gradlife
