#include "engine_py/out_forms.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace gradlife {
namespace {

constexpr const char* cast = "result type %r can't be cast to the desired output type %o";
constexpr const char* joined = "torch.cat(): input types can't be cast to the desired output type %o";
constexpr const char* found = "Found dtype %o but expected %r";
constexpr const char* typed = "Expected out type to be %r but got %o";
constexpr const char* matched =
    "Expected the dtype for input and out to match, but got %r for input's dtype and %o for out's dtype.";

// clang-format off
constexpr OutForm out_forms[] = {
    {"acos", "acos", Fit::cast, cast},
    {"acosh", "acosh", Fit::cast, cast},
    {"arccos", "acos", Fit::cast, cast},
    {"arccosh", "acosh", Fit::cast, cast},
    {"asin", "asin", Fit::cast, cast},
    {"asinh", "asinh", Fit::cast, cast},
    {"arcsin", "asin", Fit::cast, cast},
    {"arcsinh", "asinh", Fit::cast, cast},
    {"atan", "atan", Fit::cast, cast},
    {"atanh", "atanh", Fit::cast, cast},
    {"arctan", "atan", Fit::cast, cast},
    {"arctanh", "atanh", Fit::cast, cast},
    {"atan2", "atan2", Fit::cast, cast},
    {"arctan2", "atan2", Fit::cast, cast},
    {"add", "add", Fit::cast, cast},
    {"addcdiv", "addcdiv", Fit::cast, cast},
    {"addcmul", "addcmul", Fit::cast, cast},
    {"clamp_max", "clamp_max", Fit::cast, cast},
    {"clamp_min", "clamp_min", Fit::cast, cast},
    {"cos", "cos", Fit::cast, cast},
    {"cosh", "cosh", Fit::cast, cast},
    {"deg2rad", "deg2rad", Fit::cast, cast},
    {"div", "div", Fit::cast, cast},
    {"divide", "div", Fit::cast, cast},
    {"true_divide", "div", Fit::cast, cast},
    {"erf", "erf", Fit::cast, cast},
    {"erfc", "erfc", Fit::cast, cast},
    {"exp", "exp", Fit::cast, cast},
    {"exp2", "exp2", Fit::cast, cast},
    {"expm1", "expm1", Fit::cast, cast},
    {"fmod", "fmod", Fit::cast, cast},
    {"hypot", "hypot", Fit::cast, cast},
    {"lerp", "lerp", Fit::cast, cast},
    {"log", "log", Fit::cast, cast},
    {"log10", "log10", Fit::cast, cast},
    {"log1p", "log1p", Fit::cast, cast},
    {"log2", "log2", Fit::cast, cast},
    {"logaddexp", "logaddexp", Fit::cast, cast},
    {"logit", "logit", Fit::cast, cast},
    {"maximum", "maximum", Fit::cast, cast},
    {"mean", "mean", Fit::cast, cast},
    {"minimum", "minimum", Fit::cast, cast},
    {"mul", "mul", Fit::cast, cast},
    {"multiply", "mul", Fit::cast, cast},
    {"pow", "pow", Fit::cast, cast},
    {"rad2deg", "rad2deg", Fit::cast, cast},
    {"reciprocal", "reciprocal", Fit::cast, cast},
    {"remainder", "remainder", Fit::cast, cast},
    {"rsqrt", "rsqrt", Fit::cast, cast},
    {"sigmoid", "sigmoid", Fit::cast, cast},
    {"sin", "sin", Fit::cast, cast},
    {"sinh", "sinh", Fit::cast, cast},
    {"sqrt", "sqrt", Fit::cast, cast},
    {"square", "pow", Fit::cast, cast},
    {"std", "std", Fit::cast, cast},
    {"sub", "sub", Fit::cast, cast},
    {"subtract", "sub", Fit::cast, cast},
    {"tan", "tan", Fit::cast, cast},
    {"tanh", "tanh", Fit::cast, cast},
    {"var", "var", Fit::cast, cast},
    {"xlogy", "xlogy", Fit::cast, cast},
    {"outer", "mul", Fit::cast, cast},
    {"ger", "mul", Fit::cast, cast},
    {"cat", "cat", Fit::cast, joined, ErrorKind::type},
    {"concat", "cat", Fit::cast, joined, ErrorKind::type},
    {"stack", "stack", Fit::cast, joined, ErrorKind::type},
    {"abs", "abs", Fit::same, found},
    {"absolute", "abs", Fit::same, found},
    {"ceil", "ceil", Fit::same, found},
    {"clamp", "clamp", Fit::same, found},
    {"clip", "clamp", Fit::same, found},
    {"fix", "trunc", Fit::same, found},
    {"floor", "floor", Fit::same, found},
    {"frac", "frac", Fit::same, found},
    {"neg", "neg", Fit::same, found},
    {"negative", "neg", Fit::same, found},
    {"round", "round", Fit::same, found},
    {"sgn", "sgn", Fit::same, found},
    {"sign", "sign", Fit::same, found},
    {"trunc", "trunc", Fit::same, found},
    {"where", "where", Fit::same, typed},
    {"addmm", "addmm", Fit::same},
    {"addmv", "addmv", Fit::same},
    {"amax", "amax", Fit::same, matched},
    {"amin", "amin", Fit::same, matched},
    {"argmax", nullptr, Fit::same},
    {"argmin", nullptr, Fit::same},
    {"baddbmm", "baddbmm", Fit::same},
    {"bmm", "bmm", Fit::same},
    {"dot", "dot", Fit::same, "result dtype %o does not match input dtype %r"},
    {"gather", "gather", Fit::same},
    {"index_select", "index_select", Fit::same, "index_select(): self and result must have the same scalar type"},
    {"masked_select", "masked_select", Fit::same, "masked_select(): self and result must have the same scalar type"},
    {"matmul", "matmul", Fit::same},
    {"mm", "mm", Fit::same},
    {"mv", "mv", Fit::same, "addmv input tensors must have the same dtype, but got %o, %r, and %r"},
    {"take", "take", Fit::same, "take(): self and out expected to have the same dtype, but got self.dtype = %r and out.dtype = %o"},
    {"take_along_dim", "gather", Fit::same},
    {"tril", "tril", Fit::same},
    {"triu", "triu", Fit::same},
    {"vdot", "vdot", Fit::same, "result dtype %o does not match input dtype %r"},
    {"eq", nullptr, Fit::any},
    {"ne", nullptr, Fit::any},
    {"lt", nullptr, Fit::any},
    {"le", nullptr, Fit::any},
    {"gt", nullptr, Fit::any},
    {"ge", nullptr, Fit::any},
    {"logical_and", nullptr, Fit::any},
    {"logical_or", nullptr, Fit::any},
    {"logical_xor", nullptr, Fit::any},
    {"logical_not", nullptr, Fit::any},
    {"sum", "sum", Fit::reducing},
    {"prod", "prod", Fit::reducing},
    {"cumsum", "cumsum", Fit::leading},
    {"cumprod", "cumprod", Fit::leading},
    {"nansum", "nansum", Fit::reducing},
};
// clang-format on

}  // namespace

const OutForm* out_form(const char* name) {
  const OutForm* found = std::find_if(std::begin(out_forms), std::end(out_forms),
                                      [name](const OutForm& form) { return std::strcmp(form.name, name) == 0; });
  return found != std::end(out_forms) ? found : nullptr;
}

}  // namespace gradlife
