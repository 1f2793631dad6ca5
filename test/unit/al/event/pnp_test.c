/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * PnP registrations: replay, order, refusal, removal, and the calls that their callbacks may make. Channels are in
 * channel_test.c.
 */
#include "test/unit/al/bed.h"

/* A client that records its events as text: "add 1", "active 1", "replayed". */
struct client {
	struct journal heard;
	al_pnp_h pnp;
	_Atomic(pthread_t) thread;
	atomic_uint overlaps, running;
	bool refuse;
	/* Called in the callback, after the event is recorded. */
	void (*then)(struct client *client, const struct al_pnp_event *event);
	void *arg;
};

static const char *const words[] = {
	[AL_PNP_CA_ADD] = "add",	   [AL_PNP_CA_REMOVE] = "remove",   [AL_PNP_PORT_DOWN] = "down",
	[AL_PNP_PORT_INIT] = "init",	   [AL_PNP_PORT_ARMED] = "armed",   [AL_PNP_PORT_ACTIVE] = "active",
	[AL_PNP_LID_CHANGE] = "lid",	   [AL_PNP_PKEY_CHANGE] = "pkey",   [AL_PNP_GID_CHANGE] = "gid",
	[AL_PNP_SM_CHANGE] = "sm",	   [AL_PNP_CLIENT_REREGISTER] = "rereg",
	[AL_PNP_REPLAY_COMPLETE] = "replayed",
};

/* GUIDs of HCAs are a hundred apart, so that a GUID gives the HCA's number, which the text shows. */
static void describe(const struct al_pnp_event *event, char *text, size_t size)
{
	if (event->type == AL_PNP_REPLAY_COMPLETE)
		snprintf(text, size, "%s", words[event->type]);
	else
		snprintf(text, size, "%s %d", words[event->type], (int)((event->ca_guid - FAKE_GUID) >> 8));
}

static al_status hear(void *context, const struct al_pnp_event *event)
{
	struct client *client = context;
	char text[32];

	if (client->running++)
		client->overlaps++;
	client->thread = pthread_self();
	describe(event, text, sizeof(text));
	journal_add(&client->heard, text);
	if (client->then)
		client->then(client, event);
	client->running--;
	return client->refuse && event->type == AL_PNP_CA_ADD ? AL_INSUFFICIENT_MEMORY : AL_SUCCESS;
}

static const struct al_pnp_attr with_ports = { .ports = true };

static void client_init(struct client *client, void (*then)(struct client *, const struct al_pnp_event *), void *arg)
{
	memset(client, 0, sizeof(*client));
	journal_init(&client->heard);
	client->then = then;
	client->arg = arg;
}

static void client_start(struct client *client, al_h al, const struct al_pnp_attr *attr)
{
	client_init(client, client->then, client->arg);
	ck_ok(al_reg_pnp(al, attr, client, hear, &client->pnp));
}

#define EXPECT(client, ...) \
	journal_expect(&(client)->heard, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), \
		       (const char *const[]){ __VA_ARGS__ })

static struct fake *fake;

static al_h start(uint32_t hcas)
{
	fake = test_fake();
	fake->hcas = hcas;
	return test_open();
}

static struct ci_ca *hca(uint32_t num)
{
	for (int i = 0; i < FAKE_HCAS; i++)
		if (fake->ca[i] && (uint64_t)(uintptr_t)fake->ca[i]->hca == fake->guid[num])
			return fake->ca[i];
	ck_abort_msg("HCA %u is not there", num);
	return NULL;
}

static void port_event(uint32_t num, ib_event_type type)
{
	const struct ci_event event = { .type = type, .port_num = 1, .object_ctx = hca(num)->ctx };

	ib_dispatch_event(&event);
}

