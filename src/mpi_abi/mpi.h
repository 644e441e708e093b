/* SPDX-License-Identifier: BSD-3-Clause */
/* The standard ABI of MPI (MPI 5.0, chapter 20; ABI version 1.0), as far as this project uses MPI: what a program and an MPI library
 * that both follow it agree on, whoever compiled them. The backend libhcoll-mpi-abi.so is compiled with this header, and so are the
 * programs that test it, in trees that have no MPI library of the standard ABI.
 *
 * All handles are pointers to incomplete types. Predefined ones are small numbers: bits 9 and 8 tell classes apart, and of types
 * of a fixed size bits 3 to 5 are the logarithm of their size (20.3.4), so 0x258 is one of 8 bytes. Values are facts of the standard; a
 * test compares them with the mpi.h of an MPI library where one of the standard ABI is installed (test/abi/compare_header.py).
 */
#ifndef HCOLL_MPI_ABI_MPI_H
#define HCOLL_MPI_ABI_MPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_VERSION 5
#define MPI_SUBVERSION 0
#define MPI_ABI_VERSION 1
#define MPI_ABI_SUBVERSION 0

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;

typedef struct {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;

typedef struct MPI_ABI_Comm* MPI_Comm;
typedef struct MPI_ABI_Datatype* MPI_Datatype;
typedef struct MPI_ABI_Errhandler* MPI_Errhandler;
typedef struct MPI_ABI_File* MPI_File;
typedef struct MPI_ABI_Group* MPI_Group;
typedef struct MPI_ABI_Info* MPI_Info;
typedef struct MPI_ABI_Message* MPI_Message;
typedef struct MPI_ABI_Op* MPI_Op;
typedef struct MPI_ABI_Request* MPI_Request;
typedef struct MPI_ABI_Session* MPI_Session;
typedef struct MPI_ABI_Win* MPI_Win;

/* Communicators. */
#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
#define MPI_COMM_SELF ((MPI_Comm)0x102)

/* Types. */
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x200)
#define MPI_AINT ((MPI_Datatype)0x201)
#define MPI_COUNT ((MPI_Datatype)0x202)
#define MPI_OFFSET ((MPI_Datatype)0x203)
#define MPI_PACKED ((MPI_Datatype)0x207)
#define MPI_SHORT ((MPI_Datatype)0x208)
#define MPI_INT ((MPI_Datatype)0x209)
#define MPI_LONG ((MPI_Datatype)0x20a)
#define MPI_LONG_LONG ((MPI_Datatype)0x20b)
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)0x20c)
#define MPI_UNSIGNED ((MPI_Datatype)0x20d)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)0x20e)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)0x20f)
#define MPI_FLOAT ((MPI_Datatype)0x210)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)0x212)
#define MPI_CXX_FLOAT_COMPLEX ((MPI_Datatype)0x213)
#define MPI_DOUBLE ((MPI_Datatype)0x214)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)0x216)
#define MPI_CXX_DOUBLE_COMPLEX ((MPI_Datatype)0x217)
#define MPI_LOGICAL ((MPI_Datatype)0x218)
#define MPI_INTEGER ((MPI_Datatype)0x219)
#define MPI_REAL ((MPI_Datatype)0x21a)
#define MPI_COMPLEX ((MPI_Datatype)0x21b)
#define MPI_DOUBLE_PRECISION ((MPI_Datatype)0x21c)
#define MPI_DOUBLE_COMPLEX ((MPI_Datatype)0x21d)
#define MPI_CHARACTER ((MPI_Datatype)0x21e)
#define MPI_LONG_DOUBLE ((MPI_Datatype)0x220)
#define MPI_C_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x224)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x225)
#define MPI_FLOAT_INT ((MPI_Datatype)0x228)
#define MPI_DOUBLE_INT ((MPI_Datatype)0x229)
#define MPI_LONG_INT ((MPI_Datatype)0x22a)
#define MPI_2INT ((MPI_Datatype)0x22b)
#define MPI_SHORT_INT ((MPI_Datatype)0x22c)
#define MPI_LONG_DOUBLE_INT ((MPI_Datatype)0x22d)
#define MPI_2REAL ((MPI_Datatype)0x230)
#define MPI_2DOUBLE_PRECISION ((MPI_Datatype)0x231)
#define MPI_2INTEGER ((MPI_Datatype)0x232)
#define MPI_C_BOOL ((MPI_Datatype)0x238)
#define MPI_CXX_BOOL ((MPI_Datatype)0x239)
#define MPI_WCHAR ((MPI_Datatype)0x23c)
#define MPI_INT8_T ((MPI_Datatype)0x240)
#define MPI_UINT8_T ((MPI_Datatype)0x241)
#define MPI_CHAR ((MPI_Datatype)0x243)
#define MPI_SIGNED_CHAR ((MPI_Datatype)0x244)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)0x245)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_INT16_T ((MPI_Datatype)0x248)
#define MPI_UINT16_T ((MPI_Datatype)0x249)
#define MPI_INT32_T ((MPI_Datatype)0x250)
#define MPI_UINT32_T ((MPI_Datatype)0x251)
#define MPI_INT64_T ((MPI_Datatype)0x258)
#define MPI_UINT64_T ((MPI_Datatype)0x259)
#define MPI_LOGICAL1 ((MPI_Datatype)0x2c0)
#define MPI_INTEGER1 ((MPI_Datatype)0x2c1)
#define MPI_LOGICAL2 ((MPI_Datatype)0x2c8)
#define MPI_INTEGER2 ((MPI_Datatype)0x2c9)
#define MPI_REAL2 ((MPI_Datatype)0x2ca)
#define MPI_LOGICAL4 ((MPI_Datatype)0x2d0)
#define MPI_INTEGER4 ((MPI_Datatype)0x2d1)
#define MPI_REAL4 ((MPI_Datatype)0x2d2)
#define MPI_COMPLEX4 ((MPI_Datatype)0x2d3)
#define MPI_LOGICAL8 ((MPI_Datatype)0x2d8)
#define MPI_INTEGER8 ((MPI_Datatype)0x2d9)
#define MPI_REAL8 ((MPI_Datatype)0x2da)
#define MPI_COMPLEX8 ((MPI_Datatype)0x2db)
#define MPI_LOGICAL16 ((MPI_Datatype)0x2e0)
#define MPI_INTEGER16 ((MPI_Datatype)0x2e1)
#define MPI_REAL16 ((MPI_Datatype)0x2e2)
#define MPI_COMPLEX16 ((MPI_Datatype)0x2e3)
#define MPI_COMPLEX32 ((MPI_Datatype)0x2eb)
/* Other names. */
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_C_COMPLEX MPI_C_FLOAT_COMPLEX

