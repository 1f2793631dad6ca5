/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* main() of al_query. Its code is in query.c and query_*.c, which tests call in their own
 * process. */
#include "al/tools/query.h"

int main(int argc, char **argv)
{
	tool_begin("al_query");
	return query_main(argc, argv);
}
