/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Snapshots: copies of the process's HCAs, objects, modules and PCI functions, in one allocation,
 * for al_query. The data come from struct al_obj, struct al_dev and the registry in ci/. */
#include <string.h>
#include <time.h>

#include "al/mgmt/mgmt.h"
#include "al/object/device.h"
#include "al/user/user.h"
#include "al/verbs/verbs.h"

/* Sizes of a snapshot's arrays, and the copies from ci/ that go into the snapshot. */
struct parts {
	size_t cas, objects, mad_svcs, pci, modules; /* number of elements */
	struct ci_snap_module *ci_modules;
	struct ci_snap_pci *ci_pci;
	char *pci_error;
};

/* The arrays of a snapshot while they are being filled. */
struct filling {
	struct al_snap_ca *cas;
	struct al_snap_object *objects;
	struct al_snap_mad_svc *mad_svcs;
	struct al_snap_pci *pci;
	struct al_snap_module *modules;
	/* HCAs, objects and services found; more than the room: they are counted but not copied */
	size_t num_cas, num_objects, num_mad_svcs;
	size_t room_cas, room_objects, room_mad_svcs; /* allocated elements */
	uint64_t now_ns;                              /* time of the snapshot, CLOCK_MONOTONIC */
};

static bool is_shown(const struct al_obj *obj)
{
	/* the agent's own snapshot shows objects behind an agent */
	return obj->published && !obj_agent(obj) && !obj_internal(obj);
}

/* ---------------------------------------------------------------- objects */

/* The number that identifies or describes an object in al_snap_object.number. */
static uint32_t number_of(const struct al_obj *obj)
{
	switch (obj->type->id) {
	case AL_OBJ_QP:
		return ((const struct ci_qp *)obj->ci)->qp_num;
	case AL_OBJ_MR:
		return ((const struct ci_mr *)obj->ci)->lkey;
	case AL_OBJ_MAD_SVC:
		return mad_svc_number(obj);
	case AL_OBJ_CQ:
		return __atomic_load_n(&((const struct ci_cq *)obj->ci)->cqe, __ATOMIC_RELAXED);
	default:
		return 0;
	}
}

/* Under tree_lock. */
static void add_mad_svc(struct filling *f, const struct al_obj *obj)
{
	struct al_snap_mad_svc *to;

	f->num_mad_svcs++;
	if (f->num_mad_svcs > f->room_mad_svcs)
		return;
	to = &f->mad_svcs[f->num_mad_svcs - 1];
	to->id = obj->handle;
	mad_svc_counts(obj, to);
}

/* Under tree_lock. */
static void add_object(struct al_obj *obj, void *arg)
{
	struct filling *f = arg;
	struct al_snap_object *to;

	if (!is_shown(obj))
		return;
	f->num_objects++;
	if (f->num_objects > f->room_objects)
		return;
	to = &f->objects[f->num_objects - 1];
	to->id = obj->handle;
	to->parent = obj->parent ? obj->parent->handle : 0;
	to->type = obj->type->id;
	to->dying = obj_dying(obj);
	to->dead = obj->dev && !obj->dev->reg;
	to->pid = obj->pid;
	to->uid = obj->uid;
	to->number = number_of(obj);
	to->users = atomic_load(&obj->live) & ~OBJ_DYING;
	to->ca_guid = obj->dev ? obj->dev->guid : 0;
	to->age_ns = f->now_ns - obj->created_ns;
	memcpy(to->comm, obj->comm, sizeof(to->comm));
	if (to->type == AL_OBJ_MAD_SVC)
		add_mad_svc(f, obj);
}

/*
 * Adds the details of an object. The queries of the module may sleep, so they follow after tree_lock
 * is dropped. An object that has ended meanwhile has none, and a queue pair is shown in Reset.
 */