static void finish(al_h al)
{
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* ---------------------------------------------------------------- replay */

START_TEST(present_hcas_are_replayed_before_the_call_returns)
{
	al_h al = start(2);
	struct client client = { 0 };

	client_start(&client, al, NULL);
	EXPECT(&client, "add 0", "add 1", "replayed");
	ck_assert(!pthread_equal(client.thread, pthread_self()));
	finish(al);
}
END_TEST

START_TEST(ports_are_replayed_as_the_events_that_lead_to_their_states)
{
	static const char *const want[][4] = {
		[IB_PORT_DOWN] = { "down 0" },
		[IB_PORT_INIT] = { "init 0" },
		[IB_PORT_ARMED] = { "init 0", "armed 0" },
		[IB_PORT_ACTIVE] = { "init 0", "armed 0", "active 0" },
	};
	struct client client = { 0 };
	unsigned int n = 0;
	al_h al;

	test_fake()->port_attr.state = (ib_port_state)_i;
	al = start(1);
	client_start(&client, al, &with_ports);
	ck_assert_str_eq(client.heard.entry[0], "add 0");
	for (; want[_i][n]; n++)
		ck_assert_str_eq(client.heard.entry[n + 1], want[_i][n]);
	ck_assert_str_eq(client.heard.entry[n + 1], "replayed");
	ck_assert_uint_eq(client.heard.count, n + 2);
	finish(al);
}
END_TEST

START_TEST(without_hcas_there_is_the_end_of_the_replay_alone)
{
	al_h al = start(0);
	struct client client = { 0 };

	client_start(&client, al, &with_ports);
	EXPECT(&client, "replayed");
	finish(al);
}
END_TEST

START_TEST(an_hca_that_comes_later_is_added_once)
{
	al_h al = start(1);
	struct client client = { 0 };

	client_start(&client, al, NULL);
	journal_wait(&client.heard, 2);
	ck_ok(fake->announce(1));
	journal_wait(&client.heard, 1);
	EXPECT(&client, "add 0", "replayed", "add 1");
	fake->withdraw(1, 0);
	EXPECT(&client, "add 0", "replayed", "add 1", "remove 1");
	finish(al);
	EXPECT(&client, "add 0", "replayed", "add 1", "remove 1", "remove 0");
}
END_TEST

/* All registrations record in one journal, each with texts of its own. */
struct named {
	struct journal *all;
	const char *add, *remove;
};

static void by_name(struct client *client, const struct al_pnp_event *event)
{
	struct named *named = client->arg;

	if (event->type == AL_PNP_CA_ADD)
		journal_add(named->all, named->add);
	if (event->type == AL_PNP_CA_REMOVE)
		journal_add(named->all, named->remove);
}

START_TEST(the_older_client_gets_arrivals_first_and_removals_last)
{
	struct journal all;
	struct named low = { &all, "low add", "low remove" }, high = { &all, "high add", "high remove" };
	struct client a = { .then = by_name, .arg = &low }, b = { .then = by_name, .arg = &high };
	al_h al = start(0);

	journal_init(&all);
	client_start(&a, al, NULL);
	client_start(&b, al, NULL);
	for (uint32_t i = 0; i < 5; i++) {
		ck_ok(fake->announce(0));
		journal_wait(&all, 2);
		fake->withdraw(0, i % 2 ? CI_HCA_GONE : 0);
		journal_wait(&all, 2);
		for (unsigned int k = 0; k < 4; k++)
			ck_assert_str_eq(all.entry[4 * i + k], ((const char *const[]){ "low add", "high add", "high remove",
										       "low remove" })[k]);
	}
	finish(al);
}
END_TEST

/* ---------------------------------------------------------------- ladder */

struct hold {
	struct gate gate;
	al_pnp_type when;
	bool once;
};

static void hold(struct client *client, const struct al_pnp_event *event)
{
	struct hold *h = client->arg;

	if (event->type != h->when || h->once)
		return;
	h->once = true;
	gate_pass(&h->gate);
}

START_TEST(every_port_state_is_delivered_to_a_slow_client)
{
	al_h al = start(1);
	struct hold h = { .when = AL_PNP_LID_CHANGE };
	struct client client = { .then = hold, .arg = &h };
	struct bed bed = { .fake = fake, .al = al, .ca = test_open_ca(al, FAKE_GUID) };
	struct crossing crossing;

	gate_init(&h.gate);
	ck_ok(al_alloc_pd(bed.ca, NULL, &bed.pd));
	crossing_make(&crossing, &bed, 0);
	client_start(&client, al, &with_ports);
	journal_wait(&client.heard, 5);
	port_event(0, IB_EVENT_LID_CHANGE);
	test_wait(&h.gate.in);
	/* While the callback blocks: a fall, the climb up to Active, and two events that merge. */
	port_event(0, IB_EVENT_PORT_DOWN);
	port_event(0, IB_EVENT_PORT_INIT);
	port_event(0, IB_EVENT_PORT_ARMED);
	port_event(0, IB_EVENT_PORT_ACTIVE);
	port_event(0, IB_EVENT_SM_CHANGE);
	port_event(0, IB_EVENT_SM_CHANGE);
	cross(&crossing);
	bed_settle(bed.ca);
	sem_post(&h.gate.out);
	journal_wait(&client.heard, 6);
	EXPECT(&client, "add 0", "init 0", "armed 0", "active 0", "replayed", "lid 0", "down 0", "init 0", "armed 0",
	       "active 0", "sm 0");
	crossing_end(&crossing);
	finish(al);
}
END_TEST

START_TEST(port_events_go_only_to_registrations_that_want_them)
{
	al_h al = start(2);
	struct client with = { 0 }, without = { 0 };

	client_start(&with, al, &with_ports);
	client_start(&without, al, NULL);
	journal_wait(&with.heard, (int)with.heard.count);
	port_event(1, IB_EVENT_PKEY_CHANGE);
	journal_wait(&with.heard, 1);
	ck_assert_str_eq(with.heard.entry[with.heard.count - 1], "pkey 1");
	EXPECT(&without, "add 0", "add 1", "replayed");
	finish(al);
}
END_TEST

/* The younger HCA's event waits when the older one's comes. */
START_TEST(port_events_of_two_hcas_that_wait_together_both_come)
{
	al_h al = start(2);
	struct al_pnp_attr attr = { .ports = true };
	struct al_channel_event event = { 0 };
	struct timespec deadline = test_deadline();
	uint64_t first = 0;
	al_pnp_h pnp;

	ck_ok(al_create_channel(al, NULL, &attr.channel));
	ck_ok(al_reg_pnp(al, &attr, NULL, NULL, &pnp));
	while (event.pnp.type != AL_PNP_REPLAY_COMPLETE)
		if (al_channel_next(attr.channel, &event))
			ck_assert(!test_expired(&deadline));
	port_event(1, IB_EVENT_PKEY_CHANGE);
	port_event(0, IB_EVENT_PKEY_CHANGE);
	for (int changes = 0; changes < 2;) {
		ck_assert(!test_expired(&deadline));
		if (al_channel_next(attr.channel, &event) || event.pnp.type != AL_PNP_PKEY_CHANGE)
			continue;
		ck_assert_uint_ne(event.pnp.ca_guid, first);
		first = event.pnp.ca_guid;
		changes++;
	}
	ck_ok(al_dereg_pnp(pnp, AL_DESTROY_SYNC, NULL));
	finish(al);
}
END_TEST

static void states_change(void *ca)
{
	const struct ci_event event = { .type = IB_EVENT_PORT_ACTIVE, .port_num = 1,
					.object_ctx = ((struct ci_ca *)ca)->ctx };

	/*
	 * For the caller this event comes after the query of the state: the fake has put its answer in place before
	 * this hook runs.
	 */
	ib_dispatch_event(&event);
}

START_TEST(a_state_that_changes_while_its_hca_registers_is_not_lost)
{
	struct client client = { 0 };
	al_h al;

	test_fake()->port_attr.state = IB_PORT_INIT;
	test_fake()->hook[FAKE_query_port] = states_change;
	al = start(1);
	client_start(&client, al, &with_ports);
	EXPECT(&client, "add 0", "init 0", "armed 0", "active 0", "replayed");
	finish(al);
}
END_TEST

static struct gate walker;

static void stop_walker(void *context, const struct al_event *event)
{
	(void)context;
	if (event->type == IB_EVENT_PORT_DOWN && !walker.runs)
		gate_pass(&walker);
}

START_TEST(a_late_registration_gets_the_remaining_port_states)
{
	al_h al = start(1);
	struct client client = { 0 };
	al_event_handler_h handler;

	gate_init(&walker);
	ck_ok(al_reg_event_handler(test_open_ca(al, FAKE_GUID), NULL, NULL, stop_walker, &handler));
	port_event(0, IB_EVENT_PORT_DOWN);
	test_wait(&walker.in);
	port_event(0, IB_EVENT_PORT_INIT);
	port_event(0, IB_EVENT_PORT_ARMED);
	port_event(0, IB_EVENT_PORT_ACTIVE);
	client_start(&client, al, &with_ports);
	sem_post(&walker.out);
	journal_wait(&client.heard, 6);
	EXPECT(&client, "add 0", "down 0", "replayed", "init 0", "armed 0", "active 0");
	finish(al);
}
END_TEST

/* A port comes up, or goes up and down, while clients register: each client gets steps without a gap. */
static void flap(struct crew *crew, unsigned int index)
{
	static const ib_event_type round[] = { IB_EVENT_PORT_DOWN, IB_EVENT_PORT_INIT, IB_EVENT_PORT_ARMED,
					       IB_EVENT_PORT_ACTIVE };

	(void)index;
	for (int i = 0; !crew->stop; i++) {
		port_event(0, round[i % 4]);
		for (int k = 0; k < i % 7; k++)
			sched_yield();
	}
	port_event(0, IB_EVENT_PORT_DOWN);
	port_event(0, IB_EVENT_PORT_INIT);
}

static int state_of(const char *word)
{
	return !strncmp(word, "down", 4) ? 1 : !strncmp(word, "init", 4) ? 2 : !strncmp(word, "armed", 5) ? 3 :
	       !strncmp(word, "active", 6) ? 4 : 0;
}

struct path {
	atomic_int state;
	atomic_uint bad, steps;
	atomic_bool replayed;
};

static void follow(struct client *client, const struct al_pnp_event *event)
{
	struct path *path = client->arg;
	int to = state_of(words[event->type]);

	if (event->type == AL_PNP_REPLAY_COMPLETE)
		path->replayed = true;
	if (!to)
		return;
	/* A step is one state up, or Down. Down after Down is no step. A new client begins with Down or Initialize. */
	if (path->state ? to != 1 && to != path->state + 1 : to > 2)
		path->bad++;
	if (path->state == 1 && to == 1)
		path->bad++;
	path->state = to;
	path->steps++;
}

START_TEST(a_registration_while_a_port_flaps_hears_a_path_without_gaps)
{
	enum { CLIENTS = 30 };
	static struct client client[CLIENTS];
	static struct path path[CLIENTS];
	al_h al = start(1);
	struct crew crew;

	crew_make(&crew, 1, flap, NULL);
	crew_go(&crew);
	for (int i = 0; i < CLIENTS; i++) {
		client[i].then = follow;
		client[i].arg = &path[i];
		client_start(&client[i], al, &with_ports);
		ck_assert(path[i].replayed);
	}
	crew_end(&crew);
	for (int i = 0; i < CLIENTS; i++) {
		struct timespec deadline = test_deadline();

		while (path[i].state != IB_PORT_INIT && !test_expired(&deadline))
			sched_yield();
		ck_assert_int_eq(path[i].state, IB_PORT_INIT);
		ck_assert_uint_eq(path[i].bad, 0);
		ck_assert_uint_eq(client[i].overlaps, 0);
	}
	finish(al);
}
END_TEST

/* -------------------------------------------------------- refused HCAs */

START_TEST(a_registration_that_refuses_an_hca_gets_no_more_of_its_events)
{
	al_h al = start(1);
	struct client client;
	void *context;

	client_init(&client, NULL, NULL);
	client.refuse = true;
	ck_ok(al_reg_pnp(al, &with_ports, &client, hear, &client.pnp));
	port_event(0, IB_EVENT_LID_CHANGE);
	ck_status(al_get_client_context(client.pnp, FAKE_GUID, &context), AL_NOT_FOUND);
	fake->withdraw(0, 0);
	EXPECT(&client, "add 0", "replayed");
	/* The HCA that comes again is a new HCA. */
	client.refuse = false;
	ck_ok(fake->announce(0));
	journal_wait(&client.heard, 6);
	finish(al);
	EXPECT(&client, "add 0", "replayed", "add 0", "init 0", "armed 0", "active 0", "remove 0");
}
END_TEST

/* -------------------------------------------------------------- contexts */

static void take_context(struct client *client, const struct al_pnp_event *event)
{
	void *context = NULL;

	if (event->type == AL_PNP_CA_REMOVE &&
	    (al_get_client_context(client->pnp, event->ca_guid, &context) || context != client->arg))
		journal_add(&client->heard, "no context in remove");
	if (event->type == AL_PNP_CA_ADD)
		al_set_client_context(client->pnp, event->ca_guid, client->arg);
	else if (event->type != AL_PNP_REPLAY_COMPLETE && event->ca_context != client->arg)
		journal_add(&client->heard, "wrong context");
}

START_TEST(each_registration_has_a_context_of_its_own_per_hca)
{
	al_h al = start(1);
	int one, two;
	struct client a = { .then = take_context, .arg = &one }, b = { .then = take_context, .arg = &two };
	void *context;

	client_start(&a, al, &with_ports);
	client_start(&b, al, NULL);
	ck_ok(al_get_client_context(a.pnp, FAKE_GUID, &context));
	ck_assert_ptr_eq(context, &one);
	ck_ok(al_get_client_context(b.pnp, FAKE_GUID, &context));
	ck_assert_ptr_eq(context, &two);
	ck_status(al_get_client_context(a.pnp, 12345, &context), AL_NOT_FOUND);
	fake->withdraw(0, 0);
	EXPECT(&a, "add 0", "init 0", "armed 0", "active 0", "replayed", "remove 0");
	EXPECT(&b, "add 0", "replayed", "remove 0");
	ck_soon(al_get_client_context(a.pnp, FAKE_GUID, &context) == AL_NOT_FOUND);
	finish(al);
}
END_TEST

/* ---------------------------------------------------- clients that use an HCA */

struct user {
	al_h al;
	al_ca_h ca;
	struct test_end end;
	al_status status;
	unsigned int transferred, destroyed;
	sem_t added; /* posted at the end of an add */
};

/* A complete client within its callback of the HCA's addition: opens, creates, sends and polls. */
static void use_hca(struct client *client, const struct al_pnp_event *event)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	struct al_cq_init cq = { .cqe = 16 };
	struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024);
	struct user *user = client->arg;
	const struct ib_send_wr *bad;
	struct ib_wc wc;
	uint32_t count = 0;
	al_status st = AL_SUCCESS;

	if (event->type == AL_PNP_CA_ADD) {
		st = al_open_ca(user->al, event->ca_guid, NULL, &user->ca);
		if (!st)
			st = al_alloc_pd(user->ca, NULL, &user->end.pd);
		if (!st)
			st = al_create_cq(user->end.pd, &cq, NULL, NULL, NULL, &user->end.cq);
		if (!st)
			st = try_qp(user->end.pd, user->end.cq, NULL, NULL, &user->end.qp);
		if (!st)
			st = test_modify(user->end.qp, IB_QPS_INIT, attr, TEST_RC_INIT);
		if (!st)
			st = test_modify(user->end.qp, IB_QPS_RTR, attr, TEST_RC_RTR);
		if (!st)
			st = test_modify(user->end.qp, IB_QPS_RTS, attr, TEST_RC_RTS);
		if (!st)
			st = al_post_send(user->end.qp, &wr, &bad);
		if (!st)
			st = al_poll_cq(user->end.cq, 1, &wc, &count);
		user->transferred += count;
		sem_post(&user->added);
	}
	if (event->type == AL_PNP_CA_REMOVE) {
		/* During the removal callback every operation still works. */
		st = al_post_send(user->end.qp, &wr, &bad);
		if (!st)
			st = al_poll_cq(user->end.cq, 1, &wc, &count);
		user->transferred += count;
		if (!st)
			st = al_destroy_qp(user->end.qp, AL_DESTROY_SYNC, NULL);
		if (!st)
			st = al_destroy_cq(user->end.cq, AL_DESTROY_SYNC, NULL);
		if (!st)
			st = al_dealloc_pd(user->end.pd, AL_DESTROY_SYNC, NULL);
		if (!st)
			st = al_close_ca(user->ca, AL_DESTROY_SYNC, NULL);
		user->destroyed += !st;
	}
	if (st)
		user->status = st;
}

