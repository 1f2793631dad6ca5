/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The functions of the command table's rows, such as command_CREATE_CQ(). The caller has checked
 * the request as the row says. The functions of WORKER rows run off the loop; they use only the
 * connection of the request and the object that they make.
 */
#ifndef AL_AGENT_VERBS_H
#define AL_AGENT_VERBS_H

#include "al/agent/connection.h"

/* Declares the request and the answer of the function's command. */
#define BEGIN(name)                                                            \
	const struct name##_request *request = connection_request(connection); \
	struct name##_answer *answer = connection_answer(connection)
#define HANDLE(type, i) ((type)(uintptr_t)connection->handles[i])

#define COMMAND(name, ...) void command_##name(struct connection *connection);
#include "al/protocol/commands.def"

/* A request of a client's queue pair has failed. context: the queue pair's, its object. */
void verbs_failed(void *context);

#endif
