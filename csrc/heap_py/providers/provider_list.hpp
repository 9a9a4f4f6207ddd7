// The providers that this process can use now.
#pragma once

#include <memory>

#include "heap_py/interpreter/provider.hpp"

namespace gradlife::heap {

struct TorchLayout;

class Providers {
 public:
  Providers();  // finds the loaded frameworks; imports none
  const std::vector<Provider*>& all() const { return all_; }
  std::vector<std::string> limits() const;

 private:
  std::shared_ptr<const TorchLayout> layout_;
  std::vector<std::unique_ptr<Provider>> owned_;
  std::vector<Provider*> all_;
};

// Returns the number of owners of a native object; -1: unknown.
int64_t owners_of(const Graph& graph, const std::vector<Provider*>& providers, NodeId node);

}  // namespace gradlife::heap
