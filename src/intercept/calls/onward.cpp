#include "intercept/calls/onward.hpp"

namespace hcoll {

Vendor onward;

}  // namespace hcoll
