// Packs matrices into tiles (tiles.h) and rounds them to the kind that is asked for.
#include <cmath>
#include <cstring>

#include "bf16.h"
#include "tiles.h"

namespace menura {
namespace {

constexpr int LANES = 16;  // partial sums, so that the compiler can add sixteen at once

// The nearest whole number of x, |x| < 2^22: adding 1.5 * 2^23 leaves no room for a fraction.
inline float rounded(float x) {
    constexpr float SHIFT = 12582912.0f;
    return (x + SHIFT) - SHIFT;
}

// NaN becomes the lowest.
inline float held(float x, float lowest, float highest) {
    return x >= lowest ? (x <= highest ? x : highest) : lowest;
}

// The whole numbers that a format has for a group, and how many share a scale.
struct Format {
    int group;
    float lowest, highest;
};

constexpr Format INT8 = {INT8_GROUP, -127.0f, 127.0f};
constexpr Format INT4 = {INT4_GROUP, -8.0f, 7.0f};

// The numbers of a group in steps of `scale`: whole ones within the format. Where the scale is
// (nearly) 0, so are the numbers.
void round_group(const Format& format, const float* group, float scale, float* out) {
    const float inverse = std::fabs(scale) > 1e-30f ? 1.0f / scale : 0.0f;
    for (int c = 0; c < format.group; ++c) {
        out[c] = held(rounded(group[c] * inverse), format.lowest, format.highest);
    }
}

// The squared error of a group that is rounded in steps of `scale`.
float rounding_error(const Format& format, const float* group, float scale) {
    float whole[INT8_GROUP];
    round_group(format, group, scale, whole);
    float errors[LANES] = {};
    for (int c = 0; c < format.group; c += LANES) {
        for (int i = 0; i < LANES; ++i) {
            const float error = group[c + i] - scale * whole[c + i];
            errors[i] += error * error;
        }
    }
    float total = 0.0f;
    for (const float error : errors) {
        total += error;
    }
    return total;
}

// The number of a group that is largest in size, with its sign.
float extreme_of(const Format& format, const float* group) {
    float extreme = 0.0f;
    for (int c = 0; c < format.group; ++c) {
        extreme = std::fabs(group[c]) > std::fabs(extreme) ? group[c] : extreme;
    }
    return extreme;
}

// Keeps the scale with the smallest error: which numbers fall near a step is luck, so out of
// several scales of about the right size one rounds a group clearly better than the others. A
// group with NaN or infinity gets NaN, so that nobody takes its products for numbers.
class BestScale {
public:
    BestScale(const Format& format, const float* group) : format_(format), group_(group) {}

