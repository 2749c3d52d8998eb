// Which code comes next. The twin of menura/runtime/sampling.py: given equal scores and noise it
// chooses the same entry.
#ifndef MENURA_SAMPLING_H
#define MENURA_SAMPLING_H

#include <vector>

#include "api.h"

namespace menura {

struct Drawn {
    int code;       // 0 where the scores allow no choice
    bool is_sound;  // not where one is NaN, or all are infinite
};

// The sampling values of one draw. `seen` and `allowed` [n] may be null.
struct Draw {
    const menura_sampling* sampling;
    const float* noise;  // exponential numbers [n]; null only when greedy
    const uint8_t* seen;
    const uint8_t* allowed;
};

// Working memory, kept from draw to draw so that none is allocated inside a frame.
struct DrawScratch {
    std::vector<float> scores;
    std::vector<float> kept;
    std::vector<int> order;
};

Drawn draw(const float* scores, int n, const Draw& how, DrawScratch& scratch);

}  // namespace menura

#endif
