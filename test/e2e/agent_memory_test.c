/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory that clients share with the agent: transfers without copies, every refusal, and the end of
 * all mappings. */
#include "test/e2e/agent_door.h"

#include <iba/ib_soft.h>

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 4u
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS   1033
#define F_SEAL_SHRINK 2
#define F_SEAL_WRITE  8
#endif

static void set_up(void)
{
	agent_start("--mode", "666");
}

/* Number of mappings of memfds in ald. */
static int agent_maps(void)
{
	char path[64], line[512];
	int count = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)agent_pid);
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		count += strstr(line, "/memfd:ibal") != NULL;
	fclose(file);
	return count;
}

static void wait_for_maps(int want)
{
	struct timespec deadline = test_deadline();
	int now;

	while ((now = agent_maps()) != want)
		ck_assert_msg(!test_expired(&deadline), "%d mappings instead of %d", now, want);
}

static void wait_for_fds(int want)
{
	struct timespec deadline = test_deadline();

	while (agent_entries("fd") > want)
		ck_assert_msg(!test_expired(&deadline), "%d descriptors instead of %d", agent_entries("fd"), want);
}

static uint8_t pattern(uint32_t i)
{
	return (uint8_t)(i * 11 + i / 253);
}

static uint8_t zero(uint32_t i)
{
	(void)i;
	return 0;
}

/* Number of right bytes before the first wrong byte. (An assertion for each byte would make Check
 * write a message for each.) */
static uint32_t right_bytes(const void *mem, uint32_t size, uint8_t (*want)(uint32_t i))
{
	const uint8_t *byte = mem;
	uint32_t i = 0;

	while (i < size && byte[i] == want(i))
		i++;
	return i;
}

/* Opens an end with TEST_MEM bytes of shared memory, which do not begin at a page boundary. */
static void *share(struct test_end *end)
{
	struct al_mr_init mr = { .length = TEST_MEM, .access = TEST_ALL_ACCESS };
	void *mem;
	uint64_t dma;

	ck_ok(al_dma_alloc_coherent(end->ca, TEST_MEM + 8192, &mem, &dma));
	ck_assert_uint_eq(right_bytes(mem, TEST_MEM + 8192, zero), TEST_MEM + 8192);
	if (end->mr) {
		ck_ok(al_dereg_mr(end->mr, AL_DESTROY_SYNC, NULL));
		free(end->mem);
	}
	end->mem = (uint8_t *)mem + 4096 + 64;
	mr.addr = end->mem;
	ck_ok(al_reg_mr(end->pd, &mr, NULL, &end->lkey, &end->rkey, &end->mr));
	return mem;
}

static void unshare(struct test_end *end, void *mem)
{
	ck_ok(al_dereg_mr(end->mr, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dma_free_coherent(end->ca, TEST_MEM + 8192, mem, (uintptr_t)mem));
	end->mem = NULL;
}

/* ---------------------------------------------------------------- transfers */

static void post_one(struct test_end *end, ib_wr_opcode opcode, uint64_t addr, uint32_t length, uint64_t to, uint32_t rkey)
{
	struct ib_sge sge = { addr, length, end->lkey };
	struct ib_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
				 .send_flags = IB_SEND_SIGNALED };
	const struct ib_send_wr *bad;

	if (opcode == IB_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = to;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 5;
	} else {
		wr.wr.rdma.remote_addr = to;
		wr.wr.rdma.rkey = rkey;
	}
	ck_ok(al_post_send(end->qp, &wr, &bad));
	test_poll_ok(end->cq, 1);
}

