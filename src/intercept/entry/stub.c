/* SPDX-License-Identifier: BSD-3-Clause */
/* libhcoll.so: exports the MPI functions of functions.def and, when the first of them is called, finds the MPI library
 * of the process and the backend that speaks its ABI. Needs libc only and has no constructor, so that a process that
 * never enters MPI (a shell, mpiexec) pays no more for having it preloaded than its loading.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "hcoll/build.h"
#include "intercept/entry/backend.h"
#include "intercept/entry/flavour.h"

/* Made in assembler, in the order of functions.def: MPI_, PMPI_, MPI_, PMPI_, ...; the last is the levels' wrapper. */
enum { LEVEL_SLOT = 2 * HCOLL_FUNCTION_COUNT, SLOT_COUNT };
extern void* hcoll_slots[SLOT_COUNT] __attribute__((visibility("hidden")));

struct function {
    const char* pmpi_name;
    int takes_level;
    void (*missing)(void); /* what the slots hold where the MPI library has no such function */
};

static struct hcoll_vendor vendor;
static int vendor_abi_version;            /* of the standard ABI, the major one; 0 where the vendor has its own */
static void* tools[HCOLL_FUNCTION_COUNT]; /* the functions of profiling tools below libhcoll */

/* The rank, where a launcher says it in the environment: used only to decide who prints. */
static int may_print(void) {
    static const char* const names[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const char* rank = getenv(names[i]);
        if (rank != NULL) return strcmp(rank, "0") == 0;
    }
    return 1;
}

/* Is it the first one of its node, where a launcher says that? */
static int is_first_of_node(void) {
    static const char* const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID",
                                        "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const char* rank = getenv(names[i]);
        if (rank != NULL) return strcmp(rank, "0") == 0;
    }
    return 0;
}

__attribute__((format(printf, 1, 2))) static void say(const char* format, ...) {
    if (!may_print()) return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "libhcoll: %s\n", line);
}

/* What is wrong with this node perhaps, and not with others, which would wait for its ranks: that is said there, too. */
static void say_of_node(const char* text) {
    char host[256] = "";
    if (may_print()) {
        fprintf(stderr, "libhcoll: %s\n", text);
    } else if (is_first_of_node()) {
        gethostname(host, sizeof host - 1);
        fprintf(stderr, "libhcoll: %s (on %s)\n", text, host);
    }
}

__attribute__((format(printf, 1, 2))) static void complain(const char* format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    say_of_node(line);
}

/* As the loader ends a program that calls a function which no library has. */
static void end_missing(const char* name) {
    fprintf(stderr, "libhcoll: the program called %s, which this MPI library does not have: %.100s\n", name,
            vendor.version_text != NULL ? vendor.version_text : "unknown");
    _exit(127);
}

#define HCOLL_FUNCTION(name) \
    static void missing_##name(void) { end_missing("MPI_" #name); }
#define HCOLL_LEVEL_FUNCTION(name) HCOLL_FUNCTION(name)
#define HCOLL_EXTENSION_FUNCTION(name) \
    static void missing_extension_##name(void) { end_missing("MPIX_" #name); }
#include "intercept/entry/functions.def"
#undef HCOLL_EXTENSION_FUNCTION
#undef HCOLL_FUNCTION
#undef HCOLL_LEVEL_FUNCTION

static const struct function functions[HCOLL_FUNCTION_COUNT] = {
#define HCOLL_FUNCTION(name) {"PMPI_" #name, 0, missing_##name},
#define HCOLL_LEVEL_FUNCTION(name) {"PMPI_" #name, 1, missing_##name},
#define HCOLL_EXTENSION_FUNCTION(name) {"PMPIX_" #name, 0, missing_extension_##name},
#include "intercept/entry/functions.def"
#undef HCOLL_EXTENSION_FUNCTION
#undef HCOLL_FUNCTION
#undef HCOLL_LEVEL_FUNCTION
};

/* Not PMPI_Init: profiling tools export aliases of it. */
static const char probe_name[] = "PMPI_Get_library_version";

/* Other C libraries (musl) have no such function: then there is no map of anything. */
extern __typeof(dladdr1) dladdr1 __attribute__((weak)); /* NOLINT(readability-redundant-declaration) */

