// index_fill: one value for the slices that a vector of positions names.
#include <algorithm>

#include "engine/along.hpp"
#include "engine/indexing.hpp"

namespace gradlife::ops {
namespace {

const NodeSpec& fill_spec = node_spec("IndexFillBackward0", {saved_number("dim"), saved_tensor("index")});
const NodeSpec& fill_tensor_spec = node_spec("IndexFillBackward1", {saved_number("dim"), saved_tensor("index")});

// A negative position counts from the end.
Tensor wrapped_positions(const Tensor& index, int64_t size) {
  const Tensor result = clone_contiguous(index);
  int64_t* positions = result->data<int64_t>();
  for (int64_t i = 0; i < result->numel(); ++i) positions[i] += positions[i] < 0 ? size : 0;
  return result;
}

Tensor each_once(const Tensor& index) {
  std::vector<int64_t> found;
  const Tensor copy = clone_contiguous(index);
  const int64_t* from = copy->data<int64_t>();
  found.assign(from, from + copy->numel());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  Tensor result = empty({static_cast<int64_t>(found.size())}, DType::int64);
  std::copy(found.begin(), found.end(), result->data<int64_t>());
  return result;
}

// Inputs: the tensor filled, and the value where that is a tensor.
class FillNode final : public OpNode<1> {
 public:
  FillNode(const NodeSpec& spec, int64_t dim) : OpNode<1>(spec), dim_(dim) {}
  SavedValue saved_value(size_t) const override { return saved(dim_); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor index = unpack(0);
    if (needs(0)) results[0] = index_fill(gradient, dim_, index, Scalar(0), Form::like_copy);
    const size_t at = static_cast<size_t>(wrap_dim(dim_, gradient->dim()));
    if (needs(1))
      results[1] =
          sum(index_select(gradient, dim_, each_once(wrapped_positions(index, kernels::size_along(*gradient, at)))));
  }

 private:
  int64_t dim_;
};

void check_fill(const TensorImpl& index) {
  if (index.dtype() != DType::int64) fail(ErrorKind::index, "index_fill_(): Expected dtype int64 for index.");
  require(index.dim() <= 1, "Index has to be a vector/scalar");
}

Tensor fill_slices(const Tensor& a, int64_t given_dim, const Tensor& index, const Tensor& value, Form form,
                   const Recording<FillNode>& node) {
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  check_fill(*index);
  if (form == Form::in_place) refuse_shared_memory(*a, *index);
  const int64_t size = kernels::size_along(*a, dim);
  kernels::check_positions(*index, -size, size, [&](int64_t position) {
    fail(ErrorKind::index, "index ", position, " is out of bounds for dimension ", dim, " with size ", size);
  });
  const Dims sizes = kernels::sizes_with(*a, dim, index->numel());
  return changed(a, form, node, [&](const Tensor& target) {
    kernels::dispatch(target->dtype(), [&](auto zero) {
      using T = decltype(zero);
      kernels::walk_slices<T>(*target, dim, wrapped_positions(index, size), *value, sizes,
                              [](T, T given) { return given; });
    });
  });
}

template <class... Args>
Recording<FillNode> fill_node(std::initializer_list<const Tensor*> inputs, const Tensor& index, Args&&... args) {
  if (!is_floating((**inputs.begin())->dtype())) return {};
  auto node = start_recording<FillNode>(inputs, std::forward<Args>(args)...);
  if (node) node->save_input(0, index);
  return node;
}

}  // namespace

Tensor index_fill(const Tensor& a, int64_t dim, const Tensor& index, const Scalar& value, Form form) {
  check_form(form, {&a, &index});
  const auto node = fill_node({&a}, index, fill_spec, dim);
  return fill_slices(a, dim, index, full({}, value, a->dtype()), form, node);
}

Tensor index_fill(const Tensor& a, int64_t dim, const Tensor& index, const Tensor& value, Form form) {
  require(value->dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
          value->dim(), " dimension(s).");
  check_form(form, {&a, &value, &index});
  const auto node = fill_node({&a, &value}, index, fill_tensor_spec, dim);
  return fill_slices(a, dim, index, full({}, item(value), a->dtype()), form, node);
}

}  // namespace gradlife::ops
