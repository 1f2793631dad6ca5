/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The socket that the agent listens on. */
#ifndef AL_AGENT_SOCKET_H
#define AL_AGENT_SOCKET_H

#include <sys/types.h>

/* Negative: there is none, and the log says why. */
int socket_listen(const char *path, mode_t mode);

#endif
