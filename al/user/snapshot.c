/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agent's snapshot, which the library reads piece by piece. al/agent/snapshot.c makes it. */
#include <string.h>

#include "al/user/user.h"

/* True: the sizes of the arrays add up to the total. The first check keeps the sum from
 * overflowing. */
static bool plausible(const struct SNAPSHOT_answer *a)
{
	uint64_t sum = 0;

	if (a->total > 1u << 30 || a->num_cas > a->total || a->num_objects > a->total ||
	    a->num_mad_svcs > a->total || a->num_modules > a->total || a->num_pci > a->total ||
	    a->num_clients > a->total || a->num_users > a->total)
		return false;
	sum = a->num_cas * sizeof(struct al_snap_ca) +
	      a->num_objects * sizeof(struct al_snap_object) +
	      a->num_mad_svcs * sizeof(struct al_snap_mad_svc) +
	      a->num_modules * sizeof(struct al_snap_module) +
	      a->num_pci * sizeof(struct al_snap_pci) +
	      (a->num_clients + a->num_users) * sizeof(struct al_snap_client);
	return a->has_error ? sum < a->total : sum == a->total;
}

/* Sets the arrays' addresses in the memory behind snap, in the order in which the agent has sent
 * the arrays. */
static void lay_out(struct al_snapshot *snap, const struct SNAPSHOT_answer *a)
{
	snap->num_cas = a->num_cas;
	snap->cas = (const struct al_snap_ca *)(snap + 1);
	snap->num_objects = a->num_objects;
	snap->objects = (const struct al_snap_object *)(snap->cas + a->num_cas);
	snap->num_modules = a->num_modules;
	snap->num_mad_svcs = a->num_mad_svcs;
	snap->mad_svcs = (const struct al_snap_mad_svc *)(snap->objects + a->num_objects);
	snap->modules = (const struct al_snap_module *)(snap->mad_svcs + a->num_mad_svcs);
	snap->num_pci = a->num_pci;
	snap->pci = (const struct al_snap_pci *)(snap->modules + a->num_modules);
	snap->num_clients = a->num_clients;
	snap->clients = (const struct al_snap_client *)(snap->pci + a->num_pci);
	snap->num_users = a->num_users;
	snap->users = snap->clients + a->num_clients;
	if (a->has_error)
		snap->pci_error = (const char *)(snap->users + a->num_users);
}

al_status user_snapshot(struct user_conn *conn, struct al_snapshot **result)
{
	struct al_snapshot *snap = NULL;
	struct SNAPSHOT_request *request;
	struct SNAPSHOT_answer first = { 0 };
	struct user_call call;
	uint64_t done = 0;
	al_status status = user_begin(&call, conn, AGENT_SNAPSHOT);

	if (status)
		return status;
	request = call.request;
	do {
		request->offset = done;
		status = user_ask(&call);
		if (!done && !status) {
			first = *(const struct SNAPSHOT_answer *)call.answer;
			/* One zero byte more, which ends pci_error if the agent has not. */
			if (plausible(&first))
				snap = al_alloc(sizeof(*snap) + first.total + 1);
			else
				status = AL_AGENT_PROTOCOL;
			if (!status && !snap)
				status = AL_INSUFFICIENT_MEMORY;
		}
		if (status)
			break;
		if (call.out_count > first.total - done ||
		    (!call.out_count && done < first.total)) {
			status = AL_AGENT_PROTOCOL;
			break;
		}
		memcpy((char *)(snap + 1) + done, call.out, call.out_count);
		done += call.out_count;
	} while (done < first.total);
	user_end(&call);
	if (status) {
		al_free(snap);
		return status;
	}
	lay_out(snap, &first);
	*result = snap;
	return AL_SUCCESS;
}
