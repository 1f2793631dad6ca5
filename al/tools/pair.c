/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Choosing, opening and connecting the two ends of al_cp and al_perf (pair.h). */
#include "al/tools/pair.h"

#include <poll.h>
#include <string.h>

#include "al/tools/tool.h"

#define GUID_FORMAT "0x%016" G_GINT64_MODIFIER "x"

gboolean pair_worked(al_status st, const struct pair_end *end, const char *what, GError **err)
{
	if (st == AL_SUCCESS)
		return TRUE;
	return tool_fail(err, "HCA " GUID_FORMAT ": %s: %s; \"al_query doctor\" may know more",
			 end->guid, what, al_status_str(st));
}

/* ------------------------------------------------------------------ choosing */

/* TRUE: the HCA can be opened, and has this name or description. */
static gboolean has_description(al_h al, guint64 guid, const char *description)
{
	struct ib_ca_attr attr;
	gboolean has = FALSE;
	al_ca_h ca;

	if (al_open_ca(al, guid, NULL, &ca))
		return FALSE;
	if (!al_query_ca(ca, &attr))
		has = !strcmp(attr.name, description) || !strcmp(attr.node_desc, description);
	al_close_ca(ca, AL_DESTROY_SYNC, NULL);
	return has;
}

/* The HCA that the user has named: by a GUID, which may be absent, by a description, or by an index
 * into the list of HCAs. */
static gboolean find_named(al_h al, struct pair_end *end, const guint64 *guids, size_t count,
			   GError **err)
{
	guint64 index;

	if (!end->name || tool_parse_guid(end->name, &end->guid))
		return TRUE;
	for (size_t i = 0; i < count; i++) {
		if (!has_description(al, guids[i], end->name))
			continue;
		end->guid = guids[i];
		return TRUE;
	}
	if (!tool_parse_number(end->name, 0, G_MAXUINT32, &index) || index >= count)
		return tool_misuse(
			err, "there is no HCA \"%s\"; \"al_query\" shows those that are there",
			end->name);
	end->guid = guids[index];
	return TRUE;
}

/* An active port. */
struct place {
	guint64 guid;
	guint8 port_num;
};

/* Adds the active ports of an HCA. An HCA that cannot be opened or queried counts as one without
 * active ports. */
static void add_active(al_h al, guint64 guid, GArray *places)
{
	struct ib_ca_attr attr;
	struct ib_port_attr port;
	al_ca_h ca;

	if (al_open_ca(al, guid, NULL, &ca))
		return;
	if (al_query_ca(ca, &attr))
		attr.num_ports = 0;
	for (guint i = 1; i <= attr.num_ports; i++) {
		const struct place place = { guid, (guint8)i };

		if (!al_query_port(ca, place.port_num, &port) && port.state == IB_PORT_ACTIVE)
			g_array_append_val(places, place);
	}
	al_close_ca(ca, AL_DESTROY_SYNC, NULL);
}

/* How well a port suits the other end: another HCA is best. The other end's own port comes next,
 * since a port reaches itself without any cable, which another port of the HCA may not. */
static guint rank(const struct place *place, const struct pair_end *other)
{
	if (place->guid != other->guid)
		return 2;
	return place->port_num == other->port_num;
}

/* Gives an end the port that suits the other end best, among the ports that the user's choice
 * allows. */
static void find_place(struct pair_end *end, const struct pair_end *other, const GArray *places)
{
	const struct place *best = NULL, *place;

	for (guint i = 0; i < places->len; i++) {
		place = &g_array_index(places, struct place, i);
		if ((end->guid && place->guid != end->guid) ||
		    (end->port_num && place->port_num != end->port_num))
			continue;
		if (!best || rank(place, other) > rank(best, other))
			best = place;
	}
	if (!best)
		return;
	end->guid = best->guid;
	end->port_num = best->port_num;
}

/* Lists the GUIDs of the HCAs. The caller frees the array. NULL: *err is set. */
static GArray *list_hcas(al_h al, GError **err)
{
	GArray *guids = g_array_new(FALSE, FALSE, sizeof(guint64));
	al_status st = AL_BUFFER_TOO_SMALL;
	size_t count = 64;

	while (st == AL_BUFFER_TOO_SMALL) { /* the list may grow between two calls */
		g_array_set_size(guids, (guint)count);
		st = al_get_ca_guids(al, (guint64 *)(void *)guids->data, &count);
	}
	if (st) {
		tool_fail(err, "the HCAs cannot be listed: %s", al_status_str(st));
		g_array_unref(guids);
		return NULL;
	}
	g_array_set_size(guids, (guint)count);
	return guids;
}

