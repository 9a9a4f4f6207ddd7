#include "engine/graph/anomaly.hpp"

#include "engine/graph/autograd.hpp"
#include "engine/graph/needed_ops.hpp"

namespace gradlife {
namespace {

AnomalyReporter installed{};

bool has_nan(const Tensor& tensor) {
  GradMode no_grad(false);
  if (!is_differentiable(tensor->dtype())) return false;
  const Tensor found = ops::any(ops::compare(ops::Comparison::ne, tensor, tensor));
  return *found->data<uint8_t>() != 0;
}

}  // namespace

AnomalyMode anomaly_mode;

void install_anomaly_reporter(const AnomalyReporter& reporter) { installed = reporter; }

void record_origin(Node& made, Node* running) {
  if (anomaly_mode.is_enabled) installed.record(made, running);
}

void report_failure(const Node& failed) {
  if (anomaly_mode.is_enabled) installed.report(failed);
}

void refuse_nan(const Node& node, const TensorList& results) {
  for (size_t i = 0; i < results.size(); ++i)
    require(!results[i] || !has_nan(results[i]), "Function '", qualified_name(node), "' returned nan values in its ", i,
            "th output.");
}

}  // namespace gradlife
