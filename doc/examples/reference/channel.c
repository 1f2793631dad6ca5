/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An example of the reference: an event loop over a channel, here with the events of a PnP
 * registration. */
#include "must.h"

#include <poll.h>

/* [channel] */
/* Reads a channel until the HCAs that are here have been told. */
static void loop(al_channel_h channel)
{
	struct pollfd pfd = { .events = POLLIN };
	struct al_channel_event event;

	must(al_channel_fd(channel, &pfd.fd), "al_channel_fd");
	for (;;) {
		/* The descriptor stays readable until the channel is empty: take one event, or all.
		 */
		while (al_channel_next(channel, &event) == AL_SUCCESS) {
			if (event.type != AL_CHANNEL_PNP)
				continue;
			printf("%s: %s\n", (const char *)event.context,
			       al_pnp_type_str(event.pnp.type));
			if (event.pnp.type == AL_PNP_REPLAY_COMPLETE)
				return;
		}
		poll(&pfd, 1, -1); /* a program with other descriptors adds them here */
	}
}

int main(void)
{
	struct al_pnp_attr attr = { 0 };
	al_channel_h channel;
	al_pnp_h pnp;
	al_h al;

	must(al_open(NULL, &al), "al_open");
	must(al_create_channel(al, NULL, &channel), "al_create_channel");
	attr.channel = channel;
	must(al_reg_pnp(al, &attr, "HCAs", NULL, &pnp),
	     "al_reg_pnp"); /* "HCAs": the events' context */
	loop(channel);
	must(al_dereg_pnp(pnp, NULL, NULL), "al_dereg_pnp");
	must(al_destroy_channel(channel, AL_DESTROY_SYNC, NULL), "al_destroy_channel");
	al_close(al, AL_DESTROY_SYNC, NULL);
	return EXIT_SUCCESS;
}
/* [channel] */
