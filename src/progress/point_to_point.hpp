// The transport over the vendor's point-to-point messages, on a communicator that belongs to the library alone.
#pragma once

#include <vector>

#include "progress/engine.hpp"
#include "progress/vendor.hpp"

namespace hcoll {

// Driven by one thread at a time. Errors are the vendor's codes; the communicator's error handler must return them.
class PointToPoint : public Transport {
public:
    // `tag_upper_bound` is the vendor's (at least 32767).
    PointToPoint(MPI_Comm communicator, int tag_upper_bound);

    // Begins a collective whose units are elements of `type`. Collectives that follow one another use different tags,
    // so that a message that is left over by an error is not taken for one of the next.
    void begin(MPI_Datatype type);

    Status send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token token) override;
    Status recv(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units, Token token) override;
    Status progress(std::vector<Token>& completed) override;

    bool idle() const { return requests_.empty(); }
    // After an error: forgets what is under way. The memory that it names must never be used again.
    void abandon();

private:
    int tag_of(std::uint32_t tag) const {
        return sequence_ * static_cast<int>(tags_per_collective) + static_cast<int>(tag);
    }
    Status progress_one(std::vector<Token>& completed);
    void wait_a_little();
    void remove(std::size_t index);

    MPI_Comm communicator_;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    int sequences_;
    int sequence_ = 0;
    int idle_polls_ = 0;
    std::vector<MPI_Request> requests_;
    std::vector<Token> tokens_;  // of the requests, in the same order
    std::vector<int> indices_;
    std::vector<MPI_Status> statuses_;
};

}  // namespace hcoll
