// Largest elements, and their positions.
#include <cmath>

#include "engine/ops/binary.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/reduction_ops.hpp"
#include "engine/ops/rows.hpp"
#include "engine/ops/saving_node.hpp"

namespace gradlife::ops {
namespace {

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

// Whether `a` wins over `b`: a nan wins over every number.
template <class T>
bool beats(T a, T b) {
  if (is_nan(a) || is_nan(b)) return is_nan(a) && !is_nan(b);
  return a > b;
}

template <class T>
int64_t best_of(const T* row, int64_t length) {
  int64_t best = 0;
  for (int64_t i = 1; i < length; ++i)
    if (beats(row[i], row[best])) best = i;
  return best;
}

// The last of equal values wins, as in PyTorch's vector instructions for zeros of both signs.
template <class T>
int64_t last_best_of(const T* row, int64_t length) {
  int64_t best = 0;
  for (int64_t i = 1; i < length; ++i)
    if (!beats(row[best], row[i])) best = i;
  return best;
}

struct Found {
  Tensor values;
  Tensor indices;
};

// Either result may be left out.
Found find(const Tensor& a, const Dims& dims, bool keepdim, bool wants_values, bool wants_indices) {
  const kernels::Reduction plan = kernels::plan_reduction(*a, dims, keepdim);
  Found found;
  if (wants_values) found.values = empty(plan.sizes, a->dtype());
  if (wants_indices) found.indices = empty(plan.sizes, DType::int64);
  const kernels::Rows rows = kernels::rows_of(a, plan);
  kernels::dispatch(a->dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < rows.count; ++i) {
      const T* row = rows.row<T>(i);
      const int64_t best = best_of(row, rows.length);
      if (wants_values) found.values->data<T>()[i] = row[best];
      if (wants_indices) found.indices->data<int64_t>()[i] = best;
    }
  });
  return found;
}

Tensor find_of_all(const Tensor& a) {
  const kernels::Reduction plan = kernels::plan_reduction(*a, {}, false);
  const Tensor result = empty(plan.sizes, a->dtype());
  const kernels::Rows rows = kernels::rows_of(a, plan);
  kernels::dispatch(a->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* row = rows.row<T>(0);
    result->data<T>()[0] = row[last_best_of(row, rows.length)];
  });
  return result;
}

void require_elements(const TensorImpl& a, const char* name) {
  require(a.numel() != 0, name,
          "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
          "argument.");
}

void require_elements_along(const TensorImpl& a, int64_t dim, int64_t shown, const char* name) {
  if (a.dim() != 0 && a.sizes()[static_cast<size_t>(dim)] == 0)
    fail(ErrorKind::index, name, "(): Expected reduction dim ", shown, " to have non-zero size.");
}

void require_elements_along(const TensorImpl& a, int64_t given, const char* name) {
  const int64_t dim = wrap_dim(given, a.dim());
  require_elements_along(a, dim, dim, name);
}

Tensor shared_of_all(const Tensor& gradient, const Tensor& self, const Tensor& result) {
  const bool is_nan_result = std::isnan(item(result).to<double>());
  const Tensor mask = is_nan_result ? compare(Comparison::ne, self, self) : compare(Comparison::eq, self, result);
  return masked_fill(full(self->sizes(), 0, gradient->dtype()), mask, div(gradient, sum(mask)), Form::in_place);
}

// Returns the gradient at the indices along `dim`, 0 elsewhere.
Tensor placed(const Tensor& gradient, const Tensor& indices, const Dims& sizes, int64_t dim) {
  if (sizes.empty()) return gradient;
  const size_t along = static_cast<size_t>(wrap_dim(dim, sizes.size()));
  Dims column(sizes.size(), 1);
  column[along] = sizes[along];
  const Tensor positions = view(arange(0, sizes[along], 1, DType::int64), column);
  return masked_fill(expand(gradient, sizes), compare(Comparison::ne, positions, indices), Scalar(0));
}

const std::vector<SavedField> of_dim{saved_number("dim"), saved_tensor("indices"), saved_number("keepdim"),
                                     saved_number("self_sym_sizes")};
const NodeSpec& max_dim_spec = node_spec("MaxBackward0", of_dim);

struct MaxOfAll {
  static constexpr bool saves_result = true, saves_self = true;
  inline static const NodeSpec& spec = node_spec("MaxBackward1", {saved_tensor("result"), saved_tensor("self")});
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient, const Tensor& self, const Tensor& result) const {
    return shared_of_all(gradient, self, result);
  }
};

// Slot: indices.
class MaxOfDim final : public OpNode<1> {
 public:
  MaxOfDim(const Dims& sizes, int64_t dim, bool keepdim)
      : OpNode<1>(max_dim_spec), sizes_(sizes), dim_(dim), keepdim_(keepdim) {}
  SavedValue saved_value(size_t field) const override {
    return field == 0 ? saved(dim_) : field == 2 ? saved(keepdim_) : saved(sizes_);
  }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor indices = unpack(0);
    const bool is_whole = keepdim_ || sizes_.empty();
    results[0] = placed(is_whole ? gradient : unsqueeze(gradient, dim_), is_whole ? indices : unsqueeze(indices, dim_),
                        sizes_, dim_);
  }

 private:
  Dims sizes_;
  int64_t dim_;
  bool keepdim_;
};

}  // namespace

Tensor max(const Tensor& a) {
  refuse_forbidden_view_of(a);
  return record_saving(a, MaxOfAll(), [&] {
    require_elements(*a, "max");
    return written(find_of_all(a), a);
  });
}

TwoTensors max(const Tensor& a, int64_t dim, bool keepdim) {
  require_elements_along(*a, dim, "max");
  const auto node = start_recording<MaxOfDim>({&a}, a->sizes(), dim, keepdim);
  const Found found = find(a, {dim}, keepdim, true, true);
  if (node) set_history(found.values, node.owner);
  if (node) node->save_output(0, found.indices);
  return {found.values, found.indices};
}

}  // namespace gradlife::ops
