/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The own resources of an agent's client: descriptors, mappings and memory are returned when the
 * client's objects have gone; the client gets a status if it has too few; and the client's maxima
 * are those that the agent allows it.
 */
#include <malloc.h>
#include <sys/resource.h>

#include "test/e2e/agent.h"
#include "test/e2e/provider.h"

static int own_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static int own_sockets(void)
{
	char path[32], what[64] = "";
	int count = 0;

	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, what, sizeof(what) - 1) > 0)
			count += !strncmp(what, "socket:", 7);
	}
	return count;
}

/* Number of mappings of shared memory. */
static int own_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int count = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "/memfd:") != NULL;
	fclose(maps);
	return count;
}

/* ------------------------------------------------------- resources are returned */

static void one_of_each(void)
{
	struct al_cq_init cq_init = { .cqe = 8 };
	struct al_qp_init qp_init = { .qp_type = IB_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct al_mr_init mr_init = { .length = 4096, .access = IB_ACCESS_LOCAL_WRITE };
	struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };
	static char memory[4096];
	uint32_t lkey, rkey;
	al_mr_h mr[2];
	void *shared;
	uint64_t dma;
	al_ah_h ah;
	al_cq_h cq;
	al_qp_h qp;

	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &cq_init, NULL, NULL, NULL, &cq));
	qp_init.send_cq = qp_init.recv_cq = cq;
	ck_ok(al_create_qp(pd, &qp_init, NULL, NULL, &qp));
	ck_ok(al_create_ah(pd, &path, &ah));
	mr_init.addr = memory;
	ck_ok(al_reg_mr(pd, &mr_init, NULL, &lkey, &rkey, &mr[0]));
	ck_ok(al_dma_alloc_coherent(ca, 4096, &shared, &dma));
	mr_init.addr = shared;
	ck_ok(al_reg_mr(pd, &mr_init, NULL, &lkey, &rkey, &mr[1]));
	for (int i = 0; i < 2; i++)
		ck_ok(al_dereg_mr(mr[i], AL_DESTROY_SYNC, NULL));
	ck_ok(al_dma_free_coherent(ca, 4096, shared, dma));
	ck_ok(al_destroy_ah(ah, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dealloc_pd(pd, AL_DESTROY_SYNC, NULL));
}

/* A loss in each round would be many times this much. The allocators of sanitizers report no count.
 */
#define ROUNDS     600
#define HEAP_NOISE 4096

static void nothing_stays(void)
{
	int fds, mappings;
	size_t heap;

	for (int i = 0; i < 100; i++)
		one_of_each();
	fds = own_fds();
	mappings = own_mappings();
	heap = mallinfo2().uordblks;
	for (int i = 0; i < ROUNDS; i++)
		one_of_each();
	ck_assert_int_eq(own_fds(), fds);
	ck_assert_int_eq(own_mappings(), mappings);
	ck_assert_uint_le(mallinfo2().uordblks, heap + HEAP_NOISE);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}

START_TEST(nothing_stays_in_a_client_of_what_it_destroys)
{
	uint64_t guid;

	if (_i)
		ck_assert(!setenv("IBAL_UVP_PATH", UVP_DIR, 1));
	agent_start(NULL, NULL);
	al = agent_open();
	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	nothing_stays();
}
END_TEST

START_TEST(descriptors_that_no_post_hook_takes_are_closed)
{
	al_cq_h cq;
	int fds;

	ck_assert(!setenv("IBAL_MODULE_PATH", FAKE_DIR, 1));
	ck_assert(!setenv("IBAL_UVP_PATH", PROVIDER_DIR, 1));
	agent_start(NULL, NULL);
	provider = find_provider();
	provider->hooks->post_create_cq = NULL;
	open_all();
	provider->about = "create_cq";
	provider->fd = memfd_create("provider", MFD_CLOEXEC);
	fds = own_fds();
	for (uint32_t n = 1; n <= UVP_MAX_FDS; n++) {
		provider->num_fds = n;
		ck_ok(try_cq(8, &cq));
		ck_assert_int_eq(own_fds(), fds);
	}
	close(provider->fd);
	end();
}
END_TEST

