// SPDX-License-Identifier: BSD-3-Clause
// Layouts are kept with their types, as attributes.
#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "intercept/types/type_contents.hpp"
#include "intercept/types/type_flattening.hpp"
#include "progress/engine/per_process.hpp"

namespace hcoll {

namespace {

using Kept = std::shared_ptr<const TypeLayout>;  // nullptr: it is not known

struct LayoutKey {
    std::mutex mutex;
    std::atomic<int> keyval{MPI_KEYVAL_INVALID};
};
PerProcess<LayoutKey> layout_key;

int copy_nothing(MPI_Datatype, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return MPI_SUCCESS;
}

int delete_kept(MPI_Datatype, int, void* value, void*) {
    delete static_cast<Kept*>(value);
    return MPI_SUCCESS;
}

const Kept* find_kept(MPI_Datatype type, int keyval) {
    void* value = nullptr;
    int found = 0;
    if (keyval == MPI_KEYVAL_INVALID || mpi.Type_get_attr(type, keyval, &value, &found) != MPI_SUCCESS || found == 0)
        return nullptr;
    return static_cast<const Kept*>(value);
}

// Predefined types keep nothing: they are never freed.
const TypeLayout* find_pair_layout(MPI_Datatype type) {
    struct Pair {
        MPI_Datatype type;
        Kept layout;
    };
    static const auto* const pairs =
        new std::array<Pair, 4>{{{MPI_DOUBLE_INT, flatten_type(MPI_DOUBLE_INT)},
                                 {MPI_LONG_INT, flatten_type(MPI_LONG_INT)},
                                 {MPI_SHORT_INT, flatten_type(MPI_SHORT_INT)},
                                 {MPI_LONG_DOUBLE_INT, flatten_type(MPI_LONG_DOUBLE_INT)}}};
    for (const Pair& pair : *pairs)
        if (pair.type == type) return pair.layout.get();
    return nullptr;
}

const TypeLayout* keep_layout(MPI_Datatype type) {
    LayoutKey& key = layout_key.get();
    const std::lock_guard lock(key.mutex);
    int keyval = key.keyval.load(std::memory_order_relaxed);
    if (keyval == MPI_KEYVAL_INVALID) {
        if (mpi.Type_create_keyval(copy_nothing, delete_kept, &keyval, nullptr) != MPI_SUCCESS) return nullptr;
        key.keyval.store(keyval, std::memory_order_release);
    }
    // Another thread may have been first; what it keeps may be in use.
    if (const Kept* kept = find_kept(type, keyval)) return kept->get();
    auto kept = std::make_unique<Kept>(flatten_type(type));
    if (mpi.Type_set_attr(type, keyval, kept.get()) != MPI_SUCCESS) return nullptr;
    return kept.release()->get();
}

}  // namespace

const TypeLayout* find_type_layout(MPI_Datatype type) {
    if (const Kept* kept = find_kept(type, layout_key.get().keyval.load(std::memory_order_acquire))) [[likely]]
        return kept->get();
    return is_predefined_combiner(combiner_of(type)) ? find_pair_layout(type) : keep_layout(type);
}

void forget_type_layouts() {
    LayoutKey& key = layout_key.get();
    const std::lock_guard lock(key.mutex);
    int keyval = key.keyval.exchange(MPI_KEYVAL_INVALID);
    if (keyval != MPI_KEYVAL_INVALID) mpi.Type_free_keyval(&keyval);
}

}  // namespace hcoll
