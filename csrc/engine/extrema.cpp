// Largest and smallest elements, and where they are.
#include <cmath>

#include "engine/binary.hpp"
#include "engine/indexing.hpp"
#include "engine/reduction_ops.hpp"
#include "engine/rows.hpp"
#include "engine/saving_node.hpp"

namespace gradlife::ops {
namespace {

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

// Whether `a` takes the place of `b`: a nan of everything that is none.
template <class T>
bool beats(Extreme which, T a, T b) {
  if (is_nan(a) || is_nan(b)) return is_nan(a) && !is_nan(b);
  return which == Extreme::max ? a > b : a < b;
}

template <class T>
int64_t best_of(Extreme which, const T* row, int64_t length) {
  int64_t best = 0;
  for (int64_t i = 1; i < length; ++i)
    if (beats(which, row[i], row[best])) best = i;
  return best;
}

// Of equals the last: what PyTorch's instructions for several numbers at once leave of a few zeros of both signs.
template <class T>
int64_t last_best_of(Extreme which, const T* row, int64_t length) {
  int64_t best = 0;
  for (int64_t i = 1; i < length; ++i)
    if (!beats(which, row[best], row[i])) best = i;
  return best;
}

struct Found {
  Tensor values;
  Tensor indices;
};

// Either result may be left out.
Found find(Extreme which, const Tensor& a, const Dims& dims, bool keepdim, bool wants_values, bool wants_indices) {
  const kernels::Reduction plan = kernels::plan_reduction(*a, dims, keepdim);
  Found found;
  if (wants_values) found.values = empty(plan.sizes, a->dtype());
  if (wants_indices) found.indices = empty(plan.sizes, DType::int64);
  const kernels::Rows rows = kernels::rows_of(a, plan);
  kernels::dispatch(a->dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < rows.count; ++i) {
      const T* row = rows.row<T>(i);
      const int64_t best = best_of(which, row, rows.length);
      if (wants_values) found.values->data<T>()[i] = row[best];
      if (wants_indices) found.indices->data<int64_t>()[i] = best;
    }
  });
  return found;
}

Tensor find_of_all(Extreme which, const Tensor& a) {
  const kernels::Reduction plan = kernels::plan_reduction(*a, {}, false);
  const Tensor result = empty(plan.sizes, a->dtype());
  const kernels::Rows rows = kernels::rows_of(a, plan);
  kernels::dispatch(a->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* row = rows.row<T>(0);
    result->data<T>()[0] = row[last_best_of(which, row, rows.length)];
  });
  return result;
}

const char* name_of(Extreme which, const char* max, const char* min) { return which == Extreme::max ? max : min; }

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

// The gradient shared evenly between all elements that equal the result.
Tensor shared(const Tensor& gradient, const Tensor& self, const Tensor& result, const Dims& dims) {
  const Tensor mask = compare(Comparison::eq, self, result);
  return mul(div(gradient, sum(mask, dims, true)), mask);
}

Tensor shared_of_all(const Tensor& gradient, const Tensor& self, const Tensor& result) {
  const bool is_nan_result = std::isnan(item(result).to<double>());
  const Tensor mask = is_nan_result ? compare(Comparison::ne, self, self) : compare(Comparison::eq, self, result);
  return masked_fill(full(self->sizes(), 0, gradient->dtype()), mask, div(gradient, sum(mask)), Form::in_place);
}

// The gradient at the indices along `dim`, 0 elsewhere.
Tensor placed(const Tensor& gradient, const Tensor& indices, const Dims& sizes, int64_t dim) {
  const Tensor zeros = full(sizes, 0, gradient->dtype());
  zeros->bump_version();  // PyTorch's zeros are written in place here
  return scatter(zeros, dim, indices, gradient, Form::in_place);
}

const NodeSpec& max_all_spec = node_spec("MaxBackward1", {saved_tensor("result"), saved_tensor("self")});
const NodeSpec& min_all_spec = node_spec("MinBackward1", {saved_tensor("result"), saved_tensor("self")});
const std::vector<SavedField> of_dim{saved_number("dim"), saved_tensor("indices"), saved_number("keepdim"),
                                     saved_number("self_sym_sizes")};
const NodeSpec& max_dim_spec = node_spec("MaxBackward0", of_dim);
const NodeSpec& min_dim_spec = node_spec("MinBackward0", of_dim);
const std::vector<SavedField> of_dims{saved_number("dim"), saved_number("keepdim"), saved_tensor("result"),
                                      saved_tensor("self")};
const NodeSpec& amax_spec = node_spec("AmaxBackward0", of_dims);
const NodeSpec& amin_spec = node_spec("AminBackward0", of_dims);
const std::vector<SavedField> of_two{saved_tensor("other"), saved_tensor("self")};
const NodeSpec& maximum_spec = node_spec("MaximumBackward0", of_two);
const NodeSpec& minimum_spec = node_spec("MinimumBackward0", of_two);

