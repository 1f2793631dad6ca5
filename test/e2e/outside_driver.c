/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The smallest channel driver, as a new user writes it: opens every HCA, queries the HCA and its
 * ports, closes, and prints a line for each. outside.sh builds the program with the files of "make
 * install" alone.
 */
#include <iba/ib_al.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static al_status show(al_h al, uint64_t guid)
{
	struct ib_port_attr port;
	struct ib_ca_attr attr;
	al_status status;
	al_ca_h ca;

	status = al_open_ca(al, guid, NULL, &ca);
	if (status != AL_SUCCESS)
		return status;
	status = al_query_ca(ca, &attr);
	for (unsigned int i = 1; status == AL_SUCCESS && i <= attr.num_ports; i++) {
		status = al_query_port(ca, (uint8_t)i, &port);
		if (status == AL_SUCCESS)
			printf("%016" PRIx64 " port %u %s\n", guid, i, al_port_state_str(port.state));
	}
	al_close_ca(ca, AL_DESTROY_SYNC, NULL);
	return status;
}

int main(void)
{
	uint64_t guids[16];
	size_t count = sizeof(guids) / sizeof(guids[0]);
	al_status status;
	al_h al;

	status = al_open(NULL, &al);
	if (status != AL_SUCCESS)
		goto failed;
	status = al_get_ca_guids(al, guids, &count);
	for (size_t i = 0; status == AL_SUCCESS && i < count; i++)
		status = show(al, guids[i]);
	al_close(al, AL_DESTROY_SYNC, NULL);
	if (status == AL_SUCCESS)
		return EXIT_SUCCESS;
failed:
	fprintf(stderr, "outside_driver: %s\n", al_status_str(status));
	return EXIT_FAILURE;
}