static void add_qp(struct al_snap_object *to)
{
	struct al_snap_qp *qp = &to->detail.qp;
	struct al_qp_failure failure = { 0 };
	struct al_qp_init init = { 0 };
	struct ib_qp_attr attr;

	if (al_query_qp((al_qp_h)(uintptr_t)to->id, &attr, &init))
		return;
	failure_find((al_qp_h)(uintptr_t)to->id, &failure);
	to->has_detail = true;
	to->state = attr.qp_state;
	*qp = (struct al_snap_qp){
		.send_cq = (uintptr_t)init.send_cq,
		.recv_cq = (uintptr_t)init.recv_cq,
		.peer_gid = attr.ah_attr.grh.dgid,
		.peer_qpn = attr.dest_qp_num,
		.max_send_wr = attr.cap.max_send_wr,
		.max_recv_wr = attr.cap.max_recv_wr,
		.send_outstanding = attr.send_outstanding,
		.recv_outstanding = attr.recv_outstanding,
		.peer_lid = attr.ah_attr.dlid,
		.type = (uint8_t)init.qp_type,
		.path_mtu = (uint8_t)attr.path_mtu,
		.port_num = attr.port_num,
		.retry_cnt = attr.retry_cnt,
		.rnr_retry = attr.rnr_retry,
		.retries_left = attr.retries_left,
		.rnr_retries_left = attr.rnr_retries_left,
		.has_peer = (init.qp_type == IB_QPT_RC || init.qp_type == IB_QPT_UC) &&
			    attr.qp_state != IB_QPS_RESET && attr.qp_state != IB_QPS_INIT,
		.is_global = attr.ah_attr.is_global,
		.has_usage = attr.has_usage,
		.failed_wr_id = failure.wr_id,
		.failed = failure.count,
		.failed_status = failure.status,
	};
}

static void add_cq(struct al_snap_object *to)
{
	struct al_cq_attr attr;

	if (al_query_cq((al_cq_h)(uintptr_t)to->id, &attr))
		return;
	to->has_detail = true;
	to->detail.cq = (struct al_snap_cq){
		.count = attr.count,
		.comp_vector = attr.comp_vector,
		.armed = attr.armed,
		.overflowed = attr.overflowed,
	};
}

static void add_mr(struct al_snap_object *to)
{
	struct ib_mr_attr attr;

	if (al_query_mr((al_mr_h)(uintptr_t)to->id, &attr))
		return;
	to->has_detail = true;
	to->detail.mr = (struct al_snap_mr){
		.addr = attr.addr,
		.length = attr.length,
		.access = attr.access,
		.lkey = attr.lkey,
		.rkey = attr.rkey,
		.bound_windows = attr.bound_windows,
	};
}

static void add_ah(struct al_snap_object *to)
{
	struct ib_ah_attr attr;

	if (al_query_ah((al_ah_h)(uintptr_t)to->id, &attr))
		return;
	to->has_detail = true;
	to->detail.ah = (struct al_snap_ah){
		.gid = attr.grh.dgid,
		.lid = attr.dlid,
		.sl = attr.sl,
		.port_num = attr.port_num,
		.is_global = attr.is_global,
	};
}

static void add_detail(struct al_snap_object *to)
{
	switch (to->type) {
	case AL_OBJ_QP:
		add_qp(to);
		break;
	case AL_OBJ_CQ:
		add_cq(to);
		break;
	case AL_OBJ_MR:
		add_mr(to);
		break;
	case AL_OBJ_AH:
		add_ah(to);
		break;
	default:
		break;
	}
}

/* ------------------------------------------------------------------- HCAs */

/* Under tree_lock. */
static bool is_shown_ca(const struct al_dev *dev)
{
	return dev->reg && !dev->agent && !dev_is_switch(dev);
}

