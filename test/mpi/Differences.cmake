# SPDX-License-Identifier: BSD-3-Clause
# The one list of what MPI libraries other than Debian 12's do otherwise, by themselves: of each reason tests were run without libhcoll, too, and
# failed (but for device memory, which the MPI library alone cannot have); relatives of the same reason are named with them. They are reported as
# skipped, with the reason. Each is: MPI library, its version, tests (mpi.<name>.<flavour>), reason; versions and names are regular expressions.
set(HCOLL_DIFFERENCES
    mpich "^(4\\.2|5\\.0)" "device_memory_(shared|plans|messages|plans_late)_(cuda|hip)"
        "MPICH has Level Zero loaded here, whose buffers cannot be asked about: all is left to it, which cannot read the stand-in's memory"
    openmpi "^[56]\\.0" "device_memory_(shared|plans|messages|plans_late)_(cuda|hip)"
        "Open MPI has Level Zero loaded here, whose buffers cannot be asked about: all is left to it, which cannot read the stand-in's memory"
    openmpi "^[56]\\.0" "wrong_lengths_(two_nodes|messages)"
        "Open MPI from 5.0 on writes behind a buffer that is shorter than a message, or hangs"
    openmpi "^[56]\\.0" "io_romio"
        "Open MPI from 5.0 on has another ROMIO"
    openmpi "^5\\.0" "random_oracle_.*|campaign|campaign_shrinks"
        "Open MPI 5.0 itself receives 8 wrong bytes of some types, behind the first 4,008 bytes of a long message"
    openmpi "^[56]\\.0" "campaign_sessions|sessions|abi_sessions|sessions_(with_init|observed|observed_sparse|auto|thread|thread_with_init)"
        "Open MPI from 5.0 on crashes in collectives of sessions"
    openmpi "^6\\.0" "campaign_threads|(abi_)?threads(_.*)?|check_split|(abi_)?nonblocking_((.*_)?thread(_.*)?|auto_3|calls_5)|(persistent|begun_meanwhile|exceptions_in_flight|life_free_pending)_thread"
        "Open MPI 6.0.0rc2 hangs or crashes where two threads have messages under way"
    openmpi "^6\\.0" "sanitized_application"
        "a program with AddressSanitizer ends by an illegal instruction under Open MPI 6.0.0rc2 (and GCC 16)"
    openmpi "^[56]\\.0" "campaign_spawn|strangers_spawn(ed_.*)?|regression_pieces_(message_under_way|polling)"
        "Open MPI from 5.0 on reaches no process of the same host by TCP where that has no network"
    mpich "^(4\\.2|5\\.0)" "campaign_background_between_groups"
        "MPICH from 4.2 on delivers nothing, or other bytes, in a non-blocking Bcast between groups"
    mpich "^5\\.0" "campaign_real16"
        "MPICH 5.0.2 delivers 10 of the 16 bytes of MPI_REAL16 where a message is long (a plain MPI_Gather of 109 elements)"
    mpich "^5\\.0" "communicators_(3|5|sparse)|abi_communicators|exceptions_(static_)?handler_(tree|shared)|exceptions_in_flight_calls"
        "MPICH 5.0 ends a program by an assertion where a reduction is of MPI_DATATYPE_NULL"
    mpich "^4\\.2" "sessions|abi_sessions|sessions_(observed|observed_sparse|auto|thread)"
        "MPICH 4.2 never ends a non-blocking collective whose communicator, of a session, was freed meanwhile"
    mpich "^4\\.2" "sessions_beside_info"
        "MPICH 4.2 makes no session that asks for what is no thread level"
    mpich "^5\\.0" "sessions_(auto|beside_info|thread_info)"
        "MPICH 5.0.2 makes no session that asks for a thread level"
    mpich "^5\\.0" "arguments_alone_(tree|shared)_checked"
        "MPICH 5.0 crashes in wrong calls that are errors in MPICH 4"
    mpich "^5\\.0" "foreign_level_zero"
        "MPICH 5.0 is linked to Level Zero, and crashes where something else has that name"
    mpich "^5\\.0" "refused_memory"
        "MPICH 5.0 takes each rank for one on a node of its own in a chroot, and ranks that may not open one another's memory stay there"
    mpich "^5\\.0" "revoked_(shared|tree|chain)|vendor_errors_(blocking|nonblocking|creating)"
        "MPICH 5.0 makes no shared windows in a chroot, where it takes each rank for one on a node of its own"
)

# hcoll_find_difference(<name> <flavour> <variable>): the reason for which that test is skipped, or nothing.
function(hcoll_find_difference name flavour variable)
    set(found "")
    if(NOT DEFINED HCOLL_MPI_VERSION_${flavour})
        execute_process(COMMAND "${HCOLL_MPIEXEC_${flavour}}" --version OUTPUT_VARIABLE said ERROR_VARIABLE said)
        string(REGEX MATCH "[0-9]+\\.[0-9]+[^ \n]*" version "${said}")
        set(HCOLL_MPI_VERSION_${flavour} "${version}" CACHE INTERNAL "What its launcher says")
    endif()
    set(rest ${HCOLL_DIFFERENCES})
    while(rest)
        list(POP_FRONT rest of version names reason)
        if(of STREQUAL flavour AND HCOLL_MPI_VERSION_${flavour} MATCHES "${version}" AND name MATCHES "^(${names})$")
            set(found "${reason}")
        endif()
    endwhile()
    set(${variable} "${found}" PARENT_SCOPE)
endfunction()
