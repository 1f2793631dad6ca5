/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Closing descriptors that clients have sent, some of which block, and refusing more of them. */
#include "al/agent/descriptor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <iba/ib_hca.h>

#include "test/unit/al/al_test.h"

enum { GREEDY = 1001, MODEST = 1002 };

static _Atomic ino_t gate; /* a file whose close() blocks, as one of FUSE can */
static sem_t opened;

/* In place of the C library's. */
int close(int fd)
{
	struct stat st;

	if (gate && !fstat(fd, &st) && st.st_ino == gate)
		while (sem_wait(&opened))
			;
	return (int)syscall(SYS_close, fd);
}

static struct account *user(uint32_t uid)
{
	struct account *account = account_user(uid);

	ck_assert_ptr_nonnull(account);
	return account;
}

static uint64_t use_of(uint32_t uid, al_resource resource)
{
	struct al_snap_client *shown;
	uint64_t clients, users, now;

	ck_ok(account_show(false, uid, &shown, &clients, &users));
	ck_assert_uint_eq(clients, 0);
	now = users ? shown[0].use[resource].now : 0;
	al_free(shown);
	return now;
}

static void settle(uint32_t uid, al_resource resource, uint64_t want)
{
	struct timespec deadline = test_deadline();

	while (use_of(uid, resource) != want) {
		ck_assert_msg(!test_expired(&deadline), "user %u has %llu %s instead of %llu", uid,
			      (unsigned long long)use_of(uid, resource), al_resource_str(resource),
			      (unsigned long long)want);
		sched_yield();
	}
}

static void give_up(uint32_t uid, int fd)
{
	const struct descriptors list = { .user = user(uid), .num = 1, .fd = { fd } };

	account_force(list.user, AL_RESOURCE_DESCRIPTORS, 1);
	descriptors_close(&list);
}

static int file(void)
{
	const int fd = memfd_create("file", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static uint32_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint32_t num = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		num++;
	closedir(dir);
	return num;
}

/* Of 64 threads six are kept for root; 75 percent of 58 are 43. */
START_TEST(a_users_descriptors_that_block_hold_his_share_of_the_threads)
{
	const uint32_t before = open_files();
	struct stat st;
	int blocking = file();

	account_limits(&ald_default_limits);
	ck_assert_int_eq(fstat(blocking, &st), 0);
	sem_init(&opened, 0, 0);
	gate = st.st_ino;
	for (int i = 0; i < 100; i++)
		give_up(GREEDY, dup(blocking));
	settle(GREEDY, AL_RESOURCE_CLOSERS, 43);
	for (int i = 0; i < 20; i++)
		give_up(MODEST, file());
	settle(MODEST, AL_RESOURCE_DESCRIPTORS, 0);
	ck_assert_uint_eq(use_of(GREEDY, AL_RESOURCE_DESCRIPTORS), 100);
	for (int i = 0; i < 101; i++)
		sem_post(&opened);
	settle(GREEDY, AL_RESOURCE_DESCRIPTORS, 0);
	settle(GREEDY, AL_RESOURCE_CLOSERS, 0);
	close(blocking);
	ck_assert_uint_eq(open_files(), before);
	account_end();
}
END_TEST

static void send_fd(int to, int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] __attribute__((aligned(8))) = { 0 }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(fd)),
			       .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	ck_assert_int_eq(sendmsg(to, &msg, 0), 1);
	close(fd);
}

START_TEST(a_user_beyond_his_share_sends_no_more_records)
{
	struct agent_limits to = ald_default_limits;
	struct account *greedy = user(GREEDY);
	const uint32_t before = open_files();
	struct descriptors list;
	int ends[2];
	char byte = 0;

	to.total[AL_RESOURCE_DESCRIPTORS] = 1000; /* of which a user's share is 675 */
	account_limits(&to);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	account_force(greedy, AL_RESOURCE_DESCRIPTORS, 675 - RECORD_FDS);
	send_fd(ends[1], file());
	ck_assert_int_eq(descriptors_receive(ends[0], greedy, &byte, 1, &list), 1);
	ck_assert_uint_eq(list.num, 1);
	ck_assert_uint_eq(use_of(GREEDY, AL_RESOURCE_DESCRIPTORS), 675 - RECORD_FDS + 1);
	send_fd(ends[1], file());
	errno = 0;
	ck_assert_int_eq(descriptors_receive(ends[0], greedy, &byte, 1, &list), -1);
	ck_assert_int_eq(errno, EDQUOT);
	ck_assert_uint_eq(list.num, 0);
	ck_assert_uint_eq(open_files(), before + 3);
	account_return(greedy, AL_RESOURCE_DESCRIPTORS, 675 - RECORD_FDS);
	descriptors_hang_up(ends[0], greedy); /* the record that was not read goes with it */
	settle(GREEDY, AL_RESOURCE_DESCRIPTORS, 0);
	close(ends[1]);
	ck_assert_uint_eq(open_files(), before + 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("agent: descriptors");
	TCase *tc = tcase_create("closers");

	tcase_add_test(tc, a_users_descriptors_that_block_hold_his_share_of_the_threads);
	tcase_add_test(tc, a_user_beyond_his_share_sends_no_more_records);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
