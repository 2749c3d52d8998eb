#include "pool.h"

#include <algorithm>
#include <map>

#include <sched.h>
#include <unistd.h>

namespace menura {
namespace {

constexpr int SPINS = 1000;           // about 20 microseconds
constexpr int YIELDS_BEFORE_SLEEP = 200;

void pause_core() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Waits a moment, the n-th time in a row.
void wait_a_moment(int n) {
    if (n < SPINS) {
        pause_core();
    } else {
        sched_yield();
    }
}

#if defined(__linux__)

std::vector<int> allowed_cores() {
    cpu_set_t set;
    std::vector<int> cores;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int core = 0; core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(core, &set)) {
                cores.push_back(core);
            }
        }
    }
    return cores;
}

void keep_to(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);  // where it is forbidden, the thread runs anywhere
}

}  // namespace

// Keeps the calling thread to a core for as long as it lives, and lets it go again. A core below 0
// is none.
class PinnedThread {
public:
    explicit PinnedThread(int core) {
        if (core >= 0 && sched_getaffinity(0, sizeof before_, &before_) == 0) {
            is_pinned_ = true;
            keep_to(core);
        }
    }
    ~PinnedThread() {
        if (is_pinned_) {
            sched_setaffinity(0, sizeof before_, &before_);
        }
    }

private:
    cpu_set_t before_;
    bool is_pinned_ = false;
};

#else

std::vector<int> allowed_cores() { return {}; }
void keep_to(int) {}

}  // namespace

class PinnedThread {
public:
    explicit PinnedThread(int) {}
};

#endif

namespace {

constexpr uint64_t COUNT = 1ull << 48;  // of threads, above a task's number

int first_of(const std::vector<int>& cores) { return cores.empty() ? -1 : cores.front(); }
int last_of(const std::vector<int>& cores) { return cores.empty() ? -1 : cores.back(); }

}  // namespace

Pool::Pool(int n_threads)
    : n_threads_(n_threads), process_(getpid()), crew_(std::make_unique<Crew>(n_threads)) {
    // Fewer threads than cores would all meet on the first ones, beside those of other processes.
    const std::vector<int> cores = allowed_cores();
    if (n_threads > 1 && static_cast<int>(cores.size()) == n_threads) {
        cores_ = cores;
    }
    try {
        for (int thread = 1; thread < n_threads; ++thread) {
            crew_->threads.emplace_back(&Pool::work, this, thread);
        }
    } catch (...) {  // the system allows no more threads
        close();
        throw;
    }
}

Pool::~Pool() {
    if (is_of_this_process()) {
        close();
    } else {
        // Its threads do not exist here, and what they wait on would wait for them to leave.
        static_cast<void>(crew_.release());
    }
}

void Pool::close() {
    is_closing_ = true;
    call(n_threads_);
    for (std::thread& thread : crew_->threads) {
        thread.join();
    }
}

bool Pool::is_of_this_process() const { return getpid() == process_; }

Pool::Turn::Turn(Pool& pool) : pool_(pool), turn_(pool.turn_) {}

Pool::Turn::~Turn() = default;

void Pool::Turn::run(Task task, void* context, int n_wanted) {
    const int n_taking_part = std::clamp(n_wanted, 1, pool_.n_threads_);
    pool_.n_taking_part_ = n_taking_part;
    if (pinned_ == nullptr && (n_taking_part > 1 || pool_.is_lent())) {
        pinned_ = std::make_unique<PinnedThread>(first_of(pool_.cores_));
    }
    if (n_taking_part == 1) {
        task(context, 0, 1);
        return;
    }
    pool_.task_ = task;
    pool_.context_ = context;
    pool_.n_done_.store(0, std::memory_order_relaxed);
    pool_.call(n_taking_part);
    task(context, 0, n_taking_part);
    for (int n = 0; pool_.n_done_.load(std::memory_order_acquire) < n_taking_part - 1; ++n) {
        wait_a_moment(n);
    }
}

Pool::Guest::Guest(const Pool& pool)
    : pinned_(std::make_unique<PinnedThread>(last_of(pool.cores_))) {}

Pool::Guest::~Guest() = default;

void Pool::barrier() {
    if (n_taking_part_ == 1) {
        return;
    }
    const uint32_t number = n_barriers_.load(std::memory_order_relaxed);
    if (n_arrived_.fetch_add(1, std::memory_order_acq_rel) == n_taking_part_ - 1) {
        n_arrived_.store(0, std::memory_order_relaxed);
        n_barriers_.store(number + 1, std::memory_order_release);
        return;
    }
    for (int n = 0; n_barriers_.load(std::memory_order_acquire) == number; ++n) {
        wait_a_moment(n);
    }
}

void Pool::work(int thread) {
    if (!cores_.empty()) {
        keep_to(cores_[static_cast<size_t>(thread)]);
    }
    for (Start seen = 0;;) {
        seen = next_start(thread, seen);
        if (is_closing_) {
            return;
        }
        task_(context_, thread, static_cast<int>(seen / COUNT));
        n_done_.fetch_add(1, std::memory_order_release);
    }
}

// The start that follows the one that was seen and asks for this thread. It cannot miss one, since
// whoever runs a task waits for all that take part. The others do not disturb it.
Pool::Start Pool::next_start(int thread, Start seen) {
    Start start = seen;
    const auto is_called = [&] {
        start = started_.load();
        return start != seen && thread < static_cast<int>(start / COUNT);
    };
    for (int n = 0; n < SPINS + YIELDS_BEFORE_SLEEP; ++n) {
        if (is_called()) {
            return start;
        }
        wait_a_moment(n);
    }
    Bed& bed = crew_->beds[static_cast<size_t>(thread)];
    std::unique_lock<std::mutex> lock(bed.door);
    bed.is_asleep = true;
    bed.wake.wait(lock, is_called);
    bed.is_asleep = false;
    return start;
}

// Publishes a start for the first threads, with all that was written before, and wakes those of
// them that sleep. A thread looks for a start after it has said that it sleeps: one of the two sees
// the other.
void Pool::call(int n_threads) {
    const Start number = (started_.load(std::memory_order_relaxed) + 1) % COUNT;
    started_.store(static_cast<Start>(n_threads) * COUNT + number);
    for (int thread = 1; thread < n_threads; ++thread) {
        Bed& bed = crew_->beds[static_cast<size_t>(thread)];
        if (bed.is_asleep) {
            { std::lock_guard<std::mutex> lock(bed.door); }  // it waits, or has seen the start
            bed.wake.notify_one();
        }
    }
}

std::shared_ptr<Pool> shared_pool(int n_threads) {
    static std::mutex guard;
    static std::map<int, std::weak_ptr<Pool>> pools;
    std::lock_guard<std::mutex> lock(guard);
    std::shared_ptr<Pool> pool = pools[n_threads].lock();
    if (!pool || !pool->is_of_this_process()) {
        pool = std::make_shared<Pool>(n_threads);
        pools[n_threads] = pool;
    }
    return pool;
}

}  // namespace menura
