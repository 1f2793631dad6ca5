/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The replacement of libibumad, between the two HCAs of the software module: devices, agents,
 * datagrams, and what comes back. */
#include "al/compat/umad/umad.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/al/al_test.h"

#define VENDOR 0x32
#define LIMIT  60000 /* ms; a datagram that has to come */
#define HEAD   offsetof(struct ib_vendor_mad, data)
#define TID    UINT64_C(0x1122334455667788)

static const uint8_t oui[3] = { 0, 1, 2 };
static char names[UMAD_DEVICES][UMAD_NAME_BYTES];
static struct end {
	int port, agent;
	struct umad_port attr;
} ends[2];

static void set_up(void)
{
	const long set[UMAD_METHOD_LONGS] = { 1 << IB_METHOD_SET };

	ck_assert_int_eq(setenv("IBAL_AGENT", test_agent(), 1), 0);
	ck_assert_int_eq(umad_init(), 0);
	ck_assert_int_eq(umad_get_cas_names(names, UMAD_DEVICES), 2);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(umad_get_port(names[i], 1, &ends[i].attr), 0);
		ends[i].port = umad_open_port(names[i], 1);
		ck_assert_int_ge(ends[i].port, 0);
		ends[i].agent = umad_register_oui(ends[i].port, VENDOR, 1, oui, i ? set : NULL);
		ck_assert_int_ge(ends[i].agent, 0);
	}
}

static void tear_down(void)
{
	for (int i = 0; i < 2; i++) {
		umad_release_port(&ends[i].attr);
		ck_assert_int_eq(umad_close_port(ends[i].port), 0);
	}
	ck_assert_int_eq(umad_done(), 0);
}

/* A buffer with a datagram whose data are made of the seed. long_one: sent by RMPP. */
static struct umad_buffer *buffer_of(uint8_t method, size_t bytes, uint8_t seed, bool long_one)
{
	struct umad_buffer *umad = calloc(1, umad_size() + bytes);
	struct ib_vendor_mad head = { .hdr = { .base_version = 1,
					       .mgmt_class = VENDOR,
					       .class_version = 1,
					       .method = method,
					       .tid = ib_be64_of(TID) } };

	ck_assert_ptr_nonnull(umad);
	if (long_one) {
		head.rmpp.version = 1;
		head.rmpp.resp_time_flags = IB_RMPP_ACTIVE; /* the flags are the low bits */
	}
	memcpy(head.oui.b, oui, sizeof(oui));
	memcpy(umad_get_mad(umad), &head, HEAD);
	for (size_t i = HEAD; i < bytes; i++)
		umad->mad[i] = (uint8_t)(seed + i * 7 + i / 251);
	return umad;
}

static bool is_intact(const struct umad_buffer *umad, size_t bytes, uint8_t seed)
{
	for (size_t i = HEAD; i < bytes; i++)
		if (umad->mad[i] != (uint8_t)(seed + i * 7 + i / 251))
			return false;
	return true;
}

static void send_to(const struct end *from, const struct end *to, struct umad_buffer *umad,
		    size_t bytes, int timeout_ms)
{
	umad_set_addr(umad, (int)to->attr.base_lid, 1, 0, (int)IB_QKEY_WELL_KNOWN);
	ck_assert_int_eq(umad_send(from->port, from->agent, umad, (int)bytes, timeout_ms, 0), 0);
}

static void answer(const struct end *from, const struct umad_buffer *request,
		   struct umad_buffer *umad, size_t bytes)
{
	umad->address = request->address;
	memcpy(umad->mad + offsetof(struct ib_mad_hdr, tid),
	       request->mad + offsetof(struct ib_mad_hdr, tid), 8);
	ck_assert_int_eq(umad_send(from->port, from->agent, umad, (int)bytes, 0, 0), 0);
}