START_TEST(a_forked_child_has_no_connection)
{
	int sockets = own_sockets(), mine, childs, status;
	pid_t pid;

	agent_start(NULL, NULL);
	al = agent_open();
	mine = own_sockets();
	ck_assert_int_eq(mine, sockets + 7);
	for (int i = 0; i < 2; i++) { /* in the second round the parent has forked before */
		pid = fork();
		if (!pid)
			_exit(own_sockets());
		status = wait_for(pid);
		ck_assert(WIFEXITED(status));
		childs = WEXITSTATUS(status);
		ck_assert_int_eq(childs, sockets);
	}
	ck_assert_int_eq(own_sockets(), mine);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* An opening that fails after the connection was made leaves the connection for the next
 * opening. */
START_TEST(an_opening_without_memory_leaves_no_half_of_a_connection)
{
	const struct al_open_attr attr = { .agent = agent_socket, .config = "" };
	int fds = 0, now, failures = 0;
	al_status status;

	agent_start(NULL, NULL);
	for (uint64_t nth = 1;; nth++) {
		al_fail_alloc(nth);
		status = al_open(&attr, &al);
		if (al_fail_alloc(0))
			break;
		if (!status) {
			ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
			continue;
		}
		ck_status(status, AL_INSUFFICIENT_MEMORY);
		if (!failures++)
			fds = own_fds();
		now = own_fds();
		ck_assert_msg(now == fds || now == fds + 7, "%d descriptors more", now - fds);
		ck_assert_int_lt(failures, 100);
	}
	ck_assert_int_gt(failures, 0);
	ck_ok(status);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* -------------------------------------------------------------------- shortages */

/* Limits this process to `more` descriptors beyond those that are open. */
static struct rlimit few(rlim_t more)
{
	struct rlimit limit, low;
	int fd = dup(0);

	close(fd);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)fd + more;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	return limit;
}

START_TEST(what_the_module_gives_and_does_not_fit_undoes_what_was_made)
{
	struct rlimit limit;
	al_cq_h cq;

	if (getenv("TEST_VALGRIND")) {
		printf("SKIP what_the_module_gives_and_does_not_fit_undoes_what_was_made: valgrind has a limit of descriptors of its own\n");
		return;
	}
	ck_assert(!setenv("IBAL_MODULE_PATH", FAKE_DIR, 1));
	ck_assert(!setenv("IBAL_UVP_PATH", PROVIDER_DIR, 1));
	agent_start("--max-objects", "1");
	provider = find_provider();
	open_all();
	provider->about = "create_cq";
	provider->fd = memfd_create("provider", MFD_CLOEXEC);
	provider->num_fds = UVP_MAX_FDS;
	for (rlim_t more = 0; more < UVP_MAX_FDS; more++) {
		int fds = own_fds();

		limit = few(more);
		ck_status(try_cq(8, &cq), AL_INSUFFICIENT_RESOURCES);
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		ck_status(provider->outcome, AL_INSUFFICIENT_RESOURCES);
		ck_assert_uint_eq(provider->heard_fds, 0);
		ck_assert_int_eq(own_fds(), fds);
	}
	/* The agent has kept no object of the failed creations: it permits one completion queue. */
	limit = few(UVP_MAX_FDS);
	ck_ok(try_cq(8, &cq));
	ck_assert_uint_eq(provider->heard_fds, UVP_MAX_FDS);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_status(try_cq(8, &cq), AL_LIMIT_EXCEEDED);
	end();
}
END_TEST

START_TEST(a_descriptor_that_is_none_costs_the_operation_and_no_more)
{
	struct ib_port_attr attr;
	al_cq_h cq;

	begin(NULL, NULL);
	open_all();
	provider->about = "create_cq";
	provider->fd = -1;
	provider->num_fds = 1;
	al_set_log(test_ignore_log, NULL);
	ck_status(try_cq(8, &cq), AL_INVALID_PARAMETER);
	al_set_log(NULL, NULL);
	ck_status(provider->outcome, AL_INVALID_PARAMETER);
	ck_ok(al_query_port(ca, 1, &attr));
	provider->num_fds = 0;
	ck_ok(try_cq(8, &cq));
	end();
}
END_TEST

START_TEST(shared_memory_is_not_registered_otherwise_for_want_of_a_descriptor)
{
	struct al_mr_init init = { .length = 4096, .access = IB_ACCESS_LOCAL_WRITE };
	struct rlimit limit;
	uint32_t lkey, rkey;
	uint64_t guid, dma;
	void *shared;
	al_mr_h mr;

	agent_start(NULL, NULL);
	al = agent_open();
	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_dma_alloc_coherent(ca, 4096, &shared, &dma));
	init.addr = shared;
	limit = few(0);
	ck_status(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr), AL_INSUFFICIENT_RESOURCES);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_ok(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* Some of so many mappings are adjacent. */
#define MANY 16

/* Memory of both kinds, in the order of addresses; a region may begin in one kind and end in the
 * other. */
START_TEST(a_region_that_leaves_shared_memory_is_registered_by_copies)
{
	struct al_mr_init init = { .access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE };
	struct test_end pair[2];
	struct ib_sge sge;
	struct ib_send_wr wr = { .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IB_WR_RDMA_WRITE,
				 .send_flags = IB_SEND_SIGNALED };
	const struct ib_send_wr *bad;
	const size_t page = 4096;
	uint32_t lkey, rkey;
	uint8_t *shared = NULL, *behind;
	void *addr[MANY];
	uint64_t dma;
	al_mr_h mr;

	agent_start(NULL, NULL);
	al = agent_open();
	test_make_pair(al, pair);
	/* A page of the process's own directly behind a shared page. */
	for (int i = 0; i < MANY; i++)
		ck_ok(al_dma_alloc_coherent(pair[1].ca, page, &addr[i], &dma));
	for (int i = 0; i < MANY * MANY && !shared; i++)
		if ((uint8_t *)addr[i / MANY] + page == addr[i % MANY]) {
			shared = addr[i / MANY];
			ck_ok(al_dma_free_coherent(pair[1].ca, page, addr[i % MANY], 0));
		}
	ck_assert_ptr_nonnull(shared);
	behind = mmap(shared + page, page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	ck_assert_ptr_eq(behind, shared + page);
	for (size_t i = 0; i < 64; i++)
		pair[0].mem[i] = (uint8_t)(i + 1);
	init.addr = shared + page - 32;
	init.length = 64;
	ck_ok(al_reg_mr(pair[1].pd, &init, NULL, &lkey, &rkey, &mr));
	sge = (struct ib_sge){ (uintptr_t)pair[0].mem, 64, pair[0].lkey };
	wr.wr.rdma.remote_addr = (uintptr_t)init.addr;
	wr.wr.rdma.rkey = rkey;
	ck_ok(al_post_send(pair[0].qp, &wr, &bad));
	ck_assert_int_eq(test_poll(pair[0].cq).status, IB_WC_SUCCESS);
	ck_assert_mem_eq(init.addr, pair[0].mem, 64);
	/* A region that begins directly behind the shared memory is the process's own. */
	init.addr = behind;
	ck_ok(al_reg_mr(pair[1].pd, &init, NULL, &lkey, &rkey, &mr));
	wr.wr.rdma.remote_addr = (uintptr_t)behind;
	wr.wr.rdma.rkey = rkey;
	ck_ok(al_post_send(pair[0].qp, &wr, &bad));
	ck_assert_int_eq(test_poll(pair[0].cq).status, IB_WC_SUCCESS);
	ck_assert_mem_eq(behind, pair[0].mem, 64);
	for (int i = 0; i < 2; i++)
		test_free_end(&pair[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	munmap(behind, page);
	agent_stop();
}
END_TEST

/* ------------------------------------------------------------------------ maxima */

static char conf_path[sizeof(agent_dir) + 16];

static void write_limits(const char *text)
{
	FILE *file = fopen(conf_path, "we");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

/* Creates as many objects as the maximum, and one more, which is refused. */
#define EXACTLY(max, make)                                                \
	do {                                                              \
		for (uint32_t n = 0; n < (max); n++)                      \
			ck_ok(make);                                      \
		ck_status(make, AL_LIMIT_EXCEEDED);                       \
	} while (0)

START_TEST(maxima_are_exactly_what_the_client_gets)
{
	static char memory[8192];
	struct al_mr_init mr_init = { .addr = memory, .length = sizeof(memory) };
	struct al_qp_init qp_init = { .qp_type = IB_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct al_cq_init cq_init = { .cqe = 1 };
	struct ib_ca_attr attr;
	struct al_snapshot *snap;
	struct timespec deadline = test_deadline();
	uint32_t lkey, rkey;
	uint64_t guid;
	al_cq_h cq;
	al_qp_h qp;
	al_mr_h mr;

	ck_assert_ptr_nonnull(mkdtemp(agent_dir));
	snprintf(agent_socket, sizeof(agent_socket), "%s/ald.socket", agent_dir);
	snprintf(conf_path, sizeof(conf_path), "%s/conf", agent_dir);
	write_limits("[ald client]\npds=3\ncqs=20\nqps=2\nmrs=4\nbytes=8191\nrings=100000\n[ald user]\ncqs=2\n");
	agent_start("--config", conf_path);
	al = agent_open();
	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	ck_ok(al_query_ca(ca, &attr));
	ck_assert_uint_eq(attr.max_pd, 3);
	ck_assert_uint_eq(attr.max_cq, 2); /* the user's limit is smaller */
	ck_assert_uint_eq(attr.max_qp, 2);
	ck_assert_uint_eq(attr.max_mr, 4);
	ck_assert_uint_eq(attr.max_mr_size, 8191);
	ck_assert_uint_eq(attr.max_cqe, 100000 / sizeof(struct ib_wc));
	ck_assert_uint_gt(attr.max_qp_wr, 0);
	ck_assert_uint_le(attr.max_qp_wr, 100000 / 64); /* a send is charged 64 bytes and its gather list */
	ck_assert_int_eq(attr.atomic_cap, IB_ATOMIC_HCA);
	/* A snapshot, and so the tools, show the same limits. */
	ck_ok(al_snapshot(al, &snap));
	for (size_t i = 0; i < snap->num_cas; i++)
		if (snap->cas[i].guid == guid)
			ck_assert_mem_eq(&snap->cas[i].attr, &attr, sizeof(attr));
	al_free_snapshot(snap);

	EXACTLY(attr.max_pd, al_alloc_pd(ca, NULL, &pd));
	cq_init.cqe = attr.max_cqe + 1;
	ck_status(al_create_cq(pd, &cq_init, NULL, NULL, NULL, &cq), AL_LIMIT_EXCEEDED);
	cq_init.cqe = attr.max_cqe;
	ck_ok(al_create_cq(pd, &cq_init, NULL, NULL, NULL, &cq));
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	cq_init.cqe = 1;
	EXACTLY(attr.max_cq, al_create_cq(pd, &cq_init, NULL, NULL, NULL, &cq));
	qp_init.send_cq = qp_init.recv_cq = cq;
	EXACTLY(attr.max_qp, al_create_qp(pd, &qp_init, NULL, NULL, &qp));
	ck_status(al_reg_mr(pd, &mr_init, NULL, &lkey, &rkey, &mr), AL_LIMIT_EXCEEDED);
	mr_init.length = attr.max_mr_size;
	ck_ok(al_reg_mr(pd, &mr_init, NULL, &lkey, &rkey, &mr));
	ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	mr_init.length = 1;
	EXACTLY(attr.max_mr, al_reg_mr(pd, &mr_init, NULL, &lkey, &rkey, &mr));

	/* A new limit is reported, and holds, at once. */
	write_limits("[ald client]\npds=5\n");
	ck_assert_int_eq(kill(agent_pid, SIGHUP), 0);
	do {
		ck_assert(!test_expired(&deadline));
		ck_ok(al_query_ca(ca, &attr));
	} while (attr.max_pd != 5);
	EXACTLY(2, al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	unlink(conf_path);
	agent_stop();
}
END_TEST

/*
 * Starts the program again without the allocator's caches of threads. What lies in such a cache
 * counts as used, and it depends on the scheduler which of the library's threads frees an object.
 * (valgrind's allocator has no such caches, and /proc/self/exe is valgrind's own program there.)
 */
static void without_caches(char **argv)
{
	if (getenv("GLIBC_TUNABLES") || getenv("TEST_VALGRIND"))
		return;
	setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
	execv("/proc/self/exe", argv);
	perror("client_test can not start again");
	abort();
}

int main(int argc, char **argv)
{
	Suite *suite;
	TCase *tcase;

	(void)argc;
	without_caches(argv);
	suite = suite_create("e2e/client");
	tcase = tcase_create("client");
	tcase_add_loop_test(tcase, nothing_stays_in_a_client_of_what_it_destroys, 0, 2);
	tcase_add_test(tcase, descriptors_that_no_post_hook_takes_are_closed);
	tcase_add_test(tcase, a_forked_child_has_no_connection);
	tcase_add_test(tcase, an_opening_without_memory_leaves_no_half_of_a_connection);
	tcase_add_test(tcase, what_the_module_gives_and_does_not_fit_undoes_what_was_made);
	tcase_add_test(tcase, a_descriptor_that_is_none_costs_the_operation_and_no_more);
	tcase_add_test(tcase, shared_memory_is_not_registered_otherwise_for_want_of_a_descriptor);
	tcase_add_test(tcase, a_region_that_leaves_shared_memory_is_registered_by_copies);
	tcase_add_test(tcase, maxima_are_exactly_what_the_client_gets);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
