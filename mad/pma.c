/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The performance management agent. See pma.h. */
#include "mad/pma.h"

#include <string.h>

#include "mad/gsi.h"

/* A datagram of performance management that is being answered. */
struct call {
	struct pma_node *node;
	uint8_t in_port;
	uint64_t now_ns;
	bool set;
	uint8_t data[IB_PERF_DATA_BYTES]; /* attribute of the request, then of the response */
};

static struct pma_port *keeper_of(const struct pma_node *node, uint8_t port)
{
	return &node->ports[node->is_switch ? 0 : port];
}

/* --------------------------------------------------------------------- counters */

/*
 * Counters: member of struct ib_port_counters, bytes per unit as a shift, field of PortCounters in
 * bits (0, 0: not there) with its bit of the selection, member of PortCountersExtended with its
 * bit. The selection is CounterSelect, with CounterSelect2 from bit 16 on.
 */
#define COUNTER_LIST(X)                                                       \
	X(xmit_bytes, 2, 192, 32, 12, xmit_data, 0)                           \
	X(rcv_bytes, 2, 224, 32, 13, rcv_data, 1)                             \
	X(xmit_packets, 0, 256, 32, 14, xmit_packets, 2)                      \
	X(rcv_packets, 0, 288, 32, 15, rcv_packets, 3)                        \
	X(unicast_xmit_packets, 0, 0, 0, 0, unicast_xmit_packets, 4)          \
	X(unicast_rcv_packets, 0, 0, 0, 0, unicast_rcv_packets, 5)            \
	X(multicast_xmit_packets, 0, 0, 0, 0, multicast_xmit_packets, 6)      \
	X(multicast_rcv_packets, 0, 0, 0, 0, multicast_rcv_packets, 7)        \
	X(symbol_errors, 0, 32, 16, 0, symbol_errors, 16)                     \
	X(link_error_recovery, 0, 48, 8, 1, link_error_recovery, 17)          \
	X(link_downed, 0, 56, 8, 2, link_downed, 18)                          \
	X(rcv_errors, 0, 64, 16, 3, rcv_errors, 19)                           \
	X(rcv_remote_phys_errors, 0, 80, 16, 4, rcv_remote_phys_errors, 20)   \
	X(rcv_switch_relay_errors, 0, 96, 16, 5, rcv_switch_relay_errors, 21) \
	X(xmit_discards, 0, 112, 16, 6, xmit_discards, 22)                    \
	X(xmit_constraint_errors, 0, 128, 8, 7, xmit_constraint_errors, 23)   \
	X(rcv_constraint_errors, 0, 136, 8, 8, rcv_constraint_errors, 24)     \
	X(link_integrity_errors, 0, 152, 4, 9, link_integrity_errors, 25)     \
	X(buffer_overrun_errors, 0, 156, 4, 10, buffer_overrun_errors, 26)    \
	X(vl15_dropped, 0, 176, 16, 11, vl15_dropped, 27)                     \
	X(xmit_wait, 0, 320, 32, 16, xmit_wait, 28)

/* The field of a counter in an attribute. */
struct field {
	uint16_t offset; /* bits */
	uint8_t width;   /* bits; 0: the attribute does not have the counter */
	uint8_t select;  /* bit of the selection */
};

static const struct counter {
	uint16_t source; /* offset in struct ib_port_counters */
	uint8_t shift;
	struct field field[PMA_VIEWS];
} counters[] = {
#define ROW(source, shift, offset, width, select, extended, extended_select)                      \
	{ offsetof(struct ib_port_counters, source),                                              \
	  shift,                                                                                  \
	  { [PMA_COUNTERS_VIEW] = { offset, width, select },                                      \
	    [PMA_EXTENDED_VIEW] = { 8 * offsetof(struct ib_perf_port_counters_ext, extended), 64, \
				    extended_select } } },
	COUNTER_LIST(ROW)
};
_Static_assert(sizeof(counters) / sizeof(*counters) == PMA_COUNTERS,
	       "a view has a base for each counter");

