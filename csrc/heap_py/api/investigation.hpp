// Finds why one object is alive, in one go without other code running, so that all parts describe the same moment.
#pragma once

#include "base/pyref.hpp"
#include "heap_py/api/graph_type.hpp"
#include "heap_py/api/values.hpp"
#include "heap_py/walk/walker.hpp"

namespace gradlife::heap {

// The graph, and a dict of plain values: the path to `target`, its referrers, and its fate. A path is a list of
// References, see values.hpp.
struct Investigation {
  std::unique_ptr<FrozenGraph> frozen;
  Ref findings;
};
// Called from Python through the vectorcall protocol: the tool's own references to the target are found in its frames.
// With `with_scan`, searches memory for holders of references that the referrers do not explain.
Investigation investigate(const ValueTypes& types, PyObject* target, const WalkOptions& options, bool with_sizes,
                          bool with_scan);
// [(lifetime, path) or None, ...]: the fate of the objects at these addresses, and the paths to them. None: not found
// in the walk with these options. The addresses must be those of live objects.
Ref judge(const ValueTypes& types, PyObject* addresses, const WalkOptions& options);
// [(references, known referrers, [holder, ...]), ...], one for each object: every word that may hold it, even if its
// references are explained.
Ref scan(PyObject* objects, const WalkOptions& options);  // a list

// [[holder, ...], ...], one for each C++ object, given by a list of addresses as ints.
Ref scan_natives(PyObject* addresses, const WalkOptions& options);

}  // namespace gradlife::heap
