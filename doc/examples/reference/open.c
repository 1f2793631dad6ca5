/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An example of the reference: opens the library and each HCA, and prints the ports. */
#include "must.h"

#include <inttypes.h>

/* [open] */
static void show(al_h al, uint64_t guid)
{
	struct ib_port_attr port;
	struct ib_ca_attr attr;
	al_ca_h ca;

	must(al_open_ca(al, guid, NULL, &ca), "al_open_ca");
	must(al_query_ca(ca, &attr), "al_query_ca");
	for (unsigned int i = 1; i <= attr.num_ports; i++) {
		must(al_query_port(ca, (uint8_t)i, &port), "al_query_port");
		printf("%016" PRIx64 " port %u: LID %u, %s\n", guid, i, port.lid,
		       al_port_state_str(port.state));
	}
	al_close_ca(ca, AL_DESTROY_SYNC, NULL);
}

int main(void)
{
	uint64_t *guids = NULL;
	size_t count = 0;
	al_status status;
	al_h al;

	must(al_open(NULL, &al), "al_open");
	do { /* an HCA may arrive between two calls, so ask until the room suffices */
		free(guids);
		guids = calloc(count + 1, sizeof(*guids));
		if (!guids)
			return EXIT_FAILURE;
		status = al_get_ca_guids(al, guids, &count); /* count: in room, out HCAs */
	} while (status == AL_BUFFER_TOO_SMALL);
	must(status, "al_get_ca_guids");
	for (size_t i = 0; i < count; i++)
		show(al, guids[i]);
	free(guids);
	al_close(al, AL_DESTROY_SYNC, NULL);
	return EXIT_SUCCESS;
}
/* [open] */
