// Normalisation of each channel, over the batch or by the running statistics.
#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/layers.hpp"
#include "engine/ops/ops.hpp"
#include "engine/ops/unary.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;

const NodeSpec& batch_norm_spec = node_spec(
    "NativeBatchNormBackward0",
    {saved_number("eps"), saved_tensor("input"), saved_tensor("result1"), saved_tensor("result2"),
     saved_tensor("running_mean"), saved_tensor("running_var"), saved_number("training"), saved_tensor("weight")});

// Returns all dimensions except that of the channels.
Dims dims_of_one(const TensorImpl& a) {
  Dims dims;
  for (size_t i = 0; i < a.dim(); ++i)
    if (i != 1) dims.push_back(static_cast<int64_t>(i));
  return dims;
}

// Returns one number per channel, shaped for operations on the whole tensor.
Tensor spread(G per_channel, const TensorImpl& a) {
  Dims sizes(a.dim(), 1);
  sizes[1] = -1;
  return view(per_channel, sizes);
}

struct Moments {
  Tensor mean;
  Tensor variance;
};

Moments moments_of(G a) {
  const Dims dims = dims_of_one(*a);
  const Tensor centred = sub(a, mean(a, dims, true));
  return {mean(a, dims, false), mean(mul(centred, centred), dims, false)};
}

Tensor inverse_deviation(G variance, double epsilon) { return apply(rsqrt_rule, add_scalar(variance, epsilon)); }

// Slots: input, mean and inverse deviation computed in training, running mean and variance, weight.
class BatchNormNode final : public OpNode<6> {
 public:
  BatchNormNode(bool training, double epsilon) : OpNode<6>(batch_norm_spec), training_(training), epsilon_(epsilon) {}
  SavedValue saved_value(size_t field) const override {
    return field == 0 ? saved(Scalar(epsilon_)) : saved(training_);
  }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    const Tensor input = unpack(0);
    Tensor middle = unpack(1), inverse = unpack(2);
    const Tensor running_mean = unpack(3), running_var = unpack(4), weight = unpack(5);
    if (!training_) {
      middle = running_mean;
      inverse = inverse_deviation(running_var, epsilon_);
    } else if (grad_enabled()) {  // both depend on the input
      const Moments moments = moments_of(input);
      middle = moments.mean;
      inverse = inverse_deviation(moments.variance, epsilon_);
    }
    const Tensor normal = mul(sub(input, spread(middle, *input)), spread(inverse, *input));
    const Dims dims = dims_of_one(*input);
    if (needs(0)) results[0] = by_input(weight ? mul(gradient, spread(weight, *input)) : gradient, normal, inverse);
    if (needs(1)) results[1] = sum(mul(gradient, normal), dims, false);
    if (needs(2)) results[2] = sum(gradient, dims, false);
  }

 private:
  Tensor by_input(G gradient, G normal, G inverse) const {
    const Tensor scale = spread(inverse, *gradient);
    if (!training_) return mul(gradient, scale);
    const Dims dims = dims_of_one(*gradient);
    const Tensor tilt = mul(normal, mean(mul(gradient, normal), dims, true));
    return mul(scale, sub(sub(gradient, mean(gradient, dims, true)), tilt));
  }
  bool training_;
  double epsilon_;
};

void check_channels(G tensor, const char* name, int64_t channels) {
  if (!tensor) return;
  require(tensor->numel() == channels, name, " should contain ", channels, " elements not ", tensor->numel());
}

void check(G a, const BatchNormTensors& given, bool training) {
  require(a->dim() >= 2, "batch_norm: expected an input of at least 2 dimensions, but got ", a->dim());
  require(training || given.running_mean, "running_mean must be defined in evaluation mode");
  require(training || given.running_var, "running_var must be defined in evaluation mode");
  const int64_t channels = a->sizes()[1];
  check_channels(given.running_mean, "running_mean", channels);
  check_channels(given.running_var, "running_var", channels);
  check_channels(given.weight, "weight", channels);
  check_channels(given.bias, "bias", channels);
}

// PyTorch updates running statistics without counting a version: slots that saved them before stay valid.
void move_towards(G running, G found, double momentum) {
  if (!running) return;
  const Tensor old = mul_number(detach(running), 1 - momentum);
  kernels::copy(*running, *add(old, mul_number(found, momentum)));
}

void follow(const BatchNormTensors& given, const Moments& found, const TensorImpl& a, double momentum) {
  const double count = static_cast<double>(a.numel()) / static_cast<double>(a.sizes()[1]);
  move_towards(given.running_mean, found.mean, momentum);
  move_towards(given.running_var, mul_number(found.variance, count / (count - 1)), momentum);
}

}  // namespace

Tensor batch_norm(const Tensor& a, const BatchNormTensors& given, bool training, double momentum, double epsilon) {
  check(a, given, training);
  const auto node = start_recording<BatchNormNode>({&a, &given.weight, &given.bias}, training, epsilon);
  const GradMode off(false);
  const Tensor plain = contiguous(a);
  const Moments moments = training ? moments_of(plain) : Moments{given.running_mean, given.running_var};
  const Tensor inverse = inverse_deviation(moments.variance, epsilon);
  Tensor result = mul(sub(plain, spread(moments.mean, *a)), spread(inverse, *a));
  if (given.weight) result = mul(result, spread(given.weight, *a));
  if (given.bias) result = add(result, spread(given.bias, *a));
  if (training) follow(given, moments, *a, momentum);
  if (!node) return result;
  set_history(result, node.owner);
  node->save_input(0, a);
  node->save_input(1, training ? moments.mean : empty({0}, a->dtype()));
  node->save_input(2, training ? inverse : empty({0}, a->dtype()));
  if (given.running_mean) node->save_input(3, given.running_mean);
  if (given.running_var) node->save_input(4, given.running_var);
  if (given.weight) node->save_input(5, given.weight);
  return result;
}

}  // namespace gradlife::ops
