// Pictures made larger or smaller: each place along a dimension is a weighted sum of a few places of the input.
#pragma once

#include <optional>
#include <vector>

#include "engine/tensor.hpp"

namespace gradlife::ops {

enum class Resampling : uint8_t {
  nearest,
  nearest_exact,
  linear,
  cubic,
  linear_smooth,
  cubic_smooth,
  averages,
  nearest_in_order
};

// How far one dimension of space is stretched: the numbers that decide which places are looked at.
struct Stretch {
  int64_t from, to;
  bool align_corners;           // the first and last places stay where they are
  std::optional<double> scale;  // as it was asked for; else it follows from the sizes
};

// Place `i` of the result is made of the terms [starts[i], starts[i + 1]).
struct ResamplingTable {
  std::vector<size_t> starts{0};
  std::vector<int64_t> places;
  std::vector<double> weights;
  void add(int64_t place, double weight) {
    places.push_back(place);
    weights.push_back(weight);
  }
  void finish_place() { starts.push_back(places.size()); }
};
// `dtype`: that of the weights, as far as their rounding goes.
ResamplingTable resampling_table(Resampling kind, const Stretch& stretch, DType dtype);

// Along the dimensions of space, which are all but the first two. Without history.
Tensor resampled(const Tensor& a, Resampling kind, const std::vector<Stretch>& stretches);
// The other way: what each place of the input gets of a gradient of the result.
Tensor resampled_back(const Tensor& gradient, Resampling kind, const std::vector<Stretch>& stretches);

// What an interpolation is asked for. `scales`: one for each dimension of space, or none at all.
struct Interpolation {
  Resampling kind;
  Dims output_sizes;
  bool align_corners = false;
  std::vector<double> scales;
};
// `a`: (batch, channels, space...). Errors: no elements, or sizes below 1.
Tensor interpolate(const Tensor& a, const Interpolation& how);

// Averages of so many parts of about equal size, along the last two or three dimensions.
Tensor adaptive_average(const Tensor& a, const Dims& sizes);

}  // namespace gradlife::ops