    void offer(uint16_t scale) {
        const float error = rounding_error(format_, group_, from_bf16(scale));
        if (error < least_) {
            least_ = error;
            best_ = scale;
        }
    }
    uint16_t best() const { return best_; }

private:
    const Format& format_;
    const float* group_;
    float least_ = INFINITY;
    uint16_t best_ = 0x7fc0;  // NaN
};

// From the bf16 number just below the scale that the largest number asks for, upwards.
uint16_t best_int8_scale(const float* group) {
    constexpr int N_TRIED = 8;
    BestScale best(INT8, group);
    const float wanted = std::fabs(extreme_of(INT8, group)) / INT8.highest;
    const uint16_t first = static_cast<uint16_t>(bits_of(wanted) >> 16);
    for (int i = 0; i < N_TRIED; ++i) {
        best.offer(static_cast<uint16_t>(first + i));
    }
    return best.best();
}

// The largest number in size takes the side that has a step more, -8. It may also be cut off a
// little, or leave room: with few steps the others weigh more.
uint16_t best_int4_scale(const float* group) {
    BestScale best(INT4, group);
    const float extreme = extreme_of(INT4, group);
    for (int i = -8; i <= 8; ++i) {
        best.offer(to_bf16(extreme / (INT4.lowest - 0.2f * static_cast<float>(i))));
    }
    return best.best();
}

// One row of a matrix, with zeros past its last column.
struct Row {
    const float* values;
    int n_columns;
    float at(int column) const { return column < n_columns ? values[column] : 0.0f; }
    void copy(int start, int count, float* out) const {
        for (int c = 0; c < count; ++c) {
            out[c] = at(start + c);
        }
    }
};

void pack_bf16(const Row& row, int lane, uint8_t* tile) {
    uint16_t* places = reinterpret_cast<uint16_t*>(tile);
    for (int c = 0; c < padded_columns(MENURA_BF16, row.n_columns); ++c) {
        places[c / 2 * 2 * TILE_ROWS + lane * 2 + c % 2] = to_bf16(row.at(c));
    }
}

void put_scale(int kind, int group, int lane, uint16_t scale, uint8_t* tile) {
    std::memcpy(tile + scales_place(kind, group) + 2 * lane, &scale, sizeof scale);
}

void pack_int8(const Row& row, int lane, uint8_t* tile) {
    const int n_groups = padded_columns(MENURA_INT8, row.n_columns) / INT8_GROUP;
    for (int g = 0; g < n_groups; ++g) {
        float group[INT8_GROUP];
        float whole[INT8_GROUP];
        row.copy(g * INT8_GROUP, INT8_GROUP, group);
        const uint16_t scale = best_int8_scale(group);
        round_group(INT8, group, from_bf16(scale), whole);
        put_scale(MENURA_INT8, g, lane, scale, tile);
        uint8_t* places = tile + group_place(MENURA_INT8, g) + lane * 4;
        for (int c = 0; c < INT8_GROUP; ++c) {
            places[c / 4 * LINE_BYTES + c % 4] =
                static_cast<uint8_t>(static_cast<int>(whole[c]) + 128);
        }
    }
}

void pack_int4(const Row& row, int lane, uint8_t* tile) {
    const int n_groups = padded_columns(MENURA_INT4, row.n_columns) / INT4_GROUP;
    for (int g = 0; g < n_groups; ++g) {
        float group[INT4_GROUP];
        float whole[INT4_GROUP];
        row.copy(g * INT4_GROUP, INT4_GROUP, group);
        const uint16_t scale = best_int4_scale(group);
        round_group(INT4, group, from_bf16(scale), whole);
        put_scale(MENURA_INT4, g, lane, scale, tile);
        uint8_t* places = tile + group_place(MENURA_INT4, g) + lane * 4;
        for (int c = 0; c < INT4_GROUP; ++c) {
            const int nibble = static_cast<int>(whole[c]) + 8;
            uint8_t& place = places[c / 8 * LINE_BYTES + c % 4];
            place = static_cast<uint8_t>(place | nibble << (c % 8 < 4 ? 0 : 4));
        }
    }
}

}  // namespace
}  // namespace menura

int64_t menura_matrix_bytes(int32_t kind, int32_t n_rows, int32_t n_columns) {
    return menura::n_tiles(n_rows) * menura::tile_bytes(kind, n_columns);
}

// Writes all of `tiles`. Rows past the last keep scales of 0 and so give 0.
int32_t menura_pack_matrix(
    int32_t kind, int32_t n_rows, int32_t n_columns, const float* weights, uint8_t* tiles) {
    using namespace menura;
    if (kind < MENURA_BF16 || kind > MENURA_INT4 || n_rows < 1 || n_columns < 1) {
        return MENURA_BAD_ARGUMENT;
    }
    const auto pack_row =
        kind == MENURA_INT8 ? pack_int8 : kind == MENURA_INT4 ? pack_int4 : pack_bf16;
    std::memset(tiles, 0, static_cast<size_t>(menura_matrix_bytes(kind, n_rows, n_columns)));
    for (int r = 0; r < n_rows; ++r) {
        const Row row = {weights + static_cast<int64_t>(r) * n_columns, n_columns};
        pack_row(row, r % TILE_ROWS, tiles + r / TILE_ROWS * tile_bytes(kind, n_columns));
    }
    return MENURA_OK;
}