static struct link_map* map_of(const void* address) {
    Dl_info info;
    struct link_map* map = NULL;
    if (dladdr1 == NULL || dladdr1(address, &info, (void**)&map, RTLD_DL_LINKMAP) == 0) return NULL;
    return map;
}

/* A handle of an object that is loaded already. The main program has an empty name. */
static void* handle_of(const struct link_map* map) {
    if (map->l_name == NULL || map->l_name[0] == '\0') return dlopen(NULL, RTLD_LAZY);
    return dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
}

static const char* base_name(const struct link_map* map) {
    const char* slash = strrchr(map->l_name, '/');
    return slash != NULL ? slash + 1 : map->l_name;
}

/* The addresses in a dynamic section: glibc has relocated them on most processors. */
static const void* address_in(const struct link_map* map, ElfW(Addr) value) {
    return (const void*)(value < map->l_addr ? map->l_addr + value : value);
}

/* What an object was linked as, whatever its file is called; empty where it was not told. */
static const char* soname(const struct link_map* map) {
    const char* names = NULL;
    const ElfW(Dyn)* found = NULL;
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_STRTAB) names = address_in(map, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SONAME) found = entry;
    }
    return names != NULL && found != NULL ? names + found->d_un.d_val : "";
}

static void* probe_in(const struct link_map* map) {
    void* handle = map != NULL ? handle_of(map) : NULL;
    return handle != NULL ? dlsym(handle, probe_name) : NULL;
}

/* 1. The usual case: the program is linked to MPI. 2. The caller is an extension module (Python) that was loaded with
 * its own MPI library, RTLD_LOCAL: look from where the call came. 3. Anything that is loaded. */
static void* find_probe(const void* return_address) {
    void* probe = dlsym(RTLD_NEXT, probe_name);
    if (probe == NULL) probe = probe_in(map_of(return_address));
    if (probe == NULL) {
        struct link_map* map = map_of((const void*)hcoll_slots);
        while (map != NULL && map->l_prev != NULL) map = map->l_prev;
        for (; map != NULL && probe == NULL; map = map->l_next) probe = probe_in(map);
    }
    return probe;
}

static int find_vendor(const void* return_address) {
    static char text[16384]; /* no MPI has a longer MPI_MAX_LIBRARY_VERSION_STRING */
    static char path[PATH_MAX];
    void* probe = find_probe(return_address);
    const struct link_map* map = probe != NULL ? map_of(probe) : NULL;
    void* handle = map != NULL ? handle_of(map) : NULL;
    if (handle == NULL) return 0;
    int length = 0;
    if (((int (*)(char*, int*))probe)(text, &length) != 0) return 0;
    vendor.handle = handle;
    snprintf(path, sizeof path, "%s", map->l_name);
    vendor.path = path;
    vendor.version_text = text;
    int (*get_abi_version)(int*, int*) = (int (*)(int*, int*))dlsym(handle, "PMPI_Abi_get_version");
    int major = -1, minor = -1;
    if (get_abi_version != NULL && map_of((const void*)get_abi_version) == map &&
        get_abi_version(&major, &minor) == 0 && major >= 1)
        vendor_abi_version = major;
    return 1;
}

/* A library without the probe: one from before MPI 3.0, or what serial programs have in its place, which may have no PMPI_ names either. */
static int is_stand_in;

static void* function_of_stand_in(const char* pmpi_name) {
    void* function = dlsym(vendor.handle, pmpi_name);
    if (function == NULL || map_of(function) == map_of((const void*)hcoll_slots))
        function = dlsym(vendor.handle, pmpi_name + 1);
    return function != NULL && map_of(function) == map_of((const void*)hcoll_slots) ? NULL : function;
}

/* In the same order as a probe. */
static int find_stand_in(const void* return_address, const char* pmpi_name) {
    vendor.handle = RTLD_NEXT;
    if (function_of_stand_in(pmpi_name) == NULL) {
        const struct link_map* caller = map_of(return_address);
        vendor.handle = caller != NULL ? handle_of(caller) : NULL;
        if (vendor.handle == NULL || function_of_stand_in(pmpi_name) == NULL) return 0;
    }
    is_stand_in = 1;
    return 1;
}

