/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agent's limits of clients and users, its rights, its configuration, and their display in
 * snapshots and logs. */
#include "test/e2e/agent.h"

#include <grp.h>
#include <pthread.h>

#include <iba/ib_hca.h>

#include "al/agent/account.h"
#include "al/agent/settings.h"
#include <iba/ib_soft.h>

/* An agent within the test's process, whose limits and rights can be changed at once. */
static struct ald_attr attr;

static void start(void)
{
	ck_assert_ptr_nonnull(mkdtemp(agent_dir));
	ck_assert_int_eq(chmod(agent_dir, 0755), 0);
	snprintf(agent_socket, sizeof(agent_socket), "%s/ald.socket", agent_dir);
	attr = (struct ald_attr){ .socket = agent_socket, .mode = 0666, .config = "", .limits = ald_default_limits };
	ck_ok(ald_start(&attr));
}

static void stop(void)
{
	ald_stop();
	rmdir(agent_dir);
}

/* Finds the entries of this process and of its user in a snapshot. */
static void look(al_h al, struct al_snap_client *client, struct al_snap_client *user)
{
	struct al_snapshot *snap;
	bool found = false;

	ck_ok(al_snapshot(al, &snap));
	for (size_t i = 0; i < snap->num_clients; i++)
		if (snap->clients[i].pid == getpid()) {
			*client = snap->clients[i];
			found = true;
		}
	ck_assert(found);
	found = false;
	for (size_t i = 0; i < snap->num_users; i++)
		if (snap->users[i].uid == geteuid()) {
			*user = snap->users[i];
			found = true;
		}
	ck_assert(found);
	al_free_snapshot(snap);
}

/* ------------------------------------------------------------- each limit */

/* Creates an object of one kind, and names the resources that the object uses. */
struct maker {
	al_ca_h ca;
	al_pd_h pd;
	al_cq_h cq;
	al_h al;
	uint8_t mem[4096];
};

static al_status make_pd(struct maker *m)
{
	al_pd_h pd;
	al_status status = al_alloc_pd(m->ca, NULL, &pd);

	if (!status)
		ck_ok(al_dealloc_pd(pd, AL_DESTROY_SYNC, NULL));
	return status;
}

static al_status make_mr(struct maker *m)
{
	const struct al_mr_init init = { .addr = m->mem, .length = sizeof(m->mem) };
	uint32_t lkey, rkey;
	al_mr_h mr;
	al_status status = al_reg_mr(m->pd, &init, NULL, &lkey, &rkey, &mr);

	if (!status)
		ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	return status;
}

static al_status make_cq(struct maker *m)
{
	struct al_cq_init init = { .cqe = 16 };
	al_cq_h cq;
	al_status status = al_create_cq(m->pd, &init, NULL, NULL, NULL, &cq);

	if (!status)
		ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	return status;
}

static al_status make_qp(struct maker *m)
{
	struct al_qp_init init = { .qp_type = IB_QPT_RC, .cap = { 4, 4, 1, 1, 0 }, .send_cq = m->cq, .recv_cq = m->cq };
	al_qp_h qp;
	al_status status = al_create_qp(m->pd, &init, NULL, NULL, &qp);

	if (!status)
		ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	return status;
}

static const ib_gid group = { { 0xff, 0x12 } };

static al_status make_ud(struct maker *m, al_qp_h *qp)
{
	struct al_qp_init init = {
		.qp_type = IB_QPT_UD, .cap = { 4, 4, 1, 1, 0 }, .send_cq = m->cq, .recv_cq = m->cq
	};

	return al_create_qp(m->pd, &init, NULL, NULL, qp);
}

static al_status make_mcast(struct maker *m)
{
	al_qp_h qp;
	al_status status = make_ud(m, &qp);

	if (status)
		return status;
	status = al_attach_mcast(qp, &group, 0xc001);
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	return status;
}

static const struct {
	al_status (*make)(struct maker *m);
	uint32_t takes; /* bits: 1 << enum al_resource */
} makers[] = {
	{ make_pd, 1u << AL_RESOURCE_PDS },
	{ make_mr, 1u << AL_RESOURCE_MRS | 1u << AL_RESOURCE_BYTES },
	{ make_cq, 1u << AL_RESOURCE_CQS | 1u << AL_RESOURCE_RINGS },
	{ make_qp, 1u << AL_RESOURCE_QPS | 1u << AL_RESOURCE_RINGS },
	{ make_mcast, 1u << AL_RESOURCE_QPS | 1u << AL_RESOURCE_RINGS | 1u << AL_RESOURCE_MCASTS },
};
#define MAKERS (sizeof(makers) / sizeof(makers[0]))

