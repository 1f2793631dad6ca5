/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A port's events by every way to a client, through the whole library: by event handlers and PnP registrations, by
 * callback and by channel. Random events happen to port 1, and the clients take events from time to time; the events
 * that each client got are compared with the events of the port (test/unit/al/port_history.h). Events of port 2 show
 * that all events of port 1 have been delivered.
 */
#include "test/unit/al/bed.h"
#include "test/unit/al/port_history.h"

enum way { HANDLER, HANDLER_CHANNEL, PNP, PNP_CHANNEL, WAYS };
static const char *const way_names[] = { "handler", "handler's channel", "PnP", "PnP by channel" };

struct client {
	enum way way;
	struct history told;
	sem_t all;            /* posted for the event of port 2 */
	al_channel_h channel; /* of the clients that use a channel */
	bool had_all;         /* the channel's reader has seen the event of port 2 */
	/* Makes a callback slow. */
	atomic_bool slow;
	sem_t go;
};

static struct bed bed;
static struct client clients[WAYS];

static void tell(struct client *client, ib_event_type type, uint8_t port)
{
	if (port == 1)
		history_add(&client->told, type);
	else if (port == 2 && client->channel)
		client->had_all = true;
	else if (port == 2)
		sem_post(&client->all);
}

static void brake(struct client *client)
{
	if (atomic_load(&client->slow))
		while (sem_wait(&client->go))
			;
}

static void hear_event(void *context, const struct al_event *event)
{
	brake(context);
	tell(context, event->type, event->port_num);
}

static ib_event_type type_of(const struct al_pnp_event *event)
{
	return (ib_event_type)(event->type - AL_PNP_PORT_DOWN + IB_EVENT_PORT_DOWN);
}

static al_status hear_pnp(void *context, const struct al_pnp_event *event)
{
	brake(context);
	if (event->port_num)
		tell(context, type_of(event), event->port_num);
	return AL_SUCCESS;
}

/* Takes one event of a channel. */
static bool read_one(struct client *client)
{
	struct al_channel_event event;

	if (al_channel_next(client->channel, &event))
		return false;
	if (event.type == AL_CHANNEL_PNP && event.pnp.port_num)
		tell(client, type_of(&event.pnp), event.pnp.port_num);
	else if (event.type == AL_CHANNEL_ASYNC)
		tell(client, event.async.type, event.async.port_num);
	return true;
}

static void read_all(struct client *client)
{
	struct pollfd wait = { .events = POLLIN };
	struct timespec deadline = test_deadline();

	ck_ok(al_channel_fd(client->channel, &wait.fd));
	while (!client->had_all) {
		ck_assert_msg(!test_expired(&deadline), "%s: an event is lost",
			      way_names[client->way]);
		if (!read_one(client))
			poll(&wait, 1, 100);
	}
	client->had_all = false;
}

/* Lets a callback continue until the event of port 2. */
static void release(struct client *client)
{
	atomic_store(&client->slow, false);
	sem_post(&client->go);
	test_wait(&client->all);
	while (!sem_trywait(&client->go))
		;
}

/*
 * A ladder's reader takes port 2 after port 1, so the reader may have taken port 1 just before the last events of
 * port 1. One event of port 2 may therefore overtake events of port 1. A second event of port 2, raised after the
 * delivery of the first, overtakes none at that ladder. At most three such ladders lie in a row: the agent's
 * dispatcher, the client's dispatcher, and the channel.
 */
static void take_all(void)
{
	for (int takers = 0; takers <= 3; takers++) {
		bed_port_event(&bed, IB_EVENT_LID_CHANGE, 2);
		release(&clients[HANDLER]);
		release(&clients[PNP]);
		read_all(&clients[HANDLER_CHANNEL]);
		read_all(&clients[PNP_CHANNEL]);
	}
}

