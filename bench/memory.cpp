// How fast this machine reads memory: `memory THREADS`, asked by lines of its input.
//
// Each line names a number of passes, and is answered by a line of gigabytes a second, one for each
// pass. Every thread reads its own part of a block that no cache holds, four streams at a time, and
// keeps the bitwise or of what it read. Huge pages are asked for: with small ones the page table is
// the limit. No two pages are alike, so that a host cannot keep many of them once.
// A pass starts and ends together, so that the slowest thread counts. With a thread for each core,
// every one keeps to its own.
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kBytes = std::size_t{512} << 20;
constexpr int kStreams = 4;
volatile std::uint64_t kept;  // so that the compiler leaves the reading in
using Vector = std::uint64_t __attribute__((vector_size(64)));

std::uint64_t read_all(const char* from, std::size_t n_bytes) {
    const std::size_t part = n_bytes / kStreams / sizeof(Vector);
    const Vector* lines = reinterpret_cast<const Vector*>(from);
    Vector seen[kStreams] = {};
    for (std::size_t i = 0; i < part; ++i) {
        for (int stream = 0; stream < kStreams; ++stream) {
            seen[stream] |= lines[static_cast<std::size_t>(stream) * part + i];
        }
    }
    const Vector all = seen[0] | seen[1] | seen[2] | seen[3];
    return all[0] | all[7];
}

// The cores of this process, if there is one for each thread.
std::vector<int> cores_for(int n_threads) {
    std::vector<int> cores;
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) == n_threads) {
        for (int core = 0; core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(core, &allowed)) {
                cores.push_back(core);
            }
        }
    }
#endif
    return cores;
}

void keep_to(int core) {
#ifdef __linux__
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);
    sched_setaffinity(0, sizeof only, &only);
#endif
}

double seconds_of_a_pass(const char* block, int n_threads, const std::vector<int>& cores) {
    const std::size_t part = kBytes / static_cast<std::size_t>(n_threads) / 4096 * 4096;
    std::atomic<int> waiting{n_threads};
    std::atomic<std::uint64_t> sum{0};
    std::vector<double> took(static_cast<std::size_t>(n_threads));
    const auto work = [&](std::size_t thread) {
        if (!cores.empty()) {
            keep_to(cores[thread]);
        }
        --waiting;
        while (waiting.load() > 0) {
            std::this_thread::yield();
        }
        const auto start = std::chrono::steady_clock::now();
        sum += read_all(block + thread * part, part);
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        took[thread] = passed.count();
    };
    std::vector<std::thread> others;
    for (int thread = 1; thread < n_threads; ++thread) {
        others.emplace_back(work, static_cast<std::size_t>(thread));
    }
    work(0);
    for (std::thread& other : others) {
        other.join();
    }
    kept = sum.load();
    return *std::max_element(took.begin(), took.end());
}

}  // namespace

int main(int n_words, char** words) {
    const int n_threads = n_words > 1 ? std::atoi(words[1]) : 1;
    void* block = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED || n_threads < 1) {
        return 1;
    }
#ifdef MADV_HUGEPAGE
    madvise(block, kBytes, MADV_HUGEPAGE);
#endif
    std::uint64_t* numbers = static_cast<std::uint64_t*>(block);
    for (std::size_t i = 0; i < kBytes / sizeof *numbers; ++i) {
        numbers[i] = i * 0x9e3779b97f4a7c15;
    }
    const std::vector<int> cores = cores_for(n_threads);
    for (int n_passes = 0; std::scanf("%d", &n_passes) == 1;) {
        for (int pass = 0; pass < n_passes; ++pass) {
            const double took = seconds_of_a_pass(static_cast<char*>(block), n_threads, cores);
            std::printf("%.2f ", static_cast<double>(kBytes) / took / 1e9);
        }
        std::printf("\n");
        std::fflush(stdout);
    }
}
