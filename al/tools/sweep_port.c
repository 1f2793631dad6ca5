/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The library's MAD services as the line of a sweep (sweep.h): one for QP0, and one for performance
 * management. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "al/tools/sweep.h"
#include "al/tools/tool.h"

#define TIMEOUT_MS 500u
#define RETRIES    2u /* the library doubles the time-out: 3.5 seconds in all */

struct sweep_port {
	al_mad_svc_h smp, perf;
	al_status perf_status; /* why there is no service for performance management */
	guint8 number;
	pthread_mutex_t lock; /* guards answers, which the library's callbacks add. Leaf.
				 ThreadSanitizer does not see the locks of GLib. */
	pthread_cond_t added; /* an answer was added; by the monotonic clock */
	GQueue answers;       /* struct sweep_answer */
	struct sweep_line line;
};

static void on_event(void *context, const struct al_mad_event *event)
{
	struct sweep_port *port = context;
	struct sweep_answer *answer = g_new0(struct sweep_answer, 1);

	answer->id = event->id;
	answer->status = event->status;
	if (event->mad)
		memcpy(&answer->mad, event->mad, MIN(event->length, sizeof(answer->mad)));
	else if (!answer->status)
		answer->status = AL_IO_ERROR;
	pthread_mutex_lock(&port->lock);
	g_queue_push_tail(&port->answers, answer);
	pthread_cond_signal(&port->added);
	pthread_mutex_unlock(&port->lock);
}

static al_status send_mad(void *context, const struct ib_mad *mad, guint16 dlid, guint64 id)
{
	struct sweep_port *port = context;
	gboolean perf = mad->hdr.mgmt_class == IB_CLASS_PERF;
	const struct al_mad_send send = {
		.mad = mad,
		.length = sizeof(*mad),
		.remote_qpn = perf,
		.remote_qkey = perf ? IB_QKEY_WELL_KNOWN : 0,
		.retries = RETRIES,
		.timeout_ms = TIMEOUT_MS,
		.path = { .dlid = dlid, .port_num = port->number },
		.id = id,
	};

	if (perf && port->perf_status)
		return port->perf_status;
	return al_send_mad(perf ? port->perf : port->smp, &send);
}

static gboolean next_answer(void *context, struct sweep_answer *answer, gint64 until)
{
	struct sweep_port *port = context;
	const struct timespec end = { .tv_sec = until / G_USEC_PER_SEC,
				      .tv_nsec = until % G_USEC_PER_SEC * 1000 };
	g_autofree struct sweep_answer *next = NULL;

	pthread_mutex_lock(&port->lock);
	while (g_queue_is_empty(&port->answers) &&
	       !pthread_cond_timedwait(&port->added, &port->lock, &end))
		;
	next = g_queue_pop_head(&port->answers);
	pthread_mutex_unlock(&port->lock);
	if (next)
		*answer = *next;
	return next != NULL;
}

static al_status reg(struct sweep_port *port, al_ca_h ca, guint8 class, al_mad_svc_h *svc)
{
	const struct al_mad_svc_init init = { .port_num = port->number,
					      .mgmt_class = class,
					      .class_version = 1 };

	return al_reg_mad_svc(ca, &init, port, on_event, svc);
}

static gboolean explain(al_status st, guint8 number, GError **err)
{
	switch (st) {
	case AL_PERMISSION:
		return tool_fail(
			err,
			"the agent demands the right manage for subnet management packets; the key manage in the "
			"section [ald] of ibal.conf(5) gives it to users and groups");
	case AL_UNSUPPORTED:
		return tool_fail(
			err,
			"port %u: the HCA's module has no special queue pairs, so it can not ask the subnet",
			number);
	case AL_RESOURCE_BUSY:
		return tool_fail(err, "port %u: another program has the port's queue pair 0",
				 number);
	default:
		return tool_fail(err, "port %u: no service for subnet management packets: %s",
				 number, al_status_str(st));
	}
}

static struct sweep_port *new_port(guint8 number)
{
	struct sweep_port *port = g_new0(struct sweep_port, 1);
	pthread_condattr_t clock;

	port->number = number;
	port->line = (struct sweep_line){ send_mad, next_answer, port };
	g_queue_init(&port->answers);
	pthread_mutex_init(&port->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC); /* that of g_get_monotonic_time() */
	pthread_cond_init(&port->added, &clock);
	pthread_condattr_destroy(&clock);
	return port;
}

static void free_port(struct sweep_port *port)
{
	g_queue_clear_full(&port->answers, g_free);
	pthread_cond_destroy(&port->added);
	pthread_mutex_destroy(&port->lock);
	g_free(port);
}

struct sweep_port *sweep_port_open(al_ca_h ca, guint8 number, GError **err)
{
	struct sweep_port *port = new_port(number);
	al_status st = reg(port, ca, IB_CLASS_SUBN_DIR, &port->smp);

	if (st) {
		explain(st, number, err);
		free_port(port);
		return NULL;
	}
	port->perf_status = reg(port, ca, IB_CLASS_PERF, &port->perf);
	return port;
}

void sweep_port_close(struct sweep_port *port)
{
	al_dereg_mad_svc(port->smp, AL_DESTROY_SYNC, NULL);
	if (!port->perf_status)
		al_dereg_mad_svc(port->perf, AL_DESTROY_SYNC, NULL);
	free_port(port);
}

const struct sweep_line *sweep_port_line(struct sweep_port *port)
{
	return &port->line;
}
