/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The HCAs that a client knows of: their openings, closings and removals. The objects on them are
 * in object.c. */
#include "al/agent/hca.h"

#include <iba/ib_hca.h>

#include "al/protocol/protocol.h"

static struct hca *find(const struct hcas *hcas, uint64_t guid)
{
	struct hca *hca;

	for (hca = hcas->first; hca && hca->guid != guid; hca = hca->next)
		;
	return hca;
}

struct hca *hca_make(struct hcas *hcas, uint64_t guid)
{
	struct hca *hca;

	pthread_mutex_lock(&hcas->outbox->lock);
	hca = find(hcas, guid);
	if (!hca) {
		hca = al_alloc(sizeof(*hca));
		if (hca) {
			hca->guid = guid;
			hca->source = (struct source){ .outbox = hcas->outbox, .guid = guid };
			hca->next = hcas->first;
			hcas->first = hca;
		}
	}
	pthread_mutex_unlock(&hcas->outbox->lock);
	return hca;
}

void hcas_free(struct hcas *hcas)
{
	while (hcas->first) {
		struct hca *hca = hcas->first;

		hcas->first = hca->next;
		al_free(hca->ports);
		al_free(hca);
	}
}

/* ------------------------------------------------------------------ opening */

al_status hca_open(struct hcas *hcas, uint64_t guid, struct hca **hca)
{
	al_status status = AL_SUCCESS;

	pthread_mutex_lock(&hcas->outbox->lock);
	*hca = find(hcas, guid);
	if (!*hca)
		status = AL_NOT_FOUND;
	else if ((*hca)->ca || (*hca)->opening || (*hca)->leaving)
		status = AL_DUPLICATE;
	else
		(*hca)->opening = true;
	pthread_mutex_unlock(&hcas->outbox->lock);
	return status;
}

void hca_opened(struct hca *hca, al_ca_h ca)
{
	pthread_mutex_lock(&hca->source.outbox->lock);
	hca->opening = false;
	hca->ca = ca;
	pthread_mutex_unlock(&hca->source.outbox->lock);
}

void hca_closed(struct hca *hca)
{
	pthread_mutex_lock(&hca->source.outbox->lock);
	hca->ca = NULL;
	pthread_mutex_unlock(&hca->source.outbox->lock);
}

/* Allocated once for each HCA, at its first opening: events of its ports may be under way until the
 * session ends. */
al_status hca_make_ports(struct hca *hca, uint32_t num_ports, uint64_t cookie)
{
	struct outbox *outbox = hca->source.outbox;
	struct source *ports = hca->ports;

	if (!ports) {
		ports = al_alloc((num_ports + 1) * sizeof(*ports));
		if (!ports)
			return AL_INSUFFICIENT_MEMORY;
		for (uint32_t i = 0; i <= num_ports; i++)
			ports[i] = (struct source){ .outbox = outbox, .kind = AGENT_EVENT_PORT, .port = i };
		hca->num_ports = num_ports;
	}
	pthread_mutex_lock(&outbox->lock);
	for (uint32_t i = 0; i <= hca->num_ports; i++) {
		ports[i].cookie = cookie;
		ports[i].ladder =
			(struct ladder){ 0 }; /* the client asks for the ports' states again */
	}
	hca->ports = ports;
	pthread_mutex_unlock(&outbox->lock);
	return AL_SUCCESS;
}

/* ------------------------------------------------------------------ removal */

al_ca_h hca_remove(struct hca *hca)
{
	al_ca_h ca;

	pthread_mutex_lock(&hca->source.outbox->lock);
	ca = hca->ca;
	hca->leaving = ca != NULL;
	hca->removals++;
	pthread_mutex_unlock(&hca->source.outbox->lock);
	return ca;
}

void hca_removed(struct hca *hca)
{
	pthread_mutex_lock(&hca->source.outbox->lock);
	hca->leaving = false;
	pthread_mutex_unlock(&hca->source.outbox->lock);
}

bool hca_leaving(struct hca *hca)
{
	bool leaving;

	pthread_mutex_lock(&hca->source.outbox->lock);
	leaving = hca->leaving;
	pthread_mutex_unlock(&hca->source.outbox->lock);
	return leaving;
}

uint32_t hca_removals(struct hca *hca)
{
	uint32_t removals;

	pthread_mutex_lock(&hca->source.outbox->lock);
	removals = hca->removals;
	pthread_mutex_unlock(&hca->source.outbox->lock);
	return removals;
}
