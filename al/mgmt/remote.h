/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MAD services of HCAs behind an agent: the agent's library has the service, its queue, its
 * time-outs and its datagrams. This process has the handle, the callbacks or the channel, and a
 * note of each send whose event has not come. So each send has its event, even if the HCA is
 * removed or the agent is lost. The requests to the agent are al/user's (struct mad_remote_ops).
 */
#ifndef AL_MGMT_REMOTE_H
#define AL_MGMT_REMOTE_H

#include "al/mgmt/owner.h"
#include "al/object/object.h"

struct ci_ca;
struct ci_qp;

/* The agent's service, as al/user knows it. */
struct mad_remote {
	void *conn;      /* connection to the agent */
	uint64_t handle; /* the agent's */
	uint64_t cookie; /* by which the agent announces events */
	_Atomic uint64_t taken; /* events of mad_remote_ahead() that have been delivered: the
				   number of the next */
};

/* Events of a service that the agent has sent ahead and that are not delivered, at the most. */
#define MAD_REMOTE_AHEAD_MAX 16u

/* The requests to an agent. All but reg(), dereg() and those from local_mad() on may be called in
 * any context. */
struct mad_remote_ops {
	/* announce is for mad_remote_announced(). */
	al_status (*reg)(struct ci_ca *ca, const struct al_mad_svc_init *init, void *announce,
			 struct mad_remote *svc);
	void (*dereg)(struct mad_remote *svc);
	al_status (*send)(const struct mad_remote *svc, const struct al_mad_send *send);
	al_status (*cancel)(const struct mad_remote *svc, uint64_t id);
	/*
	 * Writes bytes of the oldest event's datagram from offset on, at most room bytes. The event
	 * ends with its last byte. AL_BUFFER_TOO_SMALL: the datagram is longer than size, and the
	 * event remains.
	 */
	al_status (*next)(const struct mad_remote *svc, uint32_t size, uint32_t offset, void *to,
			  uint32_t room, struct al_mad_part *part);
	/* As al_local_mad(). */
	al_status (*local_mad)(const struct ci_ca *ca, uint8_t port_num, const struct ib_mad *mad,
			       struct ib_mad *response);
	/* An alias of a special queue pair. qp is the module's part of the alias here, which tells
	 * the type. */
	al_status (*get_spl_qp)(const struct ci_ca *ca, uint8_t port_num, struct ci_qp *qp);
	void (*put_spl_qp)(const struct ci_ca *ca, struct ci_qp *qp);
	al_status (*query_spl_qp)(const struct ci_ca *ca, const struct ci_qp *qp,
				  struct ib_qp_attr *attr);
};

/* Sets the requests. Called once per process, before the first registration. */
void mad_remote_set(const struct mad_remote_ops *ops);
/* The agent's service has events, behind `before` events of mad_remote_ahead(), some of which may
 * still be on their way. The caller holds the lock under which al/user drops cookies. Any context.
 */
void mad_remote_announced(void *announce, uint64_t before);
/* As mad_remote_announced(), with the first event behind these: event->length bytes of mad, a
 * packet at the most; left: the agent has further events. An event for which there is no room is
 * ignored: no agent sends one. */
void mad_remote_ahead(void *announce, uint64_t before, const struct al_mad_event *event,
		      const void *mad, bool left);

/* ------------------------------------------------------- for mad.c, send.c and port.c */

/* The functions of the API, on a service or an HCA of an agent, whose arguments are checked as far
 * as the service's owner can. */
al_status remote_register(struct al_call *call, struct al_obj *channel,
			  const struct al_mad_svc_init *init, void *context, al_mad_cb cb,
			  al_mad_svc_h *svc);
al_status remote_send(struct al_obj *obj, const struct al_mad_send *send);
al_status remote_cancel(struct al_obj *obj, uint64_t id);
al_status remote_next(struct al_obj *obj, void *mad, uint32_t size, struct al_mad_event *event);
al_status remote_local_mad(const struct al_obj *ca, uint8_t port_num, const struct ib_mad *request,
			   struct ib_mad *response);
/* The requests of an alias, see above. */
al_status remote_get_spl_qp(const struct al_obj *ca, uint8_t port_num, struct ci_qp *qp);
void remote_put_spl_qp(const struct al_obj *ca, struct ci_qp *qp);
al_status remote_query_spl_qp(const struct al_obj *ca, const struct ci_qp *qp,
			      struct ib_qp_attr *attr);
/* The HCA is being removed: the sends of its services fail. */
void remote_leaving(const struct al_dev *dev);
void remote_after_fork(void);
/* Delivers a service's events by the channel (NULL: by callback, with run). In mad.c. */
al_status mad_use_channel(struct al_obj *obj, struct al_obj *channel,
			  void (*run)(struct ev_source *, uint32_t));

#endif