/* Writes, reads back and adds. The bits of _i say which of the two ends have shared memory. */
START_TEST(shared_and_copied_memory_transfer_byte_for_byte)
{
	al_h al = agent_open();
	struct test_end end[2];
	void *mem[2] = { NULL, NULL };

	test_make_pair(al, end);
	for (int i = 0; i < 2; i++)
		if (_i & 1 << i)
			mem[i] = share(&end[i]);
	ck_assert_int_eq(agent_maps(), __builtin_popcount((unsigned int)_i));
	for (uint32_t i = 0; i < TEST_MEM; i++)
		end[0].mem[i] = pattern(i);
	post_one(&end[0], IB_WR_RDMA_WRITE, (uintptr_t)end[0].mem, TEST_MEM, (uintptr_t)end[1].mem, end[1].rkey);
	ck_assert_uint_eq(right_bytes(end[1].mem, TEST_MEM, pattern), TEST_MEM);
	memset(end[0].mem, 0, TEST_MEM);
	post_one(&end[0], IB_WR_RDMA_READ, (uintptr_t)end[0].mem, TEST_MEM, (uintptr_t)end[1].mem, end[1].rkey);
	ck_assert_uint_eq(right_bytes(end[0].mem, TEST_MEM, pattern), TEST_MEM);
	*(uint64_t *)end[1].mem = 37;
	post_one(&end[0], IB_WR_ATOMIC_FETCH_AND_ADD, (uintptr_t)end[0].mem, 8, (uintptr_t)end[1].mem, end[1].rkey);
	ck_assert_uint_eq(*(uint64_t *)end[0].mem, 37);
	ck_assert_uint_eq(*(uint64_t *)end[1].mem, 42);
	ck_ok(test_post_recv(&end[1], 9, 128, 64));
	ck_ok(test_post_send(&end[0], 2, 0, 64));
	test_poll_ok(end[1].cq, 9);
	ck_assert_mem_eq(end[1].mem + 128, end[0].mem, 64);
	for (int i = 0; i < 2; i++) {
		if (mem[i])
			unshare(&end[i], mem[i]);
		test_free_end(&end[i]);
	}
	wait_for_maps(0);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

START_TEST(shared_memory_can_not_be_cut_off_and_its_end_is_its_end)
{
	struct al_mr_init init = { .access = IB_ACCESS_LOCAL_WRITE };
	al_h al = agent_open();
	struct test_end end;
	uint64_t guid, dma;
	char name[64], line[512];
	uint32_t keys[2];
	void *mem, *start;
	al_mr_h mr;
	FILE *maps;
	int fd = -1;

	test_guids(al, &guid, 1);
	test_make_end(&end, al, guid, IB_QPT_RC);
	ck_status(al_dma_alloc_coherent(end.ca, 0, &mem, &dma), AL_INVALID_PARAMETER);
	ck_status(al_dma_alloc_coherent(end.ca, UINT64_MAX, &mem, &dma), AL_INVALID_PARAMETER);
	ck_status(al_dma_alloc_coherent(end.ca, INT64_MAX, &mem, &dma), AL_INSUFFICIENT_MEMORY);
	ck_ok(al_dma_alloc_coherent(end.ca, 5000, &mem, &dma));
	ck_assert_uint_eq(dma, (uintptr_t)mem);
	maps = fopen("/proc/self/maps", "re");
	while (fd < 0 && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%p-", &start) == 1 && start == mem) {
			snprintf(name, sizeof(name), "/proc/self/map_files/%.*s", (int)strcspn(line, " "), line);
			fd = open(name, O_RDWR | O_CLOEXEC);
			break;
		}
	fclose(maps);
	if (fd >= 0) { /* only root can open the file */
		ck_assert_int_lt(ftruncate(fd, 0), 0);
		ck_assert_int_lt(ftruncate(fd, 1 << 20), 0);
		ck_assert_int_lt(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
		close(fd);
	}
	init.addr = mem;
	init.length = 8192;
	ck_ok(al_reg_mr(end.pd, &init, NULL, &keys[0], &keys[1], &mr));
	ck_assert_int_eq(agent_maps(), 1);
	ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	wait_for_maps(0);
	init.length = 8193; /* partly beyond the shared memory: treated as other memory */
	if (!al_reg_mr(end.pd, &init, NULL, &keys[0], &keys[1], &mr))
		ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	ck_assert_int_eq(agent_maps(), 0);
	ck_ok(al_dma_free_coherent(end.ca, 5000, mem, dma));
	test_free_end(&end);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

START_TEST(an_hca_that_goes_takes_its_mappings_and_leaves_the_memory)
{
	al_h al = agent_open();
	struct test_end end[2];
	uint32_t none = 0;
	void *mem;

	test_make_pair(al, end);
	mem = share(&end[0]);
	memset(mem, 7, TEST_MEM);
	ck_ok(al_vendor_call(end[0].ca, SOFT_REMOVE, &none, sizeof(none), NULL, NULL));
	wait_for_maps(0);
	ck_assert_uint_eq(((uint8_t *)mem)[TEST_MEM - 1], 7);
	ck_ok(al_dma_free_coherent(end[0].ca, TEST_MEM + 8192, mem, (uintptr_t)mem));
	end[0].mem = NULL;
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* ------------------------------------------- processes that are not dumpable */

static void hidden(int fd)
{
	struct al_mr_init init = { .length = 4096, .access = IB_ACCESS_LOCAL_WRITE };
	struct test_end end[2] = { 0 };
	static char own[4096];
	uint64_t guids[2];
	uint32_t keys[2];
	void *mem[2];
	al_mr_h mr;
	al_h al;

	(void)fd;
	if (!geteuid()) { /* root may open the memory of any process */
		ck_assert_int_eq(setresgid(65534, 65534, 65534), 0);
		ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	}
	ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 0), 0);
	al = agent_open();
	test_guids(al, guids, 2);
	for (int i = 0; i < 2; i++) {
		struct al_cq_init cq = { .cqe = 16 };
		struct al_qp_init qp = { .qp_type = IB_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
		struct ib_port_attr port;

		end[i].ca = test_open_ca(al, guids[i]);
		ck_ok(al_query_port(end[i].ca, 1, &port));
		end[i].lid = port.lid;
		end[i].mtu = port.active_mtu;
		ck_ok(al_alloc_pd(end[i].ca, NULL, &end[i].pd));
		ck_ok(al_create_cq(end[i].pd, &cq, NULL, NULL, NULL, &end[i].cq));
		qp.send_cq = qp.recv_cq = end[i].cq;
		ck_ok(al_create_qp(end[i].pd, &qp, &end[i], NULL, &end[i].qp));
		ck_ok(al_qp_num(end[i].qp, &end[i].qpn));
		mem[i] = share(&end[i]);
	}
	init.addr = own;
	ck_status(al_reg_mr(end[0].pd, &init, NULL, &keys[0], &keys[1], &mr), AL_MEMORY_OUT_OF_REACH);
	test_connect(&end[0], &end[1]);
	strcpy((char *)end[0].mem, "seen by nobody else");
	post_one(&end[0], IB_WR_RDMA_WRITE, (uintptr_t)end[0].mem, 32, (uintptr_t)end[1].mem, end[1].rkey);
	ck_assert_str_eq((char *)end[1].mem, "seen by nobody else");
	for (int i = 0; i < 2; i++) {
		unshare(&end[i], mem[i]);
		test_free_end(&end[i]);
	}
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

START_TEST(a_program_that_can_not_be_looked_into_shares_memory)
{
	int state = wait_for(agent_client("hidden", -1));

	ck_assert_int_eq(state, 0);
	agent_stop();
}
END_TEST

/* --------------------------------------------------------------------- death */

/* Waits until the process is killed. */
static void writer(int fd)
{
	al_h al = agent_open();
	struct test_end end[2];

	test_make_pair(al, end);
	for (int i = 0; i < 2; i++)
		share(&end[i]);
	for (;;) {
		post_one(&end[0], IB_WR_RDMA_WRITE, (uintptr_t)end[0].mem, TEST_MEM, (uintptr_t)end[1].mem, end[1].rkey);
		say(fd, "", 1);
	}
}

START_TEST(a_client_that_dies_leaves_no_mapping)
{
	int fd[2], before = agent_entries("fd");
	char step;
	pid_t pid;

	for (int n = 1; n < 8; n++) {
		two_ends(fd);
		pid = agent_client("writer", fd[1]);
		close(fd[1]);
		for (int i = 0; i < n; i++)
			hear(fd[0], &step, 1);
		ck_assert_int_eq(agent_maps(), 2);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		wait_for(pid);
		close(fd[0]);
		wait_for_maps(0);
	}
	wait_for_fds(before);
	agent_stop();
}
END_TEST

/* A client process whose memory a peer may read, until the process is killed. */
static void offering(int fd)
{
	al_h al = agent_open();
	struct test_end end;
	uint64_t guids[2];
	char never;

	test_guids(al, guids, 2);
	test_make_end(&end, al, guids[1], IB_QPT_RC);
	share(&end);
	agent_connect(&end, fd, 0, 0);
	hear(fd, &never, 1);
}

/* A client's memory stays mapped until the region has ended, also if the session and the HCA end
 * before. */
START_TEST(a_client_is_killed_while_its_shared_memory_is_read)
{
	al_h al = agent_open();
	struct test_end end;
	struct address his;
	uint64_t guids[2];
	int fd[2];
	pid_t pid;
	void *mem;

	test_guids(al, guids, 2);
	for (int n = 0; n < 60; n++) {
		two_ends(fd);
		pid = agent_client("offering", fd[1]);
		close(fd[1]);
		test_make_end(&end, al, guids[0], IB_QPT_RC);
		mem = share(&end);
		his = agent_connect(&end, fd[0], 0, 0);
		for (int i = 0; i < 500; i++) {
			struct ib_sge sge = { (uintptr_t)end.mem, 4096, end.lkey };
			struct ib_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_READ,
						 .send_flags = IB_SEND_SIGNALED, .wr.rdma = { his.mem, his.rkey } };
			const struct ib_send_wr *bad;
			struct ib_wc wc;
			uint32_t count;

			if (i == 4 * (n % 10))
				ck_assert_int_eq(kill(pid, SIGKILL), 0);
			al_post_send(end.qp, &wr, &bad); /* fails if the queue is full */
			ck_ok(al_poll_cq(end.cq, 1, &wc, &count));
		}
		wait_for(pid);
		close(fd[0]);
		unshare(&end, mem);
		test_free_end(&end);
	}
	wait_for_maps(0);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* ------------------------------------------------------------------- refusals */

static int sealed(size_t size, int seals)
{
	int fd = memfd_create("ibal", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	if (seals)
		ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static al_status register_fd(struct client *c, struct REG_MR_request request, int fd, struct REG_MR_answer *mr)
{
	request.pd = c->pd;
	request.iova = request.addr = 4096;
	request.mapped = 1;
	return ask_with(c->line, AGENT_REG_MR, &request, 0, NULL, 0, NULL, &fd, 1, mr);
}

START_TEST(what_is_no_sealed_memfd_is_refused)
{
	const struct REG_MR_request all = { .length = 8192, .access = IB_ACCESS_LOCAL_WRITE };
	char path[] = "/tmp/agent_memory-XXXXXX", shm[] = "/dev/shm/agent_memory-XXXXXX";
	int fd[8], num = 0, before;
	struct client c;

	client_open(&c);
	before = agent_entries("fd");
	fd[num++] = sealed(8192, 0);
	fd[num] = memfd_create("ibal", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
	if (fd[num] >= 0 && !ftruncate(fd[num], 2 << 20) && !fcntl(fd[num], F_ADD_SEALS, F_SEAL_SHRINK))
		num++;
	else
		printf("SKIP the memfd of huge pages: there are none to be had\n");
	fd[num] = mkstemp(path);
	ck_assert_int_eq(ftruncate(fd[num++], 8192), 0);
	fd[num] = mkstemp(shm);
	if (fd[num] >= 0)
		ck_assert_int_eq(ftruncate(fd[num++], 8192), 0);
	else
		printf("SKIP the file in /dev/shm: none can be made there\n");
	ck_assert_int_eq(pipe(fd + num), 0);
	num += 2;
	fd[num++] = open("/dev/zero", O_RDWR | O_CLOEXEC);
	unlink(path);
	unlink(shm);
	for (int i = 0; i < num; i++) {
		ck_status(register_fd(&c, all, fd[i], NULL), AL_INVALID_DESCRIPTOR);
		close(fd[i]);
	}
	ck_assert_int_eq(agent_maps(), 0);
	wait_for_fds(before);
	ck_ok(ASK(&c, QUERY_CQ, NULL, .cq = c.cq)); /* the connection still works */
	client_close(&c);
	agent_stop();
}
END_TEST

/* Pages count as whose process has brought them, so the agent brings none. */
START_TEST(the_agent_brings_no_pages_of_a_clients_file)
{
	const int fd = sealed(64u << 20, F_SEAL_SHRINK);
	struct REG_MR_answer mr;
	struct client c;
	struct stat st;

	client_open(&c);
	ck_ok(register_fd(&c,
			  (struct REG_MR_request){ .pd = c.pd,
						   .addr = 4096,
						   .length = 64u << 20,
						   .iova = 4096,
						   .access = IB_ACCESS_LOCAL_WRITE,
						   .mapped = 1 },
			  fd, &mr));
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_blocks, 0);
	close(fd);
	client_close(&c);
}
END_TEST

START_TEST(what_the_memfd_does_not_cover_or_permit_is_refused)
{
	const uint32_t write = IB_ACCESS_LOCAL_WRITE;
	const struct {
		struct REG_MR_request request;
		al_status want;
	} cases[] = {
		{ { .length = 8193, .access = write }, AL_INVALID_ADDRESS },
		{ { .length = 8192, .offset = 1, .access = write }, AL_INVALID_ADDRESS },
		{ { .length = 1, .offset = 8192, .access = write }, AL_INVALID_ADDRESS },
		{ { .length = 4096, .offset = UINT64_MAX - 100, .access = write }, AL_INVALID_ADDRESS },
		{ { .length = 0, .access = write }, AL_INVALID_PARAMETER },
		/* address and offset differ in their place within a page */
		{ { .length = 64, .offset = 64, .access = write }, AL_INVALID_PARAMETER },
		{ { .length = 64, .access = write, .zero = { 0, 1, 0 } }, AL_INVALID_PARAMETER },
		{ { .length = 64, .access = 1u << 30 }, AL_INVALID_PARAMETER },
		{ { .length = 64, .access = IB_ACCESS_REMOTE_WRITE }, AL_INVALID_PARAMETER },
		{ { .length = 8192, .access = write }, AL_SUCCESS },
		{ { .length = 4096, .offset = 4096, .access = write | IB_ACCESS_REMOTE_READ }, AL_SUCCESS },
	};
	int whole = sealed(8192, F_SEAL_SHRINK), frozen = sealed(8192, F_SEAL_SHRINK | F_SEAL_WRITE), readable;
	struct REG_MR_answer mr;
	struct client c;
	char name[64];
	int made = 0;

	client_open(&c);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ck_status(register_fd(&c, cases[i].request, whole, &mr), cases[i].want);
		if (cases[i].want)
			continue;
		made++;
		wait_for_maps(1); /* what was refused before is unmapped after its answer */
		ck_ok(ASK(&c, DESTROY, NULL, .handle = mr.handle));
		wait_for_maps(0);
	}
	ck_assert_int_eq(made, 2);
	ck_assert_int_eq(agent_maps(), 0);
	/* a file that this process can not write */
	snprintf(name, sizeof(name), "/proc/self/fd/%d", whole);
	readable = open(name, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(readable, 0);
	ck_status(register_fd(&c, cases[9].request, readable, &mr), AL_INVALID_ADDRESS);
	ck_status(register_fd(&c, cases[9].request, frozen, &mr), AL_INVALID_ADDRESS);
	ck_ok(register_fd(&c, (struct REG_MR_request){ .length = 8192, .access = IB_ACCESS_REMOTE_READ }, readable, &mr));
	/* a length that overflows when the registered bytes are added */
	ck_status(register_fd(&c, (struct REG_MR_request){ .length = UINT64_MAX - 4096 }, whole, &mr), AL_LIMIT_EXCEEDED);
	/* an offset without a descriptor is refused */
	ck_status(ASK(&c, REG_MR, &mr, .pd = c.pd, .addr = 4096, .iova = 4096, .length = 64, .offset = 4096),
		  AL_INVALID_PARAMETER);
	/* the end of the session unmaps the memory */
	ck_assert_int_eq(agent_maps(), 1);
	client_close(&c);
	wait_for_maps(0);
	close(whole);
	close(frozen);
	close(readable);
	agent_stop();
}
END_TEST

START_TEST(descriptors_that_are_missing_or_too_many_are_refused)
{
	struct REG_MR_request request = { .addr = 4096, .iova = 4096, .length = 4096, .mapped = 1 };
	int fd[AGENT_MAX_FDS + 1], before;
	struct client c;

	client_open(&c);
	before = agent_entries("fd");
	for (int i = 0; i <= AGENT_MAX_FDS; i++)
		fd[i] = sealed(4096, F_SEAL_SHRINK);
	request.pd = c.pd;
	ck_status(ask_with(c.line, AGENT_REG_MR, &request, 0, NULL, 0, NULL, NULL, 0, NULL), AL_AGENT_PROTOCOL);
	ck_status(ask_with(c.line, AGENT_REG_MR, &request, 0, NULL, 0, NULL, fd, AGENT_MAX_FDS + 1, NULL),
		  AL_AGENT_PROTOCOL);
	request.mapped = 2;
	ck_status(ask_with(c.line, AGENT_REG_MR, &request, 0, NULL, 0, NULL, fd, 1, NULL), AL_AGENT_PROTOCOL);
	request.mapped = 0;
	ck_status(ask_with(c.line, AGENT_REG_MR, &request, 0, NULL, 0, NULL, fd, AGENT_MAX_FDS, NULL),
		  AL_AGENT_PROTOCOL);
	request.mapped = 1; /* the other descriptors are the provider's, and the module ignores them */
	ck_ok(ask_with(c.line, AGENT_REG_MR, &request, 0, NULL, 0, NULL, fd, AGENT_MAX_FDS, NULL));
	ck_assert_int_eq(agent_maps(), 1);
	wait_for_fds(before);
	client_close(&c);
	wait_for_maps(0);
	for (int i = 0; i <= AGENT_MAX_FDS; i++)
		close(fd[i]);
	agent_stop();
}
END_TEST

START_TEST(shared_memory_is_charged_like_any_other)
{
	struct al_mr_init init = { .length = 8192, .access = IB_ACCESS_LOCAL_WRITE };
	uint64_t guid, dma;
	uint32_t keys[2];
	al_mr_h mr, more;
	al_pd_h pd;
	al_ca_h ca;
	al_h al;

	agent_start("--max-bytes", "12288");
	al = agent_open();
	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_dma_alloc_coherent(ca, 8192, &init.addr, &dma));
	for (int i = 0; i < 10; i++) {
		ck_ok(al_reg_mr(pd, &init, NULL, &keys[0], &keys[1], &mr));
		ck_status(al_reg_mr(pd, &init, NULL, &keys[0], &keys[1], &more), AL_LIMIT_EXCEEDED);
		ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	}
	wait_for_maps(0);
	ck_ok(al_dma_free_coherent(ca, 8192, init.addr, dma));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = { { "hidden", hidden }, { "writer", writer },
						      { "offering", offering }, { NULL, NULL } };
	TCase *tcase, *limited;
	Suite *suite;

	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/agent_memory");
	tcase = tcase_create("memory");
	limited = tcase_create("limits");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_loop_test(tcase, shared_and_copied_memory_transfer_byte_for_byte, 0, 4);
	tcase_add_test(tcase, shared_memory_can_not_be_cut_off_and_its_end_is_its_end);
	tcase_add_test(tcase, an_hca_that_goes_takes_its_mappings_and_leaves_the_memory);
	tcase_add_test(tcase, a_program_that_can_not_be_looked_into_shares_memory);
	tcase_add_test(tcase, a_client_that_dies_leaves_no_mapping);
	tcase_add_test(tcase, a_client_is_killed_while_its_shared_memory_is_read);
	tcase_add_test(tcase, what_is_no_sealed_memfd_is_refused);
	tcase_add_test(tcase, the_agent_brings_no_pages_of_a_clients_file);
	tcase_add_test(tcase, what_the_memfd_does_not_cover_or_permit_is_refused);
	tcase_add_test(tcase, descriptors_that_are_missing_or_too_many_are_refused);
	suite_add_tcase(suite, tcase);
	tcase_add_test(limited, shared_memory_is_charged_like_any_other);
	suite_add_tcase(suite, limited);
	return test_run(suite);
}
