/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Operations of an HCA and of protection domains. How an HCA is built and withdrawn is in module/. */
#include "hca/soft/object/hca.h"

al_status soft_open_ca(struct ci_ca *ca)
{
	struct soft_hca *hca = ca_hca(ca);
	al_status status = engine_start(hca->engine);

	if (!status)
		port_tell(&hca->ports, ca);
	return status;
}

void soft_close_ca(struct ci_ca *ca)
{
	struct soft_hca *hca = ca_hca(ca);

	port_tell(&hca->ports, NULL);
	engine_stop(hca->engine);
}

al_status soft_query_ca(struct ci_ca *ca, struct ib_ca_attr *attr)
{
	*attr = ca_hca(ca)->attr;
	return AL_SUCCESS;
}

al_status soft_allocate_pd(struct ci_pd *pd, struct ci_udata *udata)
{
	(void)pd; /* the checks of accesses compare addresses of protection domains, so a domain needs no data */
	(void)udata;
	return AL_SUCCESS;
}

void soft_deallocate_pd(struct ci_pd *pd)
{
	(void)pd;
}
