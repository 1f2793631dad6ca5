/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_cp's channel driver in a test's process, between software HCAs. Calls of the library do what the test wants:
 * fail, count too little, or report an event that no peer has caused. al_cp from the user's side is in
 * test/e2e/al_cp.sh.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utime.h>

#include "al/tools/cp_meet.h"
#include "al/tools/cp_rdma.h"
#include "al/tools/tool.h"
#include "test/unit/al/al_test.h"

/* ------------------------------------------------------------- the library */

/* The call that fails: the function, and the number of its calls. */
static struct {
	const char *name;
	guint after; /* calls that succeed before */
	gboolean met;
} fault;

static gboolean fails(const char *name)
{
	if (g_strcmp0(fault.name, name) || fault.met || fault.after--)
		return FALSE;
	fault.met = TRUE;
	return TRUE;
}

/* The linker puts __wrap_NAME in the place of NAME (test/local.mk). */
#define WRAP(name, params, args)                                                   \
	al_status __real_##name params;                                            \
	al_status __wrap_##name params;                                            \
	al_status __wrap_##name params                                             \
	{                                                                          \
		return fails(#name) ? AL_INSUFFICIENT_RESOURCES : __real_##name args; \
	}

#define WRAPPED(X) \
	X(al_open_ca, (al_h al, uint64_t guid, void *context, al_ca_h *ca), (al, guid, context, ca)) \
	X(al_query_ca, (al_ca_h ca, struct ib_ca_attr *attr), (ca, attr)) \
	X(al_alloc_pd, (al_ca_h ca, void *context, al_pd_h *pd), (ca, context, pd)) \
	X(al_dma_alloc_coherent, (al_ca_h ca, uint64_t bytes, void **memory, uint64_t *dma), (ca, bytes, memory, dma)) \
	X(al_reg_mr, (al_pd_h pd, const struct al_mr_init *init, void *context, uint32_t *lkey, uint32_t *rkey, al_mr_h *mr), \
	  (pd, init, context, lkey, rkey, mr)) \
	X(al_create_cq, (al_pd_h pd, struct al_cq_init *init, void *context, al_comp_cb cb, al_event_cb event_cb, al_cq_h *cq), \
	  (pd, init, context, cb, event_cb, cq)) \
	X(al_create_qp, (al_pd_h pd, struct al_qp_init *init, void *context, al_event_cb cb, al_qp_h *qp), \
	  (pd, init, context, cb, qp)) \
	X(al_qp_num, (al_qp_h qp, uint32_t *qpn), (qp, qpn)) \
	X(al_connect_qp, (al_qp_h qp, const struct al_qp_card *mine, const struct al_qp_card *peer, \
			  const struct al_connect_opt *opt), (qp, mine, peer, opt)) \
	X(al_post_recv, (al_qp_h qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad), (qp, wr, bad)) \
	X(al_post_send, (al_qp_h qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad), (qp, wr, bad)) \
	X(al_arm_cq, (al_cq_h cq, al_arm arm, bool *missed), (cq, arm, missed)) \
	X(al_channel_fd, (al_channel_h channel, int *fd), (channel, fd)) \
	X(al_create_channel, (al_h al, void *context, al_channel_h *channel), (al, context, channel)) \
	X(al_get_ca_guids, (al_h al, uint64_t *guids, size_t *count), (al, guids, count))
WRAPPED(WRAP)

/* The growth that the ports' counters report: the sending end's and the receiving end's. */
static struct {
	gboolean on;
	guint64 xmit, rcv;
	guint calls;
} counted;

/* A port that is down, by HCA and number. */
static struct {
	guint64 guid;
	guint8 port_num;
} down;

al_status __real_al_query_port(al_ca_h ca, uint8_t port_num, struct ib_port_attr *attr);
al_status __wrap_al_query_port(al_ca_h ca, uint8_t port_num, struct ib_port_attr *attr);
al_status __wrap_al_query_port(al_ca_h ca, uint8_t port_num, struct ib_port_attr *attr)
{
	struct ib_ca_attr hca;
	al_status st = fails("al_query_port") ? AL_INSUFFICIENT_RESOURCES :
						__real_al_query_port(ca, port_num, attr);

	if (st || __real_al_query_ca(ca, &hca))
		return st;
	if (hca.node_guid == down.guid && port_num == down.port_num)
		attr->state = IB_PORT_DOWN;
	if (counted.on) { /* choosing queries each port, and opening queries each end's port; then come the results */
		attr->counters.xmit_bytes = counted.calls < 4 ? 5 : 5 + counted.xmit;
		attr->counters.rcv_bytes = counted.calls < 4 ? 7 : 7 + counted.rcv;
		counted.calls++;
	}
	return st;
}

/* Changes the first completion of a write at the far end. */
static void (*change)(struct ib_wc *wc);

al_status __real_al_poll_cq(al_cq_h cq, uint32_t count, struct ib_wc *wc, uint32_t *polled);
al_status __wrap_al_poll_cq(al_cq_h cq, uint32_t count, struct ib_wc *wc, uint32_t *polled);
al_status __wrap_al_poll_cq(al_cq_h cq, uint32_t count, struct ib_wc *wc, uint32_t *polled)
{
	al_status st = fails("al_poll_cq") ? AL_INSUFFICIENT_RESOURCES : __real_al_poll_cq(cq, count, wc, polled);

	for (uint32_t i = 0; !st && i < *polled; i++) {
		if (!change || wc[i].opcode != IB_WC_RECV_RDMA_WITH_IMM)
			continue;
		change(&wc[i]);
		change = NULL;
	}
	return st;
}

/* ---------------------------------------------------------------- a copy */

#define SIZE 10000

static char *dir, *source, *dest;
static atomic_int complaints; /* messages of the library */

static void count_complaints(void *context, ib_log_level level, const char *text)
{
	(void)context;
	if (level > IB_LOG_WARNING)
		return;
	fprintf(stderr, "%s\n", text);
	complaints++;
}

static void set_up(void)
{
	g_autofree char *data = g_malloc(SIZE);

	for (guint i = 0; i < SIZE; i++)
		data[i] = (char)(i * 7 + i / 256);
	dir = g_dir_make_tmp("cp_test.XXXXXX", NULL);
	source = g_build_filename(dir, "source", NULL);
	dest = g_build_filename(dir, "dest", NULL);
	ck_assert(g_file_set_contents(source, data, SIZE, NULL));
	al_set_log(count_complaints, NULL);
	g_setenv("IBAL_AGENT", "off", TRUE);
}

static guint files_there(void)
{
	GDir *d = g_dir_open(dir, 0, NULL);
	guint n = 0;

	while (g_dir_read_name(d))
		n++;
	g_dir_close(d);
	return n;
}

static void tear_down(void)
{
	g_remove(source);
	g_remove(dest);
	ck_assert_msg(!g_rmdir(dir), "something was left in %s", dir);
	g_free(source);
	g_free(dest);
	g_free(dir);
}

static void no_progress(const struct cp_job *job)
{
	(void)job;
}

static struct cp_job new_job(void)
{
	return (struct cp_job){
		.src.fd = -1,
		.dest.fd = -1,
		.dest_path = dest,
		.near.here = TRUE,
		.far.here = TRUE,
		.listener = -1,
		.peer = -1,
		.chunk = 1024,
		.window = 4,
		.flip = -1,
		.quiet = TRUE,
		.progress = no_progress,
	};
}

/* True: the copy exists and is right. False: the copy does not exist, and the error says why. */
static gboolean copies(struct cp_job *job, GError **err)
{
	g_autofree char *from = NULL, *to = NULL;
	gsize length;
	gboolean copied;

	ck_assert(cp_source_open(&job->src, source, err));
	copied = cp_transfer(job, err);
	cp_dest_close(&job->dest);
	cp_source_close(&job->src);
	g_free(job->sha256);
	ck_assert_int_eq(complaints, 0);
	if (copied) {
		ck_assert(g_file_get_contents(source, &from, NULL, NULL));
		ck_assert(g_file_get_contents(dest, &to, &length, NULL));
		ck_assert_uint_eq(length, SIZE);
		ck_assert_mem_eq(from, to, SIZE);
		g_remove(dest);
	}
	ck_assert_uint_eq(files_there(), 1);
	ck_assert(copied == !(err && *err));
	return copied;
}

static void ck_refuses(struct cp_job *job, const char *pattern)
{
	g_autoptr(GError) err = NULL;

	ck_assert_msg(!copies(job, &err), "there was to be: %s", pattern);
	ck_assert_msg(g_regex_match_simple(pattern, err->message, 0, 0), "\"%s\" is not in: %s", pattern, err->message);
}

/* ------------------------------------------------------------------ tests */

START_TEST(a_copy_that_a_port_did_not_count_is_none)
{
	static const struct {
		guint64 xmit, rcv;
		gboolean good;
	} cases[] = {
		{ SIZE, SIZE, TRUE },
		{ SIZE - 1, SIZE, FALSE },
		{ SIZE, SIZE - 1, FALSE },
		{ 0, 2 * SIZE, FALSE },
		{ 2 * SIZE, 0, FALSE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct cp_job job = new_job();

		counted.on = TRUE;
		counted.calls = 0;
		counted.xmit = cases[i].xmit;
		counted.rcv = cases[i].rcv;
		if (cases[i].good)
			ck_assert(copies(&job, NULL));
		else
			ck_refuses(&job, "ports did not count the file's 10000 bytes of data");
	}
}
END_TEST

START_TEST(a_call_that_fails_is_said_and_leaves_nothing)
{
#define NAME(name, params, args) #name,
	static const char *const names[] = { WRAPPED(NAME) "al_query_port", "al_poll_cq" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		guint failed = 0;

		for (guint after = 0; after < 8; after++) {
			struct cp_job job = new_job();
			g_autoptr(GError) err = NULL;

			fault.name = names[i];
			fault.after = after;
			fault.met = FALSE;
			if (!copies(&job, &err)) {
				ck_assert_msg(fault.met, "%s: %s", names[i], err->message);
				ck_assert_msg(strstr(err->message, al_status_str(AL_INSUFFICIENT_RESOURCES)), "%s: %s", names[i],
					      err->message);
				failed++;
			}
		}
		ck_assert_msg(failed || !strcmp(names[i], "al_arm_cq") || !strcmp(names[i], "al_channel_fd"),
			      "%s never failed", names[i]);
	}
}
END_TEST

static void no_such_slot(struct ib_wc *wc)
{
	wc->imm_data = 4;
}

static void too_much(struct ib_wc *wc)
{
	wc->byte_len = 1025;
}

static void more_than_the_file(struct ib_wc *wc)
{
	wc->byte_len = SIZE + 1;
}

static void a_hole(struct ib_wc *wc, guint32 len)
{
	wc->opcode = IB_WC_RECV;
	wc->wc_flags = IB_WC_WITH_IMM;
	wc->imm_data = len;
}

static void a_hole_too_large(struct ib_wc *wc)
{
	a_hole(wc, (16u << 20) + 1);
}

static void a_hole_beyond_the_end(struct ib_wc *wc)
{
	a_hole(wc, SIZE + 1);
}

static void a_hole_for_data(struct ib_wc *wc)
{
	a_hole(wc, 1024);
}

static void an_early_end(struct ib_wc *wc)
{
	wc->opcode = IB_WC_RECV;
	wc->wc_flags = 0;
}

static void an_error(struct ib_wc *wc)
{
	wc->status = IB_WC_RETRY_EXC_ERR;
}

START_TEST(what_no_sender_can_have_sent_is_refused)
{
	static const struct {
		void (*change)(struct ib_wc *wc);
		gsize chunk;
		const char *pattern;
	} cases[] = {
		{ no_such_slot, 1024, "announces slot 4 with 1024 bytes" },
		{ too_much, 1024, "announces slot 0 with 1025 bytes" },
		{ more_than_the_file, 2 * SIZE, "more comes than the 10000 bytes of" },
		{ a_hole_too_large, 1024, "announces a hole of 16777217 bytes in one message" },
		{ a_hole_beyond_the_end, 1024, "more comes than the 10000 bytes of" },
		{ a_hole_for_data, 1024, "does not hold what" },
		{ an_early_end, 1024, "the near end sends more after the end of" },
		{ an_error, 1024, "HCA 0x\\w+ could not reach HCA 0x\\w+: transport retry counter exceeded" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct cp_job job = new_job();

		job.chunk = cases[i].chunk;
		change = cases[i].change;
		ck_refuses(&job, cases[i].pattern);
		ck_assert(!change);
	}
}
END_TEST

START_TEST(a_signal_ends_it_before_anything_is_made)
{
	struct cp_job job = new_job();

	tool_interrupted = SIGINT;
	ck_refuses(&job, "^interrupted at .*dest; nothing was left behind$");
	tool_interrupted = 0;
}
END_TEST

/* Another program writes to the source while it is copied; its first chunks have been read. */
static void write_to_source(const char *data, goffset at)
{
	FILE *file = fopen(source, "r+");

	ck_assert(file && !fseek(file, at, SEEK_SET) && fputs(data, file) >= 0 && !fclose(file));
}

static void change_source(const struct cp_job *job)
{
	if (!job->compared)
		write_to_source("changed", 0);
}

static void append_to_source(const struct cp_job *job)
{
	if (!job->compared)
		write_to_source("appended", SIZE);
}

static void make_source_old(void)
{
	struct utimbuf old = { 1, 1 };

	ck_assert(!g_utime(source, &old));
}

START_TEST(a_source_that_changes_is_refused)
{
	struct cp_job job = new_job();

	make_source_old();
	job.progress = change_source;
	ck_refuses(&job, "source changed while it was copied: copy it when no process writes to it$");
}
END_TEST

START_TEST(a_source_that_grows_is_copied_as_it_was)
{
	struct cp_job job = new_job();
	g_autofree char *copy = NULL;
	gsize length;

	make_source_old();
	job.progress = append_to_source;
	ck_assert(cp_source_open(&job.src, source, NULL));
	ck_assert(cp_transfer(&job, NULL));
	cp_dest_close(&job.dest);
	cp_source_close(&job.src);
	g_free(job.sha256);
	ck_assert(g_file_get_contents(dest, &copy, &length, NULL));
	ck_assert_uint_eq(length, SIZE);
}
END_TEST

static guint calls, calls_at_end;

static void watch_progress(const struct cp_job *job)
{
	ck_assert_uint_le(job->checked, job->received);
	ck_assert(job->compared == g_file_test(dest, G_FILE_TEST_EXISTS));
	calls++;
	if (!job->compared)
		return;
	ck_assert_uint_eq(job->checked, SIZE);
	calls_at_end++;
}

START_TEST(the_copy_is_complete_when_its_digests_were_compared)
{
	struct cp_job job = new_job();

	job.progress = watch_progress;
	ck_assert(copies(&job, NULL));
	ck_assert_uint_eq(calls_at_end, 1);
	ck_assert_uint_gt(calls, 1);
	job = new_job();
	job.progress = watch_progress;
	job.flip = 5;
	ck_refuses(&job, "does not hold what");
	ck_assert_uint_eq(calls_at_end, 1);
}
END_TEST

/* Another program makes a directory at the copy's path. */
static void make_obstacle(const struct cp_job *job)
{
	(void)job;
	g_mkdir(dest, 0700);
}

START_TEST(a_place_that_is_taken_meanwhile_is_said)
{
	struct cp_job job = new_job();
	g_autoptr(GError) err = NULL;

	job.progress = make_obstacle;
	ck_assert(cp_source_open(&job.src, source, &err));
	ck_assert(!cp_transfer(&job, &err));
	cp_dest_close(&job.dest);
	cp_source_close(&job.src);
	g_free(job.sha256);
	ck_assert_ptr_nonnull(strstr(err->message, "cannot be written: Is a directory; nothing was left there"));
	ck_assert_uint_eq(files_there(), 2);
	g_rmdir(dest);
}
END_TEST

START_TEST(a_file_that_shrinks_has_no_hole_at_its_end)
{
	struct cp_source src;
	gboolean hole;

	ck_assert(!truncate(source, 1 << 20));
	ck_assert(cp_source_open(&src, source, NULL));
	ck_assert(!truncate(source, 0));
	ck_assert_uint_eq(cp_source_extent(&src, 4096, &hole), (1 << 20) - 4096);
	ck_assert(!hole);
	cp_source_close(&src);
}
END_TEST

/* A file without blocks may have more bytes than its length says; a sparse file needs no space for its holes. */
START_TEST(a_file_that_says_how_long_it_is_needs_no_temporary_copy)
{
	struct rlimit limit;
	struct cp_source src;
	g_autoptr(GError) err = NULL;
	int next = dup(STDERR_FILENO);

	close(next);
	ck_assert(!truncate(source, 0));
	ck_assert(!truncate(source, _i));
	ck_assert(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = (rlim_t)next + 1;
	ck_assert(!setrlimit(RLIMIT_NOFILE, &limit));
	ck_assert_msg(cp_source_open(&src, source, &err), "%s", err->message);
	limit.rlim_cur = limit.rlim_max;
	ck_assert(!setrlimit(RLIMIT_NOFILE, &limit));
	ck_assert_uint_eq(src.size, _i);
	cp_source_close(&src);
}
END_TEST

START_TEST(an_extent_ends_with_the_file)
{
	struct cp_source src;
	gboolean hole;

	ck_assert(cp_source_open(&src, source, NULL));
	ck_assert(!truncate(source, 1 << 20)); /* the growth is not copied */
	ck_assert_uint_eq(cp_source_extent(&src, 0, &hole), SIZE);
	ck_assert(!hole);
	ck_assert_uint_eq(cp_source_extent(&src, SIZE - 1, &hole), 1);
	cp_source_close(&src);
}
END_TEST

/* ----------------------------------------------------------- another process */

/* The far end's check of the near end's offer. */
static gboolean hears(struct cp_job *near, GError **err)
{
	struct cp_job far = new_job();
	int fds[2];
	guint32 qpn = 0;
	gboolean heard;
	al_h al;

	ck_ok(al_open(NULL, &al));
	ck_assert(pair_choose(al, &near->near.end, &far.far.end, NULL));
	near->near.end.port.active_mtu = near->near.end.port.active_mtu ? near->near.end.port.active_mtu : IB_MTU_1024;
	ck_assert(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds));
	near->peer = fds[0];
	far.peer = fds[1];
	ck_assert(cp_send_offer(near, 77, NULL));
	heard = cp_receive_offer(al, &far, &qpn, err);
	if (heard) {
		ck_assert_uint_eq(qpn, 77);
		ck_assert_uint_eq(far.src.size, near->src.size);
		ck_assert_uint_eq(far.chunk, near->chunk);
		ck_assert_uint_eq(far.window, near->window);
		ck_assert_uint_eq(far.near.end.guid, near->near.end.guid);
	}
	cp_source_close(&far.src);
	close(fds[0]);
	close(fds[1]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	return heard;
}

START_TEST(an_offer_that_cannot_be_is_refused)
{
	static const struct {
		const char *path;
		guint64 size;
		gsize chunk, window;
		gboolean good;
	} cases[] = {
		{ "/a/file", 5, 1, 1, TRUE },
		{ "file", G_MAXINT64, CP_CHUNK_MAX, CP_WINDOW_MAX, TRUE },
		{ "..", 5, 1, 1, FALSE },
		{ "/x/..", 5, 1, 1, FALSE },
		{ ".", 5, 1, 1, FALSE },
		{ "/", 5, 1, 1, FALSE },
		{ "file", (guint64)G_MAXINT64 + 1, 1, 1, FALSE },
		{ "file", 5, 0, 1, FALSE },
		{ "file", 5, CP_CHUNK_MAX + 1, 1, FALSE },
		{ "file", 5, 1, 0, FALSE },
		{ "file", 5, 1, CP_WINDOW_MAX + 1, FALSE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct cp_job near = new_job();
		g_autoptr(GError) err = NULL;

		near.src.path = (char *)cases[i].path;
		near.src.size = cases[i].size;
		near.chunk = cases[i].chunk;
		near.window = cases[i].window;
		ck_assert_msg(hears(&near, &err) == cases[i].good, "number %u", i);
		if (!cases[i].good)
			ck_assert_str_eq(err->message, "the other end's offer has a name or sizes that are not possible: the file was not copied");
	}
}
END_TEST

START_TEST(an_end_that_cannot_be_is_not_believed)
{
	const struct meet_card good = { .guid = 0x100, .mtu = IB_MTU_4096, .port_num = 1, .lid = 5, .max_msg_size = 9 };
	struct meet_card none = good, no_mtu = good, large_mtu = good, no_port = good;
	struct pair_end end = { 0 };
	g_autoptr(GError) err = NULL;
	al_h al;

	none.guid = 0x300;
	no_mtu.mtu = 0;
	large_mtu.mtu = IB_MTU_4096 + 1;
	no_port.port_num = 0;
	g_setenv("IBAL_SOFT", "[hca 0] guid=0x100", TRUE);
	ck_ok(al_open(NULL, &al));
	ck_assert(!meet_accept_card(al, &none, &end, &err));
	ck_assert_ptr_nonnull(strstr(err->message, "0x0000000000000300 is not among the HCAs of this end"));
	ck_assert(!meet_accept_card(al, &no_mtu, &end, NULL));
	ck_assert(!meet_accept_card(al, &large_mtu, &end, NULL));
	ck_assert(!meet_accept_card(al, &no_port, &end, NULL));
	ck_assert_uint_eq(end.guid, 0);
	ck_assert(meet_accept_card(al, &good, &end, NULL));
	ck_assert_uint_eq(end.guid, 0x100);
	ck_assert_uint_eq(end.port_num, 1);
	ck_assert_uint_eq(end.port.lid, 5);
	ck_assert_uint_eq(end.port.max_msg_size, 9);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* ------------------------------------------------------------------ choosing */

static void ck_chosen(const char *settings, const struct pair_end *near, const struct pair_end *far)
{
	struct pair_end a = { .name = near->name }, b = { .name = far->name };
	al_h al;

	g_setenv("IBAL_SOFT", settings, TRUE);
	ck_ok(al_open(NULL, &al));
	ck_assert(pair_choose(al, &a, &b, NULL));
	ck_assert_uint_eq(a.guid, near->guid);
	ck_assert_uint_eq(a.port_num, near->port_num);
	ck_assert_uint_eq(b.guid, far->guid);
	ck_assert_uint_eq(b.port_num, far->port_num);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

#define CHOICES 6 /* each case needs an opening of its own */

START_TEST(a_port_that_is_down_is_not_chosen)
{
	static const char one_port[] = "hcas=2 ports=1 [hca 0] guid=0x100 [hca 1] guid=0x200";
	static const char two_ports[] = "hcas=2 ports=2 [hca 0] guid=0x100 [hca 1] guid=0x200";
	static const struct {
		const char *settings;
		guint64 down;
		struct pair_end near, far;
	} cases[] = {
		{ two_ports, 0x100, { .guid = 0x100, .port_num = 2 }, { .guid = 0x200, .port_num = 1 } },
		{ two_ports, 0x200, { .guid = 0x100, .port_num = 1 }, { .guid = 0x200, .port_num = 2 } },
		{ one_port, 0x200, { .guid = 0x100, .port_num = 1 }, { .guid = 0x100, .port_num = 1 } },
		{ one_port, 0x100, { .guid = 0x200, .port_num = 1 }, { .guid = 0x200, .port_num = 1 } },
		/* A named port is taken in any state; the opening reports that the port is down. */
		{ one_port, 0x200, { .guid = 0x100, .port_num = 1 }, { .name = "1", .guid = 0x200 } },
		{ one_port, 0x200, { .name = "1", .guid = 0x200 }, { .guid = 0x100, .port_num = 1 } },
	};

	ck_assert_uint_eq(G_N_ELEMENTS(cases), CHOICES);
	down.guid = cases[_i].down;
	down.port_num = 1;
	ck_chosen(cases[_i].settings, &cases[_i].near, &cases[_i].far);
}
END_TEST

START_TEST(an_hca_that_cannot_be_asked_is_not_chosen)
{
	static const char *const names[] = { "al_open_ca", "al_query_ca", "al_query_port" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		fault.name = names[i];
		fault.met = FALSE;
		fault.after = 0;
		ck_chosen("hcas=3 ports=1 [hca 0] guid=0x100 [hca 1] guid=0x200 [hca 2] guid=0x300",
			  &(struct pair_end){ .guid = 0x200, .port_num = 1 }, &(struct pair_end){ .guid = 0x300, .port_num = 1 });
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cp");
	TCase *tc = tcase_create("al_cp");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_copy_that_a_port_did_not_count_is_none);
	tcase_add_test(tc, a_call_that_fails_is_said_and_leaves_nothing);
	tcase_add_test(tc, what_no_sender_can_have_sent_is_refused);
	tcase_add_test(tc, a_signal_ends_it_before_anything_is_made);
	tcase_add_test(tc, a_source_that_changes_is_refused);
	tcase_add_test(tc, a_source_that_grows_is_copied_as_it_was);
	tcase_add_test(tc, the_copy_is_complete_when_its_digests_were_compared);
	tcase_add_test(tc, a_place_that_is_taken_meanwhile_is_said);
	tcase_add_test(tc, a_file_that_shrinks_has_no_hole_at_its_end);
	tcase_add_loop_test(tc, a_file_that_says_how_long_it_is_needs_no_temporary_copy, 0, 2);
	tcase_add_loop_test(tc, a_file_that_says_how_long_it_is_needs_no_temporary_copy, 64 << 10,
			    (64 << 10) + 1);
	tcase_add_test(tc, an_extent_ends_with_the_file);
	tcase_add_test(tc, an_offer_that_cannot_be_is_refused);
	tcase_add_test(tc, an_end_that_cannot_be_is_not_believed);
	tcase_add_loop_test(tc, a_port_that_is_down_is_not_chosen, 0, CHOICES);
	tcase_add_test(tc, an_hca_that_cannot_be_asked_is_not_chosen);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
