/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The functions that a callback of each kind may call: asynchronous destroys from every callback; synchronous
 * destroys, and other functions that may sleep, only where sleeping is allowed. A refusal changes nothing.
 */
#include "test/unit/al/bed.h"

/* One object of each kind, to be destroyed inside a callback. */
struct victims {
	struct bed *bed;
	al_qp_h qp;
	al_cq_h cq;
	al_mr_h mr;
	al_ah_h ah;
	al_pd_h pd;
	al_event_handler_h handler;
	al_channel_h channel;
	al_pnp_h pnp;
	al_ca_h ca;
	al_h al;

	/* Written in the callback. */
	al_status want_sync;      /* status of a destroy that waits */
	unsigned int wrong;       /* number of unexpected statuses */
	const char *first_wrong;
	sem_t gone;               /* posted for each destroyed object */
	sem_t done;               /* the callback has done its work */
};
#define VICTIMS 10

static void nothing(void *context, const struct al_event *event)
{
	(void)context;
	(void)event;
}

static al_status accept(void *context, const struct al_pnp_event *event)
{
	(void)context;
	(void)event;
	return AL_SUCCESS;
}

static void make_victims(struct victims *v, struct bed *bed, al_status want_sync)
{
	memset(v, 0, sizeof(*v));
	v->bed = bed;
	v->want_sync = want_sync;
	sem_init(&v->gone, 0, 0);
	sem_init(&v->done, 0, 0);
	v->al = test_open();
	v->ca = test_open_ca(v->al, FAKE_GUID);
	ck_ok(al_alloc_pd(v->ca, NULL, &v->pd));
	v->cq = bed_cq(v->pd, 0, NULL, NULL);
	v->qp = bed_qp(v->pd, v->cq, NULL, NULL);
	ck_ok(try_mr(v->pd, &v->mr));
	ck_ok(try_ah(v->pd, &v->ah));
	ck_ok(al_reg_event_handler(v->ca, NULL, NULL, nothing, &v->handler));
	ck_ok(al_create_channel(v->al, NULL, &v->channel));
	ck_ok(al_reg_pnp(v->al, NULL, NULL, accept, &v->pnp));
}

static void look(struct victims *v, const char *what, al_status got, al_status want)
{
	if (got == want)
		return;
	if (!v->wrong++)
		v->first_wrong = what;
}

/*
 * A destroy that waits. If the destroy is refused, the handle stays valid, and a destroy that does not wait succeeds.
 */
