// The three products of a convolution, all over the same pairs of rows.
#include <algorithm>

#include "engine/convolution.hpp"

namespace gradlife::kernels {
namespace {

// Rows along the last dimension that meet at one element of the weight. Offsets in elements.
struct Rows {
  int64_t wide;  // of the first element; the next is one stride further
  int64_t weight;
  int64_t narrow;
  int64_t length;
};

int64_t divided_up(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

// Where along one dimension the narrow side meets the wide one at place k of the weight: [first, last).
struct Range {
  int64_t first, last, shift;  // at = o * stride + shift
};

Range range_of(const Meeting& meeting, size_t space, int64_t k) {
  const size_t dim = space + 2;
  const int64_t stride = meeting.stride[space];
  const int64_t shift = k * meeting.dilation[space] - meeting.padding[space];
  const int64_t first = std::max<int64_t>(0, divided_up(-shift, stride));
  const int64_t last = std::min(meeting.narrow[dim], divided_up(meeting.wide[dim] - shift, stride));
  return {first, last, shift};
}

// Steps through all places below `sizes`, the last dimension fastest. False after the last one.
bool advance(Dims& place, const Dims& first, const Dims& last) {
  for (size_t dim = place.size(); dim-- > 0;) {
    if (++place[dim] < last[dim]) return true;
    place[dim] = first[dim];
  }
  return false;
}

// All rows that meet at place k of the weight, for one pair of channels whose first elements are given.
template <class Use>
void rows_at(const Meeting& meeting, const Dims& k, Rows channels, Use&& use) {
  const size_t dims = k.size();
  Dims first(dims), last(dims), shift(dims);
  for (size_t i = 0; i < dims; ++i) {
    const Range range = range_of(meeting, i, k[i]);
    if (range.first >= range.last) return;
    first[i] = range.first;
    last[i] = range.last;
    shift[i] = range.shift;
  }
  const int64_t length = last[dims - 1] - first[dims - 1];
  last[dims - 1] = first[dims - 1] + 1;  // the rows themselves are the caller's
  Dims place = first;
  do {
    int64_t wide = 0, narrow = 0;
    for (size_t i = 0; i < dims; ++i) {
      wide = wide * meeting.wide[i + 2] + place[i] * meeting.stride[i] + shift[i];
      narrow = narrow * meeting.narrow[i + 2] + place[i];
    }
    use(Rows{channels.wide + wide, channels.weight, channels.narrow + narrow, length});
  } while (advance(place, first, last));
}

int64_t elements_of_space(const Dims& sizes) {
  int64_t count = 1;
  for (size_t i = 2; i < sizes.size(); ++i) count *= sizes[i];
  return count;
}

template <class Use>
void each_row(const Meeting& meeting, Use&& use) {
  const int64_t from = meeting.weight[1], to = meeting.weight[0] / meeting.groups;
  const int64_t wide = elements_of_space(meeting.wide), narrow = elements_of_space(meeting.narrow);
  const int64_t weight = elements_of_space(meeting.weight);
  if (weight == 0) return;
  Dims first(meeting.stride.size()), last(meeting.stride.size());
  for (size_t i = 0; i < last.size(); ++i) last[i] = meeting.weight[i + 2];
  for (int64_t batch = 0; batch < meeting.wide[0]; ++batch)
    for (int64_t out = 0; out < meeting.weight[0]; ++out)
      for (int64_t in = 0; in < from; ++in) {
        Rows rows{(batch * meeting.wide[1] + out / to * from + in) * wide, (out * from + in) * weight,
                  (batch * meeting.narrow[1] + out) * narrow, 0};
        Dims k = first;
        do {
          rows_at(meeting, k, rows, use);
          ++rows.weight;
        } while (advance(k, first, last));
      }
}

}  // namespace

void add_narrow(const Meeting& meeting, const Tensor& narrow, const Tensor& wide, const Tensor& weight) {
  const int64_t step = meeting.stride[meeting.stride.size() - 1];
  dispatch_numbers(narrow->dtype(), "slow_conv2d_cpu", [&](auto zero) {
    using T = decltype(zero);
    T* to = narrow->data<T>();
    const T *a = wide->data<T>(), *b = weight->data<T>();
    each_row(meeting, [&](const Rows& rows) {
      const T factor = b[rows.weight];
      for (int64_t i = 0; i < rows.length; ++i) to[rows.narrow + i] += factor * a[rows.wide + i * step];
    });
  });
}

void add_wide(const Meeting& meeting, const Tensor& wide, const Tensor& narrow, const Tensor& weight) {
  const int64_t step = meeting.stride[meeting.stride.size() - 1];
  dispatch_numbers(wide->dtype(), "slow_conv_transpose2d_out_cpu", [&](auto zero) {
    using T = decltype(zero);
    T* to = wide->data<T>();
    const T *a = narrow->data<T>(), *b = weight->data<T>();
    each_row(meeting, [&](const Rows& rows) {
      const T factor = b[rows.weight];
      for (int64_t i = 0; i < rows.length; ++i) to[rows.wide + i * step] += factor * a[rows.narrow + i];
    });
  });
}

void add_weight(const Meeting& meeting, const Tensor& weight, const Tensor& wide, const Tensor& narrow) {
  const int64_t step = meeting.stride[meeting.stride.size() - 1];
  dispatch_numbers(weight->dtype(), "slow_conv2d_backward", [&](auto zero) {
    using T = decltype(zero);
    T* to = weight->data<T>();
    const T *a = wide->data<T>(), *b = narrow->data<T>();
    each_row(meeting, [&](const Rows& rows) {
      T total = 0;
      for (int64_t i = 0; i < rows.length; ++i) total += a[rows.wide + i * step] * b[rows.narrow + i];
      to[rows.weight] += total;
    });
  });
}

}  // namespace gradlife::kernels
