// SPDX-License-Identifier: BSD-3-Clause
// What the slots of calls that wait jump to where a setting watches or traces: each is noted, and goes on to its wrapper.
#include <array>
#include <optional>
#include <tuple>

#include "intercept/observed/observed_wrappers.hpp"
#include "intercept/observed/traced_call.hpp"
#include "intercept/observed/watched_call.hpp"

namespace hcoll {

namespace {

enum class Kind : std::uint8_t { function, collective, birth, group_birth, requests };

#define HCOLL_WATCHED_FUNCTION(name) constexpr char name_of_##name[] = "MPI_" #name;
#include "intercept/observed/watched_functions.def"

// The requests of a call of one, or of many.
template <typename... More>
std::span<MPI_Request> requests_of(MPI_Request* request, More...) {
    return request == nullptr ? std::span<MPI_Request>() : std::span(request, 1);
}
template <typename... More>
std::span<MPI_Request> requests_of(int count, MPI_Request* requests, More...) {
    if (requests == nullptr || count <= 0) return {};
    return {requests, static_cast<std::size_t>(count)};
}

template <typename Function>
struct Watched;
template <typename... Arguments>
struct Watched<int(Arguments...)> {
    template <int (*wrapper)(Arguments...), const char* name, Kind kind>
    static int call(Arguments... arguments) {
        const bool is_watched = WatchRecord::get()->notes_calls();
        if constexpr (kind == Kind::requests) {
            std::optional<WatchedRequests> requests;
            if (is_watched) requests.emplace(name, requests_of(arguments...));
            return wrapper(arguments...);
        } else {
            std::optional<WatchedCall> watched;
            if (is_watched) watched.emplace(name, kind != Kind::function);
            std::optional<TracedFunction> traced;
            if constexpr (kind != Kind::function && name != name_of_Finalize)
                if (Tracer::get() != nullptr) traced.emplace(name);
            const int status = wrapper(arguments...);
            if constexpr (name == name_of_Finalize) WatchRecord::get()->note_finalized();
            if constexpr (kind == Kind::birth || kind == Kind::group_birth)
                if (status == MPI_SUCCESS)
                    note_birth(std::get<0>(std::tie(arguments...)),
                               *std::get<sizeof...(Arguments) - 1>(std::tie(arguments...)), kind == Kind::birth);
            return status;
        }
    }
};

}  // namespace

#define HCOLL_WATCHED(name, kind)                 \
    decltype(wrap_##name)* const watched_##name = \
        &Watched<decltype(wrap_##name)>::call<&wrap_##name, name_of_##name, kind>;
#define HCOLL_WATCHED_FUNCTION(name) HCOLL_WATCHED(name, Kind::function)
#define HCOLL_WATCHED_COLLECTIVE(name) HCOLL_WATCHED(name, Kind::collective)
#define HCOLL_WATCHED_BIRTH(name) HCOLL_WATCHED(name, Kind::birth)
#define HCOLL_WATCHED_GROUP_BIRTH(name) HCOLL_WATCHED(name, Kind::group_birth)
#define HCOLL_WATCHED_REQUESTS(name) HCOLL_WATCHED(name, Kind::requests)
#include "intercept/observed/watched_functions.def"
#undef HCOLL_WATCHED

}  // namespace hcoll
