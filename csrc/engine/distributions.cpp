// Random numbers of several distributions, in place and as new tensors.
#include <cmath>
#include <limits>

#include "engine/kernels.hpp"
#include "engine/op_node.hpp"
#include "engine/overlap.hpp"
#include "engine/random.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;

// What went in has no influence on what came out: its gradient is zeros.
class DrawnNode final : public OpNode<0> {
 public:
  DrawnNode(const NodeSpec& spec, G first, G second = Tensor())
      : OpNode<0>(spec), first_(first ? first->sizes() : Dims()), second_(second ? second->sizes() : Dims()) {}
  SavedValue saved_value(size_t field) const override {
    return saved(field == 0 && !is_second_alone() ? first_ : second_);
  }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    if (needs(0)) results[0] = full(is_second_alone() ? second_ : first_, 0, gradient->dtype());
    if (needs(1)) results[1] = full(second_, 0, gradient->dtype());
  }

 private:
  bool is_second_alone() const;
  Dims first_, second_;
};

const NodeSpec& uniform_spec = node_spec("UniformBackward0");
const NodeSpec& normal_spec = node_spec("NormalBackward0");
const NodeSpec& bernoulli_spec = node_spec("BernoulliBackward0");
const NodeSpec& bernoulli_tensor_spec = node_spec("BernoulliBackward1");
const NodeSpec& bernoulli_number_spec = node_spec("BernoulliBackward2");
const NodeSpec& random_range_spec = node_spec("RandomBackward0");
const NodeSpec& random_end_spec = node_spec("RandomBackward1");
const NodeSpec& random_spec = node_spec("RandomBackward2");
const NodeSpec& exponential_spec = node_spec("ExponentialBackward0");
const NodeSpec& geometric_spec = node_spec("GeometricBackward0");
const NodeSpec& log_normal_spec = node_spec("LogNormalBackward0");
const NodeSpec& cauchy_spec = node_spec("CauchyBackward0");
const NodeSpec& normal_mean_spec = node_spec("NormalBackward1", {saved_number("mean_sym_sizes")});
const NodeSpec& normal_deviation_spec = node_spec("NormalBackward2", {saved_number("std_sym_sizes")});
const NodeSpec& normal_both_spec =
    node_spec("NormalBackward3", {saved_number("mean_sym_sizes"), saved_number("std_sym_sizes")});

bool DrawnNode::is_second_alone() const { return &spec() == &normal_deviation_spec; }

// target = draw(old value), element by element.
template <class Draw>
void redraw(G target, const NodeSpec& spec, Draw draw) {
  check_inplace(target, needs_graph({&target}));
  const auto node = start_recording<DrawnNode>({&target}, spec, target);
  refuse_overlap(*target);
  kernels::dispatch(target->dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(*target, kernels::Operand<T>(*target), [&](T) { return static_cast<T>(draw()); });
  });
  finish_in_place(target, node);
}

void require_floats(const TensorImpl& target, const char* kernel) {
  if (!is_floating(target.dtype()))
    fail(ErrorKind::not_implemented, "\"", kernel, "\" not implemented for '",
         kernels::scalar_type_name(target.dtype()), "'");
}

// Rounding to float can reach the open end.
double below(double value, double high, DType dtype) {
  const bool reached = dtype == DType::float32 && static_cast<float>(value) >= static_cast<float>(high);
  return reached ? static_cast<double>(std::nextafter(static_cast<float>(high), -INFINITY)) : value;
}

// The integers up to here are all different in this dtype.
int64_t last_integer(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return int64_t{1} << 24;
    case DType::float64:
      return int64_t{1} << 53;
    case DType::boolean:
      return 1;
    case DType::int32:
      return std::numeric_limits<int32_t>::max();
    case DType::int64:
    case DType::complex64:
    case DType::complex128:
      break;
  }
  return std::numeric_limits<int64_t>::max();
}

int64_t random_below(uint64_t span) { return static_cast<int64_t>(span == 0 ? random_word() : random_word() % span); }

void fill_integers(G target, const NodeSpec& spec, int64_t first, int64_t end) {
  require(first < end, "random_ expects 'from' to be less than 'to', but got from=", first, " >= to=", end);
  if (target->dtype() == DType::boolean || target->dtype() == DType::int32) {
    const int64_t last = last_integer(target->dtype());
    const char* name = target->dtype() == DType::boolean ? "bool" : "int";
    require(first <= last, "from is out of bounds for ", name);
    require(end - 1 <= last, "to - 1 is out of bounds for ", name);
  }
  const uint64_t span = static_cast<uint64_t>(end) - static_cast<uint64_t>(first);
  redraw(target, spec, [=] { return first + random_below(span); });
}

void require_probability(double probability) {
  require(probability >= 0 && probability <= 1,
          "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, "
          "please report an enhancement request to PyTorch.)");
}

void fill_bernoulli(const TensorImpl& target, const TensorImpl& probabilities) {
  require_floats(probabilities, "bernoulli_tensor_cpu_p_");
  kernels::dispatch(target.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(target, kernels::Operand<double>(probabilities), [](double probability) {
      require_probability(probability);
      return static_cast<T>(random_uniform() < probability);
    });
  });
}

Tensor with_history(Tensor result, const NodePtr& node) {
  if (node) set_history(result, node);
  return result;
}

void require_deviation(double deviation) {
  require(deviation >= 0, "normal expects std >= 0.0, but found std ", deviation);
}

