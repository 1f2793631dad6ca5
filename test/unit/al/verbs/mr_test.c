/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory regions: a wrong address of any kind is a status of the call; ranges; permissions; refusals. */
#include "test/unit/al/al_test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct fake *fake;
static al_h al;
static al_pd_h pd;
static size_t page;

static struct ci_mem seen; /* the module's last argument */
static struct ci_mr *last_mr;

static al_status keep_mem(struct ci_mr *mr, const struct ci_mem *mem, struct ci_udata *udata)
{
	(void)udata;
	seen = *mem;
	last_mr = mr;
	mr->lkey = 0x100;
	mr->rkey = 0x200;
	return fake->fail[FAKE_register_mr];
}

/* Makes this file's madvise() behave as an old kernel, which does not know the advice to populate pages. */
static bool old_kernel;
static unsigned int refusals;

int madvise(void *addr, size_t length, int advice)
{
	if (old_kernel && (advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE)) {
		refusals++;
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_madvise, addr, length, advice);
}

static void set_up(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	fake = test_fake();
	fake->ca_attr.max_mr_size = 1ull << 40;
	fake->ca_attr.max_mr = 3;
	fake->ops.register_mr = keep_mem;
	al = test_open();
	ck_ok(al_alloc_pd(test_open_ca(al, FAKE_GUID), NULL, &pd));
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static void set_up_old(void)
{
	old_kernel = true;
	set_up();
}

static void tear_down_old(void)
{
	ck_assert_uint_gt(refusals, 0);
	tear_down();
}

static char *map(size_t pages, int prot)
{
	char *mem = mmap(NULL, pages * page, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(mem, MAP_FAILED);
	return mem;
}

static uint32_t lkey, rkey;

static al_status reg(void *addr, uint64_t length, uint32_t access)
{
	struct al_mr_init init = { .addr = addr, .length = length, .access = access };
	al_mr_h mr;

	lkey = rkey = 0xdead;
	return al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr);
}

static void check_refused(void *addr, uint64_t length, uint32_t access, al_status want)
{
	size_t objects = test_count(al, AL_OBJ_NONE);

	memset(&seen, 0, sizeof(seen));
	ck_status(reg(addr, length, access), want);
	ck_assert_uint_eq(seen.length, 0);
	ck_assert_uint_eq(lkey, 0xdead);
	ck_assert_uint_eq(rkey, 0xdead);
	ck_assert_uint_eq(test_count(al, AL_OBJ_NONE), objects);
}

/* ------------------------------------------------------------ permissions */

START_TEST(keys_are_handed_out_and_a_peers_only_with_a_remote_permission)
{
	static char memory[100];

	ck_ok(reg(memory, sizeof(memory), 0));
	ck_assert_uint_eq(lkey, 0x100);
	ck_assert_uint_eq(rkey, 0);
	ck_ok(reg(memory, sizeof(memory), IB_ACCESS_REMOTE_READ));
	ck_assert_uint_eq(rkey, 0x200);
	ck_assert_ptr_eq(seen.addr, memory);
	ck_assert_uint_eq(seen.iova, (uintptr_t)memory);
	ck_assert_uint_eq(seen.length, sizeof(memory));
	ck_assert_int_eq(seen.fd, -1);
	ck_assert_uint_eq(seen.access, IB_ACCESS_REMOTE_READ);
}
END_TEST

START_TEST(remote_write_and_atomics_need_local_write)
{
	static char memory[100];

	check_refused(memory, 100, IB_ACCESS_REMOTE_WRITE, AL_INVALID_PARAMETER);
	check_refused(memory, 100, IB_ACCESS_REMOTE_ATOMIC, AL_INVALID_PARAMETER);
	check_refused(memory, 100, 1u << 30, AL_INVALID_PARAMETER);
	ck_ok(reg(memory, 100, IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE));
	ck_ok(reg(memory, 100, IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_LOCAL_WRITE));
}
END_TEST

/* -------------------------------------------------------------- addresses */

/*
 * Maps three pages without the middle one, far below the kernel's choice of addresses, so that nothing is mapped into
 * the hole.
 */
static char *map_with_a_hole(void)
{
	char *near = map(3, PROT_READ | PROT_WRITE);
	char *mem = mmap(near - ((size_t)64 << 30), 3 * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	ck_assert_ptr_ne(mem, MAP_FAILED);
	ck_assert(!munmap(near, 3 * page));
	ck_assert(!munmap(mem + page, page));
	return mem;
}

START_TEST(memory_that_is_not_there_is_an_invalid_address)
{
	char *mem = map_with_a_hole();

	check_refused(mem + page, 1, 0, AL_INVALID_ADDRESS);
	check_refused(mem, page + 1, 0, AL_INVALID_ADDRESS);
	check_refused(mem, 3 * page, IB_ACCESS_LOCAL_WRITE, AL_INVALID_ADDRESS);
	check_refused(mem + 2 * page - 1, 2, 0, AL_INVALID_ADDRESS);
	check_refused(NULL, 1, 0, AL_INVALID_ADDRESS);
	ck_ok(reg(mem, page, IB_ACCESS_LOCAL_WRITE));
	ck_ok(reg(mem + 2 * page, page, IB_ACCESS_LOCAL_WRITE));
}
END_TEST

START_TEST(memory_that_does_not_permit_the_access_is_an_invalid_address)
{
	char *none = map(1, PROT_NONE), *readable = map(1, PROT_READ);

	check_refused(none, 1, 0, AL_INVALID_ADDRESS);
	check_refused(readable, 1, IB_ACCESS_LOCAL_WRITE, AL_INVALID_ADDRESS);
	ck_ok(reg(readable, 1, IB_ACCESS_REMOTE_READ));
}
END_TEST

START_TEST(memory_behind_the_end_of_its_file_is_an_invalid_address)
{
	char name[] = "/tmp/mr_test-XXXXXX", *mem;
	int fd = mkstemp(name);

	ck_assert_int_ge(fd, 0);
	unlink(name);
	ck_assert(!ftruncate(fd, (off_t)page));
	mem = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(mem, MAP_FAILED);
	check_refused(mem, page + 1, 0, AL_INVALID_ADDRESS);
	check_refused(mem, 2 * page, IB_ACCESS_LOCAL_WRITE, AL_INVALID_ADDRESS);
	ck_ok(reg(mem, page, IB_ACCESS_LOCAL_WRITE));
	close(fd);
}
END_TEST

START_TEST(registering_changes_no_byte)
{
	char *mem = map(4, PROT_READ | PROT_WRITE);

	memset(mem, 0x5a, 2 * page);
	ck_ok(reg(mem + 5, 4 * page - 5, TEST_ALL_ACCESS));
	for (size_t i = 0; i < 4 * page; i++)
		ck_assert_int_eq(mem[i], i < 2 * page ? 0x5a : 0);
}
END_TEST

/* ----------------------------------------------------------------- ranges */

START_TEST(a_range_that_overflows_is_refused)
{
	static char memory[100];
	struct al_mr_init init = { .addr = memory, .length = sizeof(memory), .use_iova = true };
	al_mr_h mr;

	check_refused(memory, 0, 0, AL_INVALID_PARAMETER);
	check_refused((void *)(UINTPTR_MAX - 10), 12, 0, AL_INVALID_PARAMETER);
	check_refused(memory, (1ull << 40) + 1, 0, AL_LIMIT_EXCEEDED);
	check_refused(memory, UINT64_MAX, 0, AL_LIMIT_EXCEEDED);
	/* the last page of the address space: a region that ends there does not overflow, but the page is not mapped */
	check_refused((void *)(UINTPTR_MAX - 10), 11, 0, AL_INVALID_ADDRESS);

	init.iova = (UINT64_MAX & ~(uint64_t)(page - 1)) | ((uintptr_t)memory & (page - 1));
	init.length = UINT64_MAX - init.iova + 2;
	ck_assert_uint_le(init.length, (uint64_t)page + 1);
	ck_status(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr), AL_INVALID_PARAMETER);
	/* The two checks are independent: here the addresses overflow, and the I/O virtual addresses do not. */
	init.addr = (void *)(UINTPTR_MAX - 10);
	init.iova = (UINTPTR_MAX - 10) & (uint64_t)(page - 1);
	init.length = 12;
	ck_status(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr), AL_INVALID_PARAMETER);
}
END_TEST

