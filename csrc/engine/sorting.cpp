// sort, topk, kthvalue: values in order, with the positions that they came from.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/indexing.hpp"
#include "engine/rearranging.hpp"

namespace gradlife::ops {
namespace {

std::vector<SavedField> chosen_fields() {
  return {saved_number("dim"), saved_tensor("indices"), saved_number("self_sym_sizes")};
}
const NodeSpec& sort_spec = node_spec("SortBackward0", chosen_fields());
const NodeSpec& stable_sort_spec = node_spec("SortBackward1", chosen_fields());
const NodeSpec& topk_spec = node_spec("TopkBackward0", chosen_fields());
const NodeSpec& kthvalue_spec =
    node_spec("KthvalueBackward0",
              {saved_number("dim"), saved_tensor("indices"), saved_number("keepdim"), saved_number("self_sym_sizes")});

// Puts the gradient of what was chosen back where it came from. Slot: indices, the node's second output.
class ChosenNode final : public OpNode<1> {
 public:
  ChosenNode(const NodeSpec& spec, int64_t dim, const Dims& sizes, bool keepdim = true)
      : OpNode<1>(spec), dim_(dim), sizes_(sizes), keepdim_(keepdim) {}
  SavedValue saved_value(size_t field) const override {
    if (field == 0) return saved(dim_);
    return field == 2 && &spec() == &kthvalue_spec ? saved(keepdim_) : saved(sizes_);
  }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor indices = unpack(0);
    const bool is_squeezed = !keepdim_ && !sizes_.empty();
    const Tensor zeros = zero_in_place(empty(sizes_, gradient->dtype()));
    results[0] = scatter(zeros, dim_, is_squeezed ? unsqueeze(indices, dim_) : indices,
                         is_squeezed ? unsqueeze(gradient, dim_) : gradient, Form::in_place);
  }

 private:
  int64_t dim_;
  Dims sizes_;
  bool keepdim_;
};

// nan is larger than anything.
template <class T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return (std::isnan(b) && !std::isnan(a)) || a < b;
  return a < b;
}

// Rows of a tensor along one dimension, read one after another.
template <class T, class F>
void for_each_row(const TensorImpl& a, size_t dim, F f) {
  Dims sizes = a.sizes();
  if (a.dim() > 0) sizes[dim] = 1;
  const int64_t length = a.dim() == 0 ? 1 : a.sizes()[dim];
  const int64_t stride = a.dim() == 0 ? 1 : a.strides()[dim];
  const Dims order = contiguous_strides(sizes);
  const kernels::Loops loops = kernels::plan(sizes, {&order, &a.strides()});
  std::vector<T> row(static_cast<size_t>(length));
  const T* from = a.data<T>();
  kernels::run<2>(loops, [&](int64_t count, const int64_t* at) {
    for (int64_t i = 0; i < count; ++i) {
      const T* start = from + at[1] + i * row_stride(loops, 1);
      for (int64_t k = 0; k < length; ++k) row[static_cast<size_t>(k)] = start[k * stride];
      f(at[0] + i * row_stride(loops, 0), row);
    }
  });
}

Dims rest_of(const Dims& sizes, size_t dim, int64_t count) {
  Dims result = sizes;
  if (!result.empty()) result[dim] = count;
  return result;
}

