// Anomaly mode's part in Python: stacks, and the warning about a failure.
#pragma once

namespace gradlife {

void install_anomaly_reporter();

}  // namespace gradlife
