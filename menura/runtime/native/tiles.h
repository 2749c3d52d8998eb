// How packed matrices and the key/value cache lie in memory. All bodies share one layout.
//
// A matrix [n rows, k columns] is cut into tiles of 16 rows, one for each lane. Inside a tile,
// columns go in lines of 64 bytes, each holding the same few columns of all 16 rows:
//
//   bf16   2 columns a line: row 0 columns 0 1, row 1 columns 0 1, ...
//   int8   4 columns a line, each weight + 128; groups of 64 columns share a scale a row
//   int4   8 columns a line, each weight + 8: columns 0-3 in the low, 4-7 in the high nibbles;
//          groups of 32 columns share a scale a row
//
// Before the weights of each two groups stands a line of their scales, bf16 [2, 16]. So a tile is
// read strictly from front to back, as the hardware's prefetching wants it.
#ifndef MENURA_TILES_H
#define MENURA_TILES_H

#include "api.h"

namespace menura {
namespace {

constexpr int TILE_ROWS = 16;
constexpr int LINE_BYTES = 64;
constexpr int INT8_GROUP = 64;
constexpr int INT4_GROUP = 32;

constexpr int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// Columns that share one scale.
constexpr int group_columns(int kind) { return kind == MENURA_INT8 ? INT8_GROUP : INT4_GROUP; }

// Groups whose scales share a line.
constexpr int SCALED_GROUPS = 2;

constexpr int padded_columns(int kind, int n_columns) {
    const int step = kind == MENURA_BF16 ? TILE_ROWS : SCALED_GROUPS * group_columns(kind);
    return static_cast<int>(round_up(n_columns, step));
}

constexpr int n_tiles(int n_rows) { return (n_rows + TILE_ROWS - 1) / TILE_ROWS; }

constexpr int columns_per_line(int kind) {
    return kind == MENURA_INT8 ? 4 : kind == MENURA_INT4 ? 8 : 2;
}

// Lines of one group's weights.
constexpr int group_lines(int kind) { return group_columns(kind) / columns_per_line(kind); }

constexpr int64_t tile_bytes(int kind, int n_columns) {
    const int64_t n = padded_columns(kind, n_columns);
    const int64_t n_scales = kind == MENURA_BF16 ? 0 : n / (SCALED_GROUPS * group_columns(kind));
    return LINE_BYTES * (n / columns_per_line(kind) + n_scales);
}

// Where a group's weights begin in an int8 or int4 tile, and where its scales do.
constexpr int64_t group_place(int kind, int group) {
    return LINE_BYTES * (static_cast<int64_t>(group) * group_lines(kind) +
                         group / SCALED_GROUPS + 1);
}

constexpr int64_t scales_place(int kind, int group) {
    return group_place(kind, group / SCALED_GROUPS * SCALED_GROUPS) - LINE_BYTES +
           static_cast<int64_t>(group % SCALED_GROUPS) * TILE_ROWS * 2;
}

// The cache grows by pages of 64 positions. For each layer and key head a page holds the keys as
// four bf16 tiles (16 positions are the rows, the channels are the columns), so that scores are
// computed 16 positions at a time, and below them the values, position by position.
constexpr int PAGE_POSITIONS = 64;

constexpr int64_t page_head_values(int head_dim) { return 2LL * PAGE_POSITIONS * head_dim; }

// Where a key's channel stands, counted from the page's first of this head.
constexpr int64_t key_place(int position, int channel, int head_dim) {
    return static_cast<int64_t>(position / TILE_ROWS) * TILE_ROWS * head_dim +
           channel / 2 * (2 * TILE_ROWS) + position % TILE_ROWS * 2 + channel % 2;
}

constexpr int64_t value_place(int position, int channel, int head_dim) {
    return static_cast<int64_t>(PAGE_POSITIONS + position) * head_dim + channel;
}

}  // namespace
}  // namespace menura

#endif