START_TEST(an_iova_names_the_first_byte)
{
	static char memory[100];
	struct al_mr_init init = { .addr = memory, .length = sizeof(memory), .use_iova = true };
	al_mr_h mr;

	init.iova = 0x7000000000 | ((uintptr_t)memory & (page - 1));
	ck_ok(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr));
	ck_assert_uint_eq(seen.iova, init.iova);
	ck_assert_ptr_eq(seen.addr, memory);
	init.iova ^= 1; /* another offset within its page */
	ck_status(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr), AL_INVALID_PARAMETER);
	init.iova ^= 1;
	init.access = IB_ACCESS_ZERO_BASED;
	ck_status(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr), AL_INVALID_PARAMETER);
	init.use_iova = false;
	ck_ok(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr));
	ck_assert_uint_eq(seen.iova, 0);
}
END_TEST

START_TEST(reserved_members_are_refused)
{
	static char memory[100];
	struct al_mr_init init = { .addr = memory, .length = sizeof(memory), .flags = 1 };
	al_mr_h mr;

	ck_status(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr), AL_INVALID_PARAMETER);
	init.flags = 0;
	init.reserved[2] = 1;
	ck_status(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr), AL_INVALID_PARAMETER);
	init.reserved[2] = 0;
	ck_status(al_reg_mr(pd, NULL, NULL, &lkey, &rkey, &mr), AL_INVALID_PARAMETER);
	ck_status(al_reg_mr(pd, &init, NULL, NULL, &rkey, &mr), AL_INVALID_PARAMETER);
	ck_status(al_reg_mr(pd, &init, NULL, &lkey, &rkey, NULL), AL_INVALID_PARAMETER);
	ck_ok(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr));
	init.access = IB_ACCESS_REMOTE_READ;
	ck_ok(al_reg_mr(pd, &init, NULL, &lkey, NULL, &mr)); /* for a program that needs no rkey */
	ck_assert_uint_eq(lkey, 0x100);
}
END_TEST

