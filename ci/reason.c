/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Reasons of refusals: the sentence that says why a call of the calling thread was refused. The
 * function that finds the fault stores the sentence; the function of the API that returns the
 * status settles it, so that no refusal keeps the sentence of an earlier one.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ci/ci.h"

/* Lines about refusals that the log gets in a second. */
#define MAX_LINES 20

__thread struct ci_reason ci_reason;
/* Not in the space for initial thread-local data, of which a process that loads the library late
 * has little. */
static __thread char text[CI_TEXT_MAX] __attribute__((tls_model("global-dynamic")));

void ci_one_line(char *sentence)
{
	for (char *c = sentence; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
}

#undef ib_refuse
al_status ib_refuse(al_status status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ci_one_line(text);
	ci_reason.status = status;
	ci_reason.fresh = true;
	return status;
}

const char *ci_reason_text(void)
{
	return text;
}

void ci_reason_save(struct ci_saved_reason *saved)
{
	saved->state = ci_reason;
	memcpy(saved->text, text, sizeof(text));
}

void ci_reason_restore(const struct ci_saved_reason *saved)
{
	ci_reason = saved->state;
	memcpy(text, saved->text, sizeof(text));
}

void ci_reason_clear(void)
{
	text[0] = 0;
	ci_reason.fresh = false;
}

/* True: the log may have one more line about refusals in this second. Writes how many lines the log
 * did not get before. */
static bool take_line(unsigned int *left_out)
{
	static _Atomic uint64_t window; /* second in the upper half, lines in the lower */
	static _Atomic unsigned int dropped;
	struct timespec now;
	uint64_t seen, next;

	clock_gettime(CLOCK_MONOTONIC, &now);
	seen = atomic_load(&window);
	do {
		if (seen >> 32 == (uint64_t)now.tv_sec && (uint32_t)seen >= MAX_LINES) {
			atomic_fetch_add(&dropped, 1);
			return false;
		}
		next = seen >> 32 == (uint64_t)now.tv_sec ? seen + 1
							  : (uint64_t)now.tv_sec << 32 | 1;
	} while (!atomic_compare_exchange_weak(&window, &seen, next));
	*left_out = atomic_exchange(&dropped, 0);
	return true;
}

void ci_reason_log(const char *fmt, ...)
{
	char line[CI_TEXT_MAX + 256], more[64] = "";
	unsigned int left_out;
	va_list ap;

	if (!ci_log_wanted(IB_LOG_DEBUG) || !take_line(&left_out))
		return;
	if (left_out)
		snprintf(more, sizeof(more), "; %u lines before this one were left out", left_out);
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	ib_log(IB_LOG_DEBUG, "al", "%s%s", line, more);
}
