// Which places of the input a place of the result is made of. Positions are computed in the precision of the tensor, as
// PyTorch does: rounding decides between neighbours.
#include <algorithm>
#include <cmath>

#include "engine/resampling.hpp"

namespace gradlife::ops {
namespace {

template <class T>
T step_of(const Stretch& stretch) {
  if (stretch.align_corners)
    return stretch.to > 1 ? static_cast<T>(stretch.from - 1) / static_cast<T>(stretch.to - 1) : T(0);
  if (stretch.scale && *stretch.scale > 0) return static_cast<T>(1.0 / *stretch.scale);
  return static_cast<T>(stretch.from) / static_cast<T>(stretch.to);
}

template <class T>
T position(const Stretch& stretch, T step, int64_t place, bool may_be_negative) {
  if (stretch.align_corners) return step * static_cast<T>(place);
  const T at = step * (static_cast<T>(place) + T(0.5)) - T(0.5);
  return at < 0 && !may_be_negative ? T(0) : at;
}

int64_t within(int64_t place, const Stretch& stretch) { return std::clamp<int64_t>(place, 0, stretch.from - 1); }

void nearest(const Stretch& stretch, bool exact, ResamplingTable& table) {
  const Stretch plain{stretch.from, stretch.to, false, stretch.scale};
  const float step = step_of<float>(plain);
  for (int64_t i = 0; i < stretch.to; ++i) {
    const float at = (static_cast<float>(i) + (exact ? 0.5F : 0.0F)) * step;
    table.add(std::min(static_cast<int64_t>(std::floor(at)), stretch.from - 1), 1);
    table.finish_place();
  }
}

// As many or twice as many places are taken in order, whatever the scale says.
void nearest_in_order(const Stretch& stretch, ResamplingTable& table) {
  const int64_t times = stretch.to == stretch.from ? 1 : stretch.to == 2 * stretch.from ? 2 : 0;
  if (times == 0) return nearest(stretch, false, table);
  for (int64_t i = 0; i < stretch.to; ++i) {
    table.add(i / times, 1);
    table.finish_place();
  }
}

template <class T>
void linear(const Stretch& stretch, ResamplingTable& table) {
  const T step = step_of<T>(stretch);
  for (int64_t i = 0; i < stretch.to; ++i) {
    const T at = position(stretch, step, i, false);
    const int64_t first = stretch.from == stretch.to ? i : std::min(static_cast<int64_t>(at), stretch.from - 1);
    const T share = stretch.from == stretch.to ? T(0) : std::clamp<T>(at - static_cast<T>(first), 0, 1);
    table.add(first, T(1) - share);
    table.add(std::min(first + 1, stretch.from - 1), share);
    table.finish_place();
  }
}

// The usual cubic: `a` is its slope at distance 1.
template <class T>
T cubic_weight(T distance, T a) {
  const T x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : T(0);
}

template <class T>
void cubic(const Stretch& stretch, ResamplingTable& table) {
  const T step = step_of<T>(stretch);
  for (int64_t i = 0; i < stretch.to; ++i) {
    const T at = position(stretch, step, i, true);
    const int64_t first = static_cast<int64_t>(std::floor(at));
    const T share = at - static_cast<T>(first);
    for (int64_t k = -1; k <= 2; ++k)
      table.add(within(first + k, stretch), cubic_weight<T>(share - static_cast<T>(k), T(-0.75)));
    table.finish_place();
  }
}

template <class T>
T triangle(T distance) {
  return std::max<T>(0, 1 - std::abs(distance));
}

// Where the result is smaller, more places are looked at, so that none is left out.
template <class T, class Weight>
void smooth(const Stretch& stretch, T reach, Weight weight, ResamplingTable& table) {
  const T step = step_of<T>(stretch);
  const T support = step >= 1 ? reach * step : reach;
  const T shrink = step >= 1 ? 1 / step : T(1);
  for (int64_t i = 0; i < stretch.to; ++i) {
    const T centre = step * (static_cast<T>(i) + T(0.5));
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(centre - support + T(0.5)), 0);
    const int64_t last = std::min<int64_t>(static_cast<int64_t>(centre + support + T(0.5)), stretch.from);
    std::vector<T> weights;
    T total = 0;
    for (int64_t k = first; k < last; ++k) {
      weights.push_back(weight((static_cast<T>(k) - centre + T(0.5)) * shrink));
      total += weights.back();
    }
    for (int64_t k = first; k < last; ++k) {
      const T each = weights[static_cast<size_t>(k - first)];
      table.add(k, total != 0 ? each / total : each);
    }
    table.finish_place();
  }
}

void averages(const Stretch& stretch, ResamplingTable& table) {
  for (int64_t i = 0; i < stretch.to; ++i) {
    const int64_t first = i * stretch.from / stretch.to;
    const int64_t last = ((i + 1) * stretch.from + stretch.to - 1) / stretch.to;
    for (int64_t k = first; k < last; ++k) table.add(k, 1.0 / static_cast<double>(last - first));
    table.finish_place();
  }
}

template <class T>
ResamplingTable table_of(Resampling kind, const Stretch& stretch) {
  ResamplingTable table;
  switch (kind) {
    case Resampling::nearest:
    case Resampling::nearest_exact:
      nearest(stretch, kind == Resampling::nearest_exact, table);
      break;
    case Resampling::nearest_in_order:
      nearest_in_order(stretch, table);
      break;
    case Resampling::linear:
      linear<T>(stretch, table);
      break;
    case Resampling::cubic:
      cubic<T>(stretch, table);
      break;
    case Resampling::linear_smooth:
      smooth<T>(stretch, 1, triangle<T>, table);
      break;
    case Resampling::cubic_smooth:
      smooth<T>(stretch, 2, [](T distance) { return cubic_weight<T>(distance, T(-0.5)); }, table);
      break;
    case Resampling::averages:
      averages(stretch, table);
  }
  return table;
}

}  // namespace

ResamplingTable resampling_table(Resampling kind, const Stretch& stretch, DType dtype) {
  return dtype == DType::float64 ? table_of<double>(kind, stretch) : table_of<float>(kind, stretch);
}

}  // namespace gradlife::ops