static void set_up(void)
{
	struct al_pnp_attr attr = { .ports = true };
	struct client *c = clients;
	al_event_handler_h handler;
	struct fake *fake = test_fake();
	al_pnp_h pnp;

	fake->ca_attr.num_ports = 2;
	bed = bed_make();
	for (int i = 0; i < WAYS; i++) {
		clients[i] = (struct client){ .way = (enum way)i };
		sem_init(&clients[i].all, 0, 0);
		sem_init(&clients[i].go, 0, 0);
	}
	ck_ok(al_create_channel(bed.al, NULL, &c[HANDLER_CHANNEL].channel));
	ck_ok(al_create_channel(bed.al, NULL, &c[PNP_CHANNEL].channel));
	ck_ok(al_reg_event_handler(bed.ca, NULL, &c[HANDLER], hear_event, &handler));
	ck_ok(al_reg_event_handler(bed.ca, c[HANDLER_CHANNEL].channel, NULL, NULL, &handler));
	ck_ok(al_reg_pnp(bed.al, &attr, &c[PNP], hear_pnp, &pnp));
	attr.channel = c[PNP_CHANNEL].channel;
	ck_ok(al_reg_pnp(bed.al, &attr, NULL, NULL, &pnp));
	while (read_one(&c[PNP_CHANNEL]))
		;
	/* The replay of port 2 has posted `all` once for each state of port 2, which is Active. */
	while (!sem_trywait(&c[PNP].all))
		;
	c[PNP].told.num = c[PNP_CHANNEL].told.num = 0;
	c[PNP_CHANNEL].had_all = false;
}

static void tear_down(void)
{
	bed_end(&bed);
}

/* A client takes an event or not, as the random number x says. */
static void take_some(uint32_t x)
{
	static const enum way callbacks[] = { HANDLER, PNP },
			      channels[] = { HANDLER_CHANNEL, PNP_CHANNEL };

	if (x % 4 == 0)
		sem_post(&clients[callbacks[x >> 2 & 1]].go);
	else if (x % 4 == 1)
		read_one(&clients[channels[x >> 2 & 1]]);
}

/* The events that a PnP registration gets. */
static void without_fatal(const struct history *all, struct history *h)
{
	h->num = 0;
	for (uint32_t i = 0; i < all->num; i++)
		if (all->event[i] != IB_EVENT_DEVICE_FATAL)
			history_add(h, all->event[i]);
}

static void check_all(uint32_t start, const struct history *happened)
{
	struct history h;

	for (int i = 0; i < WAYS; i++) {
		const char *why;
		char a[HISTORY_MAX + 1], b[HISTORY_MAX + 1];

		if (i == PNP || i == PNP_CHANNEL)
			without_fatal(happened, &h);
		else
			h = *happened;
		why = history_wrong(start, &h, &clients[i].told);
		ck_assert_msg(!why, "%s: %s: from state %u there happened %s, told was %s",
			      way_names[i], why, start, history_text(&h, a),
			      history_text(&clients[i].told, b));
		clients[i].told.num = 0;
	}
}

/* 20,000 events for each of five seeds. */
START_TEST(by_every_way_a_slow_client_is_told_by_the_ladder_rule)
{
	uint32_t x = (uint32_t)_i * 31337 + 1, state = IB_PORT_ACTIVE, start;
	struct history happened;

	for (int i = 0; i < 20000; i += (int)happened.num) {
		happened.num = 0;
		start = state;
		atomic_store(&clients[HANDLER].slow, x >> 30 & 1);
		atomic_store(&clients[PNP].slow, x >> 31);
		for (uint32_t num = 1 + (x >> 22) % 60; num; num--) {
			ib_event_type type = history_random(&x, &state);

			history_add(&happened, type);
			bed_port_event(&bed, type, 1);
			for (int k = 0; k < 3; k++)
				take_some((x >> 18) + (uint32_t)k * 5);
		}
		take_all();
		check_all(start, &happened);
	}
}
END_TEST

/* A LID that the subnet manager sets before the port becomes Armed, with both events waiting. */
START_TEST(a_change_is_told_before_the_step_that_came_after_it)
{
	static const char happened[] = "DIlpgRAs";
	char text[HISTORY_MAX + 1];

	for (int i = 0; happened[i]; i++) {
		atomic_store(&clients[HANDLER].slow, true);
		atomic_store(&clients[PNP].slow, true);
		bed_port_event(&bed,
			       (ib_event_type)(IB_EVENT_PORT_DOWN +
					       (strchr("DIRAlpgsr", happened[i]) - "DIRAlpgsr")),
			       1);
	}
	take_all();
	for (int i = 0; i < WAYS; i++)
		ck_assert_str_eq(history_text(&clients[i].told, text), "DIlpgRAs");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("event/ladder");
	TCase *tcase = tcase_create("ladder");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_change_is_told_before_the_step_that_came_after_it);
	tcase_add_loop_test(tcase, by_every_way_a_slow_client_is_told_by_the_ladder_rule, 0, 5);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
