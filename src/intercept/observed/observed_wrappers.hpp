// SPDX-License-Identifier: BSD-3-Clause
// What the slots of libhcoll.so jump to, instead of the wrappers (calls/wrappers.hpp), where collectives are observed: each lets an ObservedCall see the
// call and goes on to the wrapper. Where nobody observes, none of this is in any call's way.
#pragma once

#include "intercept/calls/wrappers.hpp"

namespace hcoll {

#define HCOLL_OBSERVED_FUNCTION(name) extern decltype(wrap_##name)* const observed_##name;
#define HCOLL_OBSERVED_EXTENSION_FUNCTION(name)
#include "intercept/observed/observed_functions.def"
#undef HCOLL_OBSERVED_FUNCTION
#undef HCOLL_OBSERVED_EXTENSION_FUNCTION

// The same of calls that wait and are no such collectives, where a setting watches or traces.
#define HCOLL_WATCHED_FUNCTION(name) extern decltype(wrap_##name)* const watched_##name;
#include "intercept/observed/watched_functions.def"

}  // namespace hcoll
