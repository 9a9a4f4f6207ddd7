// Engine errors, by the Python exception that they become.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace gradlife {

enum class ErrorKind : uint8_t { runtime, type, value, index, not_implemented, memory, any };

class EngineError : public std::runtime_error {
 public:
  EngineError(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind(kind) {}
  ErrorKind kind;
};

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

template <class... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  throw EngineError(kind, concat(parts...));
}

template <class... Parts>
void require(bool holds, const Parts&... parts) {
  if (!holds) fail(ErrorKind::runtime, parts...);
}

}  // namespace gradlife