/* Error handlers. */
#define MPI_ERRHANDLER_NULL ((MPI_Errhandler)0x140)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x141)
#define MPI_ERRORS_ABORT ((MPI_Errhandler)0x142)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)

/* Files. */
#define MPI_FILE_NULL ((MPI_File)0x118)

/* Groups. */
#define MPI_GROUP_NULL ((MPI_Group)0x108)
#define MPI_GROUP_EMPTY ((MPI_Group)0x109)

/* Infos. */
#define MPI_INFO_NULL ((MPI_Info)0x130)
#define MPI_INFO_ENV ((MPI_Info)0x131)

/* Matched messages. */
#define MPI_MESSAGE_NULL ((MPI_Message)0x128)
#define MPI_MESSAGE_NO_PROC ((MPI_Message)0x129)

/* Operations. */
#define MPI_OP_NULL ((MPI_Op)0x020)
#define MPI_SUM ((MPI_Op)0x021)
#define MPI_MIN ((MPI_Op)0x022)
#define MPI_MAX ((MPI_Op)0x023)
#define MPI_PROD ((MPI_Op)0x024)
#define MPI_BAND ((MPI_Op)0x028)
#define MPI_BOR ((MPI_Op)0x029)
#define MPI_BXOR ((MPI_Op)0x02a)
#define MPI_LAND ((MPI_Op)0x030)
#define MPI_LOR ((MPI_Op)0x031)
#define MPI_LXOR ((MPI_Op)0x032)
#define MPI_MINLOC ((MPI_Op)0x038)
#define MPI_MAXLOC ((MPI_Op)0x039)
#define MPI_REPLACE ((MPI_Op)0x03c)
#define MPI_NO_OP ((MPI_Op)0x03d)

/* Requests. */
#define MPI_REQUEST_NULL ((MPI_Request)0x180)

/* Sessions. */
#define MPI_SESSION_NULL ((MPI_Session)0x120)

/* Windows. */
#define MPI_WIN_NULL ((MPI_Win)0x110)

/* Addresses that mean something else. */
#define MPI_BOTTOM ((void*)0)
#define MPI_IN_PLACE ((void*)1)
#define MPI_BUFFER_AUTOMATIC ((void*)2)
#define MPI_ARGV_NULL ((char**)0)
#define MPI_ARGVS_NULL ((char***)0)
#define MPI_ERRCODES_IGNORE ((int*)0)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)
#define MPI_UNWEIGHTED ((int*)10)
#define MPI_WEIGHTS_EMPTY ((int*)11)

