/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How a test reaches into the provider of the module fake: dlsym(dlopen(PROVIDER_SO, ...), "provider"), as with
 * fake.h. Every hook of an operation records its name; the hooks of the operation `about` do what the test wants.
 */
#ifndef IBAL_TEST_MODULES_PROVIDER_H
#define IBAL_TEST_MODULES_PROVIDER_H

#include <iba/ib_uvp.h>

#define PROVIDER_PEEK 42 /* result of the provider's own peek_cq */

struct provider {
	struct uvp_interface *hooks; /* to be set before loading: hooks may be removed */
	const char *about;       /* "create_cq" */
	al_status fail_pre, fail_post;
	void (*before)(void);    /* called by its pre-hook */
	void (*direct)(void);    /* called by the provider's operations of the data path */
	bool done;               /* the pre-hook has done the operation; no request goes to the agent */
	uint8_t say[UVP_MAX_DATA]; /* data of the request, in_len bytes */
	uint32_t in_len, out_room, num_fds;
	int fd;                  /* descriptor sent num_fds times */

	uint8_t heard[UVP_MAX_DATA];
	uint32_t heard_len, heard_fds;
	int heard_fd[UVP_MAX_FDS];
	al_status outcome;       /* status that the post-hook got */
	const void *last_ah;     /* the address handle created last */
	/* ci_wr_ah, which not every program that loads the provider has */
	struct ci_ah *(*find_ah)(const struct ci_qp *qp, al_ah_h ah);
	const void *sent_to;     /* the address handle of the request posted last; NULL: not found */
	uint32_t sent;           /* number of requests posted by the provider's own post_send */
	bool spoilt;             /* the provider's own bytes of a completion queue have changed */

	char log[4096];          /* names of the hooks, each followed by a blank */
};

#endif