gboolean pair_has_hca(al_h al, guint64 guid, gboolean *seen, GError **err)
{
	GArray *guids = list_hcas(al, err);

	if (!guids)
		return FALSE;
	*seen = FALSE;
	for (guint i = 0; i < guids->len && !*seen; i++)
		*seen = g_array_index(guids, guint64, i) == guid;
	g_array_unref(guids);
	return TRUE;
}

/* Chooses both ends among HCAs, of which there is at least one. */
static gboolean choose(al_h al, const GArray *guids, struct pair_end *near, struct pair_end *far,
		       GError **err)
{
	const guint64 *guid = (const guint64 *)(const void *)guids->data;
	GArray *places;

	if (!find_named(al, near, guid, guids->len, err) ||
	    !find_named(al, far, guid, guids->len, err))
		return FALSE;
	places = g_array_new(FALSE, FALSE, sizeof(struct place));
	for (guint i = 0; i < guids->len; i++)
		add_active(al, guid[i], places);
	find_place(near, far, places);
	find_place(far, near, places);
	g_array_unref(places);
	if (!near->guid)
		near->guid = guid[0];
	if (!far->guid)
		far->guid = guid[0];
	return TRUE;
}

gboolean pair_choose(al_h al, struct pair_end *near, struct pair_end *far, GError **err)
{
	GArray *guids = list_hcas(al, err);
	gboolean chosen = FALSE;

	if (!guids)
		return FALSE;
	if (guids->len)
		chosen = choose(al, guids, near, far, err);
	else
		tool_fail(err, "there is no HCA; \"al_query doctor\" says what is missing");
	g_array_unref(guids);
	return chosen;
}

/* ------------------------------------------------------------------- opening */

/* Finds the port that the user has named, or the first active port. */
static gboolean find_port(struct pair_end *end, GError **err)
{
	guint8 first = end->port_num ? end->port_num : 1;
	guint32 last = end->port_num ? end->port_num : end->attr.num_ports;
	al_status st = AL_SUCCESS;

	if (last > end->attr.num_ports)
		return tool_misuse(err, "HCA " GUID_FORMAT " has no port %u, but %u", end->guid,
				   last, end->attr.num_ports);
	for (guint32 i = first; !st && i <= last; i++) {
		st = al_query_port(end->ca, (guint8)i, &end->port);
		end->port_num = (guint8)i;
		if (!st && end->port.state == IB_PORT_ACTIVE)
			return TRUE;
	}
	if (st)
		return pair_worked(st, end, "its ports cannot be read", err);
	if (first == last)
		return tool_fail(err,
				 "port %u of HCA " GUID_FORMAT
				 " is not active; \"al_query port\" shows its state",
				 last, end->guid);
	return tool_fail(
		err, "HCA " GUID_FORMAT " has no active port; \"al_query port\" shows their states",
		end->guid);
}

gboolean pair_open(al_h al, struct pair_end *end, GError **err)
{
	return pair_worked(al_open_ca(al, end->guid, NULL, &end->ca), end, "it cannot be opened",
			   err) &&
	       pair_worked(al_query_ca(end->ca, &end->attr), end, "it cannot be asked what it is",
			   err) &&
	       find_port(end, err) &&
	       pair_worked(al_query_gid(end->ca, end->port_num, 0, &end->gid), end, "no GID",
			   err) &&
	       pair_worked(al_query_pkey(end->ca, end->port_num, 0, &end->pkey), end, "no P_Key",
			   err) &&
	       pair_worked(al_alloc_pd(end->ca, end, &end->pd), end, "no protection domain", err);
}

void pair_close(struct pair_end *end)
{
	if (end->pd)
		al_dealloc_pd(end->pd, AL_DESTROY_SYNC, NULL);
	if (end->ca)
		al_close_ca(end->ca, AL_DESTROY_SYNC, NULL);
	end->pd = NULL;
	end->ca = NULL;
}

void pair_no_memory(guint64 bytes, const char *less, GError **err)
{
	tool_fail(err, "there is no memory for %" G_GUINT64_FORMAT " bytes; use a smaller %s", bytes,
		  less);
}

