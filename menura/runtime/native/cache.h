// The keys and values of one utterance, which grow page by page (their layout: tiles.h).
#ifndef MENURA_CACHE_H
#define MENURA_CACHE_H

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "tiles.h"

namespace menura {

struct FreeMemory {
    void operator()(void* memory) const { std::free(memory); }
};

template <typename T>
using Memory = std::unique_ptr<T[], FreeMemory>;

// Zeroed memory that begins on a cache line. Throws std::bad_alloc.
template <typename T>
Memory<T> zeroed(int64_t count) {
    const size_t n_bytes = static_cast<size_t>(round_up(count * sizeof(T), LINE_BYTES));
    void* memory = std::aligned_alloc(LINE_BYTES, n_bytes);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    __builtin_memset(memory, 0, n_bytes);
    return Memory<T>(static_cast<T*>(memory));
}

class Cache {
public:
    explicit Cache(const menura_stack& sizes)
        : head_values_(page_head_values(sizes.head_dim)),
          n_kv_heads_(sizes.n_kv_heads),
          page_values_(head_values_ * sizes.n_kv_heads * sizes.n_layers) {}

    // Makes room for positions 0 to n_positions - 1. Throws std::bad_alloc.
    void reserve(int n_positions) {
        while (static_cast<int>(memory_.size()) * PAGE_POSITIONS < n_positions) {
            memory_.push_back(zeroed<uint16_t>(page_values_));
            pages_.push_back(memory_.back().get());
        }
    }

    // Gives the memory back.
    void clear() {
        memory_.clear();
        pages_.clear();
        n_positions = 0;
    }

    const uint16_t* const* pages() const { return pages_.data(); }

    // Where a page holds the keys and values of this layer and key head.
    int64_t head_offset(int layer, int kv_head) const {
        return head_values_ * (static_cast<int64_t>(layer) * n_kv_heads_ + kv_head);
    }

    uint16_t* head(int layer, int kv_head, int position) const {
        return memory_[static_cast<size_t>(position / PAGE_POSITIONS)].get() +
               head_offset(layer, kv_head);
    }

    int n_positions = 0;  // that hold something

private:
    int64_t head_values_;
    int n_kv_heads_;
    int64_t page_values_;
    std::vector<Memory<uint16_t>> memory_;
    std::vector<const uint16_t*> pages_;
};

}  // namespace menura

#endif
