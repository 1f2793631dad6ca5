/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* TEST_TIMEOUT_SCALE: the factor for the tests' limits of one event, an integer or a fraction. */
#ifndef IBAL_TEST_SCALE_H
#define IBAL_TEST_SCALE_H

#include <stdlib.h>
#include <time.h>

/* Scales a limit in milliseconds. The limit is unchanged if no scale above 0 is set. */
static inline long test_scaled_ms(long ms)
{
	const char *text = getenv("TEST_TIMEOUT_SCALE");
	double scale = text ? strtod(text, NULL) : 1;

	return scale > 0 ? (long)((double)ms * scale) : ms;
}

static inline void test_add_ms(struct timespec *t, long ms)
{
	t->tv_sec += ms / 1000;
	t->tv_nsec += ms % 1000 * 1000000;
	if (t->tv_nsec >= 1000000000) {
		t->tv_nsec -= 1000000000;
		t->tv_sec++;
	}
}

#endif
