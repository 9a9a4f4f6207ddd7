#include "heap_py/creations/call_sites.hpp"

#include "heap_py/interpreter/interpreter.h"

namespace gradlife::heap {
namespace {

// Frames that run a module's top-level code. Objects created while a library is imported belong to no line of the
// program, and stacks are deep where libraries import one another.
constexpr const char* importer = "<frozen importlib.";

// Returns the UTF-8 of a text. Python would cache it for texts other than ASCII, until they are freed.
std::string utf8(PyObject* text) {
  if (text == nullptr || !PyUnicode_Check(text)) return {};
  if (PyUnicode_IS_COMPACT_ASCII(text))
    return {static_cast<const char*>(PyUnicode_DATA(text)), static_cast<size_t>(PyUnicode_GET_LENGTH(text))};
  const char* bytes = PyUnicode_AsUTF8(text);
  if (bytes != nullptr) return bytes;
  PyErr_Clear();
  return {};
}

// Returns the length of the longest of these prefixes of a file's name; 0: none.
size_t beginning(const std::string& file, const std::vector<std::string>& starts) {
  size_t longest = 0;
  for (const std::string& start : starts)
    if (start.size() > longest && file.compare(0, start.size(), start) == 0) longest = start.size();
  return longest;
}

// Whether the newest frame of a thread runs a function with this name.
bool is_in(PyThreadState* thread, const char* function) {
  void* frame = gl_newest_frame(thread);
  PyCodeObject* code;
  int instruction;
  while (frame != nullptr && gl_frame_place(frame, &code, &instruction) == 0) frame = gl_older_frame(frame);
  return frame != nullptr && PyUnicode_CompareWithASCIIString(code->co_name, function) == 0;
}

}  // namespace

uint32_t CallSites::current() noexcept {
  try {
    return look(gl_current_thread());
  } catch (...) {
    return unknown;
  }
}

uint32_t CallSites::of_thread_in(const char* function) noexcept {
  try {
    PyThreadState* thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    while (thread != nullptr && !is_in(thread, function)) thread = PyThreadState_Next(thread);
    return look(thread);
  } catch (...) {
    return unknown;
  }
}

uint32_t CallSites::look(PyThreadState* thread) {
  if (thread == nullptr) return unknown;
  Stack stack;
  stack.fill(unknown);
  size_t found = 0;
  uint32_t foreign = unknown;
  for (void* frame = gl_newest_frame(thread); frame != nullptr && frame != end_ && found < depth_;
       frame = gl_older_frame(frame)) {
    PyCodeObject* code;
    int instruction;
    if (gl_frame_place(frame, &code, &instruction) == 0) continue;
    Source& source = source_of(code);
    if (source.owner == Owner::runner && found != 0) break;
    if (source.owner == Owner::importer && found == 0) break;
    if (source.owner == Owner::program) stack[found++] = place_of(source, code, instruction);
    if (source.owner == Owner::foreign && foreign == unknown) foreign = place_of(source, code, instruction);
  }
  if (found == 0) stack[0] = foreign;
  if (stack[0] == unknown) return unknown;
  const auto [at, is_new] = known_stacks_.try_emplace(stack, static_cast<uint32_t>(stacks_.size()));
  if (is_new) stacks_.push_back(stack);
  return at->second;
}

CallSites::Source& CallSites::source_of(PyCodeObject* code) {
  const auto [at, is_new] = sources_.try_emplace(code);
  Source& source = at->second;
  if (is_new || source.file != code->co_filename || source.function != code->co_qualname ||
      source.first_line != code->co_firstlineno)
    source = {code->co_filename, code->co_qualname, code->co_firstlineno, owner_of(utf8(code->co_filename)), {}};
  return source;
}

uint32_t CallSites::place_of(Source& source, PyCodeObject* code, int instruction) {
  const auto known = source.places.find(instruction);
  if (known != source.places.end()) return known->second;
  Place place{utf8(code->co_filename), utf8(code->co_qualname), gl_line_of(code, instruction)};
  if (detail_ == Detail::columns) place.column = gl_column_of(code, instruction);
  const auto [at, is_new] = known_places_.try_emplace(std::move(place), static_cast<uint32_t>(places_.size()));
  if (is_new) places_.push_back(at->first);
  source.places.emplace(instruction, at->second);
  return at->second;
}

CallSites::Owner CallSites::owner_of(const std::string& file) const {
  if (beginning(file, runners_) != 0) return Owner::runner;
  if (beginning(file, {importer}) != 0) return Owner::importer;
  const size_t skipped = beginning(file, skipped_), foreign = beginning(file, foreign_);
  if (skipped == 0 && foreign == 0) return Owner::program;
  return skipped > foreign ? Owner::skipped : Owner::foreign;  // one folder may be inside the other
}

}  // namespace gradlife::heap
