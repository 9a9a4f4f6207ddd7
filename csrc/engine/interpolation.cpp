// Interpolation: one node, whichever way places are weighed.
#include <cstring>
#include <string>

#include "engine/op_node.hpp"
#include "engine/resampling.hpp"

namespace gradlife::ops {
namespace {

constexpr const char* dim_letters = "DHW";

// "scales" for a row, else "scales_h" and "scales_w".
std::vector<const char*> scale_fields(size_t dims) {
  if (dims == 1) return {"scales"};
  if (dims == 2) return {"scales_h", "scales_w"};
  return {"scales_d", "scales_h", "scales_w"};
}

const char* plain_name(Resampling kind, size_t dims) {
  switch (kind) {
    case Resampling::nearest:
      return dims == 1 ? "UpsampleNearest1D" : dims == 2 ? "UpsampleNearest2D" : "UpsampleNearest3D";
    case Resampling::nearest_exact:
      return dims == 1 ? "UpsampleNearestExact1D" : dims == 2 ? "UpsampleNearestExact2D" : "UpsampleNearestExact3D";
    case Resampling::linear:
      return dims == 1 ? "UpsampleLinear1D" : dims == 2 ? "UpsampleBilinear2D" : "UpsampleTrilinear3D";
    case Resampling::linear_smooth:
      return "UpsampleBilinear2DAa";
    case Resampling::cubic_smooth:
      return "UpsampleBicubic2DAa";
    default:
      return "UpsampleBicubic2D";
  }
}

bool aligns(Resampling kind) { return kind != Resampling::nearest && kind != Resampling::nearest_exact; }

const NodeSpec& make_spec(Resampling kind, size_t dims, bool backward) {
  std::vector<SavedField> fields;
  if (aligns(kind)) fields.push_back(saved_number("align_corners"));
  fields.push_back(saved_number("output_size"));
  for (const char* name : scale_fields(dims)) fields.push_back(saved_number(name));
  if (!backward) fields.push_back(saved_number("self_sym_sizes"));
  // Types and events point at the text for ever.
  const auto* name =
      new std::string(std::string(plain_name(kind, dims)) + (backward ? "BackwardBackward0" : "Backward0"));
  return node_spec(name->c_str(), std::move(fields));
}

// One spec for each kind and number of dimensions, made when first used.
const NodeSpec& spec_of(Resampling kind, size_t dims, bool backward) {
  static const NodeSpec* specs[7][4][2] = {};
  const NodeSpec*& spec = specs[static_cast<size_t>(kind)][dims][backward ? 1 : 0];
  if (spec == nullptr) spec = &make_spec(kind, dims, backward);
  return *spec;
}

std::vector<Stretch> stretches_of(const Dims& input, const Interpolation& how) {
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < how.output_sizes.size(); ++i) {
    std::optional<double> scale;
    if (!how.scales.empty()) scale = how.scales[i];
    stretches.push_back({input[i + 2], how.output_sizes[i], how.align_corners, scale});
  }
  return stretches;
}

Tensor interpolate_back(const Tensor& gradient, const Interpolation& how, const Dims& input_sizes);

// Slots: none. `back`: stands behind the gradient, whose own gradient is the interpolation again.
class InterpolationNode final : public OpNode<0> {
 public:
  InterpolationNode(const Interpolation& how, const Dims& input, bool back)
      : OpNode<0>(spec_of(how.kind, how.output_sizes.size(), back)), how_(how), input_(input), back_(back) {}

  SavedValue saved_value(size_t field) const override {
    const std::string name = spec().fields[field].name;
    if (name == "align_corners") return saved(how_.align_corners);
    if (name == "output_size") return saved(how_.output_sizes);
    if (name == "self_sym_sizes") return saved(input_);
    if (how_.scales.empty()) return {};
    const size_t first = field;
    size_t index = 0;
    for (size_t i = 0; i < first; ++i) index += std::strncmp(spec().fields[i].name, "scales", 6) == 0 ? 1 : 0;
    return saved(Scalar(how_.scales[index]));
  }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    results[0] = back_ ? interpolate(gradient, how_) : interpolate_back(gradient, how_, input_);
  }

 private:
  Interpolation how_;
  Dims input_;
  bool back_;
};

Tensor interpolate_back(const Tensor& gradient, const Interpolation& how, const Dims& input_sizes) {
  const auto node = start_recording<InterpolationNode>({&gradient}, how, input_sizes, true);
  Tensor result = resampled_back(gradient, how.kind, stretches_of(input_sizes, how));
  if (node) set_history(result, node.owner);
  return result;
}

std::string described(const Dims& sizes, size_t first) {
  std::string text;
  const size_t dims = sizes.size() - first;
  for (size_t i = 0; i < dims; ++i)
    text += (i == 0 ? "" : ", ") + std::string(1, dim_letters[3 - dims + i]) + ": " + std::to_string(sizes[first + i]);
  return "(" + text + ")";
}

void check_interpolation(const TensorImpl& a, const Interpolation& how) {
  const Dims& sizes = a.sizes();
  const size_t dims = how.output_sizes.size();
  require(sizes.size() == dims + 2, "It is expected input_size equals to ", dims + 2, ", but got size ", sizes.size());
  bool fits = true;
  for (size_t i = 0; i < dims; ++i) fits = fits && sizes[i + 2] > 0 && how.output_sizes[i] > 0;
  require(fits, "Input and output sizes should be greater than 0, but got input ", described(sizes, 2),
          dims == 1 ? " and output " : " output ", described(how.output_sizes, 0));
  require(sizes[1] > 0, "Non-empty ", dims + 2, "D data tensor expected but got a tensor with sizes ", sizes);
}

}  // namespace

Tensor interpolate(const Tensor& a, const Interpolation& how) {
  refuse_forbidden_view_of(a);
  check_interpolation(*a, how);
  const auto node = start_recording<InterpolationNode>({&a}, how, a->sizes(), false);
  Tensor result = resampled(a, how.kind, stretches_of(a->sizes(), how));
  if (node) set_history(result, node.owner);
  return result;
}

}  // namespace gradlife::ops
