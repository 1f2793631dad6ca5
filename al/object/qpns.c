/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The set of queue pair numbers: adding and removing numbers. */
#include "al/object/qpns.h"

#include <iba/ib_hca.h>

struct qpn_page {
	uint64_t bit[QPN_PAGE / 64];
	uint32_t used; /* number of bits that are set; at 0 the page is freed */
};

void qpns_init(struct qpns *q)
{
	pthread_mutex_init(&q->lock, NULL);
}

void qpns_free(struct qpns *q)
{
	for (uint32_t i = 0; i < QPN_PAGES; i++)
		al_free(q->page[i]); /* pages are left when an HCA is removed under its queue pairs
				      */
	pthread_mutex_destroy(&q->lock);
}

al_status qpns_take(struct qpns *q, uint32_t qpn)
{
	struct qpn_page **page = &q->page[qpn / QPN_PAGE];
	uint64_t *word, bit = 1ull << qpn % 64;
	al_status status = AL_INSUFFICIENT_MEMORY;

	pthread_mutex_lock(&q->lock);
	if (!*page)
		*page = al_alloc(sizeof(**page));
	if (!*page)
		goto out;
	word = &(*page)->bit[qpn % QPN_PAGE / 64];
	status = AL_DUPLICATE;
	if (*word & bit)
		goto out;
	*word |= bit;
	(*page)->used++;
	status = AL_SUCCESS;
out:
	pthread_mutex_unlock(&q->lock);
	return status;
}

void qpns_give(struct qpns *q, uint32_t qpn)
{
	struct qpn_page **page = &q->page[qpn / QPN_PAGE];

	pthread_mutex_lock(&q->lock);
	(*page)->bit[qpn % QPN_PAGE / 64] &= ~(1ull << qpn % 64);
	if (!--(*page)->used) {
		al_free(*page);
		*page = NULL;
	}
	pthread_mutex_unlock(&q->lock);
}
