/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A client that follows HCAs: it opens each HCA that comes, tells what its ports do, and closes the
 * HCA when it goes. One thread does all of that, by one channel. SIGINT or SIGTERM ends the
 * program.
 */
#include <iba/ib_al.h>

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>

/* What the program keeps of an HCA: its handle, and in other programs the objects on it. */
struct hca {
	struct hca *next;
	al_ca_h handle;
	uint64_t guid;
};

static al_h al;
static al_channel_h channel;
static al_pnp_h pnp;
static struct hca *hcas;

static bool succeeds(al_status status, const char *call)
{
	if (status)
		fprintf(stderr, "hotplug: %s: %s\n", call, al_reason());
	return !status;
}

/* An HCA has come. Its pointer comes with every later event of the HCA, as event->ca_context. */
static void add(uint64_t guid)
{
	struct hca *hca = calloc(1, sizeof(*hca));

	if (!hca || !succeeds(al_open_ca(al, guid, hca, &hca->handle), "al_open_ca")) {
		free(hca); /* the HCA may have gone already: then its removal finds no pointer */
		return;
	}
	hca->guid = guid;
	hca->next = hcas;
	hcas = hca;
	al_set_client_context(pnp, guid, hca);
	printf("%016" PRIx64 " has come\n", guid);
}

/*
 * An HCA goes. The library waits with the removal until the channel is read again, so that the
 * program can end everything that it has on the HCA, while the HCA still works. (If the adapter was
 * pulled out, or an agent has ended, nothing works any more, but closing does.)
 */
static void remove_hca(struct hca *hca)
{
	struct hca **at = &hcas;

	while (*at != hca)
		at = &(*at)->next;
	*at = hca->next;
	al_close_ca(hca->handle, AL_DESTROY_SYNC, NULL);
	printf("%016" PRIx64 " goes\n", hca->guid);
	free(hca);
}

static void show_port(const struct hca *hca, const struct al_pnp_event *event)
{
	struct ib_port_attr attr;

	printf("%016" PRIx64 " port %u: %s", hca->guid, event->port_num,
	       al_pnp_type_str(event->type));
	if (event->type == AL_PNP_PORT_ACTIVE &&
	    !al_query_port(hca->handle, event->port_num, &attr))
		printf(", LID %u", attr.lid);
	putchar('\n');
}

static void handle(const struct al_pnp_event *event)
{
	struct hca *hca = event->ca_context; /* NULL: the HCA could not be opened */

	switch (event->type) {
	case AL_PNP_CA_ADD:
		add(event->ca_guid);
		break;
	case AL_PNP_REPLAY_COMPLETE: /* the HCAs of the start have been told */
		printf("ready\n");
		break;
	case AL_PNP_CA_REMOVE:
		if (hca)
			remove_hca(hca);
		break;
	default:
		if (hca)
			show_port(hca, event);
	}
	fflush(stdout);
}

/* Handles events until a signal comes. A program polls its other descriptors here, too. */
static bool follow(int signals)
{
	struct pollfd fds[2] = { { .fd = signals, .events = POLLIN }, { .events = POLLIN } };
	struct al_channel_event event;

	if (!succeeds(al_channel_fd(channel, &fds[1].fd), "al_channel_fd"))
		return false;
	do {
		/* Each call also acknowledges the event before, which may be a removal. */
		while (al_channel_next(channel, &event) == AL_SUCCESS)
			handle(&event.pnp);
		poll(fds, 2, -1);
	} while (!fds[0].revents);
	return true;
}

static bool run(int signals)
{
	struct al_pnp_attr attr = { .ports = true };

	if (!succeeds(al_create_channel(al, NULL, &channel), "al_create_channel"))
		return false;
	attr.channel = channel; /* of its own: whoever reads it acknowledges removals */
	return succeeds(al_reg_pnp(al, &attr, NULL, NULL, &pnp), "al_reg_pnp") && follow(signals);
}

int main(void)
{
	sigset_t set;
	bool good;
	int signals;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL); /* the signals come by the descriptor */
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (signals < 0 || !succeeds(al_open(NULL, &al), "al_open"))
		return EXIT_FAILURE;
	good = run(signals);
	while (hcas)
		remove_hca(hcas);
	al_dereg_pnp(pnp, NULL, NULL); /* an invalid handle, such as NULL, is refused */
	al_destroy_channel(channel, NULL, NULL);
	al_close(al, AL_DESTROY_SYNC, NULL);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
