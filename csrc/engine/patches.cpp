// Patches of pictures side by side as columns.
#include "engine/patches.hpp"

#include <string>

#include "engine/kernels.hpp"
#include "engine/op_node.hpp"

namespace gradlife::ops {
namespace {

const NodeSpec& patches_spec =
    node_spec("Im2ColBackward0", {saved_number("dilation"), saved_number("kernel_size"), saved_number("padding"),
                                  saved_number("self_sym_argsize_minus_1"), saved_number("self_sym_argsize_minus_2"),
                                  saved_number("stride")});
const NodeSpec& back_spec = node_spec("Col2ImBackward0", {saved_number("dilation"), saved_number("kernel_size"),
                                                          saved_number("padding"), saved_number("stride")});

SavedValue saved_setting(const PatchSettings& how, char first_letter) {
  switch (first_letter) {
    case 'd':
      return saved(how.dilation);
    case 'k':
      return saved(how.kernel_size);
    case 'p':
      return saved(how.padding);
    default:
      return saved(how.stride);
  }
}

struct Taken {
  PatchSettings how;
  int64_t height, width;
  static const NodeSpec& spec() { return patches_spec; }
  SavedValue value(size_t field) const {
    return field == 3 ? saved(width) : field == 4 ? saved(height) : saved_setting(how, spec().fields[field].name[0]);
  }
  Tensor gradient(const Tensor& gradient) const { return from_patches(gradient, {height, width}, how); }
};

struct PutTogether {
  PatchSettings how;
  static const NodeSpec& spec() { return back_spec; }
  SavedValue value(size_t field) const { return saved_setting(how, spec().fields[field].name[0]); }
  Tensor gradient(const Tensor& gradient) const { return patches_of(gradient, how); }
};

int64_t count_along(int64_t size, const PatchSettings& how, size_t i) {
  const int64_t room = size + 2 * how.padding[i] - how.dilation[i] * (how.kernel_size[i] - 1) - 1;
  return (room >= 0 ? room / how.stride[i] : -((-room + how.stride[i] - 1) / how.stride[i])) + 1;
}

std::string pair(const Dims& dims) { return concat("(", dims[0], ", ", dims[1], ")"); }

void check_pair(const Dims& dims, int64_t least, const char* name, const char* wording, const char* shown) {
  require(dims[0] >= least && dims[1] >= least, name, wording, shown, "_height: ", dims[0], " ", shown,
          "_width: ", dims[1]);
}

void check_settings(const PatchSettings& how, bool stride_first) {
  constexpr const char* positive = " should be greater than zero, but got ";
  check_pair(how.kernel_size, 1, "kernel size", positive, "kernel");
  if (stride_first) check_pair(how.stride, 1, "stride", positive, "stride");
  check_pair(how.dilation, 1, "dilation", positive, "dilation");
  check_pair(how.padding, 0, "padding", " should be non-negative, but got ", "pad");
  if (!stride_first) check_pair(how.stride, 1, "stride", positive, "stride");
}

bool all_positive(const Dims& sizes, size_t first) {
  for (size_t i = first; i < sizes.size(); ++i)
    if (sizes[i] == 0) return false;
  return true;
}

// The input's last three dimensions, the patches that it has along each, and how many pictures there are.
struct Layout {
  int64_t batches, channels, height, width, rows, columns;
};

Layout layout_of_picture(const Dims& sizes, const PatchSettings& how) {
  const bool is_batch = sizes.size() == 4;
  require((sizes.size() == 3 && all_positive(sizes, 0)) || (is_batch && all_positive(sizes, 1)),
          "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
          "but got: ",
          sizes);
  const size_t at = is_batch ? 1 : 0;
  Layout layout{is_batch ? sizes[0] : 1, sizes[at], sizes[at + 1], sizes[at + 2], 0, 0};
  layout.rows = count_along(layout.height, how, 0);
  layout.columns = count_along(layout.width, how, 1);
  require(layout.rows >= 1 && layout.columns >= 1, "Given input with spatial size (", layout.height, ", ", layout.width,
          "), kernel_size=", pair(how.kernel_size), ", dilation=", pair(how.dilation), ", padding=", pair(how.padding),
          ", calculated shape of the array of sliding blocks as (", layout.rows, ", ", layout.columns,
          "), but its components must be at least one.");
  return layout;
}

void check_columns(int64_t length, const Layout& layout, const Dims& output, const PatchSettings& how) {
  const std::string given =
      concat("Given output_size=", pair(output), ", kernel_size=", pair(how.kernel_size),
             ", dilation=", pair(how.dilation), ", padding=", pair(how.padding), ", stride=", pair(how.stride), ", ");
  require(length == layout.rows * layout.columns, given,
          "expected size of input's dimension 2 to match the calculated number of sliding blocks ", layout.rows, " * ",
          layout.columns, " = ", layout.rows * layout.columns, ", but got input.size(2)=", length, ".");
  require(layout.rows >= 1 && layout.columns >= 1, given, "calculated shape of the array of sliding blocks as (",
          layout.rows, ", ", layout.columns, "), which is too small (non-positive)");
  require(output[0] >= 1 && output[1] >= 1,
          "Expected output spatial size to be positive, but got: output_size=", pair(output), ".");
}

Layout layout_of_columns(const Dims& sizes, const Dims& output, const PatchSettings& how) {
  const bool is_batch = sizes.size() == 3;
  require((sizes.size() == 2 && all_positive(sizes, 0)) || (is_batch && all_positive(sizes, 1)),
          "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
          "input, but got: ",
          sizes);
  const int64_t planes = sizes[is_batch ? 1 : 0], of_kernel = how.kernel_size.product();
  require(planes % of_kernel == 0,
          "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)=",
          planes, " and kernel_size=", pair(how.kernel_size), ".");
  const Layout layout{
      is_batch ? sizes[0] : 1,       planes / of_kernel, output[0], output[1], count_along(output[0], how, 0),
      count_along(output[1], how, 1)};
  check_columns(sizes[is_batch ? 2 : 1], layout, output, how);
  return layout;
}

// Calls use(place in the picture, place in the columns) for each element that is not of the padding.
template <class Use>
void each_element(const Layout& layout, const PatchSettings& how, Use&& use) {
  int64_t column = 0;
  for (int64_t plane = 0; plane < layout.batches * layout.channels; ++plane)
    for (int64_t k = 0; k < how.kernel_size.product(); ++k)
      for (int64_t row = 0; row < layout.rows; ++row)
        for (int64_t i = 0; i < layout.columns; ++i, ++column) {
          const int64_t y = row * how.stride[0] - how.padding[0] + k / how.kernel_size[1] * how.dilation[0];
          const int64_t x = i * how.stride[1] - how.padding[1] + k % how.kernel_size[1] * how.dilation[1];
          if (y >= 0 && y < layout.height && x >= 0 && x < layout.width)
            use((plane * layout.height + y) * layout.width + x, column);
        }
}

Tensor dense(const Tensor& a) {
  const GradMode off(false);
  return contiguous(a);
}

}  // namespace

Tensor patches_of(const Tensor& a, const PatchSettings& how) {
  refuse_forbidden_view_of(a);
  check_settings(how, false);
  const Layout layout = layout_of_picture(a->sizes(), how);
  Dims sizes{layout.channels * how.kernel_size.product(), layout.rows * layout.columns};
  if (a->dim() == 4) sizes.insert(0, layout.batches);
  const Tensor result = full(sizes, 0, a->dtype()), plain = dense(a);
  kernels::dispatch_floats(a->dtype(), "im2col_out_cpu", [&](auto zero) {
    using T = decltype(zero);
    const T* from = plain->data<T>();
    T* to = result->data<T>();
    each_element(layout, how, [&](int64_t place, int64_t column) { to[column] = from[place]; });
  });
  return recorded(result, a, Taken{how, layout.height, layout.width});
}

Tensor from_patches(const Tensor& columns, const Dims& output_sizes, const PatchSettings& how) {
  refuse_forbidden_view_of(columns);
  check_settings(how, true);
  const Layout layout = layout_of_columns(columns->sizes(), output_sizes, how);
  Dims sizes{layout.channels, layout.height, layout.width};
  if (columns->dim() == 3) sizes.insert(0, layout.batches);
  const Tensor result = full(sizes, 0, columns->dtype()), plain = dense(columns);
  kernels::dispatch_floats(columns->dtype(), "col2im_out_cpu", [&](auto zero) {
    using T = decltype(zero);
    const T* from = plain->data<T>();
    T* to = result->data<T>();
    each_element(layout, how, [&](int64_t place, int64_t column) { to[place] += from[column]; });
  });
  return recorded(result, columns, PutTogether{how});
}

}  // namespace gradlife::ops