/* Under tree_lock. */
static void add_ca(struct filling *f, struct al_dev *dev)
{
	struct al_snap_ca *to;

	if (!is_shown_ca(dev))
		return;
	f->num_cas++;
	if (f->num_cas > f->room_cas)
		return;
	to = &f->cas[f->num_cas - 1];
	to->guid = dev->guid;
	memcpy(to->module, dev->module, sizeof(to->module));
	memcpy(to->module_version, dev->module_version, sizeof(to->module_version));
	to->attr = dev->attr;
	to->opens = atomic_load(&dev->count[AL_OBJ_CA]);
	for (unsigned int id = AL_OBJ_NONE + 1; id < AL_OBJ_TYPES; id++) {
		const uint32_t *limit = dev_limit(dev, (al_object_type)id);
		struct al_snap_count count = {
			.type = (al_object_type)id,
			.now = atomic_load(&dev->count[id]),
			.high = atomic_load(&dev->high[id]),
			.max = limit ? *limit : 0,
		};

		if (count.high || count.max)
			to->counts[to->num_counts++] = count;
	}
}

/* Replaces an HCA's attributes by a fresh query: al_modify_ca() may have changed them, and a client
 * of an agent has limits of its own. */
static void add_attr(const void *agent, struct al_snap_ca *to)
{
	struct al_dev *dev = dev_find(agent, to->guid);
	const struct ci_interface *ops;
	char why[CI_TEXT_MAX];
	struct ib_ca_attr attr;

	if (!dev)
		return;
	ops = dev_enter(dev);
	if (!ops_dead(ops) && !ci_query_ca(ops, dev->reg->ca, &attr, why)) {
		to->attr = attr;
		memcpy(to->attr.name, dev->attr.name, sizeof(to->attr.name));
	}
	dev_leave(dev, ops);
	dev_put(dev);
}

/* ----------------------------------------------------------- modules, PCI */

static void add_module(struct al_snap_module *to, const struct ci_snap_module *from)
{
	memcpy(to->name, from->name, sizeof(to->name));
	memcpy(to->version, from->version, sizeof(to->version));
	memcpy(to->license, from->license, sizeof(to->license));
	memcpy(to->path, from->path, sizeof(to->path));
	memcpy(to->text, from->text, sizeof(to->text));
	to->users = from->users;
	to->status = from->status;
}

static void add_pci(struct al_snap_pci *to, const struct ci_snap_pci *from)
{
	memcpy(to->name, from->name, sizeof(to->name));
	memcpy(to->module, from->module, sizeof(to->module));
	memcpy(to->text, from->text, sizeof(to->text));
	to->vendor_id = from->vendor_id;
	to->device_id = from->device_id;
	to->class_code = from->class_code;
}

/* ---------------------------------------------------------------- together */

static void count_object(struct al_obj *obj, void *arg)
{
	struct parts *parts = arg;

	if (!is_shown(obj))
		return;
	parts->objects++;
	if (obj->type->id == AL_OBJ_MAD_SVC)
		parts->mad_svcs++;
}

static void count_parts(struct parts *parts)
{
	parts->objects = parts->mad_svcs = parts->cas = 0;
	obj_for_each(count_object, parts);
	pthread_mutex_lock(&tree_lock);
	for (struct al_dev *dev = dev_first(); dev; dev = dev->next)
		if (is_shown_ca(dev))
			parts->cas++;
	pthread_mutex_unlock(&tree_lock);
}

/* Allocates a snapshot as one block: the struct, its arrays, the text of pci_error. */
static struct al_snapshot *make_room(const struct parts *parts, struct filling *f)
{
	size_t text = parts->pci_error ? strlen(parts->pci_error) + 1 : 0;
	struct al_snapshot *snap;