static uint64_t tid_of(const struct umad_buffer *umad)
{
	struct ib_mad_hdr hdr;

	memcpy(&hdr, umad->mad, sizeof(hdr));
	return ib_be64_get(hdr.tid);
}

/* ------------------------------------------------------------------- devices */

START_TEST(devices_have_the_names_and_attributes_of_the_hcas)
{
	struct umad_port port;
	struct umad_ca ca;
	ib_be64 guids[2];
	char name[32];

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(umad_get_ca(names[i], &ca), 0);
		ck_assert_str_eq(names[i], i ? "soft1" : "soft0");
		ck_assert_str_eq(ca.name, names[i]);
		snprintf(name, sizeof(name), "ib%016llx",
			 (unsigned long long)ib_be64_get(ca.node_guid));
		ck_assert_int_eq(umad_get_port(name, 1, &port), 0); /* the GUID is a name, too */
		ck_assert_str_eq(port.ca_name, names[i]);
		ck_assert_int_eq(umad_release_port(&port), 0);
		ck_assert_uint_eq(ca.node_type, 1);
		ck_assert_int_eq(ca.num_ports, 1);
		ck_assert_ptr_null(ca.ports[0]);
		ck_assert_uint_eq(ca.ports[1]->base_lid, (unsigned int)i + 1);
		ck_assert_uint_eq(ca.ports[1]->state, 4);
		ck_assert_uint_eq(ca.ports[1]->phys_state, 5);
		ck_assert_uint_ge(ca.ports[1]->num_pkeys, 1);
		ck_assert_uint_eq(ca.ports[1]->pkeys[0], 0xffff);
		ck_assert_uint_eq(ib_be64_get(ca.ports[1]->gid_prefix),
				  UINT64_C(0xfe80000000000000));
		ck_assert_str_eq(ca.ports[1]->link_layer, "InfiniBand");
		ck_assert_int_eq(umad_get_ca_portguids(names[i], guids, 2), 2);
		ck_assert_uint_eq(ib_be64_get(guids[0]), 0);
		ck_assert_mem_eq(&guids[1], &ca.ports[1]->port_guid, sizeof(guids[1]));
		ck_assert_int_lt(umad_get_ca_portguids(names[i], guids, 1), 0);
		ck_assert_int_eq(umad_release_ca(&ca), 0);
	}
	ck_assert_int_eq(umad_get_cas_names(names, 1), 1);
	/* no name: an active port */
	ck_assert_int_eq(umad_get_port(NULL, 0, &port), 0);
	ck_assert_str_eq(port.ca_name, names[0]);
	ck_assert_int_eq(umad_release_port(&port), 0);
	ck_assert_int_lt(umad_get_port("mlx5_0", 1, &port), 0);
	ck_assert_int_lt(umad_get_port(names[0], 2, &port), 0);
	ck_assert_int_lt(umad_open_port(names[0], 99), 0);
}
END_TEST

START_TEST(the_view_is_chosen_by_guids)
{
	char guids[2][20], both[64], found[4][UMAD_NAME_BYTES];
	struct umad_ca ca;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(umad_get_ca(names[i], &ca), 0);
		snprintf(guids[i], sizeof(guids[i]), "%016llx",
			 (unsigned long long)ib_be64_get(ca.node_guid));
		ck_assert_int_eq(umad_release_ca(&ca), 0);
	}
	snprintf(both, sizeof(both), "0x%s,%s", guids[1], guids[0]);
	setenv("IBAL_UMAD_CAS", guids[1], 1);
	ck_assert_int_eq(umad_get_cas_names(found, 4), 1);
	ck_assert_str_eq(found[0], names[1]);
	setenv("IBAL_UMAD_CAS", both, 1);
	ck_assert_int_eq(umad_get_cas_names(found, 4), 2);
	setenv("IBAL_UMAD_CAS", "0x1", 1);
	ck_assert_int_eq(umad_get_cas_names(found, 4), 0);
	setenv("IBAL_UMAD_CAS", "nonsense", 1);
	ck_assert_int_eq(umad_get_cas_names(found, 4), 0);
	setenv("IBAL_UMAD_CAS", "", 1);
	ck_assert_int_eq(umad_get_cas_names(found, 4), 2);
}
END_TEST