#define END(destroy, handle) \
	do { \
		if (v->want_sync != AL_SUCCESS) \
			look(v, #destroy " that waits", destroy(handle, AL_DESTROY_SYNC, NULL), v->want_sync); \
		look(v, #destroy, destroy(handle, test_post, &v->gone), AL_SUCCESS); \
		look(v, #destroy " again", destroy(handle, test_post, &v->gone), AL_INVALID_HANDLE); \
	} while (0)

#define END_SYNC(destroy, handle) \
	do { \
		look(v, #destroy " that waits", destroy(handle, AL_DESTROY_SYNC, NULL), AL_SUCCESS); \
		look(v, #destroy " again", destroy(handle, NULL, NULL), AL_INVALID_HANDLE); \
		sem_post(&v->gone); \
	} while (0)

static void end_each(struct victims *v)
{
	END(al_destroy_qp, v->qp);
	END(al_destroy_cq, v->cq);
	END(al_dereg_mr, v->mr);
	END(al_destroy_ah, v->ah);
	END(al_dealloc_pd, v->pd);
	END(al_dereg_event_handler, v->handler);
	END(al_destroy_channel, v->channel);
	END(al_dereg_pnp, v->pnp);
	END(al_close_ca, v->ca);
	END(al_close, v->al);
}

static void end_each_sync(struct victims *v)
{
	END_SYNC(al_destroy_qp, v->qp);
	END_SYNC(al_destroy_cq, v->cq);
	END_SYNC(al_dereg_mr, v->mr);
	END_SYNC(al_destroy_ah, v->ah);
	END_SYNC(al_dealloc_pd, v->pd);
	END_SYNC(al_dereg_event_handler, v->handler);
	END_SYNC(al_destroy_channel, v->channel);
	END_SYNC(al_dereg_pnp, v->pnp);
	END_SYNC(al_close_ca, v->ca);
	END_SYNC(al_close, v->al);
}

/* Calls every function that may sleep, with valid arguments. */
static void try_to_sleep(struct victims *v)
{
	struct al_cq_init cq_init = { .cqe = 1 };
	struct ib_port_attr port;
	struct ib_ca_attr attr;
	struct ib_qp_attr qp_attr = { .qp_state = IB_QPS_ERR };
	struct ib_mr_attr mr_attr;
	struct al_snapshot *snap;
	size_t count = 0;
	ib_gid gid;
	uint16_t pkey;
	union {
		al_h al;
		al_ca_h ca;
		al_pd_h pd;
		al_mr_h mr;
		al_cq_h cq;
		al_qp_h qp;
		al_pnp_h pnp;
		al_event_handler_h handler;
		al_channel_h channel;
	} new;

#define REFUSED(call) look(v, #call, call, AL_INVALID_CONTEXT)
	REFUSED(al_open(NULL, &new.al));
	REFUSED(al_load_module(v->al, "/nowhere.so"));
	REFUSED(al_unload_module(v->al, "fake", 0));
	REFUSED(al_rescan(v->al));
	REFUSED(al_get_ca_guids(v->al, NULL, &count));
	REFUSED(al_open_ca(v->al, FAKE_GUID, NULL, &new.ca));
	REFUSED(al_query_ca(v->ca, &attr));
	REFUSED(al_query_port(v->ca, 1, &port));
	REFUSED(al_query_gid(v->ca, 1, 0, &gid));
	REFUSED(al_query_pkey(v->ca, 1, 0, &pkey));
	REFUSED(al_reg_pnp(v->al, NULL, NULL, accept, &new.pnp));
	REFUSED(al_reg_event_handler(v->ca, NULL, NULL, nothing, &new.handler));
	REFUSED(al_create_channel(v->al, NULL, &new.channel));
	REFUSED(al_alloc_pd(v->ca, NULL, &new.pd));
	REFUSED(try_mr(v->pd, &new.mr));
	REFUSED(al_query_mr(v->mr, &mr_attr));
	REFUSED(al_create_cq(v->pd, &cq_init, NULL, NULL, NULL, &new.cq));
	REFUSED(try_qp(v->pd, v->cq, NULL, NULL, &new.qp));
	REFUSED(al_modify_qp(v->qp, &qp_attr, IB_QP_STATE));
	REFUSED(al_query_qp(v->qp, &qp_attr, NULL));
	REFUSED(al_snapshot(v->al, &snap));
}

/* Calls every function that is allowed in any context. */
static void try_any(struct victims *v)
{
	const struct ib_send_wr send = { .opcode = IB_WR_SEND }, *bad_send;
	const struct ib_recv_wr recv = { 0 }, *bad_recv;
	struct al_channel_event event;
	uint32_t count, qpn;
	struct ib_wc wc;
	al_ah_h ah;
	void *data;
	int fd;

	look(v, "post_send", al_post_send(v->qp, &send, &bad_send), AL_INVALID_STATE);
	look(v, "post_recv", al_post_recv(v->qp, &recv, &bad_recv), AL_INVALID_STATE);
	look(v, "poll_cq", al_poll_cq(v->cq, 1, &wc, &count), AL_SUCCESS);
	look(v, "arm_cq", al_arm_cq(v->cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	look(v, "qp_num", al_qp_num(v->qp, &qpn), AL_SUCCESS);
	look(v, "create_ah", try_ah(v->pd, &ah), AL_SUCCESS);
	look(v, "destroy_ah", al_destroy_ah(ah, NULL, NULL), AL_SUCCESS);
	look(v, "channel_fd", al_channel_fd(v->channel, &fd), AL_SUCCESS);
	look(v, "channel_next", al_channel_next(v->channel, &event), AL_NOT_FOUND);
	look(v, "set_client_context", al_set_client_context(v->pnp, FAKE_GUID, v), AL_SUCCESS);
	look(v, "get_client_context", al_get_client_context(v->pnp, FAKE_GUID, &data), AL_SUCCESS);
}

static void in_atomic(void *context)
{
	struct victims *v = context;

	try_to_sleep(v);
	try_any(v);
	end_each(v);
	sem_post(&v->done);
}

static void in_atomic_event(void *context, const struct al_event *event)
{
	(void)event;
	in_atomic(context);
}

static void check(struct victims *v)
{
	test_wait(&v->done);
	for (int i = 0; i < VICTIMS; i++)
		test_wait(&v->gone);
	ck_assert_msg(!v->wrong, "%u wrong answers, the first from %s", v->wrong, v->first_wrong);
	/* The objects that are left belong to the bed. */
	bed_end(v->bed);
}

START_TEST(in_a_completion_callback)
{
	struct bed bed = bed_make();
	struct victims v;

	make_victims(&v, &bed, AL_INVALID_CONTEXT);
	bed_cq(bed.pd, 0, &v, in_atomic);
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	check(&v);
}
END_TEST

START_TEST(in_an_objects_event_callback)
{
	struct bed bed = bed_make();
	struct victims v;

	make_victims(&v, &bed, AL_INVALID_CONTEXT);
	bed_qp(bed.pd, bed_cq(bed.pd, 0, NULL, NULL), &v, in_atomic_event);
	bed_object_event(bed.fake->last_qp->qp.ctx, IB_EVENT_COMM_EST);
	check(&v);
}
END_TEST

START_TEST(in_an_event_handler)
{
	struct bed bed = bed_make();
	al_event_handler_h handler;
	struct victims v;

	make_victims(&v, &bed, AL_INVALID_CONTEXT);
	ck_ok(al_reg_event_handler(bed.ca, NULL, &v, in_atomic_event, &handler));
	bed_port_event(&bed, IB_EVENT_LID_CHANGE, 1);
	check(&v);
}
END_TEST

START_TEST(in_a_destroyed_callback)
{
	struct bed bed = bed_make();
	struct victims v;

	make_victims(&v, &bed, AL_INVALID_CONTEXT);
	ck_ok(al_dealloc_pd(bed.pd, in_atomic, &v));
	check(&v);
}
END_TEST

START_TEST(in_a_destroyed_callback_of_an_object_of_no_hca)
{
	struct bed bed = bed_make();
	al_channel_h channel;
	struct victims v;

	make_victims(&v, &bed, AL_INVALID_CONTEXT);
	ck_ok(al_create_channel(bed.al, NULL, &channel));
	ck_ok(al_destroy_channel(channel, in_atomic, &v));
	check(&v);
}
END_TEST

/* ------------------------------------------------------ contexts that may sleep */

struct pnp_client {
	struct victims v;
	al_pnp_type when;
	al_pnp_h pnp;
	bool sync;
	atomic_bool done;
};

/* Destroys objects in the callback of one type of PnP event. */
static al_status in_pnp(void *context, const struct al_pnp_event *event)
{
	struct pnp_client *client = context;

	if (event->type != client->when || client->done)
		return AL_SUCCESS;
	client->done = true;
	if (client->sync) {
		look(&client->v, "own registration that waits", al_dereg_pnp(client->pnp, AL_DESTROY_SYNC, NULL),
		     AL_INVALID_CONTEXT);
		look(&client->v, "own opening that waits", al_close(client->v.bed->al, AL_DESTROY_SYNC, NULL),
		     AL_INVALID_CONTEXT);
		end_each_sync(&client->v);
	} else {
		/*
		 * An agent does not wait for its clients: when a client gets the removal's event, the agent's HCA has
		 * gone.
		 */
		if (client->when != AL_PNP_CA_REMOVE || !test_in_user_role())
			try_any(&client->v);
		end_each(&client->v);
	}
	sem_post(&client->v.done);
	return AL_SUCCESS;
}

static void run_in_pnp(al_pnp_type when, bool sync)
{
	struct pnp_client client = { .when = when, .sync = sync };
	const struct al_pnp_attr ports = { .ports = true };
	struct bed bed = bed_make();

	make_victims(&client.v, &bed, AL_SUCCESS);
	ck_ok(al_reg_pnp(bed.al, &ports, &client, in_pnp, &client.pnp));
	if (when == AL_PNP_LID_CHANGE)
		bed_port_event(&bed, IB_EVENT_LID_CHANGE, 1);
	if (when == AL_PNP_CA_REMOVE)
		bed.fake->withdraw(0, 0);
	check(&client.v);
}

static const al_pnp_type pnp_kinds[] = { AL_PNP_CA_ADD, AL_PNP_CA_REMOVE, AL_PNP_PORT_ACTIVE, AL_PNP_LID_CHANGE,
					 AL_PNP_REPLAY_COMPLETE };
#define PNP_KINDS ((int)(sizeof(pnp_kinds) / sizeof(pnp_kinds[0])))

START_TEST(in_a_pnp_callback)
{
	run_in_pnp(pnp_kinds[_i], false);
}
END_TEST

START_TEST(in_a_pnp_callback_and_waiting)
{
	run_in_pnp(pnp_kinds[_i], true);
}
END_TEST

/* Calls that would wait for the PnP thread itself. */
static al_status in_add(void *context, const struct al_pnp_event *event)
{
	struct victims *v = context;

	if (event->type != AL_PNP_CA_ADD || event->ca_guid != FAKE_GUID)
		return AL_SUCCESS;
	look(v, "load_module", al_load_module(v->al, "/nowhere.so"), AL_INVALID_CONTEXT);
	look(v, "unload_module", al_unload_module(v->al, "fake", AL_UNLOAD_REMOVE), AL_INVALID_CONTEXT);
	look(v, "rescan", al_rescan(v->al), AL_INVALID_CONTEXT);
	end_each_sync(v);
	sem_post(&v->done);
	return AL_SUCCESS;
}

START_TEST(modules_are_not_managed_in_a_pnp_callback)
{
	struct bed bed = bed_make();
	struct victims v;
	al_pnp_h pnp;

	make_victims(&v, &bed, AL_SUCCESS);
	ck_ok(al_reg_pnp(bed.al, NULL, &v, in_add, &pnp));
	check(&v);
}
END_TEST

START_TEST(in_the_reader_of_a_channel)
{
	struct bed bed = bed_make();
	struct al_channel_event event;
	struct al_cq_init init = { .cqe = 1 };
	struct victims v;
	struct pollfd pfd = { .events = POLLIN };
	al_cq_h cq;

	make_victims(&v, &bed, AL_SUCCESS);
	ck_ok(al_create_channel(bed.al, NULL, &init.channel));
	ck_ok(al_channel_fd(init.channel, &pfd.fd));
	ck_ok(al_create_cq(bed.pd, &init, &v, NULL, NULL, &cq));
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	ck_assert_int_eq(poll(&pfd, 1, 60000), 1);
	ck_ok(al_channel_next(init.channel, &event));
	ck_assert_ptr_eq(event.context, &v);
	end_each_sync(event.context);
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_channel(init.channel, AL_DESTROY_SYNC, NULL));
	sem_post(&v.done);
	check(&v);
}
END_TEST

/* The callback's own object is destroyed like any other, and its destroyed callback comes after the callback. */
struct self {
	al_cq_h cq;
	al_qp_h qp;
	al_event_handler_h handler;
	al_pnp_h pnp;
	al_status sync, async;
	struct journal journal;
	struct note gone;
};

static void self_init(struct self *self)
{
	memset(self, 0, sizeof(*self));
	journal_init(&self->journal);
	self->gone = (struct note){ &self->journal, "gone" };
}

static void end_own_cq(void *context)
{
	struct self *self = context;

	self->sync = al_destroy_cq(self->cq, AL_DESTROY_SYNC, NULL);
	self->async = al_destroy_cq(self->cq, note_cb, &self->gone);
	journal_add(&self->journal, "callback");
}

static void end_own_qp(void *context, const struct al_event *event)
{
	struct self *self = context;

	(void)event;
	self->sync = al_destroy_qp(self->qp, AL_DESTROY_SYNC, NULL);
	self->async = al_destroy_qp(self->qp, note_cb, &self->gone);
	journal_add(&self->journal, "callback");
}

static void end_own_handler(void *context, const struct al_event *event)
{
	struct self *self = context;

	(void)event;
	self->sync = al_dereg_event_handler(self->handler, AL_DESTROY_SYNC, NULL);
	self->async = al_dereg_event_handler(self->handler, note_cb, &self->gone);
	journal_add(&self->journal, "callback");
}

static al_status end_own_pnp(void *context, const struct al_pnp_event *event)
{
	struct self *self = context;

	if (event->type == AL_PNP_CA_REMOVE)
		journal_add(&self->journal, "remove");
	if (event->type != AL_PNP_CA_ADD)
		return AL_SUCCESS;
	self->sync = al_dereg_pnp(self->pnp, AL_DESTROY_SYNC, NULL);
	self->async = al_dereg_pnp(self->pnp, note_cb, &self->gone);
	journal_add(&self->journal, "callback");
	return AL_SUCCESS;
}

static void check_self(struct self *self)
{
	journal_wait(&self->journal, 2);
	ck_status(self->sync, AL_INVALID_CONTEXT);
	ck_status(self->async, AL_SUCCESS);
	journal_expect(&self->journal, 2, (const char *const[]){ "callback", "gone" });
}

START_TEST(a_callback_may_destroy_its_own_object)
{
	struct bed bed = bed_make();
	struct self self;

	self_init(&self);
	self.cq = bed_cq(bed.pd, 0, &self, end_own_cq);
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	check_self(&self);

	self_init(&self);
	self.qp = bed_qp(bed.pd, bed_cq(bed.pd, 0, NULL, NULL), &self, end_own_qp);
	bed_object_event(bed.fake->last_qp->qp.ctx, IB_EVENT_COMM_EST);
	check_self(&self);

	self_init(&self);
	ck_ok(al_reg_event_handler(bed.ca, NULL, &self, end_own_handler, &self.handler));
	bed_port_event(&bed, IB_EVENT_LID_CHANGE, 1);
	check_self(&self);

	self_init(&self);
	ck_ok(al_reg_pnp(bed.al, NULL, &self, end_own_pnp, &self.pnp));
	journal_wait(&self.journal, 3);
	ck_status(self.sync, AL_INVALID_CONTEXT);
	ck_status(self.async, AL_SUCCESS);
	journal_expect(&self.journal, 3, (const char *const[]){ "callback", "remove", "gone" });
	bed_end(&bed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("context");
	TCase *tc = tcase_create("atomic");

	tcase_add_test(tc, in_a_completion_callback);
	tcase_add_test(tc, in_an_objects_event_callback);
	tcase_add_test(tc, in_an_event_handler);
	tcase_add_test(tc, in_a_destroyed_callback);
	tcase_add_test(tc, in_a_destroyed_callback_of_an_object_of_no_hca);
	suite_add_tcase(suite, tc);
	tc = tcase_create("where one may sleep");
	tcase_add_loop_test(tc, in_a_pnp_callback, 0, PNP_KINDS);
	tcase_add_loop_test(tc, in_a_pnp_callback_and_waiting, 0, PNP_KINDS);
	tcase_add_test(tc, modules_are_not_managed_in_a_pnp_callback);
	tcase_add_test(tc, in_the_reader_of_a_channel);
	suite_add_tcase(suite, tc);
	tc = tcase_create("own object");
	tcase_add_test(tc, a_callback_may_destroy_its_own_object);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
