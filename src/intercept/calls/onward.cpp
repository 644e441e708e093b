// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/calls/onward.hpp"

namespace hcoll {

Vendor onward;

}  // namespace hcoll
