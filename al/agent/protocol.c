/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The command table's part that both ends use. */
#include "al/agent/protocol.h"

#define ARRAY(type, most)          \
	{                          \
		sizeof(type), most \
	}
#define NO_ARRAY     \
	{            \
		0, 0 \
	}
#define LOOP   true
#define WORKER false

const struct agent_sizes agent_sizes[AGENT_NUM_COMMANDS] = {
#define COMMAND(name, where, right, makes, handles, bools, first, second, out_array) \
	[AGENT_##name] = {                                                           \
		.request = sizeof(struct name##_request),                            \
		.answer = sizeof(struct name##_answer),                              \
		.in = { first, second },                                             \
		.out = out_array,                                                    \
		.atomic = where,                                                     \
	},
#include "al/agent/commands.def"
};

const char *const agent_names[AGENT_NUM_COMMANDS] = {
#define COMMAND(name, ...) [AGENT_##name] = #name,
#include "al/agent/commands.def"
};

#undef ARRAY
#undef NO_ARRAY
#define ARRAY(type, most) (sizeof(type) * (most))
#define NO_ARRAY          0

/* Every record fits. */
#define COMMAND(name, where, right, makes, handles, bools, first, second, out_array)               \
	_Static_assert(sizeof(struct agent_head) + sizeof(struct name##_request) + (first) +       \
				       (second) <=                                                 \
			       AGENT_RECORD,                                                       \
		       "request " #name " can be longer than a record");                           \
	_Static_assert(sizeof(struct agent_answer) + sizeof(struct name##_answer) + (out_array) <= \
			       AGENT_RECORD,                                                       \
		       "answer " #name " can be longer than a record");
#include "al/agent/commands.def"
