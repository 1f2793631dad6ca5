/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The Access Layer's struct ci_upper: takes each arriving and removed HCA through the steps of
 * device.h and pnp.h, in order. */
#include "al/event/hca.h"

#include "al/event/async.h"
#include "al/event/pnp.h"

static const struct hca_management *management;

static al_status add(struct ci_registration *reg)
{
	struct al_dev *dev;
	al_status status = dev_new(reg, dev_run_events, &dev);

	if (status)
		return status;
	status = dev_listen(dev);
	if (!status)
		status = management->arrived(dev);
	if (!status)
		status = pnp_dev_add(dev);
	if (status) {
		management->leaving(dev);
		dev_abort(dev);
		return status;
	}
	ev_release(&dev->ev);
	IB_TRACE("al", "HCA 0x%016llx: ready for events, announced to clients",
		 (unsigned long long)dev->guid);
	return AL_SUCCESS;
}

static void remove_hca(struct ci_registration *reg, uint32_t flags)
{
	struct al_dev *dev = atomic_load(&reg->al);

	dev_remove_begin(dev, flags);
	pnp_dev_remove(dev);
	management->leaving(dev);
	dev_remove_end(dev);
}

void ib_port_trap(void *ca_ctx, uint8_t port, const struct ib_notice *notice)
{
	struct ci_registration *reg = ca_ctx;
	struct al_dev *dev;

	if (!reg || !notice) {
		ib_log(IB_LOG_ERROR, "al",
		       "ib_port_trap: a module passed NULL instead of %s; the call is dropped",
		       reg ? "a notice" : "the ctx of an HCA");
		return;
	}
	rcu_enter(); /* as in ib_dispatch_event() */
	dev = atomic_load(&reg->al);
	if (dev && !management->trap(dev, port, notice))
		ib_log(IB_LOG_ERROR, "al",
		       "ib_port_trap: module %s raised a trap at port %u, whose subnet management agent is not the Access Layer's; "
		       "the trap is dropped",
		       dev->module, port);
	rcu_leave();
}

static void users(struct ci_registration *reg, char *buf, size_t len)
{
	dev_users(atomic_load(&reg->al), buf, len);
}

void hca_set_management(const struct hca_management *m)
{
	management = m;
}

void hca_init(void)
{
	static const struct ci_upper upper = {
		.add = add, .remove = remove_hca, .users = users, .inside = dev_inside
	};

	ci_set_upper(&upper);
}
