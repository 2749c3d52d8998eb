// Which body runs on this machine.
#ifndef MENURA_BODIES_H
#define MENURA_BODIES_H

#include "api.h"

namespace menura {

// The body's name; the one that MENURA_NATIVE_BODY names if it is set. Empty where none can run.
const char* chosen_body();

}  // namespace menura

#endif
