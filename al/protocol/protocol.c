/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What both ends use: the command table's sizes and names, and descriptors. */
#include "al/protocol/protocol.h"

#include <string.h>

#define ARRAY(type, most)          \
	{                          \
		sizeof(type), most \
	}
#define NO_ARRAY     \
	{            \
		0, 0 \
	}
#define LOOP      AGENT_LOOP
#define LATER     AGENT_LATER
#define WORKER    AGENT_WORKER
#define VENDOR    true
#define NO_VENDOR false

const struct agent_sizes agent_sizes[AGENT_NUM_COMMANDS] = {
#define COMMAND(name, place, right, makes_kind, vendors, handles, bools, first, second, out_array) \
	[AGENT_##name] = {                                                                         \
		.request = sizeof(struct name##_request),                                          \
		.answer = sizeof(struct name##_answer),                                            \
		.in = { first, second },                                                           \
		.out = out_array,                                                                  \
		.where = place,                                                                    \
		.vendor = vendors,                                                                 \
		.makes = AL_OBJ_##makes_kind != AL_OBJ_NONE,                                       \
	},
#include "al/protocol/commands.def"
};

const char *const agent_names[AGENT_NUM_COMMANDS] = {
#define COMMAND(name, ...) [AGENT_##name] = #name,
#include "al/protocol/commands.def"
};

#undef ARRAY
#undef NO_ARRAY
#define ARRAY(type, most) (sizeof(type) * (most))
#define NO_ARRAY          0

/* Every record fits. */
#define COMMAND(name, where, right, makes, vendors, handles, bools, first, second, out_array)     \
	_Static_assert(sizeof(struct agent_head) + sizeof(struct name##_request) + (first) +      \
				       (second) + (vendors)*UVP_MAX_DATA <=                       \
			       AGENT_RECORD,                                                      \
		       "request " #name " can be longer than a record");                          \
	_Static_assert(sizeof(struct agent_answer) + sizeof(struct name##_answer) + (out_array) + \
				       (vendors)*UVP_MAX_DATA <=                                  \
			       AGENT_RECORD,                                                      \
		       "answer " #name " can be longer than a record");
#include "al/protocol/commands.def"

/* ------------------------------------------------------------- descriptors */

void agent_put_fds(struct msghdr *msg, char *control, const int *fds, uint32_t num)
{
	struct cmsghdr *c;

	if (!num)
		return;
	memset(control, 0, CMSG_SPACE(num * sizeof(int)));
	msg->msg_control = control;
	msg->msg_controllen = CMSG_SPACE(num * sizeof(int));
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(num * sizeof(int));
	memcpy(CMSG_DATA(c), fds, num * sizeof(int));
}

uint32_t agent_take_fds(struct msghdr *msg, int fds[AGENT_MAX_FDS])
{
	/* The room is for one such message. */
	const struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	uint32_t num;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return 0;
	num = (uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(fds, CMSG_DATA(c), num * sizeof(int));
	return num;
}