/* A function of the vendor; NULL where it has none. A library of the standard ABI may lie above the implementation's own, whose functions of
 * the same names take other handles: those are not meant. */
static void* vendor_function(const char* name) {
    if (is_stand_in) return function_of_stand_in(name);
    void* function = dlsym(vendor.handle, name);
    const void* probe = dlsym(vendor.handle, probe_name);
    if (function != NULL && vendor_abi_version > 0 && map_of(function) != map_of(probe)) return NULL;
    return function;
}

/* The number at `*text`, which is moved behind it. Other functions that read numbers have other names in newer versions of glibc. */
static unsigned long hexadecimal(const char** text) {
    unsigned long number = 0;
    for (; isxdigit((unsigned char)**text); ++*text) {
        const char digit = **text;
        number = number * 16 + (unsigned long)(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    return number;
}

/* The folder of libhcoll.so with its final slash. A preload by a relative name may have been left by chdir since: then
 * the kernel knows better. */
static int own_folder(char* folder, size_t size) {
    const struct link_map* map = map_of((const void*)hcoll_slots);
    if (map == NULL) return 0;
    if (map->l_name[0] == '/') {
        snprintf(folder, size, "%s", map->l_name);
    } else {
        FILE* maps = fopen("/proc/self/maps", "re");
        if (maps == NULL) return 0;
        char line[PATH_MAX + 128];
        int found = 0;
        while (!found && fgets(line, sizeof line, maps) != NULL) {
            const char* rest = line;
            const unsigned long first = hexadecimal(&rest);
            const unsigned long last = *rest == '-' ? (++rest, hexadecimal(&rest)) : 0;
            char* name = strchr(line, '/');
            if (name == NULL) continue;
            if ((unsigned long)hcoll_slots < first || (unsigned long)hcoll_slots >= last) continue;
            snprintf(folder, size, "%s", name);
            found = 1;
        }
        fclose(maps);
        if (!found) return 0;
    }
    char* slash = strrchr(folder, '/');
    if (slash == NULL) return 0;
    slash[1] = '\0';
    return 1;
}

/* A file that was unpacked or copied in part would have the loader end the process: the table of its sections comes last, and must be there. */
static int is_whole(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 1; /* dlopen says why */
    ElfW(Ehdr) head;
    ElfW(Shdr) names; /* of sections: the last of the table as linkers write it */
    int is_there =
        pread(file, &head, sizeof head, 0) == (ssize_t)sizeof head && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0;
    if (is_there) {
        const off_t end = lseek(file, 0, SEEK_END);
        const off_t place = (off_t)(head.e_shoff + (size_t)head.e_shstrndx * sizeof names);
        is_there = (uint64_t)end >= head.e_shoff + (uint64_t)head.e_shnum * sizeof names &&
                   pread(file, &names, sizeof names, place) == (ssize_t)sizeof names && names.sh_type == SHT_STRTAB;
    }
    close(file);
    return is_there;
}

static const struct hcoll_backend* load_backend(void) {
    int line_length = (int)strcspn(vendor.version_text, "\n");
    if (line_length > 120) line_length = 120;
    const char* set = getenv("LIBHCOLL_MPI");
    if (set != NULL && hcoll_is_word(set, "none")) return NULL;
    const struct hcoll_mpi_library library = {vendor.version_text, vendor_abi_version,
                                              dlsym(vendor.handle, hcoll_openmpi_object) != NULL};
    const struct hcoll_flavour flavour = hcoll_flavour_of(&library, set);
    if (flavour.is_refused) {
        say("LIBHCOLL_MPI=%s names an ABI that this MPI library has not, so collectives stay with it: %.*s", set,
            line_length, vendor.version_text);
        return NULL;
    }
    if (flavour.name == NULL) {
        say("this MPI library is not one that libhcoll knows, so collectives stay with it: %.*s%s", line_length,
            vendor.version_text,
            library.abi_version > 0       ? ""
            : library.has_openmpi_objects ? " (LIBHCOLL_MPI=openmpi says that it has Open MPI's ABI)"
                                          : " (LIBHCOLL_MPI=mpich says that it has MPICH's ABI)");
        return NULL;
    }
    char folder[PATH_MAX] = "";
    char path[PATH_MAX + 64];
    if (!own_folder(folder, sizeof folder)) folder[0] = '\0';
    snprintf(path, sizeof path, "%slibhcoll-%s.so", folder, flavour.name);
    if (!is_whole(path)) {
        complain("collectives stay with the MPI library: %s is there in part only; unpack or install it again", path);
        return NULL;
    }
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        complain("collectives stay with the MPI library (%.*s): %s", line_length, vendor.version_text, dlerror());
        return NULL;
    }
    const char* build = dlsym(handle, HCOLL_BACKEND_BUILD_NAME);
    if (build == NULL || strcmp(build, HCOLL_BUILD) != 0) {
        complain(
            "collectives stay with the MPI library: %s is of another build (%s) than libhcoll.so (%s); unpack or "
            "install both "
            "again",
            path, build != NULL ? build : "an older one", HCOLL_BUILD);
        return NULL;
    }
    hcoll_backend_open_function* open = (hcoll_backend_open_function*)dlsym(handle, HCOLL_BACKEND_OPEN_NAME);
    if (open == NULL) complain("collectives stay with the MPI library: %s cannot be opened", path);
    return open != NULL ? open(&vendor) : NULL;
}

/* A profiling tool below libhcoll that has this function; NULL where there is none. Another libhcoll.so, preloaded too, is no tool: two would run
 * each collective twice. */
static void* tool_function(const char* mpi_name) {
    static int has_said = 0;
    void* next = dlsym(RTLD_NEXT, mpi_name);
    const struct link_map* map = next != NULL ? map_of(next) : NULL;
    if (map != NULL && strcmp(soname(map), "libhcoll.so") == 0) {
        if (!has_said) say("%s is preloaded, too, and not used: one libhcoll.so is enough", map->l_name);
        has_said = 1;
        return NULL;
    }
    if (map == NULL || next == vendor_function(mpi_name)) return NULL;
    /* Some vendors keep MPI_ and PMPI_ functions in two libraries. Tools have longer names (libmpiP.so). */
    static const char* const vendor_names[] = {"libmpi.so", "libmpich.so", "libpmpi.so", "libmpi_abi.so"};
    const char* base = base_name(map);
    for (size_t i = 0; i < sizeof vendor_names / sizeof *vendor_names; ++i)
        if (strncmp(base, vendor_names[i], strlen(vendor_names[i])) == 0) return NULL;
    return next;
}

/* Does the dynamic linker find this function for the object (that is, libhcoll's)? The functions that an object calls without
 * having them are symbols that it does not define; in tables that only count what is defined, they come before those. */
static int calls_by_symbol(const struct link_map* map, const char* name) {
    const ElfW(Sym)* symbols = NULL;
    const char* names = NULL;
    size_t count = 0, first_hashed = 0;
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
        const void* address = address_in(map, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB) symbols = address;
        if (entry->d_tag == DT_STRTAB) names = address;
        if (entry->d_tag == DT_HASH) count = ((const ElfW(Word)*)address)[1];
        if (entry->d_tag == DT_GNU_HASH) first_hashed = ((const uint32_t*)address)[1];
    }
    if (count == 0) count = first_hashed;
    for (size_t i = 0; symbols != NULL && names != NULL && i < count; ++i)
        if (symbols[i].st_shndx == SHN_UNDEF && strcmp(names + symbols[i].st_name, name) == 0) return 1;
    return 0;
}

