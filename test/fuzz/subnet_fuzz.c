/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The subnet as al_query topology reads it. The first byte chooses: the text of a file, or the
 * answers of a sweep, one after the other: a byte (0: answer, 1: none, 2: refusal, else: to another
 * question) and the attribute's 64 bytes; behind the last byte no request is answered. Each form of
 * a subnet must be well-formed, and its text be read as the same subnet.
 */
#include <stdlib.h>
#include <string.h>

#include "al/tools/sweep.h"
#include "fuzz.h"

static void must(gboolean good)
{
	if (!good)
		abort();
}

/* ------------------------------------------------------------------------- forms */

static void check_svg(const struct net *net)
{
	static const GMarkupParser parser;
	GMarkupParseContext *context = g_markup_parse_context_new(&parser, 0, NULL, NULL);
	g_autofree char *svg = net_write_svg(net);

	must(g_markup_parse_context_parse(context, svg, -1, NULL) &&
	     g_markup_parse_context_end_parse(context, NULL));
	g_markup_parse_context_free(context);
}

static void check_text(const struct net *net)
{
	g_autofree char *text = net_write_text(net, "a day");
	struct net *again = net_read_text("again", text, NULL);
	GPtrArray *changes;

	g_free(net_write_dot(net)); /* takes every name */
	must(again != NULL);
	changes = net_diff(net, again);
	must(!changes->len);
	g_ptr_array_unref(changes);
	net_free(again);
}

/* A cable has two ends, and a LID that is none is none. */
static void check_ports(const struct net *net)
{
	for (guint i = 0; i < net->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(net->nodes, i);

		must(node->index == i && node->num_ports &&
		     node->num_ports <= TOPOLOGY_MAX_NODE_PORTS);
		for (guint p = 0; p <= node->num_ports; p++) {
			const struct net_port *port = &node->ports[p];

			must(!port->peer || (port->peer->peer == port && port->peer != port));
			must(port->lid <= IB_LID_UNICAST_LAST && port->lmc < 8 &&
			     port->state <= IB_PORT_ACTIVE);
		}
	}
}

static void check_net(const struct net *net)
{
	check_ports(net);
	check_text(net);
	check_svg(net);
}

/* ------------------------------------------------------------------------- the sweep */

struct input {
	const uint8_t *data;
	size_t left;
	GQueue answers; /* struct sweep_answer */
};

static void take_bytes(struct input *in, void *to, size_t size)
{
	size = MIN(size, in->left);
	memcpy(to, in->data, size);
	in->data += size;
	in->left -= size;
}

static al_status fuzz_send(void *context, const struct ib_mad *mad, guint16 dlid, guint64 id)
{
	struct sweep_answer *answer = g_new0(struct sweep_answer, 1);
	struct input *in = context;
	uint8_t kind = 1;

	must(dlid && (dlid == IB_LID_PERMISSIVE || dlid <= IB_LID_UNICAST_LAST));
	must(g_queue_get_length(&in->answers) < SWEEP_WINDOW);
	answer->id = id;
	answer->mad = *mad;
	answer->mad.hdr.method = IB_METHOD_GET_RESP;
	if (in->left)
		take_bytes(in, &kind, 1);
	if (kind == 1)
		answer->status = AL_TIMEOUT;
	else if (kind == 2)
		answer->mad.hdr.status = ib_be16_of(0x1c);
	else if (kind)
		answer->mad.hdr.attr_id = ib_be16_of(kind);
	take_bytes(in,
		   (uint8_t *)&answer->mad + (mad->hdr.mgmt_class == IB_CLASS_PERF
						      ? offsetof(struct ib_perf_mad, data)
						      : offsetof(struct ib_smp, data)),
		   kind == 1 ? 0 : IB_SMP_DATA_BYTES);
	g_queue_push_tail(&in->answers, answer);
	return AL_SUCCESS;
}

static gboolean fuzz_next(void *context, struct sweep_answer *answer, gint64 until)
{
	struct input *in = context;
	struct sweep_answer *next = g_queue_pop_head(&in->answers);

	(void)until;
	must(next != NULL); /* each request has an answer, and there is no wait without a request */
	*answer = *next;
	g_free(next);
	return TRUE;
}

static void fuzz_sweep(const uint8_t *data, size_t size)
{
	struct input in = { .data = data, .left = size };
	const struct sweep_line line = { fuzz_send, fuzz_next, &in };
	const struct sweep_options options = { .port = 1, .counters = TRUE, .seconds = 1e6 };
	g_autoptr(GError) err = NULL;
	struct net *net;

	g_queue_init(&in.answers);
	net = sweep_subnet(&line, &options, &err);
	must(!net == !!err && g_queue_is_empty(&in.answers));
	if (net)
		check_net(net);
	net_free(net);
}

static void fuzz_text(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	g_autoptr(GError) err = NULL;
	struct net *net = net_read_text("file", text, &err);

	must(!net == !!err);
	if (net)
		check_net(net);
	net_free(net);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] == 'T')
		fuzz_text(data + 1, size - 1);
	else if (size)
		fuzz_sweep(data + 1, size - 1);
	return 0;
}
