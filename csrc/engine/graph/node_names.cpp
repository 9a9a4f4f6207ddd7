// The class name of a node in each release. Events and types point at these texts, so they are never freed.
#include <cctype>
#include <cstring>
#include <set>
#include <string>

#include "engine/graph/node.hpp"
#include "engine/policy/traits.hpp"

namespace gradlife {
namespace {

constexpr const char* numbered_names[] = {
    "AddBackward0",     "SubBackward0",       "MulBackward0",       "DivBackward0",
    "PowBackward0",     "PowBackward1",       "SumBackward0",       "SumBackward1",
    "MeanBackward0",    "MeanBackward1",      "TransposeBackward0", "SqueezeBackward0",
    "SqueezeBackward1", "UnsqueezeBackward0", "CatBackward0",       "ReluBackward0"};

const char* keep(const std::string& text) {
  static auto* texts = new std::set<std::string>;
  return texts->insert(text).first->c_str();
}

std::string snake_case(const std::string& name) {
  std::string words;
  for (const char letter : name) {
    if (std::isupper(static_cast<unsigned char>(letter)) != 0 && !words.empty()) words += '_';
    words += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return words;
}

// OneFlow names a node after its operation or custom Function: broadcast_mul_backward, Scale_backward.
const char* oneflow_name(const std::string& name) {
  const size_t end = name.rfind("Backward");
  if (end == std::string::npos) return keep(name);
  const bool is_custom = end + std::strlen("Backward") == name.size();
  const std::string operation = name.substr(0, end);
  return keep((is_custom ? operation : snake_case(operation == "Mul" ? "BroadcastMul" : operation)) + "_backward");
}

}  // namespace

const char* name_in_release(const char* name, const Policy& policy) {
  if (policy.is_oneflow) return oneflow_name(name);
  if (!has(policy, traits::assigned_scalar_keeps_graph) && std::strncmp(name, "FillBackward", 12) == 0)
    name = name[12] == '2' ? "FillBackward0" : "FillBackward1";
  if (!has(policy, traits::squeezes_several_dims) && std::strncmp(name, "SqueezeBackward", 15) == 0 && name[15] > '2')
    name = name[15] == '3' ? "SqueezeBackward2" : "SqueezeBackward3";
  if (has(policy, traits::numbers_all_node_names)) return name;
  const size_t length = std::strlen(name);
  if (length < 9 || std::strcmp(name + length - 9, "Backward0") != 0) return name;
  for (const char* numbered : numbered_names)
    if (std::strcmp(name, numbered) == 0) return name;
  return keep(std::string(name, length - 1));
}

}  // namespace gradlife
