// The program's innermost frames, without those of libraries. No Python object is created or kept, so that they can be
// read within an allocation.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace gradlife::heap {

struct Place {
  std::string file, function;
  int line;
  int column = -1;  // -1: not read, or unknown
  bool operator<(const Place& other) const {
    return std::tie(file, function, line, column) < std::tie(other.file, other.function, other.line, other.column);
  }
};

class CallSites {
 public:
  static constexpr uint32_t unknown = UINT32_MAX;
  static constexpr size_t max_frames = 16;  // limit of program frames kept of a stack
  static constexpr size_t usual_frames = 3;
  using Stack = std::array<uint32_t, max_frames>;

  enum class Detail : uint8_t { lines, columns };

  // Files with these prefixes are not part of the program: runners, where its stack ends; skipped files, which are
  // never shown; foreign files, which are shown if there is nothing else.
  CallSites(std::vector<std::string> runners, std::vector<std::string> skipped, std::vector<std::string> foreign,
            size_t depth = usual_frames, Detail detail = Detail::lines)
      : runners_(std::move(runners)),
        skipped_(std::move(skipped)),
        foreign_(std::move(foreign)),
        depth_(depth),
        detail_(detail) {}

  // Returns the call site of the calling thread; `unknown` if only libraries run in it, or memory is short.
  uint32_t current() noexcept;
  // Returns the call site of the thread whose newest frame runs a function with this name; else `unknown`.
  uint32_t of_thread_in(const char* function) noexcept;

  // This frame and the older ones belong to what runs the program: stacks are read no further. nullptr: no such frame.
  void end_at(const void* frame) { end_ = frame; }

  const std::vector<Place>& places() const { return places_; }
  const std::vector<Stack>& stacks() const { return stacks_; }

 private:
  enum class Owner : uint8_t { program, foreign, skipped, importer, runner };
  // The call sites of a code object, which may be freed and its address reused.
  struct Source {
    const PyObject *file, *function;
    int first_line;
    Owner owner;
    std::unordered_map<int, uint32_t> places;  // by instruction
  };

  uint32_t look(PyThreadState* thread);
  Source& source_of(PyCodeObject* code);
  uint32_t place_of(Source& source, PyCodeObject* code, int instruction);
  Owner owner_of(const std::string& file) const;

  std::vector<std::string> runners_, skipped_, foreign_;
  size_t depth_;  // number of program frames to keep of a stack
  Detail detail_;
  const void* end_ = nullptr;
  std::unordered_map<const PyCodeObject*, Source> sources_;
  std::map<Place, uint32_t> known_places_;
  std::map<Stack, uint32_t> known_stacks_;
  std::vector<Place> places_;
  std::vector<Stack> stacks_;
};

}  // namespace gradlife::heap
