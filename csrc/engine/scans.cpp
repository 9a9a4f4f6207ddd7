// Running sums, products and logarithms of sums of exponentials.
#include <cmath>
#include <limits>

#include "engine/overlap.hpp"
#include "engine/rearranging.hpp"
#include "engine/reduction_ops.hpp"
#include "engine/rows.hpp"
#include "engine/saving_node.hpp"

namespace gradlife::ops {
namespace {

// step(total, x) for a total that is a double for floats.
template <class F>
void scan(const TensorImpl& in, const TensorImpl& out, size_t dim, double start, F step) {
  kernels::dispatch_numbers(out.dtype(), "scan", [&](auto zero) {
    using T = decltype(zero);
    using Total = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
    kernels::along_lines<T>(in, out, dim, [&](const T* from, T* to, int64_t length, int64_t apart) {
      Total total = static_cast<Total>(start);
      for (int64_t i = 0; i < length; ++i) {
        total = step(total, static_cast<Total>(from[i * apart]));
        to[i * apart] = static_cast<T>(total);
      }
    });
  });
}

enum class Scan : uint8_t { sum, product, log_sum };

// log(exp(a) + exp(b))
double log_of_sum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  const double top = std::max(a, b);
  return std::isinf(top) ? top : top + std::log1p(std::exp(std::min(a, b) - top));
}

void run_scan(Scan kind, const TensorImpl& in, const TensorImpl& out, size_t dim) {
  if (kind == Scan::sum) return scan(in, out, dim, 0, [](auto total, auto x) { return total + x; });
  if (kind == Scan::product) return scan(in, out, dim, 1, [](auto total, auto x) { return total * x; });
  scan(in, out, dim, -std::numeric_limits<double>::infinity(), [](auto total, auto x) {
    return static_cast<decltype(x)>(log_of_sum(static_cast<double>(total), static_cast<double>(x)));
  });
}

// In the dtype asked for, else in int64 for integers.
Tensor scanned(Scan kind, const Tensor& a, size_t dim, DType dtype) {
  const Tensor result = empty(a->sizes(), dtype);
  Tensor input = kernels::packed(a);
  if (input->dtype() != dtype) {
    input = empty(a->sizes(), dtype);
    kernels::copy(*input, *a);
  }
  run_scan(kind, *input, *result, dim);
  return result;
}

bool is_single_along(const TensorImpl& tensor, int64_t dim) {
  return tensor.numel() <= 1 || tensor.sizes()[static_cast<size_t>(wrap_dim(dim, tensor.dim()))] == 1;
}

// The sums from each element to the last one.
Tensor sums_to_the_end(const Tensor& a, int64_t dim) {
  if (is_single_along(*a, dim)) return a;
  return flip(cumsum(flip(a, {dim}), dim), {dim});
}

struct RunningSum {
  int64_t dim;
  static constexpr bool saves_result = false, saves_self = false;
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("CumsumBackward0", {saved_number("dim")});
    return spec;
  }
  SavedValue value(size_t) const { return saved(dim); }
  Tensor gradient(const Tensor& gradient, const Tensor&, const Tensor&) const { return sums_to_the_end(gradient, dim); }
};

// Without history, for elements of which some are 0.
Tensor product_gradient_raw(const Tensor& gradient, const Tensor& self, size_t dim) {
  const Tensor input = kernels::packed(self);
  const Tensor given = kernels::packed(gradient);
  const Tensor result = empty(self->sizes(), self->dtype());
  kernels::dispatch_floats(self->dtype(), "cumprod_backward", [&](auto zero) {
    using T = decltype(zero);
    kernels::along_lines<T>(*input, *result, dim, [&](const T* in, T* out, int64_t length, int64_t apart) {
      const T* arriving = given->data<T>() + (in - input->data<T>());
      double before = 1;
      for (int64_t k = 0; k < length; before *= in[k++ * apart]) {
        double product = before;
        double total = 0;
        for (int64_t i = k; i < length && product != 0; ++i) {
          if (i > k) product *= in[i * apart];
          total += arriving[i * apart] * product;
        }
        out[k * apart] = static_cast<T>(total);
      }
    });
  });
  return result;
}

// The same with history.
Tensor product_gradient_recorded(const Tensor& gradient, const Tensor& self, int64_t dim) {
  const int64_t length = self->sizes()[static_cast<size_t>(dim)];
  TensorList gradients;
  for (int64_t k = 0; k < length; ++k) {
    const Tensor before = prod(narrow(self, dim, 0, k), dim, true);
    const Tensor after = cumprod(narrow(self, dim, k + 1, length - k - 1), dim);
    const Tensor products = mul(cat({ones_like(before), after}, dim), before);
    gradients.push_back(sum(mul(narrow(gradient, dim, k, length - k), products), {dim}, false));
  }
  return stack(gradients, dim);
}

