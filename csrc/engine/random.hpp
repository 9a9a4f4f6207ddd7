// Numbers of the process's random number generator, one at a time (callers hold the interpreter lock).
#pragma once

#include <cstdint>

#include "engine/scalar.hpp"
#include "engine/tensor.hpp"

namespace gradlife::ops {

double random_uniform();  // in [0, 1)
double random_normal();
uint64_t random_word();

// Overwrites the target. What it was gets a gradient of zeros. Errors: parameters outside of their range.
void bernoulli_in_place(const Tensor& target, double probability);
void bernoulli_in_place(const Tensor& target, const Tensor& probabilities);
void random_in_place(const Tensor& target);
void random_in_place(const Tensor& target, int64_t end);
void random_in_place(const Tensor& target, int64_t first, int64_t end);
void exponential_in_place(const Tensor& target, double rate);
void geometric_in_place(const Tensor& target, double probability);
void log_normal_in_place(const Tensor& target, double mean, double deviation);
void cauchy_in_place(const Tensor& target, double median, double width);

Tensor bernoulli(const Tensor& probabilities);
Tensor bernoulli(const Tensor& like, double probability);
Tensor normal(const Tensor& mean, double deviation);
Tensor normal(double mean, const Tensor& deviation);
Tensor normal(const Tensor& mean, const Tensor& deviation);

}  // namespace gradlife::ops