static void make_all(struct maker *m, uint32_t without)
{
	for (size_t i = 0; i < MAKERS; i++)
		ck_status(makers[i].make(m), makers[i].takes & without ? AL_LIMIT_EXCEEDED : AL_SUCCESS);
}

static void begin(struct maker *m)
{
	struct al_cq_init init = { .cqe = 16 };
	uint64_t guid;

	m->al = agent_open();
	test_guids(m->al, &guid, 1);
	m->ca = test_open_ca(m->al, guid);
	ck_ok(al_alloc_pd(m->ca, NULL, &m->pd));
	ck_ok(al_create_cq(m->pd, &init, NULL, NULL, NULL, &m->cq));
}

static void no_more_of(struct maker *m, int r, bool of_user)
{
	struct al_snap_client before[2], after[2];
	uint64_t *limit = of_user ? &attr.limits.user[r] : &attr.limits.client[r], was = *limit, refused = 0;

	for (size_t i = 0; i < MAKERS; i++)
		refused += (makers[i].takes & 1u << r) != 0;
	look(m->al, &before[0], &before[1]);
	*limit = before[of_user].use[r].now;
	ald_configure(&attr);
	make_all(m, 1u << r);
	look(m->al, &after[0], &after[1]);
	ck_assert_uint_eq(after[of_user].use[r].limit, *limit);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(after[i].refused, before[i].refused + refused);
		for (int k = 0; k < AL_RESOURCES; k++) {
			if (k != r && account_of_users_only((al_resource)k))
				continue; /* each request, and the log's line, takes some of those
					   */
			ck_assert_uint_eq(after[i].use[k].now, before[i].use[k].now);
			ck_assert_msg(k == r || after[i].use[k].high == before[i].use[k].high,
				      "a refusal of %s changed the most of %s", al_resource_str((al_resource)r),
				      al_resource_str((al_resource)k));
		}
	}
	*limit = was;
	ald_configure(&attr);
	make_all(m, 0);
}

START_TEST(each_limit_refuses_what_takes_of_it_and_nothing_else_and_charges_nothing)
{
	struct al_snap_client client, user;
	struct maker m;

	start();
	begin(&m);
	make_all(&m, 0);
	for (int r = AL_RESOURCE_PDS; r < AL_RESOURCES; r++)
		if (!account_of_users_only((al_resource)r) || (_i && r == AL_RESOURCE_WORKERS))
			no_more_of(&m, r, _i);
	look(m.al, &client, &user);
	ck_assert_uint_eq(client.use[AL_RESOURCE_PDS].now, 1);
	ck_assert_uint_eq(client.use[AL_RESOURCE_PDS].high, 2);
	ck_assert_uint_eq(client.use[AL_RESOURCE_MRS].now, 0);
	ck_assert_uint_eq(client.use[AL_RESOURCE_BYTES].high, sizeof(m.mem));
	ck_assert_uint_eq(user.use[AL_RESOURCE_CLIENTS].now, 1);
	ck_assert_uint_eq(user.use[AL_RESOURCE_CONNECTIONS].now, client.use[AL_RESOURCE_CONNECTIONS].now);
	ck_ok(al_close(m.al, AL_DESTROY_SYNC, NULL));
	look(m.al = agent_open(), &client, &user);
	for (int r = AL_RESOURCE_PDS; r < AL_RESOURCES; r++)
		if (!account_of_users_only((al_resource)r))
			ck_assert_uint_eq(user.use[r].now, 0);
	ck_ok(al_close(m.al, AL_DESTROY_SYNC, NULL));
	stop();
}
END_TEST

START_TEST(objects_beyond_a_new_limit_stay)
{
	struct maker m;
	al_pd_h pd[2];

	start();
	begin(&m);
	for (int i = 0; i < 2; i++)
		ck_ok(al_alloc_pd(m.ca, NULL, &pd[i]));
	attr.limits.client[AL_RESOURCE_PDS] = 2;
	ald_configure(&attr);
	make_all(&m, 1u << AL_RESOURCE_PDS);
	ck_ok(al_dealloc_pd(pd[0], AL_DESTROY_SYNC, NULL));
	make_all(&m, 1u << AL_RESOURCE_PDS);
	ck_ok(al_dealloc_pd(pd[1], AL_DESTROY_SYNC, NULL));
	make_all(&m, 0);
	ck_ok(al_close(m.al, AL_DESTROY_SYNC, NULL));
	stop();
}
END_TEST

