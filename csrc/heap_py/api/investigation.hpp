// Finds why one object is alive, in one go while nothing else can run, so that all parts describe the same moment.
#pragma once

#include "base/pyref.hpp"
#include "heap_py/api/graph_type.hpp"
#include "heap_py/api/values.hpp"
#include "heap_py/walk/walker.hpp"

namespace gradlife::heap {

// The graph, and a dict of plain values: what leads to `target`, who refers to it, and its fate. The steps of a path
// are References, see values.hpp.
struct Investigation {
  std::unique_ptr<FrozenGraph> frozen;
  Ref findings;
};
// Called from Python through the vector protocol: the tool's own references to the target are found in its frames.
// With `with_scan`, memory is searched for holders of what the referrers do not explain.
Investigation investigate(const ValueTypes& types, PyObject* target, const WalkOptions& options, bool with_sizes,
                          bool with_scan);
// [(lifetime, path) or None, ...]: what becomes of the objects at these addresses, and what leads to them. None: not
// found among what the options let the walk see. The addresses must be those of living objects.
Ref judge(const ValueTypes& types, PyObject* addresses, const WalkOptions& options);
// [(references, known referrers, [holder, ...]), ...], one for each object: every word that may hold it, whether or not
// its references are explained.
Ref scan(PyObject* objects, const WalkOptions& options);  // a list

// [[holder, ...], ...], one for each object of C++, by its address: a list of ints.
Ref scan_natives(PyObject* addresses, const WalkOptions& options);

}  // namespace gradlife::heap
