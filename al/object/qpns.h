/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The set of queue pair numbers that an HCA has in use. The module chooses a number; the set only
 * refuses duplicates.
 */
#ifndef AL_OBJECT_QPNS_H
#define AL_OBJECT_QPNS_H

#include <pthread.h>
#include <stdint.h>

#include <iba/ib_types.h>

/*
 * A set of queue pair numbers: a bit for each of the 2^24 numbers, in pages that are allocated
 * while at least one of their bits is set.
 */
#define QPN_PAGE  4096u /* numbers in a page */
#define QPN_PAGES ((1u << 24) / QPN_PAGE)
struct qpns {
	pthread_mutex_t lock; /* guards the pages. Leaf. */
	struct qpn_page *page[QPN_PAGES];
};
void qpns_init(struct qpns *q);
void qpns_free(struct qpns *q);
/* Adds a number. AL_DUPLICATE: another queue pair has the number. AL_INSUFFICIENT_MEMORY. */
al_status qpns_take(struct qpns *q, uint32_t qpn);
/* Removes a number that qpns_take() has added. */
void qpns_give(struct qpns *q, uint32_t qpn);

#endif