static void expect_rings(struct maker *m, uint64_t entries)
{
	struct al_snap_client client, user;

	look(m->al, &client, &user);
	ck_assert_uint_eq(client.use[AL_RESOURCE_RINGS].now, entries * sizeof(struct ib_wc));
	ck_assert_uint_eq(user.use[AL_RESOURCE_RINGS].now, entries * sizeof(struct ib_wc));
}

static al_status resize(struct maker *m, uint32_t cqe)
{
	return al_resize_cq(m->cq, &cqe);
}

/* The HCA's fourth allocation fails: that of the third resize that the agent permits. */
START_TEST(a_queue_that_is_resized_is_charged_for_what_it_has)
{
	uint32_t cqe = 101;
	struct maker m;

	ck_assert(!setenv("IBAL_FAULT", "alloc,n=4", 1));
	ck_assert(!setenv("IBAL_UVP_PATH", "", 1));
	start();
	begin(&m);
	expect_rings(&m, 16);
	ck_ok(resize(&m, 100));
	expect_rings(&m, 100);
	attr.limits.client[AL_RESOURCE_RINGS] = 100 * sizeof(struct ib_wc);
	ald_configure(&attr);
	ck_status(al_resize_cq(m.cq, &cqe), AL_LIMIT_EXCEEDED);
	ck_assert_uint_eq(cqe, 101); /* the agent refuses, not the HCA, so cqe keeps its value */
	expect_rings(&m, 100);
	ck_ok(resize(&m, 30));
	expect_rings(&m, 30);
	ck_status(resize(&m, 90), AL_INSUFFICIENT_MEMORY);
	expect_rings(&m, 30);
	ck_ok(resize(&m, 100));
	expect_rings(&m, 100);
	ck_ok(al_destroy_cq(m.cq, AL_DESTROY_SYNC, NULL));
	expect_rings(&m, 0);
	ck_ok(al_close(m.al, AL_DESTROY_SYNC, NULL));
	stop();
}
END_TEST

static void expect_mcasts(struct maker *m, uint64_t num)
{
	struct al_snap_client client, user;

	look(m->al, &client, &user);
	ck_assert_uint_eq(client.use[AL_RESOURCE_MCASTS].now, num);
	ck_assert_uint_eq(user.use[AL_RESOURCE_MCASTS].now, num);
}

START_TEST(a_membership_is_charged_once_and_until_it_ends)
{
	struct ib_ca_attr ca;
	struct maker m;
	al_qp_h qp[3];

	ck_assert(!setenv("IBAL_SOFT", "max_mcast_qp_attach=2", 1));
	start();
	begin(&m);
	attr.limits.client[AL_RESOURCE_MCASTS] = 3;
	ald_configure(&attr);
	ck_ok(al_query_ca(m.ca, &ca));
	ck_assert_uint_eq(ca.max_total_mcast_qp_attach, 3);
	ck_assert_uint_eq(ca.max_mcast_grp, 3);
	ck_assert_uint_eq(ca.max_mcast_qp_attach, 2); /* the HCA's own limit */
	for (int i = 0; i < 3; i++)
		ck_ok(make_ud(&m, &qp[i]));
	expect_mcasts(&m, 0);
	ck_ok(al_attach_mcast(qp[0], &group, 0xc001));
	ck_ok(al_attach_mcast(qp[0], &group, 0xc001));
	expect_mcasts(&m, 1);
	ck_ok(al_attach_mcast(qp[1], &group, 0xc001));
	expect_mcasts(&m, 2);
	ck_status(al_attach_mcast(qp[2], &group, 0xc001), AL_LIMIT_EXCEEDED); /* the HCA refuses */
	expect_mcasts(&m, 2);
	ck_ok(al_attach_mcast(qp[1], &group, 0xc002));
	expect_mcasts(&m, 3);
	ck_status(al_attach_mcast(qp[0], &group, 0xc002), AL_LIMIT_EXCEEDED);
	expect_mcasts(&m, 3);
	ck_status(al_detach_mcast(qp[0], &group, 0xc002), AL_NOT_FOUND);
	ck_ok(al_detach_mcast(qp[1], &group, 0xc001));
	expect_mcasts(&m, 2);
	ck_ok(al_attach_mcast(qp[0], &group, 0xc002));
	ck_ok(al_destroy_qp(qp[0], AL_DESTROY_SYNC, NULL));
	expect_mcasts(&m, 1);
	ck_ok(al_close(m.al, AL_DESTROY_SYNC, NULL));
	m.al = agent_open();
	expect_mcasts(&m, 0);
	ck_ok(al_close(m.al, AL_DESTROY_SYNC, NULL));
	stop();
}
END_TEST