/* What MPI_X should reach before libhcoll: a profiling tool below, whose own call of PMPI_X comes back to us. If it does not, as that of
 * a tool that looks for the next PMPI_X, it comes after libhcoll, and sees what libhcoll passes on. Returns the name of such a tool that
 * would see collectives; NULL where there is none. */
static const char* find_tools(void) {
    const char* past = NULL;
    for (int i = 0; i < HCOLL_FUNCTION_COUNT; ++i) {
        const char* name = functions[i].pmpi_name;
        if (vendor_function(name) == NULL) continue;
        tools[i] = tool_function(name + 1);
        const struct link_map* map = tools[i] != NULL ? map_of(tools[i]) : NULL;
        if (map == NULL || functions[i].takes_level || calls_by_symbol(map, name)) continue;
        vendor.tools_below[i] = tools[i];
        const int may_run_here = i >= HCOLL_FUNCTION_Bcast && i <= HCOLL_EXTENSION_FUNCTION_Allreduce_init;
        if (may_run_here && past == NULL) past = base_name(map);
    }
    return past;
}

static void set_slot(int slot, void* target) { __atomic_store_n(&hcoll_slots[slot], target, __ATOMIC_RELEASE); }

static void fill_slots(const struct hcoll_backend* backend) {
    for (int i = 0; i < HCOLL_FUNCTION_COUNT; ++i) {
        void* pmpi = vendor_function(functions[i].pmpi_name);
        void* target = pmpi;
        if (pmpi == NULL)
            target = (void*)functions[i].missing;
        else if (backend != NULL && !functions[i].takes_level)
            target = backend->wrappers[i];
        const int is_first = tools[i] != NULL && (backend == NULL || vendor.tools_below[i] == NULL);
        set_slot(2 * i, is_first ? tools[i] : target);
        set_slot(2 * i + 1, target);
        if (functions[i].takes_level) set_slot(LEVEL_SLOT, backend != NULL ? backend->wrappers[i] : target);
    }
}

