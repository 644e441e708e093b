// SPDX-License-Identifier: BSD-3-Clause
// The processing units of a host: which package, NUMA node, last-level cache and core each belongs to. What places need of a machine and no
// more, as plain numbers, so that one process can read it and tell the others of its host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hcoll {

// Processing units, by the system's numbers: bit i % 64 of word i / 64.
using CpuSet = std::vector<std::uint64_t>;

// Immutable; a value. All processes of a host have the same, whatever they are bound to.
class Machine {
public:
    Machine() = default;  // of which nothing is known
    explicit Machine(std::vector<int> numbers) : numbers_(std::move(numbers)) {}
    // By hwloc, whose environment variables hold; takes about a millisecond.
    static Machine read();

    // All there is to it.
    const std::vector<int>& numbers() const { return numbers_; }

    bool is_known() const { return !numbers_.empty(); }
    // On one that is only pretended, a process may run everywhere.
    bool tells_bindings() const { return is_known() && numbers_[0] != 0; }
    std::size_t words() const;  // of its sets of processing units
    CpuSet all() const;
    // Those that the system lets processes like the one that read them use, wherever they are bound to.
    CpuSet allowed() const;
    std::vector<int> numbers_of(const CpuSet& units) const;
    // How many of them there are.
    int usable(const CpuSet& units) const;
    // How many cores these are part of. Where cores are not told, each unit is one.
    int cores(const CpuSet& units) const;
    // The one package, NUMA node, last cache that cores share, or core that all of these are part of, by hwloc's logical numbers; -1
    // where there is none. A machine that tells of no packages is one.
    int package(const CpuSet& units) const { return common(units, of_package); }
    int numa(const CpuSet& units) const { return common(units, of_numa); }
    int cache(const CpuSet& units) const { return common(units, of_cache); }
    int core(const CpuSet& units) const { return common(units, of_core); }

private:
    enum Field : std::size_t { of_package, of_numa, of_cache, of_core, is_allowed, fields };  // what is told of a unit

    std::size_t units() const { return numbers_.size() / fields; }
    int number(std::size_t unit, Field field) const { return numbers_[1 + unit * fields + field]; }
    int common(const CpuSet& units, Field field) const;

    std::vector<int> numbers_;  // does it tell bindings? then its units
};

// As this process reads it at the first call; later calls give the same. From any thread.
const Machine& local_machine();

// Where this process, with all its threads, may run; empty where that cannot be told. Units beyond the machine's are left out.
CpuSet binding_of_process(const Machine& machine);

}  // namespace hcoll
