/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The environment, and the settings of log and trace that come from it. No other file reads
 * environment variables. The configuration file is ci/conf.c's; the variables are described in
 * ibal.conf(5).
 */
#include <stdlib.h>
#include <sys/auxv.h>

#include "ci/internal.h"

static pthread_once_t diag_once = PTHREAD_ONCE_INIT;

bool ci_secure(void)
{
	return getauxval(AT_SECURE) != 0;
}

const char *ci_env(const char *name)
{
	return secure_getenv(name);
}

static void diag_start(void)
{
	const char *text = ci_env("IBAL_LOG");
	ib_log_level level;

	if (text && ci_log_level_parse(text, &level))
		ci_log_set_level(level);
	else if (text)
		ib_log(IB_LOG_WARNING, "log",
		       "IBAL_LOG=%s is not one of error, warning, info, debug: the level \"warning\" is used",
		       text);
	ci_trace_start(ci_env("IBAL_TRACE"));
}

void ci_diag_start(void)
{
	pthread_once(&diag_once, diag_start);
}
