/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The structs of abi.h have the layout that programs were compiled with. */
#include "al/compat/verbs/abi.h"

/*
 * The numbers hold where a mutex of the C library has 40 bytes, as on x86-64. On other machines (arm64: 48) the members
 * behind a mutex lie elsewhere, there and here alike.
 */
#if UINTPTR_MAX == UINT64_MAX
#define LISTED (sizeof(pthread_mutex_t) == 40)
#define SIZE(type, bytes) \
	_Static_assert(!LISTED || sizeof(struct type) == (bytes), "libibverbs' size of struct " #type);
#define MEMBER(type, member, offset, bytes)                                                          \
	_Static_assert(!LISTED || (offsetof(struct type, member) == (offset) &&                      \
				   sizeof(((struct type *)NULL)->member) == (bytes)),                \
		       "libibverbs' place of " #type "." #member);
#include "al/compat/verbs/layout.def"
#endif

/* What programs cast to the plain struct begins with its members. */
_Static_assert(offsetof(struct ibv_cq_ex, base) == 0 && offsetof(struct ibv_qp_ex, qp_base) == 0 &&
		       offsetof(struct ibv_qp_init_attr_ex, sq_sig_all) ==
			       offsetof(struct ibv_qp_init_attr, sq_sig_all),
	       "libibverbs' extended structs");