void *pair_memory(const struct pair_end *end, guint64 bytes, guint64 *dma, const char *less,
		  GError **err)
{
	void *memory = NULL;
	al_status status = al_dma_alloc_coherent(end->ca, bytes, &memory, dma);

	if (status == AL_INSUFFICIENT_MEMORY)
		pair_no_memory(bytes, less, err);
	else
		pair_worked(status, end, "no memory that the HCA reaches", err);
	return memory;
}

void pair_free_memory(const struct pair_end *end, void *memory, guint64 bytes, guint64 dma)
{
	if (memory)
		al_dma_free_coherent(end->ca, bytes, memory, dma);
}

/* ---------------------------------------------------------------- connecting */

/* The card of a queue pair at an end. Both ends' queue pairs begin with PSN 0, so no PSN is
 * exchanged. */
static struct al_qp_card card_of(const struct pair_end *end, const struct pair_path *path,
				 guint32 qpn)
{
	const bool ethernet = end->port.link_layer == IB_LINK_LAYER_ETHERNET;

	return (struct al_qp_card){
		.node_guid = end->guid,
		.gid = end->gid,
		.qp_type = path->type,
		.mtu = path->mtu ? path->mtu : end->port.active_mtu,
		.link_layer = ethernet ? IB_LINK_LAYER_ETHERNET : IB_LINK_LAYER_INFINIBAND,
		.qpn = qpn,
		.qkey = path->qkey,
		.max_msg_size = end->port.max_msg_size,
		.lid = ethernet ? 0 : end->port.lid,
		.pkey = end->pkey,
		.port_num = end->port_num,
		.initiator_depth = path->rd_atomic,
		.responder_resources = path->rd_atomic,
	};
}

static struct al_connect_opt options_of(const struct pair_end *end, const struct pair_path *path)
{
	return (struct al_connect_opt){
		.access = path->access ? path->access : IB_ACCESS_LOCAL_WRITE,
		.sl = end->sl,
		.rnr_retry = path->rnr_retry ? path->rnr_retry : AL_CONNECT_NONE,
	};
}

gboolean pair_address(al_ah_h *ah, const struct pair_end *end, const struct pair_end *peer,
		      const struct pair_path *path, GError **err)
{
	const struct al_qp_card mine = card_of(end, path, path->qpn);
	const struct al_qp_card theirs = card_of(peer, path, path->peer_qpn);
	const struct al_connect_opt opt = options_of(end, path);
	struct ib_ah_attr attr;

	return pair_worked(al_card_address(&mine, &theirs, &opt, &attr), end,
			   "no path to the other end", err) &&
	       pair_worked(al_create_ah(end->pd, &attr, ah), end, "no address handle", err);
}

gboolean pair_connect(al_qp_h qp, const struct pair_end *end, const struct pair_end *peer,
		      const struct pair_path *path, GError **err)
{
	const struct al_qp_card mine = card_of(end, path, path->qpn);
	const struct al_qp_card theirs = card_of(peer, path, path->peer_qpn);
	const struct al_connect_opt opt = options_of(end, path);
	const al_status st = al_connect_qp(qp, &mine, &theirs, &opt);

	if (!st)
		return TRUE;
	return tool_fail(err, "HCA " GUID_FORMAT ": no connection: %s: %s", end->guid,
			 al_status_str(st), al_reason());
}

gboolean pair_wait(al_channel_h channel, al_cq_h near, al_cq_h far, int fd,
		   const struct pair_end *end, GError **err)
{
	struct pollfd pfd[] = { { .events = POLLIN }, { .fd = fd, .events = POLLIN } };
	struct al_channel_event event;

	if ((near &&
	     !pair_worked(al_arm_cq(near, AL_ARM_ANY, NULL), end, "no notification", err)) ||
	    (far && !pair_worked(al_arm_cq(far, AL_ARM_ANY, NULL), end, "no notification", err)) ||
	    !pair_worked(al_channel_fd(channel, &pfd[0].fd), end, "no descriptor", err))
		return FALSE;
	poll(pfd, G_N_ELEMENTS(pfd), 250);
	while (al_channel_next(channel, &event) == AL_SUCCESS)
		; /* the events only end the wait: the caller polls both queues */
	return TRUE;
}
