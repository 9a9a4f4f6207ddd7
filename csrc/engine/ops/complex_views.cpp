// Complex numbers viewed as pairs of real ones, pairs viewed as complex numbers, and lazy conjugates.
#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

Tensor put_together(const Tensor& pairs);

struct TakenApart {
  inline static const NodeSpec& spec = node_spec("ViewAsRealBackward0");
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient) const { return put_together(gradient); }
};

struct PutTogether {
  inline static const NodeSpec& spec = node_spec("ViewAsComplexBackward0");
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient) const { return view_as_real(resolve_conj(gradient)); }
};

struct Conjugated {
  inline static const NodeSpec& spec = node_spec("ConjBackward0");
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient) const { return conj(gradient); }
};

Dims without_last(const Dims& dims) {
  Dims result = dims;
  result.erase(dims.size() - 1);
  return result;
}

Tensor put_together(const Tensor& pairs) {
  const Tensor dense = contiguous(pairs);
  if (dense->offset() % 2 != 0) return put_together(clone_contiguous(dense));
  const Dims sizes = without_last(dense->sizes());
  const Tensor result =
      alias_as(complex_dtype(dense->dtype()), dense, sizes, contiguous_strides(sizes), dense->offset() / 2);
  return recorded(result, pairs, PutTogether());
}

void check_pairs(const TensorImpl& a) {
  require(is_floating(a.dtype()),
          "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: ",
          kernels::scalar_type_name(a.dtype()));
  require(a.dim() > 0, "Input tensor must have one or more dimensions");
  require(a.sizes()[a.dim() - 1] == 2, "Tensor must have a last dimension of size 2");
  require(a.strides()[a.dim() - 1] == 1, "Tensor must have a last dimension with stride 1");
  for (size_t i = 0; i + 1 < a.dim(); ++i)
    require(a.strides()[i] % 2 == 0, "Tensor must have a stride divisible by 2 for all but last dimension");
  require(a.offset() % 2 == 0, "Tensor must have a storage_offset divisible by 2");
}

}  // namespace

Tensor view_as_real(const Tensor& a) {
  refuse_forbidden_view_of(a);
  require(is_complex(a->dtype()), "view_as_real is only supported for complex tensors");
  require(
      !a->is_conjugate(),
      "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it "
      "as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original.");
  Dims sizes = a->sizes();
  Dims strides = a->strides();
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return made_by(recorded(make_view_as(real_dtype(a->dtype()), a, sizes, strides, a->offset() * 2), a, TakenApart()), a,
                 view_as_real);
}

Tensor view_as_complex(const Tensor& a) {
  refuse_forbidden_view_of(a);
  check_pairs(*a);
  Dims strides = without_last(a->strides());
  for (int64_t& stride : strides) stride /= 2;
  const Dims sizes = without_last(a->sizes());
  return made_by(
      recorded(make_view_as(complex_dtype(a->dtype()), a, sizes, strides, a->offset() / 2), a, PutTogether()), a,
      view_as_complex);
}

Tensor conj(const Tensor& a) {
  if (!is_complex(a->dtype())) return a;
  refuse_forbidden_view_of(a);
  Tensor view = make_view(a, a->sizes(), a->strides(), a->offset());
  view->set_conjugate(!a->is_conjugate());
  remember_window(view);
  return made_by(recorded(std::move(view), a, Conjugated()), a, [](const Tensor& t) { return conj(t); });
}

Tensor resolve_conj(const Tensor& a) { return a->is_conjugate() ? clone(a) : a; }

Tensor real(const Tensor& a) {
  if (!is_complex(a->dtype())) return a;
  return select(view_as_real(a->is_conjugate() ? conj(a) : a), -1, 0);
}

Tensor imag(const Tensor& a) {
  require(is_complex(a->dtype()), "imag is not implemented for tensors with non-complex dtypes.");
  if (a->is_conjugate()) return neg(select(view_as_real(conj(a)), -1, 1));
  return select(view_as_real(a), -1, 1);
}

}  // namespace gradlife::ops
