// Threads that stay: a frame takes tens of milliseconds and has hundreds of barriers, so threads
// are neither made nor put to sleep inside it.
#ifndef MENURA_POOL_H
#define MENURA_POOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace menura {

// A caller takes its turn, and runs tasks on the threads of a pool, itself being thread 0.
//
// Waiting threads spin for a few microseconds, then give their core to whoever wants it, and after
// a while without a task they sleep: an idle pool costs nothing, and a busy machine is not blocked.
// If the pool has as many threads as the process has cores, each keeps to its own core; the caller
// only during its turn. A fork leaves the child without the threads: it must not take turns. It may
// close what it has inherited, and gets pools of its own.
//
// The last core may be lent to somebody else's thread: who asks for `n_free` threads leaves it
// alone.
class Pool {
public:
    using Task = void (*)(void* context, int thread, int n_threads);

    explicit Pool(int n_threads);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    int n_threads() const { return n_threads_; }

    bool is_of_this_process() const;

    // The last core is somebody else's until it is given back as often as it was lent.
    void lend() { n_lent_.fetch_add(1, std::memory_order_relaxed); }
    void take_back() { n_lent_.fetch_sub(1, std::memory_order_relaxed); }
    bool is_lent() const { return n_lent_.load(std::memory_order_relaxed) > 0; }
    int n_free() const { return n_threads_ > 1 && is_lent() ? n_threads_ - 1 : n_threads_; }

    // Called by all threads of a task: none goes on before all have arrived.
    void barrier();

    // For as long as it lives, the caller has the pool to itself. From its first task on that is not
    // for the caller alone on an idle pool, it keeps to its core.
    class Turn {
    public:
        explicit Turn(Pool& pool);
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

        // Runs the task on the caller and the first of the others, `n_wanted` in all; returns when
        // they are done.
        void run(Task task, void* context, int n_wanted);

    private:
        Pool& pool_;
        const std::lock_guard<std::mutex> turn_;
        std::unique_ptr<class PinnedThread> pinned_;
    };

    // For as long as it lives, the thread that made it keeps to the core that is lent.
    class Guest {
    public:
        explicit Guest(const Pool& pool);
        ~Guest();
        Guest(const Guest&) = delete;
        Guest& operator=(const Guest&) = delete;

    private:
        const std::unique_ptr<class PinnedThread> pinned_;
    };

private:
    // A task's number, and above it how many threads take part: one word, so that a thread which is
    // not asked for need not look at anything that the next task changes.
    using Start = uint64_t;

    // Where a thread sleeps when no task has asked for it for a while.
    struct Bed {
        std::mutex door;
        std::atomic<bool> is_asleep{false};
        std::condition_variable wake;
    };
    // The threads beside the caller: a whole that a forked process can leave behind.
    struct Crew {
        explicit Crew(int n_threads) : beds(static_cast<size_t>(n_threads)) {}
        std::vector<Bed> beds;  // of every thread; the caller's is never used
        std::vector<std::thread> threads;
    };

    void work(int thread);
    Start next_start(int thread, Start seen);
    void call(int n_threads);
    void close();

    const int n_threads_;
    const int process_;
    std::unique_ptr<Crew> crew_;
    std::vector<int> cores_;  // empty where threads are not pinned
    std::mutex turn_;
    Task task_ = nullptr;
    void* context_ = nullptr;
    int n_taking_part_ = 1;
    std::atomic<bool> is_closing_{false};
    std::atomic<int> n_lent_{0};
    // Each on a line of its own: they are written by all threads.
    alignas(64) std::atomic<Start> started_{0};
    alignas(64) std::atomic<int> n_done_{0};
    alignas(64) std::atomic<int> n_arrived_{0};
    alignas(64) std::atomic<uint32_t> n_barriers_{0};
};

// The process's pool with this many threads; it lives as long as somebody holds it.
std::shared_ptr<Pool> shared_pool(int n_threads);

}  // namespace menura

#endif
