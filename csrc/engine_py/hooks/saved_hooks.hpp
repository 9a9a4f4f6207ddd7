// Pack and unpack hooks written in Python, and the stack of default hooks of each thread.
#pragma once

#include <functional>
#include <memory>

#include "base/pyref.hpp"
#include "engine/graph/hooks.hpp"

namespace gradlife {

// Owns references to the callables, as the policy of hook references says: `owned`; `borrowed`, one too few; `extra`,
// one too many.
std::unique_ptr<SavedHooks> make_saved_hooks(Borrowed pack, Borrowed unpack);

// The default hooks of this thread. Errors: RuntimeError when they are disabled, or when the stack is empty.
void push_default_hooks(Borrowed pack, Borrowed unpack);
void pop_default_hooks();
Ref top_default_hooks(bool ignores_tracing);  // (pack, unpack) or None
bool set_hooks_tracing(bool is_tracing);  // while tracing, default hooks are not applied; returns the previous value
void disable_default_hooks(const char* message);
void enable_default_hooks();
Ref disabled_message();  // str, or None while enabled
std::unique_ptr<SavedHooks> default_hooks_of_thread();
std::function<void()> copy_default_hooks();  // see install_default_hooks

}  // namespace gradlife