START_TEST(as_many_as_the_limit_says_and_not_one_more)
{
	static char memory[100];

	for (int i = 0; i < 3; i++)
		ck_ok(reg(memory, 100, 0));
	check_refused(memory, 100, 0, AL_LIMIT_EXCEEDED);
}
END_TEST

START_TEST(what_the_module_refuses_leaves_nothing)
{
	static char memory[100];
	size_t objects = test_count(al, AL_OBJ_NONE);

	fake->fail[FAKE_register_mr] = AL_INSUFFICIENT_RESOURCES;
	ck_status(reg(memory, 100, 0), AL_INSUFFICIENT_RESOURCES);
	ck_assert_uint_eq(lkey, 0xdead);
	ck_assert_uint_eq(test_count(al, AL_OBJ_NONE), objects);
}
END_TEST

static al_status query_mr(struct ci_mr *mr, struct ib_mr_attr *attr)
{
	attr->lkey = mr->lkey;
	attr->length = 100;
	return AL_SUCCESS;
}

static void set_up_query(void)
{
	test_fake()->ops.query_mr = query_mr;
	set_up();
}

START_TEST(attributes_are_those_of_the_module)
{
	static char memory[100];
	struct al_mr_init init = { .addr = memory, .length = sizeof(memory) };
	struct ib_mr_attr attr;
	al_mr_h mr;

	ck_ok(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr));
	ck_ok(al_query_mr(mr, &attr));
	ck_assert_uint_eq(attr.lkey, lkey);
	ck_assert_uint_eq(attr.length, 100);
	ck_status(al_query_mr(mr, NULL), AL_INVALID_PARAMETER);
}
END_TEST

/* Checking the pages takes descriptors there. */
START_TEST(without_descriptors_it_says_so)
{
	static char memory[100];
	struct rlimit none;

	ck_assert(!getrlimit(RLIMIT_NOFILE, &none));
	none.rlim_cur = 0;
	ck_assert(!setrlimit(RLIMIT_NOFILE, &none));
	ck_status(reg(memory, 100, 0), AL_INSUFFICIENT_RESOURCES);
	none.rlim_cur = none.rlim_max;
	ck_assert(!setrlimit(RLIMIT_NOFILE, &none));
	ck_ok(reg(memory, 100, 0));
}
END_TEST

/* ------------------------------------------------------------------- busy */