START_TEST(a_list_of_devices_is_sorted)
{
	struct umad_device_node c = { NULL, "c" }, a = { &c, "a" }, b = { &a, "b" }, *head = &b,
				*list;

	ck_assert_int_eq(umad_sort_ca_device_list(&head, 0), 0);
	ck_assert_ptr_eq(head, &a);
	ck_assert_ptr_eq(a.next, &b);
	ck_assert_ptr_eq(b.next, &c);
	ck_assert_ptr_null(c.next);
	list = umad_get_ca_device_list();
	ck_assert_ptr_nonnull(list);
	ck_assert_str_eq(list->name, names[0]);
	ck_assert_str_eq(list->next->name, names[1]);
	ck_assert_ptr_null(list->next->next);
	umad_free_ca_device_list(list);
}
END_TEST

/* ----------------------------------------------------------------------- IsSM */

static bool has_issm(int i)
{
	struct umad_port port;
	uint32_t caps;

	ck_assert_int_eq(umad_get_port(names[i], 1, &port), 0);
	caps = ib_be32_get(port.cap_mask);
	ck_assert_int_eq(umad_release_port(&port), 0);
	return caps & IB_PORT_CAP_SM;
}

static void await_issm(int i, bool want)
{
	struct timespec limit = test_deadline();

	while (has_issm(i) != want)
		ck_assert_msg(!test_expired(&limit), "the port keeps IsSM %d", !want);
}