START_TEST(add_opens_creates_and_transfers_and_remove_destroys_synchronously)
{
	struct user user = { .al = start(1) };
	struct client client = { .then = use_hca, .arg = &user };

	sem_init(&user.added, 0, 0);
	client_start(&client, user.al, NULL);
	test_wait(&user.added);
	ck_status(user.status, AL_SUCCESS);
	ck_assert_uint_eq(user.transferred, 1);
	for (unsigned int round = 1; round <= 3; round++) {
		fake->withdraw(0, 0);
		ck_status(user.status, AL_SUCCESS);
		ck_assert_uint_eq(user.transferred, 2 * round);
		ck_assert_uint_eq(user.destroyed, round);
		ck_assert_uint_eq(fake->calls[FAKE_destroy_qp], round);
		ck_assert_uint_eq(fake->calls[FAKE_deallocate_pd], round);
		ck_ok(fake->announce(0));
		test_wait(&user.added);
	}
	ck_ok(al_dereg_pnp(client.pnp, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(user.destroyed, 4);
	ck_status(user.status, AL_SUCCESS);
	finish(user.al);
}
END_TEST

/* ------------------------------------------- registrations in callbacks */

struct nested {
	al_h al;
	struct client inner;
	al_status status;
	unsigned int heard_then; /* events that the inner registration had got when the call returned */
};

static void reg_inside(struct client *client, const struct al_pnp_event *event)
{
	struct nested *nested = client->arg;

	if (event->type != AL_PNP_CA_ADD)
		return;
	client_init(&nested->inner, NULL, NULL);
	nested->status = al_reg_pnp(nested->al, NULL, &nested->inner, hear, &nested->inner.pnp);
	nested->heard_then = nested->inner.heard.count;
}

START_TEST(registering_in_a_callback_only_queues_the_replay)
{
	struct nested nested = { .al = start(1) };
	struct client client = { .then = reg_inside, .arg = &nested };

	client_start(&client, nested.al, NULL);
	ck_status(nested.status, AL_SUCCESS);
	ck_assert_uint_eq(nested.heard_then, 0);
	journal_wait(&nested.inner.heard, 2);
	EXPECT(&nested.inner, "add 0", "replayed");
	finish(nested.al);
}
END_TEST

static void end_other(struct client *client, const struct al_pnp_event *event)
{
	struct client *other = client->arg;

	if (event->type != AL_PNP_LID_CHANGE)
		return;
	if (al_dereg_pnp(other->pnp, AL_DESTROY_SYNC, NULL))
		journal_add(&client->heard, "failed");
	/* The synchronous deregistration has returned, so the other registration has got its remove event too. */
	journal_add(&client->heard, other->heard.count == 3 ? "ended" : "not ended");
}

START_TEST(a_callback_may_end_another_registration_and_wait_for_its_remove)
{
	al_h al = start(1);
	struct client other = { 0 }, client = { .then = end_other, .arg = &other };

	client_start(&other, al, NULL);
	client_start(&client, al, &with_ports);
	while (sem_trywait(&client.heard.sem) == 0)
		;
	port_event(0, IB_EVENT_LID_CHANGE);
	journal_wait(&client.heard, 2);
	ck_assert_str_eq(client.heard.entry[client.heard.count - 1], "ended");
	EXPECT(&other, "add 0", "replayed", "remove 0");
	finish(al);
}
END_TEST

/*
 * Each callback ends the other registration synchronously, which would be a deadlock: the second call is refused,
 * because the first already waits for that callback.
 */
static void end_each_other(struct client *client, const struct al_pnp_event *event)
{
	struct client *other = client->arg;
	al_status st;

	if (event->type != AL_PNP_LID_CHANGE && event->type != AL_PNP_CA_REMOVE)
		return;
	st = al_dereg_pnp(other->pnp, AL_DESTROY_SYNC, NULL);
	journal_add(&client->heard, al_status_name(st));
}

START_TEST(a_wait_for_a_registration_that_waits_itself_is_refused)
{
	al_h al = start(1);
	struct client b = { .then = end_each_other }, a = { .then = end_each_other, .arg = &b };

	b.arg = &a;
	client_start(&b, al, NULL);
	client_start(&a, al, &with_ports);
	while (sem_trywait(&a.heard.sem) == 0)
		;
	port_event(0, IB_EVENT_LID_CHANGE);
	journal_wait(&a.heard, 2);
	ck_assert_str_eq(a.heard.entry[a.heard.count - 1], "AL_SUCCESS");
	EXPECT(&b, "add 0", "replayed", "remove 0", "AL_INVALID_CONTEXT");
	finish(al);
}
END_TEST

START_TEST(ending_a_registration_waits_for_its_callback_and_removes_what_was_added)
{
	al_h al = start(2);
	struct hold h = { .when = AL_PNP_LID_CHANGE };
	struct client client = { .then = hold, .arg = &h };
	struct journal order;
	struct note gone = { &order, "gone" };

	gate_init(&h.gate);
	journal_init(&order);
	client_start(&client, al, &with_ports);
	port_event(0, IB_EVENT_LID_CHANGE);
	test_wait(&h.gate.in);
	ck_ok(al_dereg_pnp(client.pnp, note_cb, &gone));
	ck_status(al_dereg_pnp(client.pnp, note_cb, &gone), AL_INVALID_HANDLE);
	ck_assert_uint_eq(order.count, 0);
	sem_post(&h.gate.out);
	journal_wait(&order, 1);
	ck_assert_str_eq(client.heard.entry[client.heard.count - 3], "lid 0");
	ck_assert_str_eq(client.heard.entry[client.heard.count - 2], "remove 1");
	ck_assert_str_eq(client.heard.entry[client.heard.count - 1], "remove 0");
	finish(al);
	ck_assert_uint_eq(order.count, 1);
}
END_TEST

/* -------------------------------------------------------------- removal */

struct withdrawal {
	atomic_bool returned;
};

static void withdraw_now(struct crew *crew, unsigned int index)
{
	struct withdrawal *w = crew->arg;

	(void)index;
	fake->withdraw(0, 0);
	w->returned = true;
}

START_TEST(a_withdrawal_waits_for_add_to_return_and_then_for_remove)
{
	al_h al = start(1);
	struct hold h = { .when = AL_PNP_CA_ADD };
	struct client client, other = { 0 };
	struct withdrawal w = { 0 };
	struct crew crew;

	ck_ok(al_reg_pnp(al, NULL, &other, hear, &other.pnp));
	fake->withdraw(0, 0);
	gate_init(&h.gate);
	client_init(&client, hold, &h);
	ck_ok(al_reg_pnp(al, NULL, &client, hear, &client.pnp));
	ck_ok(fake->announce(0));
	test_wait(&h.gate.in);
	crew_make(&crew, 1, withdraw_now, &w);
	crew_go(&crew);
	/* Once the removal has begun, nothing of the HCA can be opened. */
	for (al_ca_h ca; al_open_ca(al, FAKE_GUID, NULL, &ca) == AL_SUCCESS;)
		ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
	ck_assert(!w.returned);
	sem_post(&h.gate.out);
	crew_end(&crew);
	EXPECT(&client, "replayed", "add 0", "remove 0");
	finish(al);
}
END_TEST

START_TEST(an_hca_removed_before_its_add_is_not_delivered)
{
	al_h al = start(1);
	struct hold h = { .when = AL_PNP_LID_CHANGE };
	struct client client = { .then = hold, .arg = &h };

	gate_init(&h.gate);
	client_start(&client, al, &with_ports);
	port_event(0, IB_EVENT_LID_CHANGE);
	test_wait(&h.gate.in);
	ck_ok(fake->announce(1));
	fake->withdraw(1, 0); /* returns although the client's callback blocks: that client does not know of this HCA */
	sem_post(&h.gate.out);
	fake->withdraw(0, 0);
	for (unsigned int i = 0; i < client.heard.count; i++)
		ck_assert_str_ne(client.heard.entry[i], "add 1");
	ck_assert_str_eq(client.heard.entry[client.heard.count - 1], "remove 0");
	finish(al);
}
END_TEST

/* HCAs and clients come and go at the same time: each client gets adds and removes in pairs. */
static void come_and_go(struct crew *crew, unsigned int index)
{
	while (!crew->stop) {
		fake->announce(index + 1);
		sched_yield();
		fake->withdraw(index + 1, index ? CI_HCA_GONE : 0);
	}
}

START_TEST(adds_and_removes_pair_off_whatever_comes_and_goes)
{
	enum { CLIENTS = 40 };
	static struct client client[CLIENTS];
	al_h al = start(1);
	struct crew crew;

	crew_make(&crew, 2, come_and_go, NULL);
	crew_go(&crew);
	for (int i = 0; i < CLIENTS; i++) {
		client_start(&client[i], al, i % 2 ? &with_ports : NULL);
		if (i >= 4)
			ck_ok(al_dereg_pnp(client[i - 4].pnp, i % 3 ? AL_DESTROY_SYNC : NULL, NULL));
	}
	crew_end(&crew);
	finish(al);
	for (int i = 0; i < CLIENTS; i++) {
		int there[FAKE_HCAS] = { 0 };

		ck_assert_uint_eq(client[i].overlaps, 0);
		for (unsigned int k = 0; k < client[i].heard.count && k < 256; k++) {
			const char *what = client[i].heard.entry[k];
			int num = what[strlen(what) - 1] - '0';

			if (!strncmp(what, "add", 3))
				ck_assert_int_eq(there[num]++, 0);
			else if (!strncmp(what, "remove", 6))
				ck_assert_int_eq(there[num]--, 1);
			else if (state_of(what))
				ck_assert_int_eq(there[num], 1);
		}
		for (int num = 0; num < FAKE_HCAS && client[i].heard.count < 256; num++)
			ck_assert_int_eq(there[num], 0);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pnp");
	TCase *tc = tcase_create("replay");

	tcase_add_test(tc, present_hcas_are_replayed_before_the_call_returns);
	tcase_add_loop_test(tc, ports_are_replayed_as_the_events_that_lead_to_their_states, IB_PORT_DOWN, IB_PORT_ACTIVE + 1);
	tcase_add_test(tc, without_hcas_there_is_the_end_of_the_replay_alone);
	tcase_add_test(tc, an_hca_that_comes_later_is_added_once);
	tcase_add_test(tc, the_older_client_gets_arrivals_first_and_removals_last);
	suite_add_tcase(suite, tc);
	tc = tcase_create("ports");
	tcase_add_test(tc, every_port_state_is_delivered_to_a_slow_client);
	tcase_add_test(tc, port_events_go_only_to_registrations_that_want_them);
	tcase_add_test(tc, port_events_of_two_hcas_that_wait_together_both_come);
	tcase_add_test(tc, a_state_that_changes_while_its_hca_registers_is_not_lost);
	tcase_add_test(tc, a_late_registration_gets_the_remaining_port_states);
	tcase_add_test(tc, a_registration_while_a_port_flaps_hears_a_path_without_gaps);
	suite_add_tcase(suite, tc);
	tc = tcase_create("clients");
	tcase_add_test(tc, a_registration_that_refuses_an_hca_gets_no_more_of_its_events);
	tcase_add_test(tc, each_registration_has_a_context_of_its_own_per_hca);
	tcase_add_test(tc, add_opens_creates_and_transfers_and_remove_destroys_synchronously);
	tcase_add_test(tc, registering_in_a_callback_only_queues_the_replay);
	tcase_add_test(tc, a_callback_may_end_another_registration_and_wait_for_its_remove);
	tcase_add_test(tc, a_wait_for_a_registration_that_waits_itself_is_refused);
	tcase_add_test(tc, ending_a_registration_waits_for_its_callback_and_removes_what_was_added);
	suite_add_tcase(suite, tc);
	tc = tcase_create("removal");
	tcase_add_test(tc, a_withdrawal_waits_for_add_to_return_and_then_for_remove);
	tcase_add_test(tc, an_hca_removed_before_its_add_is_not_delivered);
	tcase_add_test(tc, adds_and_removes_pair_off_whatever_comes_and_goes);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