struct RunningProduct {
  int64_t dim;
  static constexpr bool saves_result = true, saves_self = true;
  static const NodeSpec& spec() {
    static const NodeSpec& spec =
        node_spec("CumprodBackward0", {saved_number("dim"), saved_tensor("result"), saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t) const { return saved(dim); }
  Tensor gradient(const Tensor& given, const Tensor& self, const Tensor& result) const {
    const Tensor gradient = to_dtype(given, self->dtype());
    if (is_single_along(*self, dim)) return gradient;
    if (item(all(self)).to<bool>()) return div(sums_to_the_end(mul(result, gradient), dim), self);
    const int64_t at = wrap_dim(dim, self->dim());
    const bool is_recorded = grad_enabled() && (requires_grad(self) || requires_grad(gradient));
    return is_recorded ? product_gradient_recorded(gradient, self, at)
                       : product_gradient_raw(gradient, self, static_cast<size_t>(at));
  }
};

// exp(x + the logarithm of the sum of exp to the end of `log_weights`).
Tensor weighted_exponentials(const Tensor& log_weights, const Tensor& x, int64_t dim) {
  return exp(add(flip(logcumsumexp(flip(log_weights, {dim}), dim), {dim}), x));
}

struct RunningLogSum {
  int64_t dim;
  static constexpr bool saves_result = true, saves_self = true;
  static const NodeSpec& spec() {
    static const NodeSpec& spec =
        node_spec("LogcumsumexpBackward0", {saved_number("dim"), saved_tensor("result"), saved_tensor("self")});
    return spec;
  }
  SavedValue value(size_t) const { return saved(dim); }
  // The positive and the negative gradients apart, as both go through logarithms.
  Tensor gradient(const Tensor& gradient, const Tensor& self, const Tensor& result) const {
    if (gradient->dim() == 0 || gradient->numel() == 0) return gradient;
    const double lowest = gradient->dtype() == DType::float32 ? std::numeric_limits<float>::lowest()
                                                              : std::numeric_limits<double>::lowest();
    const Tensor nothing = full({}, lowest, gradient->dtype());
    const Tensor logs = log(abs(gradient));
    const auto part = [&](Comparison sign) {
      const Tensor weights = where(compare_number(sign, gradient, 0), logs, nothing);
      return weighted_exponentials(sub(weights, result), self, dim);
    };
    return sub(part(Comparison::gt), part(Comparison::lt));
  }
};

DType running_dtype(const TensorImpl& a, const DType* asked) {
  if (asked != nullptr) return *asked;
  return is_floating(a.dtype()) ? a.dtype() : DType::int64;
}

template <class Rule>
Tensor running(Scan kind, const Tensor& a, int64_t dim, DType dtype) {
  const size_t at = static_cast<size_t>(wrap_dim(dim, a->dim()));
  return record_saving(a, Rule{dim}, [&] { return scanned(kind, a, at, dtype); });
}

template <class Rule>
Tensor running_in_place(Scan kind, const Tensor& target, int64_t dim, const DType* asked) {
  const size_t at = static_cast<size_t>(wrap_dim(dim, target->dim()));
  require(asked == nullptr || *asked == target->dtype(), "Bad in-place call: input tensor dtype ",
          ctype_name(target->dtype()), " and output tensor dtype ", asked != nullptr ? ctype_name(*asked) : "",
          " should match");
  if (target->dtype() == DType::boolean)
    fail(ErrorKind::not_implemented, kind == Scan::sum ? "\"cumsum_out_cpu\"" : "\"cumprod_out_cpu\"",
         " not implemented for 'Bool'");
  return record_saving_in_place(target, Rule{dim}, [&] {
    refuse_overlap(*target);
    kernels::copy(*target, *scanned(kind, target, at, target->dtype()));
  });
}

}  // namespace

Tensor cumsum(const Tensor& a, int64_t dim, const DType* dtype) {
  refuse_forbidden_view_of(a);
  return running<RunningSum>(Scan::sum, a, dim, running_dtype(*a, dtype));
}

Tensor cumprod(const Tensor& a, int64_t dim, const DType* dtype) {
  refuse_forbidden_view_of(a);
  return running<RunningProduct>(Scan::product, a, dim, running_dtype(*a, dtype));
}

Tensor logcumsumexp(const Tensor& a, int64_t dim) {
  refuse_forbidden_view_of(a);
  if (!is_floating(a->dtype()))
    fail(ErrorKind::not_implemented, "\"logcumsumexp_out_cpu\" not implemented for '",
         kernels::scalar_type_name(a->dtype()), "'");
  return running<RunningLogSum>(Scan::log_sum, a, dim, a->dtype());
}

Tensor cumsum_in_place(const Tensor& target, int64_t dim, const DType* dtype) {
  return running_in_place<RunningSum>(Scan::sum, target, dim, dtype);
}

Tensor cumprod_in_place(const Tensor& target, int64_t dim, const DType* dtype) {
  return running_in_place<RunningProduct>(Scan::product, target, dim, dtype);
}

}  // namespace gradlife::ops