struct ExtremumOfAll {
  Extreme which;
  static constexpr bool saves_result = true, saves_self = true;
  const NodeSpec& spec() const { return which == Extreme::max ? max_all_spec : min_all_spec; }
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient, const Tensor& self, const Tensor& result) const {
    return shared_of_all(gradient, self, result);
  }
};

struct ExtremumOfDims {
  Extreme which;
  Dims dims;
  bool keepdim;
  static constexpr bool saves_result = true, saves_self = true;
  const NodeSpec& spec() const { return which == Extreme::max ? amax_spec : amin_spec; }
  SavedValue value(size_t field) const { return field == 0 ? saved(dims) : saved(keepdim); }
  Tensor gradient(const Tensor& gradient, const Tensor& self, const Tensor& result) const {
    if (keepdim || self->dim() == 0) return shared(gradient, self, result, dims);
    const Dims sizes = kernels::plan_reduction(*self, dims, true).sizes;
    return shared(view(gradient, sizes), self, view(result, sizes), dims);
  }
};

// Slot: indices.
class ExtremumOfDim final : public OpNode<1> {
 public:
  ExtremumOfDim(Extreme which, const Dims& sizes, int64_t dim, bool keepdim)
      : OpNode<1>(which == Extreme::max ? max_dim_spec : min_dim_spec), sizes_(sizes), dim_(dim), keepdim_(keepdim) {}
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

// Slots: other, self. Where both are equal each takes half of the gradient.
class LargerOrSmaller final : public OpNode<2> {
 public:
  explicit LargerOrSmaller(Extreme which)
      : OpNode<2>(which == Extreme::max ? maximum_spec : minimum_spec), which_(which) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor other = unpack(0);
    const Tensor self = unpack(1);
    const Tensor equal = compare(Comparison::eq, self, other);
    const Comparison is_less = which_ == Extreme::max ? Comparison::lt : Comparison::gt;
    if (needs(0)) results[0] = split(gradient, equal, compare(is_less, self, other));
    if (needs(1)) results[1] = split(gradient, equal, compare(is_less, other, self));
  }

 private:
  static Tensor split(const Tensor& gradient, const Tensor& equal, const Tensor& loses) {
    return masked_fill(where(equal, div_scalar(gradient, 2), gradient), loses, Scalar(0), Form::in_place);
  }
  Extreme which_;
};

}  // namespace

Tensor extremum(Extreme which, const Tensor& a) {
  refuse_forbidden_view_of(a);
  require_elements(*a, name_of(which, "max", "min"));
  return record_saving(a, ExtremumOfAll{which}, [&] { return written(find_of_all(which, a), a); });
}

TwoTensors extremum(Extreme which, const Tensor& a, int64_t dim, bool keepdim) {
  require_elements_along(*a, dim, name_of(which, "max", "min"));
  const auto node = start_recording<ExtremumOfDim>({&a}, which, a->sizes(), dim, keepdim);
  const Found found = find(which, a, {dim}, keepdim, true, true);
  if (node) set_history(found.values, node.owner);
  if (node) node->save_output(0, found.indices);
  return {found.values, found.indices};
}

Tensor extremum_of_dims(Extreme which, const Tensor& a, const Dims& dims, bool keepdim) {
  refuse_forbidden_view_of(a);
  const char* name = name_of(which, "amax", "amin");
  if (dims.empty()) require_elements(*a, name);
  for (int64_t dim : dims) require_elements_along(*a, wrap_dim(dim, a->dim()), dim, name);
  return record_saving(a, ExtremumOfDims{which, dims, keepdim},
                       [&] { return written(find(which, a, dims, keepdim, true, false).values, a); });
}

Tensor index_of_extremum(Extreme which, const Tensor& a, const std::optional<int64_t>& dim, bool keepdim) {
  const char* name = name_of(which, "argmax", "argmin");
  require(a->dtype() != DType::boolean, name, "(): does not support bool input");
  if (!dim && a->numel() == 0)
    fail(ErrorKind::index, name, "(): Expected reduction dim to be specified for input.numel() == 0.");
  if (dim) require_elements_along(*a, *dim, name);
  return find(which, a, dim ? Dims{*dim} : Dims(), keepdim, false, true).indices;
}

Tensor larger_or_smaller(Extreme which, const Tensor& a, const Tensor& b) {
  const auto node = start_recording<LargerOrSmaller>({&a, &b}, which);
  if (node) node->save_input(0, b);
  if (node) node->save_input(1, a);
  Tensor result = kernels::compute(a, b, [which](auto x, auto y) { return beats(which, y, x) ? y : x; });
  if (node) set_history(result, node.owner);
  return result;
}

}  // namespace gradlife::ops
