/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A second link, for tests: the same cables as the loop link, but packets go one by one and by value, as they do between
 * processes and hosts, and lie in a queue of the far port until that port is polled.
 */
#ifndef TEST_QUEUE_LINK_H
#define TEST_QUEUE_LINK_H

#include <stdbool.h>

/*
 * IBAL_TEST_LINK says which link the ports have that the software HCA makes from now on: "queue", where a sender kicks the far
 * port's poller; "doorbell", where the sender writes to a descriptor that the far port's engine watches; else the loop link.
 */
void queue_link_use_as_asked(void);
/* Is the link one of these two? */
bool queue_link_in_use(void);

#endif
