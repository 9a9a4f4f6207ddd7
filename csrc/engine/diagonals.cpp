// Triangles and diagonals of matrices.
#include <algorithm>

#include "engine/indexing.hpp"
#include "engine/rearranging.hpp"

namespace gradlife::ops {
namespace {

enum class Side : uint8_t { lower, upper };

struct Lower {
  int64_t diagonal;
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("TrilBackward0", {saved_number("diagonal")});
    return spec;
  }
  SavedValue value(size_t) const { return saved(diagonal); }
  Tensor gradient(const Tensor& gradient) const { return tril(gradient, diagonal, Form::plain_copy); }
};

struct Upper {
  int64_t diagonal;
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("TriuBackward0", {saved_number("diagonal")});
    return spec;
  }
  SavedValue value(size_t) const { return saved(diagonal); }
  Tensor gradient(const Tensor& gradient) const { return triu(gradient, diagonal, Form::plain_copy); }
};

void clear_beside(const TensorImpl& target, int64_t diagonal, Side side) {
  const size_t rows = target.dim() - 2;
  const Dims order = contiguous_strides(target.sizes());
  const int64_t height = target.sizes()[rows];
  const int64_t width = target.sizes()[rows + 1];
  const kernels::Loops loops = kernels::plan(target.sizes(), {&order, &target.strides()});
  kernels::dispatch(target.dtype(), [&](auto zero) {
    auto* to = target.data<decltype(zero)>();
    kernels::run<2>(loops, [&](int64_t length, const int64_t* at) {
      for (int64_t i = 0; i < length; ++i) {
        const int64_t number = at[0] + i * row_stride(loops, 0);
        const int64_t above = number % width - number / width % height;  // which diagonal the element is on
        const bool is_kept = side == Side::lower ? above <= diagonal : above >= diagonal;
        if (!is_kept) to[at[1] + i * row_stride(loops, 1)] = zero;
      }
    });
  });
}

template <class Rule>
Tensor triangle(const Tensor& a, int64_t diagonal, Form form, Side side, const char* name) {
  check_form(form, {&a});
  Recording<RuleNode<Rule>> node;
  if (is_floating(a->dtype())) node = start_recording<RuleNode<Rule>>({&a}, Rule{diagonal});
  require(a->dim() >= 2, name, ": input tensor must have at least 2 dimensions");
  return changed(a, form, node, [&](const Tensor& target) { clear_beside(*target, diagonal, side); });
}

struct Diagonal {
  int64_t offset;
  int64_t dim1;
  int64_t dim2;
  SavedValue at(size_t field) const { return saved(field == 0 ? dim1 : field == 1 ? dim2 : offset); }
};

// Node of `put_back`.
struct PutBackDiagonal : Diagonal {
  static const NodeSpec& spec() {
    static const NodeSpec& spec =
        node_spec("DiagonalBackwardBackward0", {saved_number("dim1"), saved_number("dim2"), saved_number("offset")});
    return spec;
  }
  SavedValue value(size_t field) const { return at(field); }
  Tensor gradient(const Tensor& gradient) const { return diagonal(gradient, offset, dim1, dim2); }
};

// Zeros with the gradient on the diagonal.
Tensor put_back(const Tensor& gradient, const Dims& sizes, const Diagonal& where) {
  Tensor whole = full(sizes, 0, gradient->dtype());
  {
    const GradMode no_grad(false);
    kernels::copy(*diagonal(whole, where.offset, where.dim1, where.dim2), *gradient);
  }
  return recorded(std::move(whole), gradient, PutBackDiagonal{where});
}

struct OfDiagonal : Diagonal {
  Dims sizes;
  SavedValue value(size_t field) const { return field < 3 ? at(field) : saved(sizes); }
  Tensor gradient(const Tensor& gradient) const { return put_back(gradient, sizes, *this); }
  static std::vector<SavedField> fields() {
    return {saved_number("dim1"), saved_number("dim2"), saved_number("offset"), saved_number("self_sym_sizes")};
  }
};
struct ViewedDiagonal : OfDiagonal {
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("DiagonalBackward0", fields());
    return spec;
  }
};
struct CopiedDiagonal : OfDiagonal {
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("DiagonalBackward0_copy", fields());
    return spec;
  }
};

struct Embedded : Diagonal {
  static const NodeSpec& spec() {
    static const NodeSpec& spec =
        node_spec("DiagEmbedBackward0", {saved_number("dim1"), saved_number("dim2"), saved_number("offset")});
    return spec;
  }
  SavedValue value(size_t field) const { return at(field); }
  Tensor gradient(const Tensor& gradient) const { return diagonal(gradient, offset, dim1, dim2); }
};

