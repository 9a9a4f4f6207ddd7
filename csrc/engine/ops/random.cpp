// Random numbers: xoshiro256** (Blackman and Vigna), seeded by splitmix64. Not PyTorch's sequence, but repeatable.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/overlap.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

constexpr double two_pi = 6.283185307179586;

class Generator {
 public:
  explicit Generator(uint64_t seed) { restart(seed); }
  void restart(uint64_t seed) {
    seed_ = seed;
    for (uint64_t& word : state_) word = split_mix(seed);
    has_spare_ = false;
  }
  uint64_t seed() const { return seed_; }
  GeneratorState state() const {
    int64_t spare = 0;
    std::memcpy(&spare, &spare_, sizeof spare);
    GeneratorState words = {static_cast<int64_t>(seed_), 0, 0, 0, 0, has_spare_, spare};
    std::memcpy(&words[1], state_, sizeof state_);
    return words;
  }
  void set_state(const GeneratorState& words) {
    seed_ = static_cast<uint64_t>(words[0]);
    std::memcpy(state_, &words[1], sizeof state_);
    has_spare_ = words[5] != 0;
    std::memcpy(&spare_, &words[6], sizeof spare_);
  }
  uint64_t word() { return next(); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // in [0, 1)
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    const double angle = two_pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  static uint64_t split_mix(uint64_t& state) {
    uint64_t word = state += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
  }
  static uint64_t rotate(uint64_t word, int by) { return (word << by) | (word >> (64 - by)); }
  uint64_t next() {
    const uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  uint64_t seed_ = 0;
  uint64_t state_[4] = {};
  double spare_ = 0;
  bool has_spare_ = false;
};

constexpr uint64_t first_seed = 67280421310721;  // PyTorch's default

Generator& generator() {
  static Generator instance(first_seed);
  return instance;
}

template <class F>
void generate(const TensorImpl& target, const char* kernel, F f) {
  kernels::dispatch_floats(target.dtype(), kernel, [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(target, kernels::Operand<T>(Scalar(0.0)), [&](T) { return static_cast<T>(f()); });
  });
}

// Rounding to float can reach the open end.
template <class F>
void generate_below(const TensorImpl& target, double high, F f) {
  generate(target, "check_uniform_bounds", [&] {
    const double value = f();
    const bool reached = target.dtype() == DType::float32 && static_cast<float>(value) >= static_cast<float>(high);
    return reached ? static_cast<double>(std::nextafter(static_cast<float>(high), -INFINITY)) : value;
  });
}

}  // namespace

void seed_generator(uint64_t seed) { generator().restart(seed); }

uint64_t generator_seed() { return generator().seed(); }

GeneratorState generator_state() { return generator().state(); }

void set_generator_state(const GeneratorState& state) { generator().set_state(state); }

namespace {

// Draws both parts of complex numbers with `fill`.
template <class Fill>
Tensor drawn_apart(const Dims& sizes, DType dtype, Fill fill) {
  Tensor result = empty(sizes, dtype);
  const GradMode no_grad(false);
  fill(*view_as_real(result));
  return result;
}

}  // namespace

Tensor rand(const Dims& sizes, DType dtype) {
  require_sizes(sizes);
  if (is_complex(dtype))
    return drawn_apart(sizes, dtype,
                       [](const TensorImpl& parts) { generate_below(parts, 1, [] { return generator().uniform(); }); });
  Tensor result = empty(sizes, dtype);
  generate_below(*result, 1, [] { return generator().uniform(); });
  return result;
}

Tensor randn(const Dims& sizes, DType dtype) {
  require_sizes(sizes);
  if (is_complex(dtype))  // gives the whole number variance 1
    return drawn_apart(sizes, dtype, [](const TensorImpl& parts) {
      generate(parts, "normal_kernel_cpu", [] { return generator().normal() * std::sqrt(0.5); });
    });
  Tensor result = empty(sizes, dtype);
  generate(*result, "normal_kernel_cpu", [] { return generator().normal(); });
  return result;
}

Tensor randint(int64_t low, int64_t high, const Dims& sizes, DType dtype) {
  require(low < high, "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  require(dtype != DType::boolean || high <= 2, "to - 1 is out of bounds for bool");
  const Tensor numbers = rand(sizes, DType::float64);
  Tensor result = empty(sizes, dtype);
  const double span = static_cast<double>(high) - static_cast<double>(low);
  kernels::dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    kernels::map<T>(*result, kernels::Operand<double>(*numbers), [=](double number) {
      return static_cast<T>(std::min(low + static_cast<int64_t>(std::floor(number * span)), high - 1));
    });
  });
  return result;
}

namespace {

const NodeSpec& uniform_spec = node_spec("UniformBackward0");

// The old values have no influence on the new ones: their gradient is zeros.
class UniformNode final : public OpNode<0> {
 public:
  explicit UniformNode(const Tensor& target) : OpNode<0>(uniform_spec), sizes_(target->sizes()) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    results[0] = full(sizes_, 0, gradient->dtype());
  }

 private:
  Dims sizes_;
};

}  // namespace

void uniform_in_place(const Tensor& target, double low, double high) {
  require(low <= high, "uniform_ expects to return a [from, to) range, but found from=", low, " > to=", high);
  check_inplace(target, needs_graph({&target}));
  const auto node = start_recording<UniformNode>({&target}, target);
  refuse_overlap(*target);
  generate_below(*target, high, [=] { return generator().uniform() * (high - low) + low; });
  finish_in_place(target, node);
}

}  // namespace gradlife::ops
