/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A second link, for tests: the same cables as the loop link, but packets go one by one and by value, as they do between
 * processes and hosts, and lie in a queue of the far port until that port is polled.
 */
#ifndef TEST_QUEUE_LINK_H
#define TEST_QUEUE_LINK_H

#include <stdbool.h>

/* All ports that the software HCA makes from now on have the queue link. */
void queue_link_use(void);
/* Is IBAL_TEST_LINK "queue"? */
bool queue_link_asked(void);

#endif
