// Complex numbers seen as pairs of real ones, and pairs put together.
#include "engine/op_node.hpp"

namespace gradlife::ops {
namespace {

Tensor put_together(const Tensor& pairs);

struct TakenApart {
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("ViewAsRealBackward0");
    return spec;
  }
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient) const { return put_together(gradient); }
};

struct PutTogether {
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("ViewAsComplexBackward0");
    return spec;
  }
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient) const { return view_as_real(gradient); }
};

Dims without_last(const Dims& dims) {
  Dims result = dims;
  result.erase(dims.size() - 1);
  return result;
}

Tensor put_together(const Tensor& pairs) {
  const Tensor dense = contiguous(pairs);
  const Dims sizes = without_last(dense->sizes());
  const Tensor result = alias_as(DType::complex64, dense, sizes, contiguous_strides(sizes), dense->offset() / 2);
  return recorded(dense->offset() % 2 == 0 ? result : put_together(clone_contiguous(dense)), pairs, PutTogether());
}

}  // namespace

Tensor view_as_real(const Tensor& a) {
  refuse_forbidden_view_of(a);
  require(is_complex(a->dtype()), "view_as_real is only supported for complex tensors");
  Dims sizes = a->sizes();
  Dims strides = a->strides();
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return recorded(make_view_as(DType::float32, a, sizes, strides, a->offset() * 2), a, TakenApart());
}

}  // namespace gradlife::ops