// The first `count` of each row in order, into results of these strides.
Sorted choose(const Tensor& a, size_t dim, int64_t count, bool descending, bool like_input) {
  const Dims sizes = rest_of(a->sizes(), dim, count);
  Sorted sorted{like_input ? kernels::allocate_like(*a, a->dtype()) : empty(sizes, a->dtype()), {}};
  sorted.indices = kernels::allocate_like(*sorted.values, DType::int64);
  const int64_t step = a->dim() == 0 ? 1 : sorted.values->strides()[dim];
  const Dims row_sizes = rest_of(sizes, dim, 1);
  kernels::dispatch(a->dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<int64_t> positions;
    for_each_row<T>(*a, dim, [&](int64_t number, const std::vector<T>& row) {
      positions.resize(row.size());
      std::iota(positions.begin(), positions.end(), int64_t{0});
      std::stable_sort(positions.begin(), positions.end(), [&](int64_t left, int64_t right) {
        const T x = row[static_cast<size_t>(left)];
        const T y = row[static_cast<size_t>(right)];
        return descending ? is_less(y, x) : is_less(x, y);
      });
      int64_t start = 0;
      for (size_t i = row_sizes.size(); i-- > 0;) {
        start += number % row_sizes[i] * sorted.values->strides()[i];
        number /= row_sizes[i];
      }
      for (int64_t k = 0; k < count; ++k) {
        const int64_t position = positions[static_cast<size_t>(k)];
        sorted.values->data<T>()[start + k * step] = row[static_cast<size_t>(position)];
        sorted.indices->data<int64_t>()[start + k * step] = position;
      }
    });
  });
  return sorted;
}

// Both results are outputs of the node; only the values have a gradient.
Sorted finished(Sorted sorted, const Recording<ChosenNode>& node) {
  if (!node) return sorted;
  set_history(sorted.values, node.owner);
  node->save_input(0, sorted.indices);
  return sorted;
}

template <class... Args>
Recording<ChosenNode> chosen_node(const Tensor& a, Args&&... args) {
  if (!is_floating(a->dtype())) return {};
  return start_recording<ChosenNode>({&a}, std::forward<Args>(args)...);
}

}  // namespace

Sorted sort(const Tensor& a, int64_t dim, bool descending, const bool* stable) {
  const auto node = chosen_node(a, stable != nullptr ? stable_sort_spec : sort_spec, dim, a->sizes());
  const size_t at = static_cast<size_t>(wrap_dim(dim, a->dim()));
  const int64_t length = a->dim() == 0 ? 1 : a->sizes()[at];
  return finished(choose(a, at, length, descending, true), node);
}

Tensor argsort(const Tensor& a, int64_t dim, bool descending) {
  const size_t at = static_cast<size_t>(wrap_dim(dim, a->dim()));
  return choose(a, at, a->dim() == 0 ? 1 : a->sizes()[at], descending, true).indices;
}

Sorted topk(const Tensor& a, int64_t count, int64_t dim, bool largest) {
  const auto node = chosen_node(a, topk_spec, dim, a->sizes());
  const size_t at = static_cast<size_t>(wrap_dim(dim, a->dim()));
  require(count >= 0 && count <= (a->dim() == 0 ? 1 : a->sizes()[at]), "selected index k out of range");
  require(a->dtype() != DType::boolean, "topk does not support bool dtypes on CPU");
  return finished(choose(a, at, count, largest, false), node);
}

Sorted kthvalue(const Tensor& a, int64_t k, int64_t dim, bool keepdim) {
  const auto node = chosen_node(a, kthvalue_spec, dim, a->sizes(), keepdim);
  const size_t at = static_cast<size_t>(wrap_dim(dim, a->dim()));
  const int64_t length = a->dim() == 0 ? 1 : a->sizes()[at];
  if (length == 0) fail(ErrorKind::index, "kthvalue(): Expected reduction dim ", at, " to have non-zero size.");
  require(k > 0 && k <= length, "kthvalue(): selected number k out of range for dimension ", at);
  const Sorted all = choose(a, at, k, false, false);
  const auto last = [&](const Tensor& tensor) {
    if (a->dim() == 0) return copy_raw(tensor);
    const Dims sizes = rest_of(tensor->sizes(), at, 1);
    Tensor kept = copy_raw(alias(tensor, sizes, tensor->strides(), (k - 1) * tensor->strides()[at]));
    if (keepdim) return kept;
    Dims squeezed = sizes;
    squeezed.erase(at);
    return alias(kept, squeezed, contiguous_strides(squeezed), 0);
  };
  return finished({last(all.values), last(all.indices)}, node);
}

}  // namespace gradlife::ops