/* Bytes of texts, with their final zero. */
#define MPI_MAX_DATAREP_STRING 128
#define MPI_MAX_ERROR_STRING 512
#define MPI_MAX_INFO_KEY 256
#define MPI_MAX_INFO_VAL 1024
#define MPI_MAX_LIBRARY_VERSION_STRING 8192
#define MPI_MAX_OBJECT_NAME 128
#define MPI_MAX_PORT_NAME 1024
#define MPI_MAX_PROCESSOR_NAME 256
#define MPI_MAX_STRINGTAG_LEN 1024
#define MPI_MAX_PSET_NAME_LEN 1024

/* Error classes. */
#define MPI_SUCCESS 0
#define MPI_ERR_BUFFER 1
#define MPI_ERR_COUNT 2
#define MPI_ERR_TYPE 3
#define MPI_ERR_TAG 4
#define MPI_ERR_COMM 5
#define MPI_ERR_RANK 6
#define MPI_ERR_REQUEST 7
#define MPI_ERR_ROOT 8
#define MPI_ERR_GROUP 9
#define MPI_ERR_OP 10
#define MPI_ERR_TOPOLOGY 11
#define MPI_ERR_DIMS 12
#define MPI_ERR_ARG 13
#define MPI_ERR_UNKNOWN 14
#define MPI_ERR_TRUNCATE 15
#define MPI_ERR_OTHER 16
#define MPI_ERR_INTERN 17
#define MPI_ERR_PENDING 18
#define MPI_ERR_IN_STATUS 19
#define MPI_ERR_ACCESS 20
#define MPI_ERR_AMODE 21
#define MPI_ERR_ASSERT 22
#define MPI_ERR_BAD_FILE 23
#define MPI_ERR_BASE 24
#define MPI_ERR_CONVERSION 25
#define MPI_ERR_DISP 26
#define MPI_ERR_DUP_DATAREP 27
#define MPI_ERR_FILE_EXISTS 28
#define MPI_ERR_FILE_IN_USE 29
#define MPI_ERR_FILE 30
#define MPI_ERR_INFO_KEY 31
#define MPI_ERR_INFO_NOKEY 32
#define MPI_ERR_INFO_VALUE 33
#define MPI_ERR_INFO 34
#define MPI_ERR_IO 35
#define MPI_ERR_KEYVAL 36
#define MPI_ERR_LOCKTYPE 37
#define MPI_ERR_NAME 38
#define MPI_ERR_NO_MEM 39
#define MPI_ERR_NOT_SAME 40
#define MPI_ERR_NO_SPACE 41
#define MPI_ERR_NO_SUCH_FILE 42
#define MPI_ERR_PORT 43
#define MPI_ERR_QUOTA 44
#define MPI_ERR_READ_ONLY 45
#define MPI_ERR_RMA_ATTACH 46
#define MPI_ERR_RMA_CONFLICT 47
#define MPI_ERR_RMA_RANGE 48
#define MPI_ERR_RMA_SHARED 49
#define MPI_ERR_RMA_SYNC 50
#define MPI_ERR_SERVICE 51
#define MPI_ERR_SIZE 52
#define MPI_ERR_SPAWN 53
#define MPI_ERR_UNSUPPORTED_DATAREP 54
#define MPI_ERR_UNSUPPORTED_OPERATION 55
#define MPI_ERR_WIN 56
#define MPI_ERR_RMA_FLAVOR 57
#define MPI_ERR_PROC_ABORTED 58
#define MPI_ERR_VALUE_TOO_LARGE 59
#define MPI_ERR_SESSION 60
#define MPI_ERR_ERRHANDLER 61
#define MPI_ERR_ABI 62
#define MPI_ERR_LASTCODE 16383

/* Of files. */
#define MPI_MODE_APPEND 1
#define MPI_MODE_CREATE 2
#define MPI_MODE_DELETE_ON_CLOSE 4
#define MPI_MODE_EXCL 8
#define MPI_MODE_RDONLY 16
#define MPI_MODE_RDWR 32
#define MPI_MODE_SEQUENTIAL 64
#define MPI_MODE_UNIQUE_OPEN 128
#define MPI_MODE_WRONLY 256

/* Ranks, tags and numbers that are none. */
#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-2)
#define MPI_PROC_NULL (-3)
#define MPI_ROOT (-4)
#define MPI_UNDEFINED (-32766)

/* Thread levels, in rising order. */
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1024
#define MPI_THREAD_SERIALIZED 2048
#define MPI_THREAD_MULTIPLE 4096

/* Orders and distributions of arrays. */
#define MPI_ORDER_C 12
#define MPI_ORDER_FORTRAN 15
#define MPI_DISTRIBUTE_NONE 16
#define MPI_DISTRIBUTE_BLOCK 17
#define MPI_DISTRIBUTE_CYCLIC 18
#define MPI_DISTRIBUTE_DFLT_DARG 19

