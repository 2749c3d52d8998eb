// How many threads pay at the moment.
#ifndef MENURA_PACE_H
#define MENURA_PACE_H

#include <algorithm>
#include <chrono>

namespace menura {

// Times passes of the same work on all threads and on the caller's alone, and takes what is faster.
//
// A pass has hundreds of barriers. On a busy machine a thread that loses its core holds up all the
// others at each of them: two threads can take four times as long as one. Results do not depend on
// the number of threads. Now and then a pass tries the slower way, in case the machine has changed:
// so seldom that it costs about two hundredths of the time. If it was the faster one this time, the
// next pass tries it again, so that one disturbance decides nothing.
class Pace {
public:
    explicit Pace(int n_threads) : has_choice_(n_threads > 1) {}

    // Whether the next pass is to be done by the caller alone.
    bool is_alone() {
        is_trial_ = has_choice_ && passes_to_trial_ <= 0;
        return is_trial_ != is_alone_faster();
    }

    // As far as is known: at first it is not.
    bool is_alone_faster() const {
        const bool is_known = alone_.count > 0 && together_.count > 0;
        return !has_choice_ || (is_known && alone_.median() < together_.median());
    }

    // What a pass took.
    void tell(bool was_alone, double seconds) {
        (was_alone ? alone_ : together_).add(seconds);
        if (!is_trial_) {
            --passes_to_trial_;
            return;
        }
        const double slow = (was_alone ? alone_ : together_).median();
        const double fast = (was_alone ? together_ : alone_).median();
        if (seconds < fast || alone_.count < RECENT) {
            return;  // once more
        }
        const double cost = fast > 0 ? slow / fast - 1.0 : 0.0;
        passes_to_trial_ = static_cast<int>(std::clamp(cost / SHARE, LEAST_PASSES, MOST_PASSES));
    }

private:
    static constexpr unsigned RECENT = 3;
    static constexpr double SHARE = 0.02;  // of the time, for trials
    static constexpr double LEAST_PASSES = 8.0;
    static constexpr double MOST_PASSES = 400.0;

    // The last few times; their median forgives one disturbance.
    struct Times {
        double values[RECENT] = {};
        unsigned count = 0;

        void add(double seconds) { values[count++ % RECENT] = seconds; }

        double median() const {
            if (count < RECENT) {
                return *std::min_element(values, values + std::max(count, 1u));
            }
            double sorted[RECENT];
            std::copy(values, values + RECENT, sorted);
            std::sort(sorted, sorted + RECENT);
            return sorted[RECENT / 2];
        }
    };

    bool has_choice_;
    bool is_trial_ = false;
    int passes_to_trial_ = RECENT;
    Times alone_;
    Times together_;
};

// Tells a pace what the time of its own life was. One that is not comparable tries nothing, either.
class TimedPass {
public:
    explicit TimedPass(Pace& pace, bool is_comparable = true)
        : pace_(pace),
          is_alone_(is_comparable ? pace.is_alone() : pace.is_alone_faster()),
          is_comparable_(is_comparable) {}
    ~TimedPass() {
        const std::chrono::duration<double> passed = Clock::now() - start_;
        if (is_comparable_) {
            pace_.tell(is_alone_, passed.count());
        }
    }
    TimedPass(const TimedPass&) = delete;
    TimedPass& operator=(const TimedPass&) = delete;

    bool is_alone() const { return is_alone_; }
    // Something else had a core meanwhile: the time says nothing.
    void disregard() { is_comparable_ = false; }

private:
    using Clock = std::chrono::steady_clock;
    Pace& pace_;
    const bool is_alone_;
    bool is_comparable_;
    const Clock::time_point start_ = Clock::now();
};

}  // namespace menura

#endif
