#include "sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace menura {
namespace {

constexpr float NEVER = -INFINITY;

// The scores after penalty and bans.
void admit(const float* scores, int n, const Draw& how, std::vector<float>& out) {
    const float penalty = how.sampling->repetition_penalty;
    const bool penalises = how.seen != nullptr && penalty != 1.0f;
    out.assign(scores, scores + n);
    for (int i = 0; i < n; ++i) {
        if (penalises && how.seen[i]) {
            out[i] = out[i] < 0 ? out[i] * penalty : out[i] / penalty;
        }
        if (how.allowed != nullptr && !how.allowed[i]) {
            out[i] = NEVER;
        }
    }
}

// The first of the largest; NaN counts as larger than everything.
int place_of_largest(const std::vector<float>& values) {
    size_t best = 0;
    for (size_t i = 0; i < values.size() && !std::isnan(values[best]); ++i) {
        if (values[i] > values[best] || std::isnan(values[i])) {
            best = i;
        }
    }
    return static_cast<int>(best);
}

// The k-th largest score. Only those that beat the k best so far are collected, so most of the
// scores are looked at once and left.
float kth_largest(const std::vector<float>& scores, size_t k, std::vector<float>& best) {
    best.clear();
    float bar = NEVER;
    const auto keep_k = [&] {
        std::nth_element(best.begin(), best.begin() + (k - 1), best.end(), std::greater<float>());
        best.resize(k);
        bar = best[k - 1];
    };
    for (const float score : scores) {
        if (score >= bar) {
            best.push_back(score);
            if (best.size() >= 2 * k) {
                keep_k();
            }
        }
    }
    keep_k();
    return bar;
}

void keep_top_k(std::vector<float>& scores, int top_k, std::vector<float>& best) {
    if (top_k <= 0 || static_cast<size_t>(top_k) >= scores.size()) {
        return;
    }
    const float last_kept = kth_largest(scores, static_cast<size_t>(top_k), best);
    for (float& score : scores) {
        score = score < last_kept ? NEVER : score;
    }
}

// Scores become probabilities; gives them in `odds`.
void softmax(const std::vector<float>& scores, float highest, std::vector<float>& odds) {
    odds.resize(scores.size());
    float total = 0.0f;
    for (size_t i = 0; i < scores.size(); ++i) {
        odds[i] = scores[i] == NEVER ? 0.0f : std::exp(scores[i] - highest);
        total += odds[i];
    }
    for (float& odd : odds) {
        odd /= total;
    }
}

// Excludes the least likely entries, as many as together stay within 1 - top_p.
void keep_top_p(std::vector<float>& scores, float highest, double top_p, DrawScratch& scratch) {
    if (!(top_p < 1.0)) {
        return;
    }
    softmax(scores, highest, scratch.kept);
    std::vector<int>& order = scratch.order;
    order.resize(scores.size());
    std::iota(order.begin(), order.end(), 0);
    const auto is_lower = [&](int a, int b) { return scores[a] < scores[b]; };
    std::stable_sort(order.begin(), order.end(), is_lower);
    const float unlikely = static_cast<float>(1.0 - top_p);
    double total = 0.0;
    for (size_t i = 0; i + 1 < order.size(); ++i) {
        total += static_cast<double>(scratch.kept[order[i]]);
        if (!(static_cast<float>(total) <= unlikely)) {
            break;
        }
        scores[order[i]] = NEVER;
    }
}

}  // namespace

Drawn draw(const float* scores, int n, const Draw& how, DrawScratch& scratch) {
    std::vector<float>& kept = scratch.scores;
    admit(scores, n, how, kept);
    const int largest = place_of_largest(kept);
    if (!std::isfinite(kept[largest])) {
        return {0, false};
    }
    if (!how.sampling->do_sample) {
        return {largest, true};
    }
    for (float& score : kept) {
        score /= how.sampling->temperature;
    }
    keep_top_k(kept, how.sampling->top_k, scratch.kept);
    const float highest = kept[largest];
    keep_top_p(kept, highest, how.sampling->top_p, scratch);
    softmax(kept, highest, scratch.kept);
    for (int i = 0; i < n; ++i) {
        scratch.kept[i] /= how.noise[i];
    }
    return {place_of_largest(scratch.kept), true};
}

}  // namespace menura

int32_t menura_draw(
    const float* scores, int32_t n, const menura_sampling* sampling, const float* noise,
    const uint8_t* seen, const uint8_t* allowed, int32_t* is_sound) {
    menura::DrawScratch scratch;
    const menura::Drawn drawn = menura::draw(scores, n, {sampling, noise, seen, allowed}, scratch);
    *is_sound = drawn.is_sound;
    return drawn.code;
}