/* What a type was made with. */
#define MPI_COMBINER_NAMED 101
#define MPI_COMBINER_DUP 102
#define MPI_COMBINER_CONTIGUOUS 103
#define MPI_COMBINER_VECTOR 104
#define MPI_COMBINER_HVECTOR 105
#define MPI_COMBINER_INDEXED 106
#define MPI_COMBINER_HINDEXED 107
#define MPI_COMBINER_INDEXED_BLOCK 108
#define MPI_COMBINER_HINDEXED_BLOCK 109
#define MPI_COMBINER_STRUCT 110
#define MPI_COMBINER_SUBARRAY 111
#define MPI_COMBINER_DARRAY 112
#define MPI_COMBINER_F90_REAL 113
#define MPI_COMBINER_F90_COMPLEX 114
#define MPI_COMBINER_F90_INTEGER 115
#define MPI_COMBINER_RESIZED 116
#define MPI_COMBINER_VALUE_INDEX 117

/* Comparisons. */
#define MPI_IDENT 201
#define MPI_CONGRUENT 202
#define MPI_SIMILAR 203
#define MPI_UNEQUAL 204

/* Topologies. */
#define MPI_CART 211
#define MPI_GRAPH 212
#define MPI_DIST_GRAPH 213

/* How MPI_Comm_split_type splits. */
#define MPI_COMM_TYPE_SHARED 221
#define MPI_COMM_TYPE_HW_UNGUIDED 222
#define MPI_COMM_TYPE_HW_GUIDED 223
#define MPI_COMM_TYPE_RESOURCE_GUIDED 224

/* Keys of attributes. */
#define MPI_KEYVAL_INVALID 0
#define MPI_TAG_UB 501
#define MPI_IO 502
#define MPI_HOST 503
#define MPI_WTIME_IS_GLOBAL 504
#define MPI_APPNUM 505
#define MPI_LASTUSEDCODE 506
#define MPI_UNIVERSE_SIZE 507

/* Functions of the application. */
typedef void(MPI_User_function)(void* invec, void* inoutvec, int* len, MPI_Datatype* datatype);
typedef int(MPI_Grequest_query_function)(void* extra_state, MPI_Status* status);
typedef int(MPI_Grequest_free_function)(void* extra_state);
typedef int(MPI_Grequest_cancel_function)(void* extra_state, int complete);
typedef int(MPI_Comm_copy_attr_function)(MPI_Comm comm, int keyval, void* extra_state, void* attribute_val_in,
                                         void* attribute_val_out, int* flag);
typedef int(MPI_Comm_delete_attr_function)(MPI_Comm comm, int keyval, void* attribute_val, void* extra_state);
typedef int(MPI_Type_copy_attr_function)(MPI_Datatype datatype, int keyval, void* extra_state, void* attribute_val_in,
                                         void* attribute_val_out, int* flag);
typedef int(MPI_Type_delete_attr_function)(MPI_Datatype datatype, int keyval, void* attribute_val, void* extra_state);
typedef void(MPI_Comm_errhandler_function)(MPI_Comm* comm, int* error_code, ...);

#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function*)0)
#define MPI_COMM_DUP_FN ((MPI_Comm_copy_attr_function*)1)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function*)0)
#define MPI_TYPE_NULL_COPY_FN ((MPI_Type_copy_attr_function*)0)
#define MPI_TYPE_DUP_FN ((MPI_Type_copy_attr_function*)1)
#define MPI_TYPE_NULL_DELETE_FN ((MPI_Type_delete_attr_function*)0)

/* In the order of their names: MPI_<name> and PMPI_<name>. */
#define HCOLL_MPI_FUNCTION(result, name, parameters) \
    result MPI_##name parameters;                    \
    result PMPI_##name parameters;
