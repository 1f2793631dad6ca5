/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The command SNAPSHOT: the agent's snapshot for a client, which reads it piece by piece. al/user/snapshot.c puts the pieces
 * together. */
#include "al/agent/verbs.h"

#include <string.h>

/* Makes the snapshot in the form in which it crosses: its arrays one after the other. A client without RIGHT_MANAGE gets the
 * objects and accounts of its own user only. */
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
	for (size_t i = 0; i < snap->num_objects; i++) {
		if (!all && snap->objects[i].uid != client->uid)
			continue;
		memcpy(at, &snap->objects[i], sizeof(*snap->objects));
		at += sizeof(*snap->objects);
		head->num_objects++;
	}
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
