/* SPDX-License-Identifier: BSD-3-Clause */
/* Which backend speaks the ABI of an MPI library: the one rule of libhcoll.so (C) and hcoll-info (C++). */
#ifndef HCOLL_INTERCEPT_ENTRY_FLAVOUR_H
#define HCOLL_INTERCEPT_ENTRY_FLAVOUR_H

/* NOLINTBEGIN(modernize-*): C reads it, too. */
#include <stddef.h>
#include <string.h>

struct hcoll_mpi_library {
    const char* version_text; /* of MPI_Get_library_version */
    int abi_version;          /* of the standard ABI, the major one, as the library says it; 0 where it has its own */
    int has_openmpi_objects; /* the objects that are handles in Open MPI's ABI: every program that was built for that needs them */
};

struct hcoll_flavour {
    const char* name; /* libhcoll-<name>.so; NULL: there is none for this library, or none is wanted */
    int is_refused;   /* LIBHCOLL_MPI names an ABI that this library cannot have */
};

/* The object by which `has_openmpi_objects` is told. */
static const char hcoll_openmpi_object[] = "ompi_mpi_comm_world";

/* Is `set` that word of lower letters, in any case? Not by strcasecmp: in a Turkish locale, which the application may have set, i and I are no pair. */
static inline int hcoll_is_word(const char* set, const char* word) {
    for (; *set != 0 && *word != 0; ++set, ++word)
        if (*set != *word && *set != *word - 'a' + 'A') return 0;
    return *set == *word;
}

/* `set` is what LIBHCOLL_MPI has, or NULL: for a library that does not say what it is. One that says it, or that has another ABI's objects, is not
 * called by the wrong one: its handles would be addresses that are none. Words that are not known are somebody else's to complain about. */
static inline struct hcoll_flavour hcoll_flavour_of(const struct hcoll_mpi_library* library, const char* set) {
    static const struct {
        const char* text;
        const char* flavour;
    } known[] = {
#define HCOLL_FLAVOUR(text, flavour) {text, flavour},
#include "intercept/entry/flavours.def"
#undef HCOLL_FLAVOUR
    };
    struct hcoll_flavour none = {NULL, 0}, own = {NULL, 0}, refused = {NULL, 1}, chosen = {NULL, 0};
    if (library->abi_version > 0) {
        if (library->abi_version == 1) own.name = "mpi-abi";
    } else {
        for (size_t i = 0; i < sizeof known / sizeof *known && own.name == NULL; ++i)
            if (strstr(library->version_text, known[i].text) != NULL) own.name = known[i].flavour;
    }
    if (set == NULL) return own;
    if (hcoll_is_word(set, "none")) return none;
    int is_possible = 0;
    if (hcoll_is_word(set, "abi")) {
        chosen.name = "mpi-abi";
        is_possible = library->abi_version == 1;
    } else if (hcoll_is_word(set, "openmpi")) {
        chosen.name = "openmpi";
        is_possible = library->abi_version == 0 && library->has_openmpi_objects;
    } else if (hcoll_is_word(set, "mpich")) {
        chosen.name = "mpich";
        is_possible = library->abi_version == 0 && !library->has_openmpi_objects;
    } else {
        return own;
    }
    return is_possible ? chosen : refused;
}
/* NOLINTEND(modernize-*) */

#endif
