// More products: those that are added to a tensor, those of vectors, and those over chosen dimensions.
#pragma once

#include "engine/ops.hpp"

namespace gradlife::ops {

// beta * input + alpha * product. With beta = 0 nothing of the input counts, not even its nans.
struct Factors {
  Scalar beta = 1;
  Scalar alpha = 1;
};
Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, const Factors& factors);    // matrices
Tensor addmv(const Tensor& input, const Tensor& a, const Tensor& b, const Factors& factors);    // matrix and vector
Tensor addr(const Tensor& input, const Tensor& a, const Tensor& b, const Factors& factors);     // vectors
Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, const Factors& factors);  // batches of matrices
Tensor addbmm(const Tensor& input, const Tensor& a, const Tensor& b, const Factors& factors);   // and their sum
Tensor addmm_in_place(const Tensor& target, const Tensor& a, const Tensor& b, const Factors& factors);
Tensor addmv_in_place(const Tensor& target, const Tensor& a, const Tensor& b, const Factors& factors);
Tensor addr_in_place(const Tensor& target, const Tensor& a, const Tensor& b, const Factors& factors);
Tensor baddbmm_in_place(const Tensor& target, const Tensor& a, const Tensor& b, const Factors& factors);
Tensor addbmm_in_place(const Tensor& target, const Tensor& a, const Tensor& b, const Factors& factors);

Tensor outer(const Tensor& a, const Tensor& b);
Tensor vdot(const Tensor& a, const Tensor& b);
Tensor inner(const Tensor& a, const Tensor& b);  // over the last dimensions
// Over `a_dims` of a and `b_dims` of b, in pairs.
Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& a_dims, const Dims& b_dims);

}  // namespace gradlife::ops
