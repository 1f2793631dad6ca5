/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The socket on which the agent listens. */
#ifndef AL_AGENT_SOCKET_H
#define AL_AGENT_SOCKET_H

#include <sys/types.h>

/*
 * Makes a listening socket, in place of the socket of an agent that was killed. Returns its
 * descriptor; -1: the log says why.
 */
int socket_listen(const char *path, mode_t mode);

#endif