HCOLL_MPI_FUNCTION(int, Abi_get_info, (MPI_Info * info))
HCOLL_MPI_FUNCTION(int, Abi_get_version, (int* abi_major, int* abi_minor))
HCOLL_MPI_FUNCTION(int, Abort, (MPI_Comm comm, int errorcode))
HCOLL_MPI_FUNCTION(int, Allgather,
                   (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                    MPI_Datatype recvtype, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Allgather_c,
                   (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Allreduce,
                   (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Allreduce_c,
                   (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Allreduce_init,
                   (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                    MPI_Info info, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Allreduce_init_c,
                   (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm, MPI_Info info, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Barrier, (MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Bcast, (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Bcast_c, (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Bcast_init,
                   (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                    MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Bcast_init_c,
                   (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                    MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Cancel, (MPI_Request * request))
HCOLL_MPI_FUNCTION(int, Cart_create,
                   (MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder,
                    MPI_Comm* comm_cart))
HCOLL_MPI_FUNCTION(int, Cart_sub, (MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm))
HCOLL_MPI_FUNCTION(int, Comm_accept, (const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm))
HCOLL_MPI_FUNCTION(int, Comm_call_errhandler, (MPI_Comm comm, int errorcode))
HCOLL_MPI_FUNCTION(int, Comm_compare, (MPI_Comm comm1, MPI_Comm comm2, int* result))
HCOLL_MPI_FUNCTION(int, Comm_connect,
                   (const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm))
HCOLL_MPI_FUNCTION(int, Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm))
HCOLL_MPI_FUNCTION(int, Comm_create_errhandler,
                   (MPI_Comm_errhandler_function * comm_errhandler_fn, MPI_Errhandler* errhandler))
HCOLL_MPI_FUNCTION(int, Comm_create_from_group,
                   (MPI_Group group, const char* stringtag, MPI_Info info, MPI_Errhandler errhandler,
                    MPI_Comm* newcomm))
HCOLL_MPI_FUNCTION(int, Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm))
HCOLL_MPI_FUNCTION(int, Comm_create_keyval,
                   (MPI_Comm_copy_attr_function * comm_copy_attr_fn, MPI_Comm_delete_attr_function* comm_delete_attr_fn,
                    int* comm_keyval, void* extra_state))
HCOLL_MPI_FUNCTION(int, Comm_disconnect, (MPI_Comm * comm))
HCOLL_MPI_FUNCTION(int, Comm_dup, (MPI_Comm comm, MPI_Comm* newcomm))
HCOLL_MPI_FUNCTION(int, Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm))
HCOLL_MPI_FUNCTION(int, Comm_free, (MPI_Comm * comm))
HCOLL_MPI_FUNCTION(int, Comm_free_keyval, (int* comm_keyval))
HCOLL_MPI_FUNCTION(MPI_Comm, Comm_fromint, (int comm))
HCOLL_MPI_FUNCTION(int, Comm_get_attr, (MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag))
HCOLL_MPI_FUNCTION(int, Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler* errhandler))
HCOLL_MPI_FUNCTION(int, Comm_get_info, (MPI_Comm comm, MPI_Info* info_used))
HCOLL_MPI_FUNCTION(int, Comm_get_name, (MPI_Comm comm, char* comm_name, int* resultlen))
HCOLL_MPI_FUNCTION(int, Comm_get_parent, (MPI_Comm * parent))
HCOLL_MPI_FUNCTION(int, Comm_group, (MPI_Comm comm, MPI_Group* group))
HCOLL_MPI_FUNCTION(int, Comm_idup, (MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Comm_join, (int fd, MPI_Comm* intercomm))
HCOLL_MPI_FUNCTION(int, Comm_rank, (MPI_Comm comm, int* rank))
HCOLL_MPI_FUNCTION(int, Comm_remote_group, (MPI_Comm comm, MPI_Group* group))
HCOLL_MPI_FUNCTION(int, Comm_remote_size, (MPI_Comm comm, int* size))
HCOLL_MPI_FUNCTION(int, Comm_set_attr, (MPI_Comm comm, int comm_keyval, void* attribute_val))
HCOLL_MPI_FUNCTION(int, Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler errhandler))
HCOLL_MPI_FUNCTION(int, Comm_set_info, (MPI_Comm comm, MPI_Info info))
HCOLL_MPI_FUNCTION(int, Comm_set_name, (MPI_Comm comm, const char* comm_name))
HCOLL_MPI_FUNCTION(int, Comm_size, (MPI_Comm comm, int* size))
HCOLL_MPI_FUNCTION(int, Comm_spawn,
                   (const char* command, char* argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm,
                    MPI_Comm* intercomm, int array_of_errcodes[]))
HCOLL_MPI_FUNCTION(int, Comm_spawn_multiple,
                   (int count, char* array_of_commands[], char** array_of_argv[], const int array_of_maxprocs[],
                    const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm* intercomm,
                    int array_of_errcodes[]))
HCOLL_MPI_FUNCTION(int, Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* newcomm))
HCOLL_MPI_FUNCTION(int, Comm_split_type, (MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm))
HCOLL_MPI_FUNCTION(int, Comm_test_inter, (MPI_Comm comm, int* flag))
HCOLL_MPI_FUNCTION(int, Comm_toint, (MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Dist_graph_create,
                   (MPI_Comm comm_old, int n, const int sources[], const int degrees[], const int destinations[],
                    const int weights[], MPI_Info info, int reorder, MPI_Comm* comm_dist_graph))
HCOLL_MPI_FUNCTION(int, Dist_graph_create_adjacent,
                   (MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[], int outdegree,
                    const int destinations[], const int destweights[], MPI_Info info, int reorder,
                    MPI_Comm* comm_dist_graph))
HCOLL_MPI_FUNCTION(int, Errhandler_free, (MPI_Errhandler * errhandler))
HCOLL_MPI_FUNCTION(int, Error_class, (int errorcode, int* errorclass))
HCOLL_MPI_FUNCTION(int, Error_string, (int errorcode, char* string, int* resultlen))
HCOLL_MPI_FUNCTION(int, File_close, (MPI_File * fh))
HCOLL_MPI_FUNCTION(int, File_open, (MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh))
HCOLL_MPI_FUNCTION(int, File_read_all, (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, File_set_view,
                   (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep,
                    MPI_Info info))
HCOLL_MPI_FUNCTION(int, File_sync, (MPI_File fh))
HCOLL_MPI_FUNCTION(int, File_write_all,
                   (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Finalize, (void))
HCOLL_MPI_FUNCTION(int, Finalized, (int* flag))
HCOLL_MPI_FUNCTION(int, Gather,
                   (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Gather_c,
                   (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Gatherv,
                   (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                    const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Get_address, (const void* location, MPI_Aint* address))
HCOLL_MPI_FUNCTION(int, Get_count, (const MPI_Status* status, MPI_Datatype datatype, int* count))
HCOLL_MPI_FUNCTION(int, Get_library_version, (char* version, int* resultlen))
HCOLL_MPI_FUNCTION(int, Get_processor_name, (char* name, int* resultlen))
HCOLL_MPI_FUNCTION(int, Get_version, (int* version, int* subversion))
HCOLL_MPI_FUNCTION(int, Graph_create,
                   (MPI_Comm comm_old, int nnodes, const int indx[], const int edges[], int reorder,
                    MPI_Comm* comm_graph))
HCOLL_MPI_FUNCTION(int, Grequest_complete, (MPI_Request request))
HCOLL_MPI_FUNCTION(int, Grequest_start,
                   (MPI_Grequest_query_function * query_fn, MPI_Grequest_free_function* free_fn,
                    MPI_Grequest_cancel_function* cancel_fn, void* extra_state, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Group_compare, (MPI_Group group1, MPI_Group group2, int* result))
HCOLL_MPI_FUNCTION(int, Group_difference, (MPI_Group group1, MPI_Group group2, MPI_Group* newgroup))
HCOLL_MPI_FUNCTION(int, Group_free, (MPI_Group * group))
HCOLL_MPI_FUNCTION(int, Group_from_session_pset, (MPI_Session session, const char* pset_name, MPI_Group* newgroup))
HCOLL_MPI_FUNCTION(int, Group_incl, (MPI_Group group, int n, const int ranks[], MPI_Group* newgroup))
HCOLL_MPI_FUNCTION(int, Group_size, (MPI_Group group, int* size))
HCOLL_MPI_FUNCTION(int, Group_translate_ranks,
                   (MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[]))
HCOLL_MPI_FUNCTION(int, Iallgather,
                   (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                    MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Iallgather_c,
                   (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Iallreduce,
                   (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                    MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Iallreduce_c,
                   (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Ibarrier, (MPI_Comm comm, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Ibcast,
                   (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Ibcast_c,
                   (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                    MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Igather,
                   (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Igather_c,
                   (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Improbe,
                   (int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Imrecv,
                   (void* buf, int count, MPI_Datatype datatype, MPI_Message* message, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Imrecv_c,
                   (void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Info_create, (MPI_Info * info))
HCOLL_MPI_FUNCTION(int, Info_dup, (MPI_Info info, MPI_Info* newinfo))
HCOLL_MPI_FUNCTION(int, Info_free, (MPI_Info * info))
HCOLL_MPI_FUNCTION(int, Info_get, (MPI_Info info, const char* key, int valuelen, char* value, int* flag))
HCOLL_MPI_FUNCTION(int, Info_get_nkeys, (MPI_Info info, int* nkeys))
HCOLL_MPI_FUNCTION(int, Info_get_nthkey, (MPI_Info info, int n, char* key))
HCOLL_MPI_FUNCTION(int, Info_get_string, (MPI_Info info, const char* key, int* buflen, char* value, int* flag))
HCOLL_MPI_FUNCTION(int, Info_get_valuelen, (MPI_Info info, const char* key, int* valuelen, int* flag))
HCOLL_MPI_FUNCTION(int, Info_set, (MPI_Info info, const char* key, const char* value))
HCOLL_MPI_FUNCTION(int, Init, (int* argc, char*** argv))
HCOLL_MPI_FUNCTION(int, Init_thread, (int* argc, char*** argv, int required, int* provided))
HCOLL_MPI_FUNCTION(int, Initialized, (int* flag))
HCOLL_MPI_FUNCTION(int, Intercomm_create,
                   (MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
                    MPI_Comm* newintercomm))
HCOLL_MPI_FUNCTION(int, Intercomm_create_from_groups,
                   (MPI_Group local_group, int local_leader, MPI_Group remote_group, int remote_leader,
                    const char* stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm* newintercomm))
HCOLL_MPI_FUNCTION(int, Intercomm_merge, (MPI_Comm intercomm, int high, MPI_Comm* newintracomm))
HCOLL_MPI_FUNCTION(int, Iprobe, (int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Irecv,
                   (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                    MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Irecv_c,
                   (void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                    MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Ireduce,
                   (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Ireduce_c,
                   (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Irsend,
                   (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Irsend_c,
                   (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Iscatter,
                   (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Iscatter_c,
                   (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Isend,
                   (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Isend_c,
                   (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Issend,
                   (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Issend_c,
                   (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Mrecv, (void* buf, int count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Mrecv_c,
                   (void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Op_commutative, (MPI_Op op, int* commute))
HCOLL_MPI_FUNCTION(int, Op_create, (MPI_User_function * user_fn, int commute, MPI_Op* op))
HCOLL_MPI_FUNCTION(int, Op_free, (MPI_Op * op))
HCOLL_MPI_FUNCTION(int, Op_toint, (MPI_Op op))
HCOLL_MPI_FUNCTION(int, Open_port, (MPI_Info info, char* port_name))
HCOLL_MPI_FUNCTION(int, Pack,
                   (const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf, int outsize, int* position,
                    MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Pack_size, (int incount, MPI_Datatype datatype, MPI_Comm comm, int* size))
HCOLL_MPI_FUNCTION(int, Parrived, (MPI_Request request, int partition, int* flag))
HCOLL_MPI_FUNCTION(int, Pcontrol, (const int level, ...))
HCOLL_MPI_FUNCTION(int, Probe, (int source, int tag, MPI_Comm comm, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Query_thread, (int* provided))
HCOLL_MPI_FUNCTION(int, Recv,
                   (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                    MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Recv_c,
                   (void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                    MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Recv_init,
                   (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                    MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Reduce,
                   (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Reduce_c,
                   (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Reduce_init,
                   (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm, MPI_Info info, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Reduce_init_c,
                   (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm, MPI_Info info, MPI_Request* request))
HCOLL_MPI_FUNCTION(int, Reduce_local, (const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype, MPI_Op op))
HCOLL_MPI_FUNCTION(int, Request_free, (MPI_Request * request))
HCOLL_MPI_FUNCTION(int, Request_get_status, (MPI_Request request, int* flag, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Request_get_status_all,
                   (int count, const MPI_Request array_of_requests[], int* flag, MPI_Status* array_of_statuses))
HCOLL_MPI_FUNCTION(int, Request_get_status_any,
                   (int count, const MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Request_get_status_some,
                   (int incount, const MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                    MPI_Status* array_of_statuses))
HCOLL_MPI_FUNCTION(int, Rsend, (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Rsend_c,
                   (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Scatter,
                   (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Scatter_c,
                   (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Send, (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Send_c,
                   (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Sendrecv,
                   (const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
                    int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Sendrecv_c,
                   (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                    void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                    MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Sendrecv_replace,
                   (void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                    MPI_Comm comm, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Sendrecv_replace_c,
                   (void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                    MPI_Comm comm, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Session_finalize, (MPI_Session * session))
HCOLL_MPI_FUNCTION(int, Session_get_info, (MPI_Session session, MPI_Info* info_used))
HCOLL_MPI_FUNCTION(int, Session_init, (MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session))
HCOLL_MPI_FUNCTION(int, Ssend, (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Ssend_c,
                   (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Start, (MPI_Request * request))
HCOLL_MPI_FUNCTION(int, Startall, (int count, MPI_Request array_of_requests[]))
HCOLL_MPI_FUNCTION(int, Status_set_cancelled, (MPI_Status * status, int flag))
HCOLL_MPI_FUNCTION(int, Status_set_elements, (MPI_Status * status, MPI_Datatype datatype, int count))
HCOLL_MPI_FUNCTION(int, Test, (MPI_Request * request, int* flag, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Testall, (int count, MPI_Request array_of_requests[], int* flag, MPI_Status* array_of_statuses))
HCOLL_MPI_FUNCTION(int, Testany, (int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Testsome,
                   (int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                    MPI_Status* array_of_statuses))
HCOLL_MPI_FUNCTION(int, Type_commit, (MPI_Datatype * datatype))
HCOLL_MPI_FUNCTION(int, Type_contiguous, (int count, MPI_Datatype oldtype, MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_contiguous_c, (MPI_Count count, MPI_Datatype oldtype, MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_create_darray,
                   (int size, int rank, int ndims, const int array_of_gsizes[], const int array_of_distribs[],
                    const int array_of_dargs[], const int array_of_psizes[], int order, MPI_Datatype oldtype,
                    MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_create_f90_integer, (int r, MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_create_hindexed,
                   (int count, const int array_of_blocklengths[], const MPI_Aint array_of_displacements[],
                    MPI_Datatype oldtype, MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_create_hindexed_block,
                   (int count, int blocklength, const MPI_Aint array_of_displacements[], MPI_Datatype oldtype,
                    MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_create_hvector,
                   (int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_create_indexed_block,
                   (int count, int blocklength, const int array_of_displacements[], MPI_Datatype oldtype,
                    MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_create_keyval,
                   (MPI_Type_copy_attr_function * type_copy_attr_fn, MPI_Type_delete_attr_function* type_delete_attr_fn,
                    int* type_keyval, void* extra_state))
HCOLL_MPI_FUNCTION(int, Type_create_resized,
                   (MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_create_struct,
                   (int count, const int array_of_blocklengths[], const MPI_Aint array_of_displacements[],
                    const MPI_Datatype array_of_types[], MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_create_subarray,
                   (int ndims, const int array_of_sizes[], const int array_of_subsizes[], const int array_of_starts[],
                    int order, MPI_Datatype oldtype, MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_dup, (MPI_Datatype oldtype, MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_free, (MPI_Datatype * datatype))
HCOLL_MPI_FUNCTION(int, Type_free_keyval, (int* type_keyval))
HCOLL_MPI_FUNCTION(int, Type_get_attr, (MPI_Datatype datatype, int type_keyval, void* attribute_val, int* flag))
HCOLL_MPI_FUNCTION(int, Type_get_contents,
                   (MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                    int array_of_integers[], MPI_Aint array_of_addresses[], MPI_Datatype array_of_datatypes[]))
HCOLL_MPI_FUNCTION(int, Type_get_contents_c,
                   (MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses, MPI_Count max_large_counts,
                    MPI_Count max_datatypes, int array_of_integers[], MPI_Aint array_of_addresses[],
                    MPI_Count array_of_large_counts[], MPI_Datatype array_of_datatypes[]))
HCOLL_MPI_FUNCTION(int, Type_get_envelope,
                   (MPI_Datatype datatype, int* num_integers, int* num_addresses, int* num_datatypes, int* combiner))
HCOLL_MPI_FUNCTION(int, Type_get_envelope_c,
                   (MPI_Datatype datatype, MPI_Count* num_integers, MPI_Count* num_addresses,
                    MPI_Count* num_large_counts, MPI_Count* num_datatypes, int* combiner))
HCOLL_MPI_FUNCTION(int, Type_get_extent, (MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* extent))
HCOLL_MPI_FUNCTION(int, Type_get_true_extent, (MPI_Datatype datatype, MPI_Aint* true_lb, MPI_Aint* true_extent))
HCOLL_MPI_FUNCTION(int, Type_indexed,
                   (int count, const int array_of_blocklengths[], const int array_of_displacements[],
                    MPI_Datatype oldtype, MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_set_attr, (MPI_Datatype datatype, int type_keyval, void* attribute_val))
HCOLL_MPI_FUNCTION(int, Type_size, (MPI_Datatype datatype, int* size))
HCOLL_MPI_FUNCTION(int, Type_size_x, (MPI_Datatype datatype, MPI_Count* size))
HCOLL_MPI_FUNCTION(int, Type_toint, (MPI_Datatype datatype))
HCOLL_MPI_FUNCTION(int, Type_vector,
                   (int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Type_vector_c,
                   (MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                    MPI_Datatype* newtype))
HCOLL_MPI_FUNCTION(int, Unpack,
                   (const void* inbuf, int insize, int* position, void* outbuf, int outcount, MPI_Datatype datatype,
                    MPI_Comm comm))
HCOLL_MPI_FUNCTION(int, Wait, (MPI_Request * request, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Waitall, (int count, MPI_Request array_of_requests[], MPI_Status* array_of_statuses))
HCOLL_MPI_FUNCTION(int, Waitany, (int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status))
HCOLL_MPI_FUNCTION(int, Waitsome,
                   (int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                    MPI_Status* array_of_statuses))
HCOLL_MPI_FUNCTION(int, Win_allocate_shared,
                   (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win))
HCOLL_MPI_FUNCTION(int, Win_free, (MPI_Win * win))
HCOLL_MPI_FUNCTION(int, Win_shared_query, (MPI_Win win, int rank, MPI_Aint* size, int* disp_unit, void* baseptr))
HCOLL_MPI_FUNCTION(double, Wtime, (void))
#undef HCOLL_MPI_FUNCTION

#ifdef __cplusplus
}
#endif

#endif