START_TEST(with_windows_bound_it_is_busy_and_stays)
{
	static char memory[100];
	struct al_mr_init init = { .addr = memory, .length = sizeof(memory), .access = IB_ACCESS_MW_BIND };
	al_mr_h mr;

	ck_ok(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr));
	__atomic_store_n(&last_mr->bound_windows, 1, __ATOMIC_RELEASE);
	ck_status(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL), AL_RESOURCE_BUSY);
	ck_status(al_dereg_mr(mr, NULL, NULL), AL_RESOURCE_BUSY);
	ck_assert_uint_eq(fake->calls[FAKE_deregister_mr], 0);
	__atomic_store_n(&last_mr->bound_windows, 0, __ATOMIC_RELEASE);
	ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(fake->calls[FAKE_deregister_mr], 1);
}
END_TEST

START_TEST(memory_shared_with_the_hca_is_zeroed_and_registered_like_any_other)
{
	struct al_mr_init init = { .length = 5000, .access = IB_ACCESS_LOCAL_WRITE };
	al_ca_h ca = test_open_ca(al, FAKE_GUID);
	uint32_t keys[2];
	uint64_t dma;
	al_mr_h mr;

	ck_status(al_dma_alloc_coherent(ca, 0, &init.addr, &dma), AL_INVALID_PARAMETER);
	ck_status(al_dma_alloc_coherent(ca, 1ull << 63, &init.addr, &dma), AL_INVALID_PARAMETER);
	ck_status(al_dma_alloc_coherent(ca, 5000, NULL, &dma), AL_INVALID_PARAMETER);
	ck_status(al_dma_alloc_coherent(ca, 5000, &init.addr, NULL), AL_INVALID_PARAMETER);
	ck_status(al_dma_alloc_coherent(NULL, 5000, &init.addr, &dma), AL_INVALID_HANDLE);
	al_fail_alloc(1);
	ck_status(al_dma_alloc_coherent(ca, 5000, &init.addr, &dma), AL_INSUFFICIENT_MEMORY);
	al_fail_alloc(0);
	ck_ok(al_dma_alloc_coherent(ca, 5000, &init.addr, &dma));
	ck_assert_uint_eq(dma, (uintptr_t)init.addr);
	for (int i = 0; i < 5000; i++)
		ck_assert_uint_eq(((uint8_t *)init.addr)[i], 0);
	ck_ok(al_reg_mr(pd, &init, NULL, &keys[0], &keys[1], &mr));
	if (!test_in_user_role()) /* the agent has mapped the memory at another address */
		ck_assert_ptr_eq(seen.addr, init.addr);
	ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dma_free_coherent(ca, 5000, NULL, dma));
	ck_status(al_dma_free_coherent(NULL, 5000, init.addr, dma), AL_INVALID_HANDLE);
	ck_ok(al_dma_free_coherent(ca, 5000, init.addr, dma));
	ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/mr");
	TCase *tcase = tcase_create("regions"), *old = tcase_create("on an old kernel");
	TCase *query = tcase_create("query");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, keys_are_handed_out_and_a_peers_only_with_a_remote_permission);
	tcase_add_test(tcase, remote_write_and_atomics_need_local_write);
	tcase_add_test(tcase, memory_that_is_not_there_is_an_invalid_address);
	tcase_add_test(tcase, memory_that_does_not_permit_the_access_is_an_invalid_address);
	tcase_add_test(tcase, memory_behind_the_end_of_its_file_is_an_invalid_address);
	tcase_add_test(tcase, registering_changes_no_byte);
	tcase_add_test(tcase, a_range_that_overflows_is_refused);
	tcase_add_test(tcase, an_iova_names_the_first_byte);
	tcase_add_test(tcase, reserved_members_are_refused);
	tcase_add_test(tcase, as_many_as_the_limit_says_and_not_one_more);
	tcase_add_test(tcase, what_the_module_refuses_leaves_nothing);
	tcase_add_test(tcase, with_windows_bound_it_is_busy_and_stays);
	tcase_add_test(tcase, memory_shared_with_the_hca_is_zeroed_and_registered_like_any_other);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(old, set_up_old, tear_down_old);
	tcase_add_test(old, memory_that_is_not_there_is_an_invalid_address);
	tcase_add_test(old, memory_that_does_not_permit_the_access_is_an_invalid_address);
	tcase_add_test(old, memory_behind_the_end_of_its_file_is_an_invalid_address);
	tcase_add_test(old, registering_changes_no_byte);
	tcase_add_test(old, without_descriptors_it_says_so);
	suite_add_tcase(suite, old);
	tcase_add_checked_fixture(query, set_up_query, tear_down);
	tcase_add_test(query, attributes_are_those_of_the_module);
	suite_add_tcase(suite, query);
	return test_run(suite);
}