/* Opens the file as OpenSM does. */
static int open_issm(const char *path)
{
	int fd = open(path, O_NONBLOCK);

	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(the_file_of_issm_is_a_fifo_that_opens_at_once)
{
	char path[256];
	struct stat file;

	ck_assert_int_eq(umad_get_issm_path(names[0], 1, path, sizeof(path)), 0);
	ck_assert_int_eq(lstat(path, &file), 0);
	ck_assert(S_ISFIFO(file.st_mode));
	ck_assert_int_eq(file.st_mode & 0777, 0600);
	close(open_issm(path));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_lt(umad_get_issm_path(names[0], 1, path, 5), 0);
}
END_TEST

START_TEST(a_port_has_issm_while_a_program_has_the_file_open)
{
	int first, second;
	char path[256];

	for (int again = 0; again < 2; again++) {
		ck_assert_int_eq(umad_get_issm_path(names[1], 1, path, sizeof(path)), 0);
		ck_assert(!has_issm(1));
		first = open_issm(path);
		await_issm(1, true);
		second = open_issm(path);
		close(first);
		ck_assert(has_issm(1));
		ck_assert(!has_issm(0));
		/* the path is asked for again while the file is open */
		ck_assert_int_eq(umad_get_issm_path(names[1], 1, path, sizeof(path)), 0);
		ck_assert(has_issm(1));
		close(second);
		await_issm(1, false);
	}
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* Two ports, and a program that dies. */
START_TEST(issm_ends_with_the_program_that_has_the_file_open)
{
	char paths[2][256];
	int mine;
	pid_t pid;

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(umad_get_issm_path(names[i], 1, paths[i], sizeof(paths[i])), 0);
	mine = open_issm(paths[0]);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		close(mine);
		mine = open_issm(paths[1]);
		for (;;)
			pause();
	}
	await_issm(0, true);
	await_issm(1, true);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	await_issm(1, false);
	ck_assert(has_issm(0));
	close(mine);
	await_issm(0, false);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(unlink(paths[i]), 0);
}
END_TEST

START_TEST(a_new_file_of_issm_is_watched_too)
{
	char path[256];
	int old, new;

	ck_assert_int_eq(umad_get_issm_path(names[0], 1, path, sizeof(path)), 0);
	old = open_issm(path);
	await_issm(0, true);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(umad_get_issm_path(names[0], 1, path, sizeof(path)), 0);
	ck_assert(has_issm(0));
	close(old);
	await_issm(0, false);
	new = open_issm(path);
	await_issm(0, true);
	close(new);
	await_issm(0, false);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(a_file_at_the_path_of_issm_that_is_no_fifo_is_refused)
{
	char path[256], target[sizeof(path) + 8];

	ck_assert_int_eq(umad_get_issm_path(names[0], 1, path, sizeof(path)), 0);
	snprintf(target, sizeof(target), "%s.target", path);
	ck_assert_int_eq(rename(path, target), 0);
	ck_assert_int_eq(symlink(target, path), 0);
	ck_assert_int_eq(umad_get_issm_path(names[0], 1, path, sizeof(path)), -EPERM);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(unlink(target), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(umad_get_issm_path(names[0], 1, path, sizeof(path)), -EPERM);
	ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

/* -------------------------------------------------------------------- buffers */

START_TEST(an_address_lies_in_the_buffer_as_programs_expect)
{
	static const uint8_t want[44] = {
		0, 0, 0,    1,    0x80, 1, 0, 0, /* queue pair, Q_Key */
		0, 7, 3,    0,                   /* LID, SL, path bits */
		1, 5, 64,   9,                   /* GRH, GID index, hop limit, traffic class */
		1, 2, 3,    4,    5,    6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, /* GID */
		0, 0, 0x12, 0x34,                                               /* flow label */
	};
	struct umad_address grh = { .gid_index = 5, .hop_limit = 64, .traffic_class = 9 };
	uint8_t buffer[64] = { 0 };
	const uint32_t flow_label = 0x1234; /* the caller's is in host byte order */
	uint16_t pkey = 2;

	memcpy(&grh.flow_label, &flow_label, sizeof(flow_label));
	for (int i = 0; i < 16; i++)
		grh.gid[i] = (uint8_t)(i + 1);
	ck_assert_uint_eq(umad_size(), 64);
	ck_assert_ptr_eq(umad_get_mad(buffer), buffer + 64);
	ck_assert_ptr_eq(umad_get_mad_addr(buffer), buffer + 20);
	umad_set_addr(buffer, 7, 1, 3, (int)0x80010000);
	umad_set_grh(buffer, &grh);
	ck_assert_mem_eq(buffer + 20, want, 36);
	umad_set_pkey(buffer, 2);
	ck_assert_mem_eq(buffer + 56, &pkey, 2);
	ck_assert_int_eq(umad_get_pkey(buffer), 2);
	umad_set_grh(buffer, NULL);
	ck_assert_uint_eq(buffer[32], 0);
	memset(buffer, 0, sizeof(buffer));
	umad_set_addr_net(buffer, __builtin_bswap16(7), __builtin_bswap32(1), 3,
			  __builtin_bswap32(0x80010000));
	ck_assert_mem_eq(buffer + 20, want, 12);
}
END_TEST

/* ------------------------------------------------------------------- datagrams */

/* _i: by blocking, or by polling the descriptor */
START_TEST(a_request_is_answered)
{
	struct pollfd fd = { .fd = umad_get_fd(ends[1].port), .events = POLLIN };
	struct umad_buffer *request = buffer_of(IB_METHOD_SET, 256, 1, false),
			   *got = buffer_of(0, 256, 0, false);
	struct umad_buffer *reply = buffer_of(IB_METHOD_GET_RESP, 256, 2, false);
	int length = 256;

	ck_assert_int_eq(umad_recv(ends[1].port, got, &length, 0), -EWOULDBLOCK);
	ck_assert_int_eq(umad_recv(ends[1].port, got, &length, 1), -ETIMEDOUT);
	ck_assert_int_eq(umad_poll(ends[1].port, 0), -ETIMEDOUT);
	send_to(&ends[0], &ends[1], request, 256, LIMIT);
	if (_i) {
		ck_assert_int_eq(poll(&fd, 1, LIMIT), 1);
		ck_assert_int_eq(umad_poll(ends[1].port, 0), 0);
	}
	ck_assert_int_eq(umad_recv(ends[1].port, got, &length, _i ? 0 : -1), ends[1].agent);
	ck_assert_int_eq(length, 256);
	ck_assert_uint_eq(got->length, 64 + 256);
	ck_assert_int_eq(umad_status(got), 0);
	ck_assert_uint_eq(ib_be16_get(got->address.lid), ends[0].attr.base_lid);
	ck_assert_uint_eq(ib_be32_get(got->address.qpn), 1);
	ck_assert(is_intact(got, 256, 1));
	answer(&ends[1], got, reply, 256);
	ck_assert_int_eq(umad_recv(ends[0].port, got, &length, LIMIT), ends[0].agent);
	ck_assert_uint_eq(tid_of(got), TID);
	ck_assert_int_eq(umad_status(got), 0);
	ck_assert(is_intact(got, 256, 2));
	free(request);
	free(reply);
	free(got);
}
END_TEST

START_TEST(a_long_datagram_waits_for_a_buffer_that_is_long_enough)
{
	enum { REQUEST = 5000, REPLY = 100000 };
	struct umad_buffer *request = buffer_of(IB_METHOD_SET, REQUEST, 1, true),
			   *got = buffer_of(0, REPLY, 0, false);
	struct umad_buffer *reply = buffer_of(IB_METHOD_GET_RESP, REPLY, 2, true);
	int length = 256;

	send_to(&ends[0], &ends[1], request, REQUEST, LIMIT);
	ck_assert_int_eq(umad_recv(ends[1].port, got, &length, LIMIT), -ENOSPC);
	ck_assert_int_eq(length, REQUEST);
	ck_assert_int_eq(errno, ENOSPC);
	length = REQUEST - 1;
	ck_assert_int_eq(umad_recv(ends[1].port, got, &length, LIMIT), -ENOSPC);
	ck_assert_int_eq(length, REQUEST);
	ck_assert_int_eq(umad_recv(ends[1].port, got, &length, LIMIT), ends[1].agent);
	ck_assert(is_intact(got, REQUEST, 1));
	answer(&ends[1], got, reply, REPLY);
	length = 256;
	ck_assert_int_eq(umad_recv(ends[0].port, got, &length, LIMIT), -ENOSPC);
	ck_assert_int_eq(length, REPLY);
	ck_assert_int_eq(umad_recv(ends[0].port, got, &length, LIMIT), ends[0].agent);
	ck_assert_int_eq(length, REPLY);
	ck_assert_uint_eq(tid_of(got), TID);
	ck_assert(is_intact(got, REPLY, 2));
	free(request);
	free(reply);
	free(got);
}
END_TEST

START_TEST(a_request_without_an_answer_comes_back_with_its_status)
{
	struct umad_buffer *request = buffer_of(IB_METHOD_SET, 256, 1, false),
			   *got = buffer_of(0, 256, 0, false);
	int length = 256;

	send_to(&ends[0], &ends[1], request, 256, 5);
	ck_assert_int_eq(umad_recv(ends[0].port, got, &length, LIMIT), ends[0].agent);
	ck_assert_int_eq(umad_status(got), ETIMEDOUT);
	ck_assert_int_eq(ETIMEDOUT, 110);
	ck_assert_int_eq(length, 256);
	ck_assert_uint_eq(tid_of(got), TID);
	ck_assert_mem_eq(got->mad, request->mad, 256);
	/* one that expects no answer does not come back */
	send_to(&ends[0], &ends[1], request, 256, 0);
	ck_assert_int_eq(umad_recv(ends[1].port, got, &length, LIMIT), ends[1].agent);
	ck_assert_int_eq(umad_recv(ends[1].port, got, &length, LIMIT), ends[1].agent);
	ck_assert_int_eq(umad_recv(ends[0].port, got, &length, 0), -EWOULDBLOCK);
	free(request);
	free(got);
}
END_TEST

START_TEST(an_agent_sends_in_other_classes_too)
{
	struct umad_buffer *request = buffer_of(IB_METHOD_SET, 256, 1, false),
			   *got = buffer_of(0, 256, 0, false);
	const long set[UMAD_METHOD_LONGS] = { 1 << IB_METHOD_SET };
	int length = 256, agent = umad_register(ends[1].port, 0x0a, 1, 0, set);

	ck_assert_int_ge(agent, 0);
	request->mad[1] = 0x0a;
	send_to(&ends[0], &ends[1], request, 256, 0);
	ck_assert_int_eq(umad_recv(ends[1].port, got, &length, LIMIT), agent);
	ck_assert_uint_eq(got->mad[1], 0x0a);
	free(request);
	free(got);
}
END_TEST

static void *receive(void *started)
{
	struct umad_buffer *got = buffer_of(0, 256, 0, false);
	int length;

	pthread_cleanup_push(free, got);
	sem_post(started);
	for (;;) {
		length = 256;
		umad_recv(ends[1].port, got, &length, -1);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

/* As OpenSM's vendor library does: the thread is cancelled in a call that blocks. _i: in a call
 * that has taken datagrams before. */
START_TEST(a_receiver_that_is_cancelled_holds_no_lock)
{
	struct umad_buffer *request = buffer_of(IB_METHOD_SET, 256, 1, false);
	pthread_t thread;
	sem_t started;
	void *result;

	sem_init(&started, 0, 0);
	for (int round = 0; round < 50; round++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, receive, &started), 0);
		test_wait(&started);
		for (int i = 0; i < _i * (round % 8); i++)
			send_to(&ends[0], &ends[1], request, 256, 0);
		ck_assert_int_eq(pthread_cancel(thread), 0);
		ck_assert_int_eq(pthread_join(thread, &result), 0);
		ck_assert_ptr_eq(result, PTHREAD_CANCELED);
		ck_assert_int_eq(umad_unregister(ends[1].port, 9), -EINVAL); /* takes the lock */
	}
	free(request);
}
END_TEST

/* --------------------------------------------------------------------- agents */

START_TEST(a_port_has_32_agents_which_end_with_it)
{
	struct umad_registration attr = { .mgmt_class = VENDOR,
					  .class_version = 1,
					  .oui = 0x000102,
					  .rmpp_version = 1,
					  .methods = { 1 << IB_METHOD_SET } };
	const long set[UMAD_METHOD_LONGS] = { 1 << IB_METHOD_SET };
	uint32_t id;

	/* another agent has the method */
	ck_assert_int_eq(umad_register_oui(ends[1].port, VENDOR, 1, oui, set), -EPERM);
	ck_assert_int_gt(umad_register2(ends[1].port, &attr, &id), 0);
	ck_assert_int_eq(umad_register_oui(ends[1].port, 0x0a, 1, oui, NULL), -EINVAL);
	ck_assert_int_eq(umad_register(ends[1].port, 0x32, 0, 0, NULL), -EINVAL);
	ck_assert_int_eq(umad_unregister(ends[1].port, ends[1].agent), 0);
	ck_assert_int_eq(umad_unregister(ends[1].port, ends[1].agent), -EINVAL);
	attr.flags = UMAD_USER_RMPP;
	ck_assert_int_eq(umad_register2(ends[1].port, &attr, &id), 0);
	attr.flags = 2;
	ck_assert_int_eq(umad_register2(ends[1].port, &attr, &id), EINVAL);
	for (int i = 1; i < UMAD_AGENTS; i++)
		ck_assert_int_eq(umad_register(ends[1].port, 0x0a, 1, 0, NULL), i);
	ck_assert_int_eq(umad_register(ends[1].port, 0x0a, 1, 0, NULL), -EPERM);
	ck_assert_int_eq(umad_unregister(ends[1].port, 7), 0);
	ck_assert_int_eq(umad_register(ends[1].port, 0x0a, 1, 0, NULL), 7);
	ck_assert_int_eq(umad_register(12345, 0x0a, 1, 0, NULL), -EINVAL);
	ck_assert_int_eq(umad_close_port(12345), -EINVAL);
}
END_TEST

START_TEST(what_has_no_agent_is_not_sent)
{
	struct umad_buffer *request = buffer_of(IB_METHOD_SET, 256, 1, false);

	ck_assert_int_eq(umad_send(ends[0].port, 31, request, 256, 0, 0), -EINVAL);
	ck_assert_int_eq(umad_send(ends[0].port, -1, request, 256, 0, 0), -EINVAL);
	ck_assert_int_eq(umad_send(ends[0].port, UMAD_AGENTS, request, 256, 0, 0), -EINVAL);
	ck_assert_int_eq(umad_send(ends[0].port, ends[0].agent, request, 23, 0, 0), -EINVAL);
	ck_assert_int_eq(umad_send(12345, 0, request, 256, 0, 0), -EINVAL);
	free(request);
}
END_TEST

START_TEST(texts_are_texts)
{
	ck_assert_str_eq(umad_class_str(0x03), "subnet administration");
	ck_assert_str_eq(umad_class_str(0x33), "vendor with OUI");
	ck_assert_str_eq(umad_method_str(0x03, 0x92), "GetTableResp");
	ck_assert_str_eq(umad_attribute_str(0x03, __builtin_bswap16(0x35)), "PathRecord");
	ck_assert_str_eq(umad_attribute_str(0x81, __builtin_bswap16(0x15)), "PortInfo");
	ck_assert_str_eq(umad_attribute_str(0x81, 0xffff), "unknown");
	ck_assert_str_eq(umad_common_mad_status_str(__builtin_bswap16(0x0c)),
			 "method and attribute are not supported together");
	ck_assert_str_eq(umad_common_mad_status_str(__builtin_bswap16(1)), "busy");
	ck_assert_str_eq(umad_sa_mad_status_str(__builtin_bswap16(0x0300)), "there are no records");
	ck_assert_str_eq(umad_sa_mad_status_str(0xffff), "unknown");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("umad");
	TCase *tcase = tcase_create("two HCAs");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, devices_have_the_names_and_attributes_of_the_hcas);
	tcase_add_test(tcase, the_view_is_chosen_by_guids);
	tcase_add_test(tcase, a_list_of_devices_is_sorted);
	tcase_add_test(tcase, the_file_of_issm_is_a_fifo_that_opens_at_once);
	tcase_add_test(tcase, a_port_has_issm_while_a_program_has_the_file_open);
	tcase_add_test(tcase, issm_ends_with_the_program_that_has_the_file_open);
	tcase_add_test(tcase, a_new_file_of_issm_is_watched_too);
	tcase_add_test(tcase, a_file_at_the_path_of_issm_that_is_no_fifo_is_refused);
	tcase_add_test(tcase, an_address_lies_in_the_buffer_as_programs_expect);
	tcase_add_loop_test(tcase, a_request_is_answered, 0, 2);
	tcase_add_test(tcase, a_long_datagram_waits_for_a_buffer_that_is_long_enough);
	tcase_add_test(tcase, a_request_without_an_answer_comes_back_with_its_status);
	tcase_add_test(tcase, an_agent_sends_in_other_classes_too);
	tcase_add_loop_test(tcase, a_receiver_that_is_cancelled_holds_no_lock, 0, 2);
	tcase_add_test(tcase, a_port_has_32_agents_which_end_with_it);
	tcase_add_test(tcase, what_has_no_agent_is_not_sent);
	tcase_add_test(tcase, texts_are_texts);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
