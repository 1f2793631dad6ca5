/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An example of the reference: follows HCAs that arrive and leave. */
#include "must.h"

#include <inttypes.h>

static int present;

/* [pnp] */
/* Called on the library's PnP thread, one event at a time. May make every call. */
static al_status on_pnp(void *context, const struct al_pnp_event *event)
{
	al_h al = *(al_h *)context;
	al_ca_h ca;

	switch (event->type) {
	case AL_PNP_CA_ADD:
		if (al_open_ca(al, event->ca_guid, NULL, &ca) != AL_SUCCESS)
			return AL_UNSUPPORTED; /* refuses: no further events of this HCA */
		printf("%016" PRIx64 " is here\n", event->ca_guid);
		present++;
		al_close_ca(ca, NULL, NULL);
		break;
	case AL_PNP_CA_REMOVE:
		/* All objects on the HCA have to be destroyed before this returns. */
		printf("%016" PRIx64 " goes\n", event->ca_guid);
		present--;
		break;
	case AL_PNP_REPLAY_COMPLETE:
		printf("that were all: %d\n", present);
		break;
	default:
		printf("%016" PRIx64 " port %u: %s\n", event->ca_guid, event->port_num,
		       al_pnp_type_str(event->type));
		break;
	}
	return AL_SUCCESS;
}

int main(void)
{
	struct al_pnp_attr attr = { .ports = true };
	al_pnp_h pnp;
	al_h al;

	must(al_open(NULL, &al), "al_open");
	/* Returns after the replay: the callback has seen the HCAs that are here. */
	must(al_reg_pnp(al, &attr, &al, on_pnp, &pnp), "al_reg_pnp");
	/* ... the program's work ... */
	must(al_dereg_pnp(pnp, AL_DESTROY_SYNC, NULL), "al_dereg_pnp");
	/* [pnp] */
	al_close(al, AL_DESTROY_SYNC, NULL);
	return present == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
