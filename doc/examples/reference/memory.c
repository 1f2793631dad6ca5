/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An example of the reference: registers memory of both kinds, and ends the regions. */
#include "must.h"

#include <string.h>

/* [memory] */
static void with_a_region(al_pd_h pd)
{
	struct al_mr_init init = {
		.length = 1 << 20,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	uint32_t lkey, rkey;
	al_mr_h mr;

	init.addr = malloc(init.length);
	if (!init.addr)
		exit(EXIT_FAILURE);
	must(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr), "al_reg_mr");
	/* lkey goes into the program's own requests (ib_sge), rkey with the address to a peer */
	printf("%zu bytes: lkey %#x, rkey %#x\n", (size_t)init.length, lkey, rkey);
	must(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL), "al_dereg_mr");
	free(init.addr); /* not before: peers might write to the memory until the region has ended
			  */
}
/* [memory] */

/* [coherent] */
static void with_coherent_memory(al_ca_h ca, al_pd_h pd)
{
	struct al_mr_init init = { .length = 4096, .access = IB_ACCESS_LOCAL_WRITE };
	uint32_t lkey, rkey;
	uint64_t dma;
	al_mr_h mr;

	must(al_dma_alloc_coherent(ca, init.length, &init.addr, &dma), "al_dma_alloc_coherent");
	must(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr), "al_reg_mr");
	memset(init.addr, 'x', init.length); /* an agent's HCA sees this without a copy */
	must(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL), "al_dereg_mr");
	must(al_dma_free_coherent(ca, init.length, init.addr, dma), "al_dma_free_coherent");
}
/* [coherent] */

int main(void)
{
	uint64_t guids[8];
	size_t count = 8;
	al_ca_h ca;
	al_pd_h pd;
	al_h al;

	must(al_open(NULL, &al), "al_open");
	must(al_get_ca_guids(al, guids, &count), "al_get_ca_guids");
	must(al_open_ca(al, guids[0], NULL, &ca), "al_open_ca");
	must(al_alloc_pd(ca, NULL, &pd), "al_alloc_pd");
	with_a_region(pd);
	with_coherent_memory(ca, pd);
	must(al_dealloc_pd(pd, NULL, NULL), "al_dealloc_pd");
	al_close_ca(ca, NULL, NULL);
	al_close(al, AL_DESTROY_SYNC, NULL);
	return EXIT_SUCCESS;
}
