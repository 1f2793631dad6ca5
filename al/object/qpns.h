/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The queue pair numbers that an HCA has in use. */
#ifndef AL_OBJECT_QPNS_H
#define AL_OBJECT_QPNS_H

#include <pthread.h>
#include <stdint.h>

#include <iba/ib_types.h>

/*
 * Numbers of the queue pairs that there are: a bit for each of 2^24, in pages that are there as long
 * as one of their bits is set.
 */
#define QPN_PAGE  4096u
#define QPN_PAGES ((1u << 24) / QPN_PAGE)
struct qpns {
	pthread_mutex_t lock; /* leaf */
	struct qpn_page *page[QPN_PAGES];
};
void qpns_init(struct qpns *q);
void qpns_free(struct qpns *q);
/* AL_DUPLICATE: another queue pair has the number; AL_INSUFFICIENT_MEMORY. */
al_status qpns_take(struct qpns *q, uint32_t qpn);
void qpns_give(struct qpns *q, uint32_t qpn);

#endif