template <class Mean, class Deviation>
Tensor normal_of(const Dims& sizes, DType dtype, const Mean& mean, const Deviation& deviation) {
  Tensor result = empty(sizes, dtype);
  require_floats(*result, "normal_kernel_cpu");
  kernels::dispatch_floats(dtype, "normal_kernel_cpu", [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(*result, kernels::Operand<double>(mean), kernels::Operand<double>(deviation),
                    [](double m, double s) {
                      require(s >= 0, "normal expects all elements of std >= 0.0");
                      return static_cast<T>(m + s * random_normal());
                    });
  });
  return result;
}

}  // namespace

void uniform_in_place(const Tensor& target, double low, double high) {
  require_floats(*target, "check_uniform_bounds");
  require(low <= high, "uniform_ expects to return a [from, to) range, but found from=", low, " > to=", high);
  const DType dtype = target->dtype();
  redraw(target, uniform_spec, [=] { return below(low + (high - low) * random_uniform(), high, dtype); });
}

void normal_in_place(const Tensor& target, double mean, double deviation) {
  require_deviation(deviation);
  require_floats(*target, "normal_kernel_cpu");
  redraw(target, normal_spec, [=] { return mean + deviation * random_normal(); });
}

void bernoulli_in_place(const Tensor& target, double probability) {
  require(probability >= 0 && probability <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", probability);
  redraw(target, bernoulli_number_spec, [=] { return random_uniform() < probability ? 1 : 0; });
}

void bernoulli_in_place(const Tensor& target, const Tensor& probabilities) {
  check_inplace(target, needs_graph({&target, &probabilities}));
  const auto node = start_recording<DrawnNode>({&target, &probabilities}, bernoulli_tensor_spec, target, probabilities);
  refuse_overlap(*target);
  refuse_resize(*target, kernels::broadcast_sizes(target->sizes(), probabilities->sizes()));
  fill_bernoulli(*target, *probabilities);
  finish_in_place(target, node);
}

void random_in_place(const Tensor& target) {
  const int64_t last = last_integer(target->dtype());
  const uint64_t span = static_cast<uint64_t>(last) + 1;
  redraw(target, random_spec, [=] { return random_below(span); });
}

void random_in_place(const Tensor& target, int64_t end) { fill_integers(target, random_end_spec, 0, end); }

void random_in_place(const Tensor& target, int64_t first, int64_t end) {
  fill_integers(target, random_range_spec, first, end);
}

void exponential_in_place(const Tensor& target, double rate) {
  require(is_floating(target->dtype()),
          "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
          "specified ",
          kernels::scalar_type_name(target->dtype()));
  require(rate > 0, "exponential_ expects lambda > 0.0, but found lambda=", rate);
  redraw(target, exponential_spec, [=] { return -std::log(1 - random_uniform()) / rate; });
}

void geometric_in_place(const Tensor& target, double probability) {
  require(probability > 0 && probability < 1, "geometric_ expects p to be in (0, 1), but got p=", probability);
  redraw(target, geometric_spec,
         [=] { return std::ceil(std::log(1 - random_uniform()) / std::log1p(-probability) + 1e-300); });
}

void log_normal_in_place(const Tensor& target, double mean, double deviation) {
  require(deviation > 0, "log_normal_ expects std > 0.0, but found std=", deviation);
  require_floats(*target, "log_normal_cpu");
  redraw(target, log_normal_spec, [=] { return std::exp(mean + deviation * random_normal()); });
}

void cauchy_in_place(const Tensor& target, double median, double width) {
  require(width > 0, "cauchy_ expects sigma > 0.0, but found sigma=", width);
  require_floats(*target, "cauchy_cpu");
  constexpr double pi = 3.141592653589793;
  redraw(target, cauchy_spec, [=] { return median + width * std::tan(pi * (random_uniform() - 0.5)); });
}

Tensor bernoulli(const Tensor& probabilities) {
  const auto node = start_recording<DrawnNode>({&probabilities}, bernoulli_spec, probabilities);
  Tensor result = empty_like(probabilities, probabilities->dtype());
  fill_bernoulli(*result, *probabilities);
  return with_history(result, node.owner);
}

Tensor bernoulli(const Tensor& like, double probability) {
  Tensor result = empty_like(like, like->dtype());
  bernoulli_in_place(result, probability);
  return result;
}

Tensor normal(const Tensor& mean, double deviation) {
  require_deviation(deviation);
  const auto node = start_recording<DrawnNode>({&mean}, normal_mean_spec, mean);
  return with_history(normal_of(mean->sizes(), mean->dtype(), *mean, Scalar(deviation)), node.owner);
}

Tensor normal(double mean, const Tensor& deviation) {
  const auto node = start_recording<DrawnNode>({&deviation}, normal_deviation_spec, Tensor(), deviation);
  return with_history(normal_of(deviation->sizes(), deviation->dtype(), Scalar(mean), *deviation), node.owner);
}

Tensor normal(const Tensor& mean, const Tensor& deviation) {
  const auto node = start_recording<DrawnNode>({&mean, &deviation}, normal_both_spec, mean, deviation);
  const Dims sizes = kernels::broadcast_sizes(mean->sizes(), deviation->sizes());
  return with_history(normal_of(sizes, mean->dtype(), *mean, *deviation), node.owner);
}

}  // namespace gradlife::ops
