// SPDX-License-Identifier: BSD-3-Clause
// Buffers in a GPU's memory, which the host can neither read nor write (test/support/fake_device.h), in all collectives that run
// here: on all ranks, on one, on the root alone; in place; with gaps.
//
//   --runtime FILE   the stand-in of a runtime, loaded by dlopen, so that no symbol of it is visible
//   --late           after the first calls
//   --passed-on      and broadcasts that are left to the MPI library, though ranks have buffers on the device: the root's have no bytes
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "../support/memory_of_process.hpp"

using namespace hcoll::test;

namespace {

class Device {
public:
    explicit Device(const std::string& path) {
        void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        require(handle != nullptr, "the runtime cannot be loaded");
        load(handle, "cuMemAlloc_v2", cuda_allocate_);
        load(handle, "cuMemcpy", cuda_copy_);
        load(handle, "cuCtxPushCurrent_v2", push_);
        load(handle, "cuCtxPopCurrent_v2", pop_);
        load(handle, "cuPointerGetAttribute", attribute_);
        load(handle, "hipMalloc", hip_allocate_);
        load(handle, "hipMemcpy", hip_copy_);
        require(dlsym(RTLD_DEFAULT, "cuMemcpy") == nullptr && dlsym(RTLD_DEFAULT, "hipMemcpy") == nullptr,
                "the runtime is visible to all");
    }
    std::byte* allocate(std::size_t bytes) const {
        void* pointer = nullptr;
        if (cuda_allocate_ != nullptr)
            require(cuda_allocate_(reinterpret_cast<unsigned long long*>(&pointer), bytes) == 0, "no device memory");
        else
            require(hip_allocate_(&pointer, bytes) == 0, "no device memory");
        return static_cast<std::byte*>(pointer);
    }
    void copy(void* to, const void* from, std::size_t bytes) const {
        if (cuda_copy_ == nullptr) return require(hip_copy_(to, from, bytes, 4) == 0, "a copy fails");
        const auto target = reinterpret_cast<unsigned long long>(to);
        const auto source = reinterpret_cast<unsigned long long>(from);
        void* context = nullptr;
        if (attribute_(&context, 1, target) != 0) attribute_(&context, 1, source);
        require(push_(context) == 0 && cuda_copy_(target, source, bytes) == 0 && pop_(&context) == 0, "a copy fails");
    }

private:
    template <typename Function>
    static void load(void* handle, const char* name, Function& function) {
        function = reinterpret_cast<Function>(dlsym(handle, name));
    }
    int (*cuda_allocate_)(unsigned long long*, std::size_t) = nullptr;
    int (*cuda_copy_)(unsigned long long, unsigned long long, std::size_t) = nullptr;
    int (*push_)(void*) = nullptr;
    int (*pop_)(void**) = nullptr;
    int (*attribute_)(void*, int, unsigned long long) = nullptr;
    int (*hip_allocate_)(void**, std::size_t) = nullptr;
    int (*hip_copy_)(void*, const void*, std::size_t, int) = nullptr;
};

// Ints, of which the first is behind a gap, on the device or in the host's memory.
class Ints {
public:
    Ints(const Device& device, std::size_t count, bool on_device)
        : device_(device), host_(count + 2 * around, guard), on_device_(on_device) {
        memory_ = on_device ? device.allocate(bytes()) : reinterpret_cast<std::byte*>(host_.data());
        write();
    }
    int* data() { return reinterpret_cast<int*>(memory_) + around; }
    void fill(int value, std::size_t stride = 1) {
        read();
        for (std::size_t i = 0; i < count(); ++i)
            host_[around + i] = i % stride == 0 ? value + static_cast<int>(i) : guard;
        write();
    }
    // Each one is `factor` times what fill(value) of all ranks' values says: sum + factor * i.
    void expect(long sum, long factor, const std::string& what, std::size_t stride = 1) {
        read();
        for (std::size_t i = 0; i < count(); ++i) {
            const long expected = i % stride == 0 ? sum + factor * static_cast<long>(i) : guard;
            require(host_[around + i] == expected, what + ": element " + std::to_string(i) + " is " +
                                                       std::to_string(host_[around + i]) + ", not " +
                                                       std::to_string(expected));
        }
        for (std::size_t i = 0; i < around; ++i)
            require(host_[i] == guard && host_[host_.size() - 1 - i] == guard, what + ": written outside");
    }
    void expect_at(std::size_t index, int value, const std::string& what) {
        read();
        require(host_[around + index] == value, what);
    }

private:
    static constexpr std::size_t around = 4;
    static constexpr int guard = -77;
    std::size_t count() const { return host_.size() - 2 * around; }
    std::size_t bytes() const { return host_.size() * sizeof(int); }
    void read() {
        if (on_device_) device_.copy(host_.data(), memory_, bytes());
    }
    void write() {
        if (on_device_) device_.copy(memory_, host_.data(), bytes());
    }
    const Device& device_;
    std::vector<int> host_;
    bool on_device_;
    std::byte* memory_ = nullptr;
};

// What stands for a buffer while a collective runs here must not be left where it does not.
void pass_on(const Program& program, const Device& device) {
    constexpr int count = 1 << 20;
    constexpr std::int64_t most_kb = 20 << 10;
    Ints message(device, count, true);
    message.fill(3);
    const auto pass_on_once = [&] {
        check(MPI_Bcast(message.data(), program.rank() == 0 ? 0 : count, MPI_INT, 0, MPI_COMM_WORLD));
    };
    pass_on_once();
    const std::int64_t before = resident_kilobytes();
    for (int i = 0; i < 20; ++i) pass_on_once();
    const std::int64_t more = resident_kilobytes() - before;
    require(more <= most_kb, "20 broadcasts of no bytes into 4 MB have left " + std::to_string(more) + " KB");
    message.expect(3, 1, "MPI_Bcast of no bytes");
}

enum class Where { all, root, one };

void run(const Program& program, const Device& device, int count, int root, Where where) {
    const int rank = program.rank();
    const int size = program.size();
    const bool here = where == Where::all || (where == Where::root ? rank == root : rank == (root + 1) % size);
    const auto elements = static_cast<std::size_t>(count);
    const std::string what = std::to_string(count) + " ints, root " + std::to_string(root);
    long sum = 0;
    for (int each = 0; each < size; ++each) sum += 100 * each;

    Ints message(device, elements, here);
    message.fill(rank == root ? 5 : 0);
    check(MPI_Bcast(message.data(), count, MPI_INT, root, MPI_COMM_WORLD));
    message.expect(5, 1, "MPI_Bcast, " + what);

    Ints send(device, elements, here);
    Ints receive(device, elements, here);
    send.fill(100 * rank);
    check(MPI_Reduce(send.data(), receive.data(), count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
    if (rank == root) receive.expect(sum, size, "MPI_Reduce, " + what);
    receive.fill(0);
    check(MPI_Allreduce(send.data(), receive.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    receive.expect(sum, size, "MPI_Allreduce, " + what);
    send.expect(100 * rank, 1, "an operand, " + what);
    for (int again = 0; again < 2; ++again) {
        send.fill(100 * rank);
        check(MPI_Allreduce(MPI_IN_PLACE, send.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        send.expect(sum, size, "MPI_Allreduce in place, " + what);
    }
    send.fill(100 * rank);

    // Every second one.
    MPI_Datatype second = MPI_DATATYPE_NULL;
    check(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &second));
    check(MPI_Type_commit(&second));
    Ints gapped(device, 2 * elements, here);
    gapped.fill(rank == root ? 9 : 0, 2);
    check(MPI_Bcast(gapped.data(), count, second, root, MPI_COMM_WORLD));
    gapped.expect(9, 1, "MPI_Bcast with gaps, " + what, 2);
    check(MPI_Type_free(&second));

    Ints all(device, elements * static_cast<std::size_t>(size), here);
    check(MPI_Gather(send.data(), count, MPI_INT, all.data(), count, MPI_INT, root, MPI_COMM_WORLD));
    for (int each = 0; rank == root && each < size; ++each)
        all.expect_at(elements * static_cast<std::size_t>(each), 100 * each, "MPI_Gather, " + what);
    check(MPI_Allgather(send.data(), count, MPI_INT, all.data(), count, MPI_INT, MPI_COMM_WORLD));
    for (int each = 0; each < size; ++each)
        all.expect_at(elements * static_cast<std::size_t>(each) + elements - 1, 100 * each + count - 1,
                      "MPI_Allgather, " + what);
    check(MPI_Scatter(all.data(), count, MPI_INT, receive.data(), count, MPI_INT, root, MPI_COMM_WORLD));
    receive.expect(100 * rank, 1, "MPI_Scatter, " + what);

    std::array<MPI_Request, 3> requests{};
    message.fill(rank == root ? 6 : 0);
    Ints result(device, elements, here);
    Ints result_of_all(device, elements, here);
    check(MPI_Ibcast(message.data(), count, MPI_INT, root, MPI_COMM_WORLD, &requests[0]));
    check(MPI_Ireduce(send.data(), result.data(), count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &requests[1]));
    check(MPI_Iallreduce(send.data(), result_of_all.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]));
    check(MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE));
    message.expect(6, 1, "MPI_Ibcast, " + what);
    if (rank == root) result.expect(sum, size, "MPI_Ireduce, " + what);
    result_of_all.expect(sum, size, "MPI_Iallreduce, " + what);

#if MPI_VERSION >= 4
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Allreduce_init(send.data(), receive.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &request));
    for (int start = 1; start <= 3; ++start) {
        send.fill(start * rank);
        check(MPI_Start(&request));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        receive.expect(start * sum / 100, size, "MPI_Allreduce_init, " + what);
    }
    check(MPI_Request_free(&request));
#endif
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "device_memory");
    const std::string runtime = program.options().text("--runtime", "");
    const bool late = program.options().flag("--late");
    const bool passes_on = program.options().flag("--passed-on");
    program.options().reject_rest();
    int sum = 0;
    const int one = 1;
    const auto use_host = [&] {
        for (int i = 0; i < 4; ++i) {
            check(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
            require(sum == program.size(), "a sum of the host's");
        }
    };
    if (late) use_host();
    const Device device(runtime);
    use_host();
    for (const int count : {2, 11, 1000, 60'000, 300'000})
        for (const int root : {0, program.size() - 1}) {
            if (root == 0 && count > 1000) continue;
            for (const Where where : {Where::all, Where::root, Where::one}) run(program, device, count, root, where);
        }
    if (passes_on) pass_on(program, device);
    use_host();
    return program.finish("device memory");
}