struct Traced {
  Dims sizes;
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("TraceBackward0", {saved_number("self_sym_sizes")});
    return spec;
  }
  SavedValue value(size_t) const { return saved(sizes); }
  Tensor gradient(const Tensor& gradient) const {
    const int64_t step = sizes[1] + 1;
    const Tensor places = arange(0, std::min(sizes[0], sizes[1]) * step, step, DType::int64);
    places->bump_version();  // they were written into it, PyTorch says
    const Tensor row = zero_in_place(empty({sizes.product()}, gradient->dtype()));
    return view(index_fill(row, 0, places, gradient, Form::in_place), sizes);
  }
};

struct Window {
  Dims sizes;
  Dims strides;
  int64_t offset;
};

Window window_of(const TensorImpl& a, const Diagonal& where) {
  const size_t first = static_cast<size_t>(wrap_dim(where.dim1, a.dim()));
  const size_t second = static_cast<size_t>(wrap_dim(where.dim2, a.dim()));
  require(first != second, "diagonal dimensions cannot be identical ", where.dim1, ", ", where.dim2);
  const int64_t height = a.sizes()[first];
  const int64_t width = a.sizes()[second];
  const int64_t length =
      where.offset >= 0 ? std::min(height, width - where.offset) : std::min(height + where.offset, width);
  Window window{a.sizes(), a.strides(), a.offset()};
  if (length > 0)
    window.offset += where.offset >= 0 ? where.offset * a.strides()[second] : -where.offset * a.strides()[first];
  for (size_t dim : {std::max(first, second), std::min(first, second)}) {
    window.sizes.erase(dim);
    window.strides.erase(dim);
  }
  window.sizes.push_back(std::max<int64_t>(length, 0));
  window.strides.push_back(a.strides()[first] + a.strides()[second]);
  return window;
}

}  // namespace

Tensor tril(const Tensor& a, int64_t diagonal, Form form) {
  return triangle<Lower>(a, diagonal, form, Side::lower, "tril");
}

Tensor triu(const Tensor& a, int64_t diagonal, Form form) {
  return triangle<Upper>(a, diagonal, form, Side::upper, "triu");
}

Tensor diagonal(const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2) {
  refuse_forbidden_view_of(a);
  const Diagonal where{offset, dim1, dim2};
  const Window window = window_of(*a, where);
  return made_by(
      recorded(make_view(a, window.sizes, window.strides, window.offset), a, ViewedDiagonal{{where, a->sizes()}}), a,
      [=](const Tensor& t) { return diagonal(t, offset, dim1, dim2); });
}

Tensor diag_embed(const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2) {
  refuse_forbidden_view_of(a);
  const size_t dims = a->dim() + 1;
  const size_t first = static_cast<size_t>(wrap_dim(dim1, dims));
  const size_t second = static_cast<size_t>(wrap_dim(dim2, dims));
  require(first != second, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  const int64_t length = a->sizes()[a->dim() - 1] + std::abs(offset);
  Dims sizes = a->sizes();
  sizes.erase(a->dim() - 1);
  sizes.insert(std::min(first, second), length);
  sizes.insert(std::max(first, second), length);
  Tensor result = full(sizes, 0, a->dtype());
  {
    const GradMode no_grad(false);
    kernels::copy(*diagonal(result, offset, static_cast<int64_t>(first), static_cast<int64_t>(second)), *a);
  }
  return recorded(std::move(result), a, Embedded{{offset, dim1, dim2}});
}

Tensor diag(const Tensor& a, int64_t offset) {
  require(a->dim() == 1 || a->dim() == 2, "diag(): Supports 1D or 2D tensors. Got ", a->dim(), "D");
  if (a->dim() == 1) return diag_embed(a, offset, -2, -1);
  const Diagonal where{offset, 0, 1};
  const Window window = window_of(*a, where);
  Tensor result = empty(window.sizes, a->dtype());
  kernels::copy(*result, *alias(a, window.sizes, window.strides, window.offset));
  return recorded(std::move(result), a, CopiedDiagonal{{where, a->sizes()}});
}

Tensor trace(const Tensor& a) {
  refuse_forbidden_view_of(a);
  require(a->dim() == 2, "trace: expected a matrix, but got tensor with dim ", a->dim());
  if (a->dtype() == DType::boolean) fail(ErrorKind::not_implemented, "\"trace\" not implemented for 'Bool'");
  Tensor result;
  {
    const GradMode no_grad(false);
    result = sum(diagonal(a, 0, 0, 1));
  }
  return recorded(std::move(result), a, Traced{a->sizes()});
}

}  // namespace gradlife::ops