/* --------------------------------------------------------- limits of users */

/*
 * A client of another process: reports the status of an opening, of a domain and of a region of
 * 4096 bytes, and waits until the test ends it.
 */
static void neighbour(int fd)
{
	const struct al_open_attr open = { .agent = agent_socket, .config = "" };
	al_status said[3] = { 0 };
	struct maker m = { .al = NULL };
	uint64_t guids[16];
	size_t count = 16;
	char go;

	al_set_log(test_ignore_log, NULL);
	said[0] = al_open(&open, &m.al);
	if (!said[0]) {
		ck_ok(al_get_ca_guids(m.al, guids, &count));
		if (!count)
			said[1] = said[2] = AL_NOT_FOUND;
	}
	if (!said[0] && count) {
		m.ca = test_open_ca(m.al, guids[0]);
		said[1] = al_alloc_pd(m.ca, NULL, &m.pd);
		said[2] = said[1] ? said[1] : make_mr(&m);
	}
	say(fd, said, sizeof(said));
	hear(fd, &go, 1);
	if (m.al)
		ck_ok(al_close(m.al, AL_DESTROY_SYNC, NULL));
}

static void ask_neighbour(al_status opening, al_status domain, al_status region)
{
	al_status said[3];
	pid_t pid;
	int fd[2];

	two_ends(fd);
	pid = agent_client("neighbour", fd[1]);
	close(fd[1]);
	hear(fd[0], said, sizeof(said));
	ck_status(said[0], opening);
	ck_status(said[1], domain);
	ck_status(said[2], region);
	say(fd[0], "", 1);
	close(fd[0]);
	ck_assert_int_eq(wait_for(pid), 0);
}

START_TEST(a_users_limits_hold_for_all_his_clients_together)
{
	struct al_snap_client client, user;
	struct maker m;

	start();
	begin(&m);
	ask_neighbour(AL_SUCCESS, AL_SUCCESS, AL_SUCCESS);
	attr.limits.user[AL_RESOURCE_PDS] = 1; /* used up by this process */
	ald_configure(&attr);
	ask_neighbour(AL_SUCCESS, AL_LIMIT_EXCEEDED, AL_LIMIT_EXCEEDED);
	attr.limits.user[AL_RESOURCE_PDS] = 2;
	attr.limits.user[AL_RESOURCE_BYTES] = 4095;
	ald_configure(&attr);
	ask_neighbour(AL_SUCCESS, AL_SUCCESS, AL_LIMIT_EXCEEDED);
	attr.limits.user[AL_RESOURCE_CAS] = 2; /* used up by this process: no HCA is left for others */
	ald_configure(&attr);
	ask_neighbour(AL_SUCCESS, AL_NOT_FOUND, AL_NOT_FOUND);
	attr.limits.user[AL_RESOURCE_CAS] = AGENT_NO_LIMIT;
	attr.limits.user[AL_RESOURCE_CLIENTS] = 1;
	ald_configure(&attr);
	ask_neighbour(AL_LIMIT_EXCEEDED, AL_SUCCESS, AL_SUCCESS);
	attr.limits.user[AL_RESOURCE_CLIENTS] = AGENT_NO_LIMIT;
	look(m.al, &client, &user);
	attr.limits.user[AL_RESOURCE_CONNECTIONS] = client.use[AL_RESOURCE_CONNECTIONS].now + 1;
	ald_configure(&attr);
	ask_neighbour(AL_LIMIT_EXCEEDED, AL_SUCCESS, AL_SUCCESS);
	attr.limits.user[AL_RESOURCE_CONNECTIONS] = AGENT_NO_LIMIT;
	attr.limits.client[AL_RESOURCE_CONNECTIONS] = 1;
	ald_configure(&attr);
	ask_neighbour(AL_LIMIT_EXCEEDED, AL_SUCCESS, AL_SUCCESS);
	attr.limits.client[AL_RESOURCE_CONNECTIONS] = 16;
	attr.limits.total[AL_RESOURCE_CLIENTS] = 1;
	ald_configure(&attr);
	ask_neighbour(AL_LIMIT_EXCEEDED, AL_SUCCESS, AL_SUCCESS);
	ck_ok(al_close(m.al, AL_DESTROY_SYNC, NULL));
	stop();
}
END_TEST

