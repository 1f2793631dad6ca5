/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MAD services that the agent has for its clients. The owner of such a service is told that the
 * service has events, takes the events part by part, and pays for the memory of long datagrams.
 */
#ifndef AL_MGMT_OWNER_H
#define AL_MGMT_OWNER_H

#include <iba/ib_al.h>

/* The owner's functions; context is the service's. */
struct al_mad_owner {
	/* The service has got events. In an atomic context, on the HCA's async dispatcher, the
	 * management thread or a thread in al_send_mad(), also on several at the same time. */
	void (*announce)(void *context, al_mad_svc_h svc);
	/*
	 * The service is to hold so many bytes more, of a datagram that is longer than one packet.
	 * False: it may not. In any context, under the port's lock. Everything that is charged has
	 * been discharged when the service has ended.
	 */
	bool (*charge)(void *context, uint64_t bytes);
	void (*discharge)(void *context, uint64_t bytes);
};

/* A part of the oldest event of a service. */
struct al_mad_part {
	struct al_mad_event event; /* without its member mad */
	uint32_t bytes;            /* bytes of the datagram that were written */
	bool left;                 /* the service has further events */
};

/* As al_reg_mad_svc(), without callback and channel: al_mad_next() refuses the service. */
al_status mad_reg_owned(al_ca_h ca, const struct al_mad_svc_init *init, void *context,
			const struct al_mad_owner *owner, al_mad_svc_h *svc);
/*
 * Writes bytes of the oldest event's datagram from offset on, at most room bytes. The event ends
 * with its last byte. AL_BUFFER_TOO_SMALL: the datagram is longer than size, and the event remains.
 * AL_INVALID_PARAMETER: offset is behind the datagram's end. **Context: any.**
 */
al_status mad_next_part(al_mad_svc_h svc, uint32_t size, uint32_t offset, void *to, uint32_t room,
			struct al_mad_part *part);
/*
 * Takes the oldest event if it is the outcome of a send, without a datagram or with one of a single
 * packet, which is written to mad. AL_BUFFER_TOO_SMALL: the oldest event is another one, and
 * remains. **Context: any.**
 */
al_status mad_next_outcome(al_mad_svc_h svc, struct ib_mad *mad, struct al_mad_part *part);

#endif
