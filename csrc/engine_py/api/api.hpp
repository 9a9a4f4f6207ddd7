// Functions of the module that are not operations: autograd, policies, and observing the engine.
#pragma once

#include "base/pyref.hpp"

namespace gradlife {

extern PyMethodDef autograd_functions[];    // api_autograd.cpp
extern PyMethodDef graph_task_functions[];  // api_graph_task.cpp
extern PyMethodDef mode_functions[];        // api_modes.cpp
extern PyMethodDef policy_functions[];      // api_policy.cpp
extern PyMethodDef observe_functions[];     // api_observe.cpp
extern PyMethodDef random_functions[];      // api_random.cpp
extern PyMethodDef watching_functions[];    // watching.cpp

}  // namespace gradlife
