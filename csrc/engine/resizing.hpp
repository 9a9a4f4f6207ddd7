// Tensors that get another size, or another memory, in place.
#pragma once

#include "engine/autograd.hpp"

namespace gradlife::ops {

// What is there stays, in the order of memory; what is new is uninitialised. Errors: it requires grad; a negative size;
// memory that can't grow.
Tensor resize_in_place(const Tensor& target, const Dims& sizes);
// A window on other memory from now on, which grows where the window reaches beyond it. `strides`: nullptr for those
// without gaps. `source`: whose memory it is, if a tensor's.
Tensor set_in_place(const Tensor& target, const StoragePtr& storage, int64_t offset, const Dims& sizes,
                    const Dims* strides, const Tensor& source);
// The window itself, for a result that is written into `target`: neither history nor version change.
void resize_raw(const Tensor& target, const Dims& sizes, const Dims& strides);

}  // namespace gradlife::ops
