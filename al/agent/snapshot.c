/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The command SNAPSHOT: the agent's snapshot for a client, which reads it piece by piece.
 * al/user/snapshot.c puts the pieces together. */
#include "al/agent/verbs.h"

#include <string.h>

/* Copies the objects, and behind them the MAD services, that the client may see: all, or those of
 * its own user. Returns the end. */
static char *copy_objects(const struct al_snapshot *snap, bool all, uint32_t uid,
			  struct SNAPSHOT_answer *head, char *at)
{
	const struct al_snap_object *obj;
	size_t svc = 0;

	for (obj = snap->objects; obj < snap->objects + snap->num_objects; obj++) {
		if (!all && obj->uid != uid)
			continue;
		at = mempcpy(at, obj, sizeof(*obj));
		head->num_objects++;
	}
	for (obj = snap->objects; obj < snap->objects + snap->num_objects; obj++) {
		if (obj->type != AL_OBJ_MAD_SVC)
			continue;
		svc++;
		if (!all && obj->uid != uid)
			continue;
		at = mempcpy(at, &snap->mad_svcs[svc - 1], sizeof(*snap->mad_svcs));
		head->num_mad_svcs++;
	}
	return at;
}

/* Makes the snapshot in the form in which it crosses: its arrays one after the other. A client
 * without RIGHT_MANAGE gets the objects and accounts of its own user only. */
static void make_snapshot(struct connection *connection)
{
	const struct ci_client *client = &connection->session->client;
	bool all = connection->session->right >= RIGHT_MANAGE;
	struct al_snap_client *accounts;
	size_t num_accounts;
	struct SNAPSHOT_answer *head = &connection->snapshot_head;
	struct al_snapshot *snap;
	char *at;

	al_free(connection->snapshot);
	connection->snapshot = NULL;
	connection->status = al_snapshot(connection->session->al, &snap);
	if (connection->status)
		return;
	*head = (struct SNAPSHOT_answer){ .num_cas = snap->num_cas,
					  .num_modules = snap->num_modules,
					  .num_pci = snap->num_pci,
					  .has_error = snap->pci_error != NULL };
	connection->status =
		account_show(all, client->uid, &accounts, &head->num_clients, &head->num_users);
	if (connection->status) {
		al_free_snapshot(snap);
		return;
	}
	num_accounts = head->num_clients + head->num_users;
	at = connection->snapshot = al_alloc(
		num_accounts * sizeof(*accounts) + snap->num_cas * sizeof(*snap->cas) +
		snap->num_objects * sizeof(*snap->objects) +
		snap->num_mad_svcs * sizeof(*snap->mad_svcs) +
		snap->num_modules * sizeof(*snap->modules) + snap->num_pci * sizeof(*snap->pci) +
		(snap->pci_error ? strlen(snap->pci_error) : 0) + 1);
	if (!at) {
		connection->status = AL_INSUFFICIENT_MEMORY;
		al_free(accounts);
		al_free_snapshot(snap);
		return;
	}
	at = (char *)memcpy(at, snap->cas, snap->num_cas * sizeof(*snap->cas)) +
	     snap->num_cas * sizeof(*snap->cas);
	at = copy_objects(snap, all, client->uid, head, at);
	at = (char *)memcpy(at, snap->modules, snap->num_modules * sizeof(*snap->modules)) +
	     snap->num_modules * sizeof(*snap->modules);
	if (snap->num_pci)
		memcpy(at, snap->pci, snap->num_pci * sizeof(*snap->pci));
	at += snap->num_pci * sizeof(*snap->pci);
	at = (char *)memcpy(at, accounts, num_accounts * sizeof(*accounts)) +
	     num_accounts * sizeof(*accounts);
	al_free(accounts);
	if (snap->pci_error) {
		memcpy(at, snap->pci_error, strlen(snap->pci_error) + 1);
		at += strlen(snap->pci_error) + 1;
	}
	head->total = (uint64_t)(at - connection->snapshot);
	al_free_snapshot(snap);
}

void command_SNAPSHOT(struct connection *connection)
{
	uint64_t left;
	BEGIN(SNAPSHOT);

	if (!request->offset)
		make_snapshot(connection);
	if (connection->status)
		return;
	if (!connection->snapshot || request->offset > connection->snapshot_head.total) {
		connection->status = AL_INVALID_PARAMETER;
		return;
	}
	left = connection->snapshot_head.total - request->offset;
	connection->out_count = left < AGENT_SNAP_BYTES ? (uint32_t)left : AGENT_SNAP_BYTES;
	memcpy(connection_out(connection), connection->snapshot + request->offset, connection->out_count);
	*answer = connection->snapshot_head;
}
