/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How a test reaches into the provider of the module fake: dlsym(dlopen(PROVIDER_SO, ...), "provider"), as with fake.h.
 * Every hook of an operation that crosses writes its name down; those of the operation `about` do what the test wants.
 */
#ifndef IBAL_TEST_MODULES_PROVIDER_H
#define IBAL_TEST_MODULES_PROVIDER_H

#include <iba/ib_uvp.h>

#define PROVIDER_PEEK 42 /* what its own peek_cq counts */

struct provider {
	struct uvp_interface *hooks; /* before it is loaded: without those that a test takes away */
	const char *about;       /* "create_cq" */
	al_status fail_pre, fail_post;
	void (*before)(void);    /* called by its pre-hook */
	void (*direct)(void);    /* called by its operations of the data path */
	bool done;               /* there is nothing to ask the agent */
	uint8_t say[UVP_MAX_DATA]; /* of it, in_len bytes */
	uint32_t in_len, out_room, num_fds;
	int fd;                  /* says it num_fds times */

	uint8_t heard[UVP_MAX_DATA];
	uint32_t heard_len, heard_fds;
	int heard_fd[UVP_MAX_FDS];
	al_status outcome;       /* that the post-hook was told */
	const void *last_ah;     /* created last */
	struct ci_ah *(*find_ah)(const struct ci_qp *qp, al_ah_h ah); /* ci_wr_ah: not in every program that loads it */
	const void *sent_to;     /* the address handle of the request posted last; NULL: not found */
	uint32_t sent;           /* requests posted, by its own post_send */
	bool spoilt;             /* what is the provider's own of a completion queue has changed */

	char log[4096];          /* names of the hooks, each followed by a blank */
};

#endif
