// SPDX-License-Identifier: BSD-3-Clause
// What went wrong in a run, in the words of MPI.
#pragma once

#include "intercept/communicator/own_algorithms.hpp"

namespace hcoll {

int error_of(const NodeFailure& failure);
// Of the status of a transport.
int error_of(const OwnAlgorithms& own, Status status);

}  // namespace hcoll