/* ------------------------------------------------------------------ rights */

static const enum agent_right rows[] = {
#define COMMAND(name, where, right, ...) RIGHT_##right,
#include "al/protocol/commands.def"
};

#define FOREIGN 4321

/* A MAD service of a vendor's class, which gets no unsolicited datagram. */
static void make_mad_svc(al_ca_h ca)
{
	const struct al_mad_svc_init init = { .port_num = 1,
					      .mgmt_class = 0x0a,
					      .class_version = 1 };
	al_mad_svc_h svc;

	ck_ok(al_reg_mad_svc(ca, &init, NULL, (al_mad_cb)abort, &svc));
}

/* The snapshot has the figures of its MAD services, and of no other. */
static void ck_mad_svcs(const struct al_snapshot *snap, size_t num)
{
	size_t svc = 0;

	ck_assert_uint_eq(snap->num_mad_svcs, num);
	for (size_t i = 0; i < snap->num_objects; i++)
		if (snap->objects[i].type == AL_OBJ_MAD_SVC)
			ck_assert_uint_eq(snap->mad_svcs[svc++].id, snap->objects[i].id);
	ck_assert_uint_eq(svc, num);
}

/* Makes each call that needs a right, as another user, and reports the statuses; and again when the
 * test asks. */
static void foreigner(int fd)
{
	struct al_snapshot *snap;
	struct ib_ca_attr desc = { .node_desc = "foreign" };
	const gid_t groups[] = { FOREIGN + 1, FOREIGN + 2 };
	al_status said[4];
	uint64_t guid, now;
	uint32_t length;
	al_ca_h ca;
	al_h al;
	char go;

	ck_assert_int_eq(setgroups(2, groups), 0);
	ck_assert_int_eq(setresgid(FOREIGN, FOREIGN, FOREIGN), 0);
	ck_assert_int_eq(setresuid(FOREIGN, FOREIGN, FOREIGN), 0);
	ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
	al = agent_open();
	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	make_mad_svc(ca);
	while (recv(fd, &go, 1, 0) == 1) {
		length = sizeof(now);
		said[0] = al_vendor_call(ca, SOFT_CLOCK, NULL, 0, &now, &length);
		said[1] = al_modify_ca(ca, IB_CA_MODIFY_NODE_DESC, &desc);
		said[2] = al_modify_port(ca, 1, IB_PORT_MODIFY_RESET_QKEY_CNTR, &(struct ib_port_modify){ 0 });
		ck_ok(al_snapshot(al, &snap));
		said[3] = AL_PERMISSION;
		for (size_t i = 0; i < snap->num_objects; i++)
			if (snap->objects[i].uid != FOREIGN)
				said[3] = AL_SUCCESS;
		for (size_t i = 0; i < snap->num_clients; i++)
			ck_assert_int_eq(snap->clients[i].uid == FOREIGN || !said[3], true);
		ck_assert_uint_eq(snap->num_users, said[3] ? 1 : 2);
		ck_assert_uint_eq(snap->num_clients, said[3] ? 1 : 2);
		ck_mad_svcs(snap, said[3] ? 1 : 3);
		al_free_snapshot(snap);
		say(fd, said, sizeof(said));
	}
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static void ask_foreigner(int fd, bool may_test, bool may_manage)
{
	al_status said[4];

	ald_configure(&attr);
	say(fd, "", 1);
	hear(fd, said, sizeof(said));
	ck_status(said[0], may_test ? AL_SUCCESS : AL_PERMISSION);
	for (int i = 1; i < 4; i++)
		ck_assert_msg((said[i] != AL_PERMISSION) == may_manage, "%d: %s", i, al_status_name(said[i]));
}

START_TEST(each_right_opens_its_rows_to_whom_it_is_given)
{
	struct agent_grant *test = &attr.grants[RIGHT_TEST], *manage = &attr.grants[RIGHT_MANAGE];
	size_t tested = 0;
	struct maker m;
	pid_t pid;
	int fd[2];

	/* The rights that the foreigner tries; a new right must be added to its calls. */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tested += rows[i] != RIGHT_OWN;
	ck_assert_uint_eq(tested, 3);
	if (geteuid()) {
		printf("SKIP each_right_opens_its_rows_to_whom_it_is_given: needs root to become another user\n");
		return;
	}
	start();
	begin(&m);
	make_all(&m, 0); /* our own user has each right */
	two_ends(fd);
	pid = agent_client("foreigner", fd[1]);
	close(fd[1]);
	ask_foreigner(fd[0], false, false);
	for (int i = 0; i < 2; i++)
		make_mad_svc(m.ca);
	*test = (struct agent_grant){ .num_users = 2, .users = { FOREIGN + 1, FOREIGN } };
	ask_foreigner(fd[0], true, false);
	*test = (struct agent_grant){ .num_users = 1, .users = { FOREIGN + 1 } };
	ask_foreigner(fd[0], false, false);
	/* the first of the foreigner's groups */
	*test = (struct agent_grant){ .num_groups = 1, .groups = { FOREIGN } };
	ask_foreigner(fd[0], true, false);
	/* another of the foreigner's groups */
	*test = (struct agent_grant){ .num_groups = 2, .groups = { 1, FOREIGN + 2 } };
	ask_foreigner(fd[0], true, false);
	*test = (struct agent_grant){ 0 };
	*manage = (struct agent_grant){ .num_users = 1, .users = { FOREIGN } };
	ask_foreigner(fd[0], true, true);
	*manage = (struct agent_grant){ .num_groups = 1, .groups = { FOREIGN + 1 } };
	ask_foreigner(fd[0], true, true);
	*manage = (struct agent_grant){ 0 };
	ask_foreigner(fd[0], false, false);
	close(fd[0]);
	ck_assert_int_eq(wait_for(pid), 0);
	ck_ok(al_close(m.al, AL_DESTROY_SYNC, NULL));
	stop();
}
END_TEST

/* --------------------------------------------------------------------- log */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char logged[64][300];
static uint32_t num_logged;

static void on_log(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	pthread_mutex_lock(&log_lock);
	if (num_logged < 64)
		snprintf(logged[num_logged++], sizeof(logged[0]), "%s", text);
	pthread_mutex_unlock(&log_lock);
}

START_TEST(a_client_is_complained_of_once)
{
	uint32_t found = 0;
	struct maker m;

	start();
	begin(&m);
	attr.limits.client[AL_RESOURCE_PDS] = 1;
	ald_configure(&attr);
	al_set_log(on_log, NULL);
	for (int i = 0; i < 5; i++)
		make_all(&m, 1u << AL_RESOURCE_PDS);
	ck_ok(al_close(m.al, AL_DESTROY_SYNC, NULL));
	stop();
	al_set_log(NULL, NULL);
	for (uint32_t i = 0; i < num_logged; i++)
		found += strstr(logged[i], "is refused more: the client's limit is 1 pds") != NULL;
	ck_assert_uint_eq(found, 1);
}
END_TEST

START_TEST(many_clients_that_are_refused_do_not_fill_the_log)
{
	struct agent_limits limits_now = ald_default_limits;
	static struct account account[40];
	struct timespec before, after;

	limits_now.client[AL_RESOURCE_QPS] = 0;
	account_limits(&limits_now);
	al_set_log(on_log, NULL);
	clock_gettime(CLOCK_MONOTONIC, &before);
	for (int i = 0; i < 40; i++) {
		ck_ok(account_open(&account[i], 100 + i, 7, "some"));
		ck_status(account_charge(&account[i], AL_RESOURCE_QPS, 1), AL_LIMIT_EXCEEDED);
	}
	clock_gettime(CLOCK_MONOTONIC, &after);
	al_set_log(NULL, NULL);
	/* The log has a user's share of ten messages in ten seconds, which is six, and one message
	 * about those that were left out. */
	ck_assert_uint_ge(num_logged, 6);
	ck_assert_uint_le(num_logged,
			  6 + 7 * (uint32_t)((after.tv_sec - before.tv_sec + 10) / 10 - 1));
	for (int i = 0; i < 40; i++)
		account_close(&account[i]);
	account_end();
}
END_TEST

/* When there are many users, those without clients are forgotten; a user with clients stays. */
START_TEST(users_are_remembered_until_there_are_many)
{
	struct account staying = { 0 }, passing;
	struct al_snap_client *shown;
	uint64_t clients, users;

	account_limits(&ald_default_limits);
	ck_ok(account_open(&staying, 1, 1, "stays"));
	ck_ok(account_charge(&staying, AL_RESOURCE_QPS, 3));
	account_return(&staying, AL_RESOURCE_QPS, 3);
	for (uint32_t uid = 2; uid < 3000; uid++) {
		passing = (struct account){ 0 };
		ck_ok(account_open(&passing, 2, uid, "passes"));
		account_close(&passing);
	}
	ck_ok(account_show(true, 0, &shown, &clients, &users));
	ck_assert_uint_eq(clients, 1);
	ck_assert_uint_eq(users, 1024);
	al_free(shown);
	ck_ok(account_show(false, 1, &shown, &clients, &users));
	ck_assert_uint_eq(clients, 1);
	ck_assert_uint_eq(users, 1);
	ck_assert_uint_eq(shown[1].use[AL_RESOURCE_QPS].high, 3);
	ck_assert_uint_eq(shown[1].use[AL_RESOURCE_QPS].now, 0);
	al_free(shown);
	account_close(&staying);
	account_end();
}
END_TEST

/* ----------------------------------------------------------- configuration */

static char conf_file[] = "/tmp/limits_test-XXXXXX";

static void write_conf(const char *text)
{
	int fd = mkstemp(conf_file);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

START_TEST(the_configuration_is_as_it_says)
{
	struct settings s;

	write_conf("# ours\n[ibal]\nlog = debug\n[ald]\nsocket = /run/x\n mode=0660\nclients = 7\nworkers = 3\ndrain = 0\n"
		   "manage = root; @0\ntest = 77;@78 ; 79;\n[ald client]\nobjects = 5\nqps = 6\nbytes = 64M\nrings = 1K\n"
		   "connections = none\n\n[soft]\nwhatever = 1\n[ald user]\nclients = 2\nmrs = 2G\n"
		   "[ald total]\nqps = 99\n[ald]\nshare = 60\n");
	settings_default(&s);
	ck_assert(settings_read(conf_file, &s));
	unlink(conf_file);
	ck_assert_str_eq(s.attr.socket, "/run/x");
	ck_assert_uint_eq(s.attr.mode, 0660);
	ck_assert_uint_eq(s.attr.limits.total[AL_RESOURCE_CLIENTS], 7);
	ck_assert_uint_eq(s.attr.limits.workers, 3);
	ck_assert_uint_eq(s.drain, 0);
	ck_assert_uint_eq(s.attr.grants[RIGHT_MANAGE].num_users, 1);
	ck_assert_uint_eq(s.attr.grants[RIGHT_MANAGE].users[0], 0);
	ck_assert_uint_eq(s.attr.grants[RIGHT_MANAGE].num_groups, 1);
	ck_assert_uint_eq(s.attr.grants[RIGHT_TEST].num_users, 2);
	ck_assert_uint_eq(s.attr.grants[RIGHT_TEST].users[1], 79);
	ck_assert_uint_eq(s.attr.grants[RIGHT_TEST].groups[0], 78);
	ck_assert_uint_eq(s.attr.limits.client[AL_RESOURCE_PDS], 5);
	ck_assert_uint_eq(s.attr.limits.client[AL_RESOURCE_QPS], 6);
	ck_assert_uint_eq(s.attr.limits.client[AL_RESOURCE_BYTES], 64u << 20);
	ck_assert_uint_eq(s.attr.limits.client[AL_RESOURCE_RINGS], 1024);
	ck_assert_uint_eq(s.attr.limits.client[AL_RESOURCE_CONNECTIONS], AGENT_NO_LIMIT);
	ck_assert_uint_eq(s.attr.limits.user[AL_RESOURCE_CLIENTS], 2);
	ck_assert_uint_eq(s.attr.limits.user[AL_RESOURCE_MRS], 2ull << 30);
	ck_assert_uint_eq(s.attr.limits.user[AL_RESOURCE_QPS], AGENT_NO_LIMIT);
	ck_assert_uint_eq(s.attr.limits.total[AL_RESOURCE_QPS], 99);
	ck_assert_uint_eq(s.attr.limits.share, 60);
}
END_TEST

static const struct {
	const char *text; /* behind a correct line */
	const char *says;
} wrong_lines[] = {
	{ "workers = 0", ":3: [ald] workers = 0: must be a number from 1 to 256" },
	{ "workers = 2x", ":3: [ald] workers = 2x: must be" },
	{ "workers = -1", ":3: [ald] workers = -1: must be" },
	{ "clients =", ":3: [ald] clients = : must be" },
	{ "mode = 0888", ":3: [ald] mode = 0888: must be octal digits" },
	{ "mode = 1777", ":3: [ald] mode = 1777: must be octal digits" },
	{ "socket = here", ":3: [ald] socket = here: must be an absolute path" },
	{ "drain = 3601", ":3: [ald] drain = 3601: must be seconds" },
	{ "manage = nobody-of-that-name",
	  ":3: [ald] manage = nobody-of-that-name: must be names of users" },
	{ "test = @nobody-of-that-name", ":3: [ald] test = @nobody-of-that-name: must be" },
	{ "bytes = 5", ":3: [ald] bytes = 5: there is no such key" },
	{ "\n[ald client]\nqps = some",
	  ":5: [ald client] qps = some: must be a number from 0 to 18446744073709551615, also such as 64M, or none" },
	{ "[ald client]\nbytes = 99999999999999999999",
	  ":4: [ald client] bytes = 99999999999999999999: must be" },
	{ "[ald client]\nbytes = 99999999999G", ":4: [ald client] bytes = 99999999999G: must be" },
	{ "[ald client]\nclients = 4", ":4: [ald client] clients = 4: there is no such key" },
	{ "[ald user]\ndrain = 4", ":4: [ald user] drain = 4: there is no such key" },
	{ "[ald total]\nclients = 4", ":4: [ald total] clients = 4: there is no such key" },
	{ "share = 101", ":3: [ald] share = 101: must be a number from 1 to 100" },
	{ "[ald users]", ":3: [ald users] : there is no such group" },
	{ "what is this", ":3: [ald] what is this: is neither" },
};

START_TEST(a_wrong_line_is_named_and_nothing_is_applied)
{
	struct settings s, before;
	char text[256];

	snprintf(text, sizeof(text), "[ald]\ndrain = 77\n%s\n", wrong_lines[_i].text);
	write_conf(text);
	settings_default(&s);
	before = s;
	al_set_log(on_log, NULL);
	ck_assert(!settings_read(conf_file, &s));
	al_set_log(NULL, NULL);
	unlink(conf_file);
	ck_assert_uint_eq(num_logged, 1);
	ck_assert_msg(strstr(logged[0], conf_file) && strstr(logged[0], wrong_lines[_i].says), "\"%s\" is not in \"%s\"",
		      wrong_lines[_i].says, logged[0]);
	ck_assert_mem_eq(&s, &before, sizeof(s));
}
END_TEST

/* The library of every process reads the same file. */
START_TEST(the_agents_groups_are_not_the_librarys)
{
	struct al_open_attr open = { .agent = "off", .config = conf_file };
	al_h al;

	write_conf("[ald]\nworkers = nonsense\n[ald user]\nqps = nonsense\n");
	ck_ok(al_open(&open, &al));
	unlink(conf_file);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = {
		{ "neighbour", neighbour }, { "foreigner", foreigner }, { NULL, NULL },
	};
	Suite *suite;
	TCase *tcase;

	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/limits");
	tcase = tcase_create("limits");
	tcase_add_loop_test(tcase, each_limit_refuses_what_takes_of_it_and_nothing_else_and_charges_nothing, 0, 2);
	tcase_add_test(tcase, objects_beyond_a_new_limit_stay);
	tcase_add_test(tcase, a_queue_that_is_resized_is_charged_for_what_it_has);
	tcase_add_test(tcase, a_membership_is_charged_once_and_until_it_ends);
	tcase_add_test(tcase, a_users_limits_hold_for_all_his_clients_together);
	tcase_add_test(tcase, each_right_opens_its_rows_to_whom_it_is_given);
	tcase_add_test(tcase, a_client_is_complained_of_once);
	tcase_add_test(tcase, many_clients_that_are_refused_do_not_fill_the_log);
	tcase_add_test(tcase, users_are_remembered_until_there_are_many);
	tcase_add_test(tcase, the_configuration_is_as_it_says);
	tcase_add_loop_test(tcase, a_wrong_line_is_named_and_nothing_is_applied, 0,
			    sizeof(wrong_lines) / sizeof(wrong_lines[0]));
	tcase_add_test(tcase, the_agents_groups_are_not_the_librarys);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
