// Distances between the rows of a matrix.
#include <cmath>

#include "engine/kernels.hpp"
#include "engine/op_node.hpp"
#include "engine/patches.hpp"

namespace gradlife::ops {
namespace {

const NodeSpec& pairs_spec =
    node_spec("PdistBackward0", {saved_number("p"), saved_tensor("result"), saved_tensor("self")});

const NodeSpec& gradient_spec = node_spec("PdistBackwardBackward0");

template <class T>
T norm_of_difference(const T* a, const T* b, int64_t length, double p) {
  T total = 0;
  for (int64_t i = 0; i < length; ++i) {
    const T distance = std::abs(a[i] - b[i]);
    if (p == 0) {
      total += distance != 0 ? T(1) : T(0);
    } else if (std::isinf(p)) {
      total = std::max(total, distance);
    } else {
      total += p == 1 ? distance : p == 2 ? distance * distance : std::pow(distance, static_cast<T>(p));
    }
  }
  if (p == 0 || p == 1 || std::isinf(p)) return total;
  return p == 2 ? std::sqrt(total) : std::pow(total, static_cast<T>(1 / p));
}

// How much the norm of a difference grows with one of its elements.
template <class T>
T slope(T difference, T norm, double p) {
  if (p == 0 || norm == 0) return 0;
  const T sign = difference > 0 ? T(1) : difference < 0 ? T(-1) : T(0);
  if (p == 1) return sign;
  if (std::isinf(p)) return std::abs(difference) == norm ? sign : T(0);
  if (p == 2) return difference / norm;
  if (difference == 0) return 0;
  return sign * std::pow(std::abs(difference), static_cast<T>(p - 1)) / std::pow(norm, static_cast<T>(p - 1));
}

Tensor distances(const Tensor& rows, double p) {
  const int64_t count = rows->sizes()[0], length = rows->sizes()[1];
  const Tensor result = empty({count > 1 ? count * (count - 1) / 2 : 0}, rows->dtype());
  kernels::dispatch_floats(rows->dtype(), "pdist", [&](auto zero) {
    using T = decltype(zero);
    const T* data = rows->data<T>();
    T* to = result->data<T>();
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = i + 1; j < count; ++j)
        *to++ = norm_of_difference(data + i * length, data + j * length, length, p);
  });
  return result;
}

Tensor gradient_of(const Tensor& gradient, const Tensor& rows, const Tensor& norms, double p) {
  const GradMode off(false);
  const int64_t count = rows->sizes()[0], length = rows->sizes()[1];
  const Tensor g = contiguous(gradient), result = full(rows->sizes(), 0, rows->dtype());
  kernels::dispatch_floats(rows->dtype(), "pdist_backward", [&](auto zero) {
    using T = decltype(zero);
    const T *data = rows->data<T>(), *norm = norms->data<T>(), *from = g->data<T>();
    T* to = result->data<T>();
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = i + 1; j < count; ++j, ++norm, ++from)
        for (int64_t k = 0; k < length; ++k) {
          const T part = *from * slope(data[i * length + k] - data[j * length + k], *norm, p);
          to[i * length + k] += part;
          to[j * length + k] -= part;
        }
  });
  return result;
}

// Nobody has written down how the gradient changes.
class GradientNode final : public OpNode<0> {
 public:
  GradientNode() : OpNode<0>(gradient_spec) {}

 protected:
  void differentiate(const Tensor&, TensorList&) override {
    fail(ErrorKind::runtime, "the derivative for '_pdist_backward' is not implemented.");
  }
};

// Slots: the distances, the matrix.
class PairsNode final : public OpNode<2> {
 public:
  explicit PairsNode(double p) : OpNode<2>(pairs_spec), p_(p) {}
  SavedValue saved_value(size_t) const override { return saved(Scalar(p_)); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor norms = unpack(0), rows = unpack(1);
    const auto node = start_recording<GradientNode>({&gradient, &rows, &norms});
    results[0] = gradient_of(gradient, rows, norms, p_);
    if (node) set_history(results[0], node.owner);
  }

 private:
  double p_;
};

}  // namespace

Tensor pairwise_distances(const Tensor& a, double p) {
  require(a->dim() == 2, "pdist only supports 2D tensors, got: ", a->dim(), "D");
  require(is_floating(a->dtype()), "pdist only supports floating-point dtypes");
  require(p >= 0, "pdist only supports non-negative p values");
  const Tensor rows = contiguous(a);
  const auto node = start_recording<PairsNode>({&rows}, p);
  Tensor result = distances(rows, p);
  if (!node) return result;
  node->save_input(1, rows);
  set_history(result, node.owner);
  node->save_output(0, result);
  return result;
}

}  // namespace gradlife::ops