/* Only while the backend's wrappers are in force, and of functions that the MPI library has. */
static void set_wrapper(int function, void* wrapper) {
    if (vendor_function(functions[function].pmpi_name) == NULL) return;
    if (tools[function] == NULL || vendor.tools_below[function] != NULL) set_slot(2 * function, wrapper);
    set_slot(2 * function + 1, wrapper);
}

static void stand_aside(void) { fill_slots(NULL); }

/* Under a C library of which little can be asked: whatever comes next has the functions, or what the caller was loaded with (Python's extension modules). */
static void stand_aside_unknown(const void* return_address) {
    Dl_info info;
    vendor.handle = RTLD_NEXT;
    if (dlsym(RTLD_NEXT, probe_name) == NULL && dladdr(return_address, &info) != 0 && info.dli_fname != NULL) {
        void* caller = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        if (caller != NULL) vendor.handle = caller;
    }
    say("this C library is not glibc, for which libhcoll is made, so collectives stay with the MPI library");
    stand_aside();
}

static const char* pmpi_name_of(unsigned slot) {
    return functions[slot == LEVEL_SLOT ? HCOLL_FUNCTION_Pcontrol : slot / 2].pmpi_name;
}

static void bind_slots(unsigned slot, const void* return_address) {
    if (map_of((const void*)hcoll_slots) == NULL) {
        stand_aside_unknown(return_address);
        return;
    }
    if (!find_vendor(return_address)) {
        if (find_stand_in(return_address, pmpi_name_of(slot))) {
            say("the program's MPI library has no MPI_Get_library_version (MPI 3.0), so collectives stay with it");
            stand_aside();
            return;
        }
        fprintf(stderr, "libhcoll: the program called %s, but no MPI library is loaded that could answer\n",
                pmpi_name_of(slot) + 1);
        _exit(127);
    }
    vendor.stand_aside = stand_aside;
    vendor.set_wrapper = set_wrapper;
    vendor.say_of_node = say_of_node;
    const char* past = find_tools();
    const struct hcoll_backend* backend = load_backend();
    fill_slots(backend);
    if (backend != NULL && past != NULL)
        say("%s reaches the MPI library past libhcoll.so: it does not see collectives that libhcoll runs; preload it "
            "before libhcoll.so",
            past);
}

/* Called by the code of an unbound slot; returns what the slot holds from now on. */
__attribute__((visibility("hidden"))) void* hcoll_bind(unsigned slot, const void* return_address) {
    static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    static enum { UNBOUND, BINDING, BOUND } state = UNBOUND;
    pthread_mutex_lock(&mutex);
    if (state == UNBOUND) {
        state = BINDING;
        bind_slots(slot, return_address);
        state = BOUND;
    }
    void* target = hcoll_slots[slot];
    /* While the backend is being loaded, this same thread came back through MPI: let the vendor answer. */
    if (state == BINDING) target = vendor_function(pmpi_name_of(slot));
    pthread_mutex_unlock(&mutex);
    return target;
}
