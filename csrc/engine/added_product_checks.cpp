#include "engine/added_product_checks.hpp"

#include "engine/kernels.hpp"
#include "engine/overlap.hpp"

namespace gradlife::ops {
namespace {

int64_t size_along(const TensorImpl& tensor, int64_t dim) {
  if (tensor.dim() == 0) fail(ErrorKind::index, "Dimension specified as ", dim, " but tensor has no dimensions");
  return tensor.sizes()[static_cast<size_t>(wrap_dim(dim, tensor.dim()))];
}

// Which sizes PyTorch looks at first decides what it says of too few dimensions.
void check_batches(const TensorImpl& a, const TensorImpl& b, int64_t first) {
  for (int64_t dim = first; dim < 2; ++dim) size_along(a, dim);
  size_along(b, 2);
}

void require_batches(const TensorImpl& a, const TensorImpl& b) {
  require(a.dim() == 3, "batch1 must be a 3D tensor");
  require(b.dim() == 3, "batch2 must be a 3D tensor");
}

}  // namespace

void require_expandable(const Tensor& input, const Dims& sizes) {
  const GradMode mode(false);
  expand(input, sizes);
}

void check_addmm(const TensorImpl& input, const TensorImpl& a, const TensorImpl& b) {
  require(a.dim() == 2, "mat1 must be a matrix, got ", a.dim(), "-D tensor");
  require(b.dim() == 2, "mat2 must be a matrix, got ", b.dim(), "-D tensor");
  require(a.sizes()[1] == b.sizes()[0], "mat1 and mat2 shapes cannot be multiplied (", a.sizes()[0], "x", a.sizes()[1],
          " and ", b.sizes()[0], "x", b.sizes()[1], ")");
  const char* b_type = kernels::scalar_type_name(b.dtype());
  require(input.dtype() == b.dtype(), "self and mat2 must have the same dtype, but got ",
          kernels::scalar_type_name(input.dtype()), " and ", b_type);
  require(a.dtype() == b.dtype(), "mat1 and mat2 must have the same dtype, but got ",
          kernels::scalar_type_name(a.dtype()), " and ", b_type);
}

void check_addmv(const TensorImpl& input, const TensorImpl& a, const TensorImpl& b) {
  require(a.dim() == 2 && b.dim() == 1 && input.dim() <= 1, "vector + matrix @ vector expected, got ", input.dim(),
          ", ", a.dim(), ", ", b.dim());
  const int64_t length = input.dim() == 0 ? 1 : input.sizes()[0];
  const bool fits = a.sizes()[1] == b.sizes()[0] && (length == a.sizes()[0] || length == 1);
  if (!fits && input.dim() == 0)  // PyTorch stumbles over putting the message together
    fail(ErrorKind::index, "Dimension specified as 0 but tensor has no dimensions");
  require(fits, "size mismatch, got input (", length, "), mat (", a.sizes()[0], "x", a.sizes()[1], "), vec (",
          b.sizes()[0], ")");
  require(input.dtype() == a.dtype() && a.dtype() == b.dtype(),
          "addmv input tensors must have the same dtype, but got ", kernels::scalar_type_name(input.dtype()), ", ",
          kernels::scalar_type_name(a.dtype()), ", and ", kernels::scalar_type_name(b.dtype()));
}

void check_vector(const TensorImpl& vector, const char* operation, const char* name) {
  require(vector.dim() == 1, operation, ": Expected 1-D argument ", name, ", but got ", vector.dim(), "-D");
}

void check_addr(const TensorImpl& input, const TensorImpl& a, const TensorImpl& b, const Factors& factors) {
  check_vector(a, "addr", "vec1");
  check_vector(b, "addr", "vec2");
  if (is_floating(a.dtype()) || is_floating(b.dtype()) || is_floating(input.dtype())) return;
  for (const auto& [factor, name] : {std::pair{factors.beta, "beta"}, std::pair{factors.alpha, "alpha"}})
    require(!factor.is_real(), "For integral input tensors, argument ", name, " must not be a floating point number.");
}

void check_baddbmm(const Tensor& given, const TensorImpl& a, const TensorImpl& b) {
  check_batches(a, b, 0);
  require_expandable(given, {a.sizes()[0], a.sizes()[1], b.sizes()[2]});
  require_batches(a, b);
  const TensorImpl& input = *given;
  require(a.sizes()[0] == b.sizes()[0] && a.sizes()[2] == b.sizes()[1],
          "Expected size for first two dimensions of batch2 tensor to be: [", a.sizes()[0], ", ", a.sizes()[2],
          "] but got: [", b.sizes()[0], ", ", b.sizes()[1], "].");
  require(input.dtype() == a.dtype() && a.dtype() == b.dtype(), "Input dtypes must be the same, got: input ",
          ctype_name(input.dtype()), ", batch1: ", ctype_name(a.dtype()), ", batch2: ", ctype_name(b.dtype()));
}

void check_addbmm(const Tensor& given, const TensorImpl& a, const TensorImpl& b) {
  check_batches(a, b, 1);
  require_expandable(given, {a.sizes()[1], b.sizes()[2]});
  require_batches(a, b);
  const TensorImpl& input = *given;
  require(a.sizes()[0] == b.sizes()[0], "batch1 and batch2 must have same number of batches, got ", a.sizes()[0],
          " and ", b.sizes()[0]);
  require(a.sizes()[2] == b.sizes()[1], "Incompatible matrix sizes for bmm (", a.sizes()[1], "x", a.sizes()[2], " and ",
          b.sizes()[1], "x", b.sizes()[2], ")");
  require(a.dtype() == b.dtype(), "mat1 and mat2 must have the same dtype, but got ",
          kernels::scalar_type_name(a.dtype()), " and ", kernels::scalar_type_name(b.dtype()));
  require(input.dtype() == b.dtype(), "self and mat2 must have the same dtype, but got ",
          kernels::scalar_type_name(input.dtype()), " and ", kernels::scalar_type_name(b.dtype()));
}

}  // namespace gradlife::ops
