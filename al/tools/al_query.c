/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* al_query: the program. Everything is in query.c and the subcommands, so that a test can run them in its own process. */
#include "al/tools/query.h"

int main(int argc, char **argv)
{
	tool_begin("al_query");
	return query_main(argc, argv);
}