static uint64_t source_of(const struct ib_port_counters *from, const struct counter *counter)
{
	uint64_t value;

	memcpy(&value, (const uint8_t *)from + counter->source, sizeof(value));
	return value;
}

static uint64_t add_clamped(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t clamp(uint64_t value, unsigned int width)
{
	uint64_t max = width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;

	return value < max ? value : max;
}

/* A counter in a view. A source below the base has begun again with 0, since the port went down and
 * came up. */
static uint64_t value_of(struct pma_view *view, size_t i, const struct ib_port_counters *from)
{
	uint64_t source = source_of(from, &counters[i]);

	if (source < view->base[i])
		view->base[i] = 0;
	return add_clamped((source - view->base[i]) >> counters[i].shift, view->start[i]);
}

static void write_counter(struct pma_view *view, size_t i, const struct ib_port_counters *from,
			  uint64_t value)
{
	view->base[i] = source_of(from, &counters[i]);
	view->start[i] = value;
}

/* ---------------------------------------------------------- ports of a datagram */

/* Ports that PortSelect names. */
struct range {
	unsigned int first;
	unsigned int last;
};

static uint16_t select_ports(const struct call *call, uint8_t port_select, struct range *range)
{
	struct ib_port_counters unused;

	*range = (struct range){ port_select, port_select };
	if (port_select == IB_PORT_SELECT_ALL) {
		*range = (struct range){ 1, call->node->num_ports };
		return IB_MAD_STATUS_OK;
	}
	if (port_select > call->node->num_ports || (!port_select && !call->node->is_switch) ||
	    !call->node->ops->counters(call->node->hw, port_select, &unused))
		return IB_MAD_STATUS_BAD_FIELD;
	return IB_MAD_STATUS_OK;
}

/* --------------------------------------------- PortCounters, PortCountersExtended */

/* Where CounterSelect2 is in the attribute of a view. */
static const struct {
	uint8_t offset, bytes;
} select2_at[PMA_VIEWS] = {
	[PMA_COUNTERS_VIEW] = { offsetof(struct ib_perf_port_counters, counter_select2), 1 },
	[PMA_EXTENDED_VIEW] = { offsetof(struct ib_perf_port_counters_ext, counter_select2), 4 },
};
/* PortSelect and CounterSelect are at one place in both. */
#define PORT_SELECT_AT 1
#define SELECT_AT      2
_Static_assert(offsetof(struct ib_perf_port_counters, port_select) == PORT_SELECT_AT &&
		       offsetof(struct ib_perf_port_counters_ext, port_select) == PORT_SELECT_AT &&
		       offsetof(struct ib_perf_port_counters, counter_select) == SELECT_AT &&
		       offsetof(struct ib_perf_port_counters_ext, counter_select) == SELECT_AT,
	       "both attributes begin alike");

/* The counters that a request selects, a bit each. */
static uint64_t selection(enum pma_view_of which, const uint8_t *data)
{
	uint64_t select2 = 0;

	for (unsigned int i = 0; i < select2_at[which].bytes; i++)
		select2 = select2 << 8 | data[select2_at[which].offset + i];
	return select2 << 16 | (uint64_t)data[SELECT_AT] << 8 | data[SELECT_AT + 1];
}

static uint64_t field_get(const uint8_t *data, const struct field *f)
{
	ib_be64 value;

	if (f->width < 64)
		return ib_bits_get(data, f->offset, f->width);
	memcpy(&value, data + f->offset / 8, sizeof(value));
	return ib_be64_get(value);
}

static void field_set(uint8_t *data, const struct field *f, uint64_t value)
{
	ib_be64 bytes = ib_be64_of(value);

	if (f->width < 64)
		ib_bits_set(data, f->offset, f->width, (uint32_t)value);
	else
		memcpy(data + f->offset / 8, &bytes, sizeof(bytes));
}

/* Adds a port's counters to those of an attribute. */
static void add_counters(struct pma_view *view, enum pma_view_of which,
			 const struct ib_port_counters *from, uint8_t *data)
{
	for (size_t i = 0; i < PMA_COUNTERS; i++) {
		const struct field *f = &counters[i].field[which];

		if (f->width)
			field_set(data, f,
				  clamp(add_clamped(field_get(data, f), value_of(view, i, from)),
					f->width));
	}
}

/* Writes the counters that a request selects. */
static void set_counters(struct pma_view *view, enum pma_view_of which,
			 const struct ib_port_counters *from, const uint8_t *data)
{
	uint64_t select = selection(which, data);

	for (size_t i = 0; i < PMA_COUNTERS; i++) {
		const struct field *f = &counters[i].field[which];

		if (f->width && select >> f->select & 1)
			write_counter(view, i, from, field_get(data, f));
	}
}

/* Get and Set of the attribute of a view. */
static uint16_t serve_view(struct call *call, enum pma_view_of which)
{
	uint8_t shown[IB_PERF_DATA_BYTES] = { 0 };
	struct ib_port_counters from;
	struct range ports;
	uint16_t status = select_ports(call, call->data[PORT_SELECT_AT], &ports);

	if (status)
		return status;
	for (unsigned int port = ports.first; port <= ports.last; port++) {
		struct pma_view *view = &call->node->ports[port].view[which];

		if (!call->node->ops->counters(call->node->hw, (uint8_t)port, &from))
			continue;
		if (call->set)
			set_counters(view, which, &from, call->data);
		add_counters(view, which, &from, shown);
	}
	memcpy(shown + PORT_SELECT_AT, call->data + PORT_SELECT_AT, 1 + sizeof(ib_be16));
	memcpy(shown + select2_at[which].offset, call->data + select2_at[which].offset,
	       select2_at[which].bytes);
	memcpy(call->data, shown, sizeof(shown));
	return IB_MAD_STATUS_OK;
}

static uint16_t port_counters(struct call *call)
{
	return serve_view(call, PMA_COUNTERS_VIEW);
}

static uint16_t port_counters_ext(struct call *call)
{
	return serve_view(call, PMA_EXTENDED_VIEW);
}

/* ---------------------------------------------------------------- ClassPortInfo */

static uint16_t class_port_info(struct call *call)
{
	struct ib_class_port_info *traps = &keeper_of(call->node, call->in_port)->traps;
	struct ib_class_port_info info;

	if (call->set) /* a datagram's trap members, and no others */
		memcpy(&traps->trap_gid, call->data + offsetof(struct ib_class_port_info, trap_gid),
		       sizeof(*traps) - offsetof(struct ib_class_port_info, trap_gid));
	info = *traps;
	info.base_version = IB_MAD_BASE_VERSION;
	info.class_version = IB_PERF_CLASS_VERSION;
	info.cap_mask = ib_be16_of(IB_PERF_CAP_ALL_PORT_SELECT | IB_PERF_CAP_EXT_WIDTH |
				   IB_PERF_CAP_XMIT_WAIT);
	ib_class_port_info_set_cap_mask2(&info, IB_PERF_CAP2_ADDITIONAL_EXT);
	ib_class_port_info_set_resp_time(&info, call->node->resp_time);
	memset(call->data, 0, sizeof(call->data));
	memcpy(call->data, &info, sizeof(info));
	return IB_MAD_STATUS_OK;
}

/* ---------------------------------------------------------------------- samples */

static const uint16_t sample_sources[] = {
	[IB_SAMPLE_XMIT_DATA] = offsetof(struct ib_port_counters, xmit_bytes),
	[IB_SAMPLE_RCV_DATA] = offsetof(struct ib_port_counters, rcv_bytes),
	[IB_SAMPLE_XMIT_PACKETS] = offsetof(struct ib_port_counters, xmit_packets),
	[IB_SAMPLE_RCV_PACKETS] = offsetof(struct ib_port_counters, rcv_packets),
	[IB_SAMPLE_XMIT_WAIT] = offsetof(struct ib_port_counters, xmit_wait),
};
#define SAMPLE_SELECT_MAX (sizeof(sample_sources) / sizeof(*sample_sources) - 1)

static uint32_t sampled(const struct pma_sampler *s, const struct ib_port_counters *last,
			uint16_t select)
{
	uint64_t before, after;

	if (!select)
		return 0;
	memcpy(&before, (const uint8_t *)&s->first + sample_sources[select], sizeof(before));
	memcpy(&after, (const uint8_t *)last + sample_sources[select], sizeof(after));
	after -= after < before ? 0 : before; /* below: the port came up anew */
	if (select == IB_SAMPLE_XMIT_DATA || select == IB_SAMPLE_RCV_DATA)
		after /= 4;
	return (uint32_t)clamp(after, 32);
}

void pma_poll(struct pma_node *node, uint8_t port, uint64_t now_ns)
{
	struct pma_sampler *s = &keeper_of(node, port)->sampler;
	struct ib_port_counters now = { 0 };

	if (pma_due(node, port) > now_ns)
		return;
	node->ops->counters(node->hw, s->port, &now);
	if (s->status == IB_SAMPLE_STARTED) {
		s->first = now;
		s->status = IB_SAMPLE_RUNNING;
	}
	if (now_ns < s->end_ns)
		return;
	for (size_t i = 0; i < PMA_SAMPLES; i++)
		s->result[i] = sampled(s, &now, s->select[i]);
	s->status = IB_SAMPLE_DONE;
}

uint64_t pma_due(const struct pma_node *node, uint8_t port)
{
	const struct pma_sampler *s = &keeper_of(node, port)->sampler;

	switch (s->status) {
	case IB_SAMPLE_STARTED:
		return s->start_ns;
	case IB_SAMPLE_RUNNING:
		return s->end_ns;
	default:
		return PMA_NEVER;
	}
}

/* Checks a sample before the sampler takes anything of the request. */
static uint16_t check_sample(const struct call *call, const struct ib_perf_samples_control *want)
{
	struct range unused;

	if (want->op_code || want->port_select == IB_PORT_SELECT_ALL)
		return IB_MAD_STATUS_BAD_FIELD;
	for (size_t i = 0; call->set && i < PMA_SAMPLES; i++)
		if (ib_be16_get(want->counter_select[i]) > SAMPLE_SELECT_MAX)
			return IB_MAD_STATUS_BAD_FIELD;
	return select_ports(call, want->port_select, &unused);
}

static void begin_sample(struct pma_sampler *s, const struct ib_perf_samples_control *want,
			 uint64_t now_ns)
{
	*s = (struct pma_sampler){
		.port = want->port_select,
		.status = IB_SAMPLE_STARTED,
		.tag = ib_be16_get(want->tag),
		.start = ib_be32_get(want->sample_start),
		.interval = ib_be32_get(want->sample_interval),
	};
	s->start_ns = add_clamped(now_ns, (uint64_t)s->start * PMA_TICK_NS);
	s->end_ns = add_clamped(s->start_ns, (uint64_t)s->interval * PMA_TICK_NS);
	for (size_t i = 0; i < PMA_SAMPLES; i++)
		s->select[i] = ib_be16_get(want->counter_select[i]);
}

/* Each of the 15 counters of a sample can count each basic counter, with 32 bits. The masks have
 * three bits, an octal digit, for each counter: 1 means the basic counters. */
static void show_control(const struct pma_sampler *s, uint8_t port_select,
			 struct ib_perf_samples_control *to)
{
	*to = (struct ib_perf_samples_control){
		.port_select = s->port ? s->port : port_select,
		.tick = PMA_TICK,
		.tag = ib_be16_of(s->tag),
		.sample_start = ib_be32_of(s->start),
		.sample_interval = ib_be32_of(s->interval),
	};
	ib_perf_samples_control_set_counter_width(to, 4);
	ib_perf_samples_control_set_counter_mask0(to, 01);
	ib_perf_samples_control_set_counter_masks1_9(to, 0111111111);
	ib_perf_samples_control_set_counter_masks10_14(to, 011111);
	ib_perf_samples_control_set_sample_status(to, s->status);
	for (size_t i = 0; i < PMA_SAMPLES; i++)
		to->counter_select[i] = ib_be16_of(s->select[i]);
}

/* A Set during a sample changes nothing: the response shows the sample that is under way. */
static uint16_t samples_control(struct call *call)
{
	const struct ib_perf_samples_control *want =
		(const struct ib_perf_samples_control *)call->data;
	struct pma_sampler *s = &keeper_of(call->node, call->in_port)->sampler;
	struct ib_perf_samples_control shown;
	uint16_t status = check_sample(call, want);

	if (status)
		return status;
	if (call->set && s->status == IB_SAMPLE_DONE) {
		begin_sample(s, want, call->now_ns);
		pma_poll(call->node, call->in_port, call->now_ns);
	}
	show_control(s, want->port_select, &shown);
	memset(call->data, 0, sizeof(call->data));
	memcpy(call->data, &shown, sizeof(shown));
	return IB_MAD_STATUS_OK;
}

static uint16_t samples_result(struct call *call)
{
	const struct pma_sampler *s = &keeper_of(call->node, call->in_port)->sampler;
	struct ib_perf_samples_result result = { .tag = ib_be16_of(s->tag) };

	ib_perf_samples_result_set_sample_status(&result, s->status);
	for (size_t i = 0; i < PMA_SAMPLES; i++)
		result.counter[i] = ib_be32_of(s->result[i]);
	memset(call->data, 0, sizeof(call->data));
	memcpy(call->data, &result, sizeof(result));
	return IB_MAD_STATUS_OK;
}

/* -------------------------------------------------------------------- datagrams */

static const struct attribute {
	ib_perf_attr id;
	bool read_only;
	uint16_t (*serve)(struct call *call);
} attributes[] = {
	{ IB_PERF_CLASS_PORT_INFO, false, class_port_info },
	{ IB_PERF_SAMPLES_CONTROL, false, samples_control },
	{ IB_PERF_SAMPLES_RESULT, true, samples_result },
	{ IB_PERF_PORT_COUNTERS, false, port_counters },
	{ IB_PERF_PORT_COUNTERS_EXT, false, port_counters_ext },
};

static uint16_t serve(struct call *call, const struct ib_mad_hdr *hdr)
{
	uint16_t id = ib_be16_get(hdr->attr_id);

	if (hdr->base_version != IB_MAD_BASE_VERSION || hdr->class_version != IB_PERF_CLASS_VERSION)
		return IB_MAD_STATUS_BAD_VERSION;
	if (hdr->method != IB_METHOD_GET && hdr->method != IB_METHOD_SET)
		return IB_MAD_STATUS_BAD_METHOD;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		if (attributes[i].id != id)
			continue;
		if (call->set && attributes[i].read_only)
			break;
		return ib_be32_get(hdr->attr_mod) ? IB_MAD_STATUS_BAD_FIELD
						  : attributes[i].serve(call);
	}
	return IB_MAD_STATUS_BAD_METHOD_ATTR;
}

bool pma_answer(struct pma_node *node, uint8_t in_port, const struct ib_mad *in, uint64_t now_ns,
		struct ib_mad *out)
{
	struct call call = {
		.node = node,
		.in_port = in_port,
		.now_ns = now_ns,
		.set = in->hdr.method == IB_METHOD_SET,
	};
	uint16_t status;

	if (in_port > node->num_ports || (!in_port && !node->is_switch))
		return false;
	if (in->hdr.mgmt_class != IB_CLASS_PERF || !gsi_expects_response(in))
		return false;
	pma_poll(node, in_port, now_ns);
	memcpy(call.data, ((const struct ib_perf_mad *)in)->data, sizeof(call.data));
	status = serve(&call, &in->hdr);
	gsi_respond(in, status, out);
	memcpy(((struct ib_perf_mad *)out)->data, call.data, sizeof(call.data));
	return true;
}