	snap = al_alloc(sizeof(*snap) + parts->cas * sizeof(*f->cas) +
			parts->objects * sizeof(*f->objects) +
			parts->mad_svcs * sizeof(*f->mad_svcs) +
			parts->modules * sizeof(*f->modules) + parts->pci * sizeof(*f->pci) + text);
	if (!snap)
		return NULL;
	f->cas = (struct al_snap_ca *)(snap + 1);
	f->objects = (struct al_snap_object *)(f->cas + parts->cas);
	f->mad_svcs = (struct al_snap_mad_svc *)(f->objects + parts->objects);
	f->modules = (struct al_snap_module *)(f->mad_svcs + parts->mad_svcs);
	f->pci = (struct al_snap_pci *)(f->modules + parts->modules);
	f->room_cas = parts->cas;
	f->room_objects = parts->objects;
	f->room_mad_svcs = parts->mad_svcs;
	if (text)
		snap->pci_error = memcpy(f->pci + parts->pci, parts->pci_error, text);
	return snap;
}

/* Copies the HCAs, objects and MAD services. False: more of them exist now than count_parts()
 * found. */
static bool fill(struct filling *f)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	f->now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	f->num_cas = f->num_objects = f->num_mad_svcs = 0;
	obj_for_each(add_object, f);
	pthread_mutex_lock(&tree_lock);
	for (struct al_dev *dev = dev_first(); dev; dev = dev->next)
		add_ca(f, dev);
	pthread_mutex_unlock(&tree_lock);
	return f->num_cas <= f->room_cas && f->num_objects <= f->room_objects &&
	       f->num_mad_svcs <= f->room_mad_svcs;
}

static void finish(struct al_snapshot *snap, const struct filling *f, const struct parts *parts)
{
	for (size_t i = 0; i < f->num_cas; i++)
		add_attr(NULL, &f->cas[i]);
	for (size_t i = 0; i < f->num_objects; i++)
		add_detail(&f->objects[i]);
	for (size_t i = 0; i < parts->modules; i++)
		add_module(&f->modules[i], &parts->ci_modules[i]);
	for (size_t i = 0; i < parts->pci; i++)
		add_pci(&f->pci[i], &parts->ci_pci[i]);
	snap->cas = f->cas;
	snap->num_cas = f->num_cas;
	snap->objects = f->objects;
	snap->num_objects = f->num_objects;
	snap->mad_svcs = f->mad_svcs;
	snap->num_mad_svcs = f->num_mad_svcs;
	snap->modules = f->modules;
	snap->num_modules = parts->modules;
	snap->pci = f->pci;
	snap->num_pci = parts->pci;
}

static al_status build(struct parts *parts, struct al_snapshot **out)
{
	struct al_snapshot *snap;
	struct filling f;

	for (;;) {
		count_parts(parts);
		snap = make_room(parts, &f);
		if (!snap)
			return AL_INSUFFICIENT_MEMORY;
		if (fill(&f))
			break;
		al_free(snap);
	}
	finish(snap, &f, parts);
	*out = snap;
	return AL_SUCCESS;
}

al_status al_snapshot(al_h al, struct al_snapshot **snap)
{
	struct parts parts = { 0 };
	struct al_call call;
	al_status status;

	if (!snap)
		return REFUSE(AL_INVALID_PARAMETER, "snap is NULL");
	status = call_begin(&call, al, AL_OBJ_AL);
	if (status)
		return SETTLED(status);
	if (obj_agent(call.obj)) {
		status = user_snapshot(((struct al_instance *)call.obj)->agent, snap);
		for (size_t i = 0; !status && i < (*snap)->num_cas; i++)
			add_attr(obj_agent(call.obj), (struct al_snap_ca *)&(*snap)->cas[i]);
		goto out;
	}
	status = ci_snapshot_modules(&parts.ci_modules, &parts.modules);
	if (!status)
		status = ci_snapshot_pci(&parts.ci_pci, &parts.pci, &parts.pci_error);
	if (!status)
		status = build(&parts, snap);
	al_free(parts.ci_modules);
	al_free(parts.ci_pci);
	al_free(parts.pci_error);
out:
	return CALL_FINISH(&call, status);
}

void al_free_snapshot(struct al_snapshot *snap)
{
	al_free(snap);
}
