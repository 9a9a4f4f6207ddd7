// Values that live as long as the process.
#pragma once

#include <deque>
#include <utility>

namespace gradlife {

// Keeps the value at its address, where leak detectors find it. Call it under the interpreter lock.
template <class T>
T& immortal(T value) {
  static auto* kept = new std::deque<T>;
  return kept->emplace_back(std::move(value));
}

}  // namespace gradlife
