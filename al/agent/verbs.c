/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the commands do: each calls the verb of its name. The request has been checked as the
 * command table says; functions of WORKER rows run on a worker and see only the line that they
 * work for.
 */
#include "al/agent/agent.h"

#include <string.h>
#include <unistd.h>

/* The request, the answer, and the first handle. */
#define BEGIN(name)                                                \
	const struct name##_request *request = line_request(line); \
	struct name##_answer *answer = line_answer(line)
#define HANDLE(type, i) ((type)(uintptr_t)line->handles[i])

/* -------------------------------------------------------------------- events */

static void on_completion(void *context)
{
	struct object *object = context;

	source_raise(&object->source, SOURCE_COMPLETION);
}

static void on_event(void *context, const struct al_event *event)
{
	struct object *object = context;

	source_raise(&object->source, 1u << event->type);
}

static void on_port_event(void *context, const struct al_event *event)
{
	struct hca *hca = context;

	/* What happens to an object comes from its own source. */
	if (event->object == AL_OBJ_NONE && event->port_num <= hca->num_ports)
		source_port(&hca->ports[event->port_num], event->type);
}

static void prepare_source(struct object *object, uint64_t cookie)
{
	object->source = (struct source){ .session = object->session,
					  .kind = AGENT_EVENT_ASYNC,
					  .cookie = cookie };
}

/* ----------------------------------------------------------------------- HCA */

static struct hca *find_hca(struct session *session, uint64_t guid)
{
	struct hca *hca;

	for (hca = session->hcas; hca && hca->guid != guid; hca = hca->next)
		;
	return hca;
}

/* Once for each HCA; it stays until the session ends, since its events may be under way. */
static al_status make_ports(struct hca *hca, uint32_t num_ports, uint64_t cookie)
{
	struct source *ports = hca->ports;

	if (!ports) {
		ports = al_alloc((num_ports + 1) * sizeof(*ports));
		if (!ports)
			return AL_INSUFFICIENT_MEMORY;
		for (uint32_t i = 0; i <= num_ports; i++)
			ports[i] = (struct source){ .session = hca->session,
						    .kind = AGENT_EVENT_PORT,
						    .port = i };
		hca->num_ports = num_ports;
	}
	pthread_mutex_lock(&hca->session->event_lock);
	for (uint32_t i = 0; i <= hca->num_ports; i++)
		ports[i].cookie = cookie;
	hca->ports = ports;
	pthread_mutex_unlock(&hca->session->event_lock);
	return AL_SUCCESS;
}

static void module_of(struct line *line)
{
	BEGIN(MODULE_OF);

	line->status = al_module_of(request->guid, answer->name, sizeof(answer->name));
}

static void open_ca(struct line *line)
{
	struct session *session = line->session;
	al_event_handler_h handler;
	struct hca *hca;
	al_ca_h ca;
	bool taken = false;
	BEGIN(OPEN_CA);

	pthread_mutex_lock(&session->event_lock);
	hca = find_hca(session, request->guid);
	if (hca) {
		taken = hca->ca || hca->opening || hca->leaving;
		if (!taken)
			hca->opening = true;
	}
	pthread_mutex_unlock(&session->event_lock);
	if (!hca || taken) {
		line->status = hca ? AL_DUPLICATE : AL_NOT_FOUND;
		return;
	}
	line->status = al_open_ca(session->al, request->guid, hca, &ca);
	if (line->status)
		goto out;
	line->status = al_query_ca(ca, &answer->attr);
	if (!line->status)
		line->status = make_ports(hca, answer->attr.num_ports, request->cookie);
	if (!line->status)
		line->status = al_reg_event_handler(ca, NULL, hca, on_port_event, &handler);
	if (line->status) {
		al_close_ca(ca, NULL, NULL);
		goto out;
	}
	line->made = ca;
	line->making->hca = hca;
out:
	pthread_mutex_lock(&session->event_lock);
	hca->opening = false;
	hca->ca = line->status ? NULL : ca;
	pthread_mutex_unlock(&session->event_lock);
}

static void at_most(uint32_t *value, uint64_t limit)
{
	if (*value > limit)
		*value = (uint32_t)limit;
}

/* What reserve() of command.c would refuse to this client is none of the HCA's to it. */
static void show_limits(const struct account *client, struct ib_ca_attr *attr)
{
	uint64_t bytes = account_limit(client, AL_RESOURCE_BYTES);
	uint64_t rings = account_limit(client, AL_RESOURCE_RINGS);

	at_most(&attr->max_pd, account_limit(client, AL_RESOURCE_PDS));
	at_most(&attr->max_mr, account_limit(client, AL_RESOURCE_MRS));
	at_most(&attr->max_cq, account_limit(client, AL_RESOURCE_CQS));
	at_most(&attr->max_qp, account_limit(client, AL_RESOURCE_QPS));
	at_most(&attr->max_cqe, rings / sizeof(struct ib_wc));
	at_most(&attr->max_qp_wr, rings / sizeof(struct agent_send));
	if (attr->max_mr_size > bytes)
		attr->max_mr_size = bytes;
}

static void query_ca(struct line *line)
{
	struct QUERY_CA_answer *answer = line_answer(line);

	line->status = al_query_ca(HANDLE(al_ca_h, 0), &answer->attr);
	if (!line->status)
		show_limits(&line->session->account, &answer->attr);
}

static void query_port(struct line *line)
{
	BEGIN(QUERY_PORT);

	line->status =
		request->port > UINT8_MAX
			? AL_INVALID_PORT
			: al_query_port(HANDLE(al_ca_h, 0), (uint8_t)request->port, &answer->attr);
}

static void query_gid(struct line *line)
{
	BEGIN(QUERY_GID);

	line->status = request->port > UINT8_MAX
			       ? AL_INVALID_PORT
			       : al_query_gid(HANDLE(al_ca_h, 0), (uint8_t)request->port,
					      request->index, &answer->gid);
}

static void query_pkey(struct line *line)
{
	uint16_t pkey = 0;
	BEGIN(QUERY_PKEY);

	line->status = request->port > UINT8_MAX
			       ? AL_INVALID_PORT
			       : al_query_pkey(HANDLE(al_ca_h, 0), (uint8_t)request->port,
					       request->index, &pkey);
	answer->pkey = pkey;
}

static void modify_ca(struct line *line)
{
	const struct MODIFY_CA_request *request = line_request(line);

	line->status =
		request->mask > UINT32_MAX
			? AL_INVALID_PARAMETER
			: al_modify_ca(HANDLE(al_ca_h, 0), (uint32_t)request->mask, &request->attr);
}

static void modify_port(struct line *line)
{
	const struct MODIFY_PORT_request *request = line_request(line);

	line->status = request->port > UINT8_MAX
			       ? AL_INVALID_PORT
			       : al_modify_port(HANDLE(al_ca_h, 0), (uint8_t)request->port,
						request->mask, &request->attr);
}

static void vendor_call(struct line *line)
{
	const struct VENDOR_CALL_request *request = line_request(line);
	uint32_t length = request->room;

	if (length > AGENT_VENDOR_BYTES) {
		line->status = AL_INVALID_PARAMETER;
		return;
	}
	memset(line_out(line), 0, length);
	line->status = al_vendor_call(HANDLE(al_ca_h, 0), request->code,
				      line->count[0] ? line_in(line, 0) : NULL, line->count[0],
				      length ? line_out(line) : NULL, length ? &length : NULL);
	line->out_count = length < request->room ? length : request->room;
}

/* ------------------------------------------------------------ domain, memory */

static void alloc_pd(struct line *line)
{
	al_pd_h pd = NULL;

	line->status = al_alloc_pd(HANDLE(al_ca_h, 0), line->making, &pd);
	line->made = pd;
}

static void reg_mr(struct line *line)
{
	al_mr_h mr = NULL;
	BEGIN(REG_MR);
	struct ci_udata *udata = &line->udata.ci;
	struct al_mr_init init = {
		.addr = (void *)(uintptr_t)request->addr, /* the client's: never looked into */
		.length = request->length,
		.access = request->access,
		.use_iova = !(request->access & IB_ACCESS_ZERO_BASED),
		.iova = request->access & IB_ACCESS_ZERO_BASED ? 0 : request->iova,
	};

	if (request->zero[0] | request->zero[1] | request->zero[2] ||
	    (request->access & IB_ACCESS_ZERO_BASED && request->iova) ||
	    (!request->mapped && request->offset)) {
		line->status = AL_INVALID_PARAMETER;
		return;
	}
	if (request->mapped) { /* the others are the provider's */
		line->status = memory_map(line->making, *udata->fds, request, &init.addr);
		if (line->status)
			return;
		udata->num_fds--;
		udata->fds = udata->num_fds ? udata->fds + 1 : NULL;
	}
	line->status = (request->mapped ? al_reg_mapped_mr : al_reg_mr)(
		HANDLE(al_pd_h, 0), &init, line->making, &answer->lkey, &answer->rkey, &mr);
	line->made = mr;
}

static void query_mr(struct line *line)
{
	struct QUERY_MR_answer *answer = line_answer(line);

	line->status = al_query_mr(HANDLE(al_mr_h, 0), &answer->attr);
}

/* --------------------------------------------------------- completion queues */

static void create_cq(struct line *line)
{
	al_cq_h cq = NULL;
	BEGIN(CREATE_CQ);
	struct al_cq_init init = { .cqe = request->cqe,
				   .comp_vector = request->comp_vector,
				   .notify = (al_cq_notify)request->notify };

	prepare_source(line->making, request->cookie);
	line->status = request->zero ? AL_INVALID_PARAMETER
				     : al_create_cq(HANDLE(al_pd_h, 0), &init, line->making,
						    on_completion, on_event, &cq);
	answer->cqe = init.cqe;
	line->made = cq;
}

static void query_cq(struct line *line)
{
	struct QUERY_CQ_answer *answer = line_answer(line);

	line->status = al_query_cq(HANDLE(al_cq_h, 0), &answer->attr);
}

static void poll_cq(struct line *line)
{
	const struct POLL_CQ_request *request = line_request(line);
	struct ib_wc *wc = line_out(line);
	const struct object *qp;
	uint32_t num = request->num < AGENT_POLL_MAX ? (uint32_t)request->num : AGENT_POLL_MAX;

	line->status = al_poll_cq_ex(HANDLE(al_cq_h, 0), num, wc, &line->out_count);
	/* Objects are freed on this thread only, after their last completion. */
	for (uint32_t i = 0; !line->status && i < line->out_count; i++) {
		qp = wc[i].qp_context;
		wc[i].qp_context = (void *)(uintptr_t)(qp ? qp->source.cookie : 0);
	}
}

static void peek_cq(struct line *line)
{
	uint32_t count = 0;
	BEGIN(PEEK_CQ);

	line->status =
		al_peek_cq(HANDLE(al_cq_h, 0),
			   request->max < UINT32_MAX ? (uint32_t)request->max : UINT32_MAX, &count);
	answer->count = count;
}

static void arm_cq(struct line *line)
{
	bool present = false;
	BEGIN(ARM_CQ);

	line->status = request->type > AL_ARM_ANY
			       ? AL_INVALID_PARAMETER
			       : al_arm_cq(HANDLE(al_cq_h, 0), (al_arm)request->type, &present);
	answer->present = present;
}

static void arm_cq_n(struct line *line)
{
	const struct ARM_CQ_N_request *request = line_request(line);

	line->status = request->num > UINT32_MAX
			       ? AL_INVALID_PARAMETER
			       : al_arm_cq_n(HANDLE(al_cq_h, 0), (uint32_t)request->num);
}

/* --------------------------------------------------------------- queue pairs */

static void create_qp(struct line *line)
{
	al_qp_h qp = NULL;
	BEGIN(CREATE_QP);
	struct al_qp_init init = {
		.qp_type = (ib_qp_type)request->qp_type,
		.sq_sig_all = request->sq_sig_all,
		.block_mcast_loopback = request->block_mcast_loopback,
		.port_num = request->port_num,
		.cap = request->cap,
		.send_cq = HANDLE(al_cq_h, 1),
		.recv_cq = HANDLE(al_cq_h, 2),
	};

	prepare_source(line->making, request->cookie);
	line->making->qp_type = init.qp_type;
	/* In the user role nobody owns a special or raw queue pair. */
	line->status = request->port_num ? AL_UNSUPPORTED
					 : al_create_qp(HANDLE(al_pd_h, 0), &init, line->making,
							on_event, &qp);
	answer->cap = init.cap;
	if (!line->status) /* fails if its HCA goes already: then it is there, and dead */
		al_qp_num(qp, &answer->qp_num);
	line->made = qp;
}

static void modify_qp(struct line *line)
{
	const struct MODIFY_QP_request *request = line_request(line);

	line->status = request->mask > UINT32_MAX ? AL_INVALID_PARAMETER
						  : al_modify_qp(HANDLE(al_qp_h, 0), &request->attr,
								 (uint32_t)request->mask);
	line->resets = !line->status && request->mask & IB_QP_STATE &&
		       request->attr.qp_state == IB_QPS_RESET;
}

static void query_qp(struct line *line)
{
	struct QUERY_QP_answer *answer = line_answer(line);

	line->status = al_query_qp(HANDLE(al_qp_h, 0), &answer->attr, NULL);
}

/* -------------------------------------------------------------- destroying */

typedef al_status (*destroy_fn)(const void *handle, al_destroyed_cb cb, void *context);

static al_status end_ca(const void *handle, al_destroyed_cb cb, void *context)
{
	return al_close_ca((al_ca_h)(uintptr_t)handle, cb, context);
}

static al_status end_pd(const void *handle, al_destroyed_cb cb, void *context)
{
	return al_dealloc_pd((al_pd_h)(uintptr_t)handle, cb, context);
}

static al_status end_mr(const void *handle, al_destroyed_cb cb, void *context)
{
	return al_dereg_mr((al_mr_h)(uintptr_t)handle, cb, context);
}

static al_status end_cq(const void *handle, al_destroyed_cb cb, void *context)
{
	return al_destroy_cq((al_cq_h)(uintptr_t)handle, cb, context);
}

static al_status end_qp(const void *handle, al_destroyed_cb cb, void *context)
{
	return al_destroy_qp((al_qp_h)(uintptr_t)handle, cb, context);
}

static const destroy_fn destroys[AL_OBJ_TYPES] = {
	[AL_OBJ_CA] = end_ca, [AL_OBJ_PD] = end_pd, [AL_OBJ_MR] = end_mr,
	[AL_OBJ_CQ] = end_cq, [AL_OBJ_QP] = end_qp,
};

/* On the loop. */
static void end_done(struct job *job)
{
	object_gone((struct object *)((char *)job - offsetof(struct object, end)));
}

static void on_destroyed(void *context)
{
	struct object *object = context;

	pool_done(&object->end);
}

static void destroy(struct line *line)
{
	struct object *object = line->object[0];

	/* An HCA takes what is on it along; but a client ends each of its objects itself. */
	if (object->dying || (object->type == AL_OBJ_CA && object->hca->num_objects)) {
		line->status = object->dying ? AL_INVALID_HANDLE : AL_RESOURCE_BUSY;
		line_answered(line);
		return;
	}
	object->dying = true;
	object->line = line;
	object->end = (struct job){ .session = object->session, .done = end_done };
	line->status = destroys[object->type](object->handle, on_destroyed, object);
	if (!line->status)
		return;
	object->dying = false;
	object->line = NULL;
	if (line->status == AL_INVALID_HANDLE) { /* goes with its HCA */
		line->status = AL_SUCCESS;
		if (!hca_leaving(object->hca))
			object_free(object);
	}
	line_answered(line);
}

/* ------------------------------------------------------------------ the data path */

/* The loop's own: one request at a time is being unpacked. */
static struct ib_send_wr sends[AGENT_POST_MAX];
static struct ib_recv_wr recvs[AGENT_POST_MAX];
static struct ib_sge inlines[AGENT_POST_MAX];
static al_ah_h paths[AGENT_POST_MAX];

static al_status unpack_path(struct line *line, const struct agent_send *from,
			     struct ib_send_wr *wr, al_ah_h *ah)
{
	const struct object *pd = object_find(line->session, from->pd);

	if (!pd || pd->type != AL_OBJ_PD)
		return AL_INVALID_HANDLE;
	if (*(const uint8_t *)&from->path.is_global > 1)
		return AL_AGENT_PROTOCOL;
	wr->wr.ud.remote_qpn = from->remote_qpn;
	wr->wr.ud.remote_qkey = from->remote_qkey;
	wr->wr.ud.pkey_index = from->pkey_index;
	wr->wr.ud.port_num = from->port_num;
	return al_create_ah(pd->pd, &from->path, ah);
}

static al_status unpack_send(struct line *line, const struct agent_send *from,
			     struct ib_sge *pieces, uint32_t i)
{
	struct ib_send_wr *wr = &sends[i];

	*wr = (struct ib_send_wr){
		.wr_id = from->wr_id,
		.sg_list = pieces,
		.num_sge = from->pieces,
		.opcode = (ib_wr_opcode)from->opcode,
		.send_flags = from->send_flags,
		.ex.imm_data = from->ex,
	};
	paths[i] = NULL;
	if (from->send_flags & IB_SEND_INLINE) {
		if (from->inline_length > (uint64_t)from->pieces * sizeof(*pieces))
			return AL_AGENT_PROTOCOL;
		inlines[i] = (struct ib_sge){ (uintptr_t)pieces, from->inline_length, 0 };
		wr->sg_list = &inlines[i];
		wr->num_sge = from->inline_length ? 1 : 0;
	} else if (from->inline_length) {
		return AL_AGENT_PROTOCOL;
	}
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		wr->wr.rdma.remote_addr = from->remote_addr;
		wr->wr.rdma.rkey = from->key;
		return AL_SUCCESS;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_MASKED_CMP_AND_SWP:
	case IB_WR_MASKED_FETCH_AND_ADD:
		wr->wr.atomic.remote_addr = from->remote_addr;
		wr->wr.atomic.rkey = from->key;
		wr->wr.atomic.compare_add = from->compare_add;
		wr->wr.atomic.swap = from->swap;
		wr->wr.atomic.compare_add_mask = from->compare_add_mask;
		wr->wr.atomic.swap_mask = from->swap_mask;
		return AL_SUCCESS;
	case IB_WR_BIND_MW:
	case IB_WR_REG_MR:
		return AL_UNSUPPORTED; /* they name objects that do not cross yet */
	default:
		if (line->object[0]->qp_type != IB_QPT_UD)
			return AL_SUCCESS;
		return unpack_path(line, from, wr, &paths[i]);
	}
}

static void post_send(struct line *line)
{
	const struct agent_send *from = line_in(line, 0);
	struct ib_sge *pieces = line_in(line, 1);
	uint32_t num, used = 0, posted;
	const struct ib_send_wr *bad = NULL;
	al_status status = AL_SUCCESS;
	struct POST_SEND_answer *answer = line_answer(line);

	for (num = 0; num < line->count[0]; num++) {
		if (from[num].pieces > line->count[1] - used)
			status = AL_AGENT_PROTOCOL;
		else
			status = unpack_send(line, &from[num], pieces + used, num);
		if (status)
			break;
		used += from[num].pieces;
		/* a path's handle is told by its name, below */
		if (paths[num])
			sends[num].wr.ud.ah = paths[num];
		if (num)
			sends[num - 1].next = &sends[num];
	}
	posted = num;
	if (num) {
		sends[num - 1].next = NULL;
		line->status = al_post_send(HANDLE(al_qp_h, 0), sends, &bad);
		if (line->status)
			posted = bad ? (uint32_t)(bad - sends) : 0;
	}
	if (!line->status)
		line->status = !status && !num ? AL_INVALID_PARAMETER : status;
	answer->posted = posted;
	for (uint32_t i = 0; i < num; i++) /* a request keeps its path */
		if (paths[i])
			al_destroy_ah(paths[i], NULL, NULL);
}

static void post_recv(struct line *line)
{
	const struct agent_recv *from = line_in(line, 0);
	const struct ib_sge *pieces = line_in(line, 1);
	uint32_t num = line->count[0], used = 0;
	const struct ib_recv_wr *bad = NULL;
	struct POST_RECV_answer *answer = line_answer(line);

	line->status = num ? AL_SUCCESS : AL_INVALID_PARAMETER;
	for (uint32_t i = 0; i < num; i++) {
		if (from[i].pieces > line->count[1] - used) {
			line->status = AL_AGENT_PROTOCOL;
			break;
		}
		recvs[i] = (struct ib_recv_wr){
			.next = i + 1 < num ? &recvs[i + 1] : NULL,
			.wr_id = from[i].wr_id,
			.sg_list = pieces + used,
			.num_sge = (uint32_t)from[i].pieces,
		};
		used += (uint32_t)from[i].pieces;
	}
	if (line->status)
		return;
	line->status = al_post_recv(HANDLE(al_qp_h, 0), recvs, &bad);
	answer->posted = !line->status ? num : bad ? (uint64_t)(bad - recvs) : 0;
}

/* ------------------------------------------------------------------ watching */

/* The snapshot as it crosses: its arrays one after the other, without what is other users'. */
void snapshot_make(struct line *line)
{
	const struct ci_client *client = &line->session->client;
	bool all = line->session->right >= RIGHT_MANAGE;
	struct al_snap_client *accounts;
	size_t num_accounts;
	struct SNAPSHOT_answer *head = &line->snapshot_head;
	struct al_snapshot *snap;
	char *at;

	al_free(line->snapshot);
	line->snapshot = NULL;
	line->status = al_snapshot(line->session->al, &snap);
	if (line->status)
		return;
	*head = (struct SNAPSHOT_answer){ .num_cas = snap->num_cas,
					  .num_modules = snap->num_modules,
					  .num_pci = snap->num_pci,
					  .has_error = snap->pci_error != NULL };
	line->status =
		account_show(all, client->uid, &accounts, &head->num_clients, &head->num_users);
	if (line->status) {
		al_free_snapshot(snap);
		return;
	}
	num_accounts = head->num_clients + head->num_users;
	at = line->snapshot = al_alloc(
		num_accounts * sizeof(*accounts) + snap->num_cas * sizeof(*snap->cas) +
		snap->num_objects * sizeof(*snap->objects) +
		snap->num_modules * sizeof(*snap->modules) + snap->num_pci * sizeof(*snap->pci) +
		(snap->pci_error ? strlen(snap->pci_error) : 0) + 1);
	if (!at) {
		line->status = AL_INSUFFICIENT_MEMORY;
		al_free(accounts);
		al_free_snapshot(snap);
		return;
	}
	at = (char *)memcpy(at, snap->cas, snap->num_cas * sizeof(*snap->cas)) +
	     snap->num_cas * sizeof(*snap->cas);
	for (size_t i = 0; i < snap->num_objects; i++) {
		if (!all && snap->objects[i].uid != client->uid)
			continue;
		memcpy(at, &snap->objects[i], sizeof(*snap->objects));
		at += sizeof(*snap->objects);
		head->num_objects++;
	}
	at = (char *)memcpy(at, snap->modules, snap->num_modules * sizeof(*snap->modules)) +
	     snap->num_modules * sizeof(*snap->modules);
	if (snap->num_pci)
		memcpy(at, snap->pci, snap->num_pci * sizeof(*snap->pci));
	at += snap->num_pci * sizeof(*snap->pci);
	at = (char *)memcpy(at, accounts, num_accounts * sizeof(*accounts)) +
	     num_accounts * sizeof(*accounts);
	al_free(accounts);
	if (snap->pci_error) {
		memcpy(at, snap->pci_error, strlen(snap->pci_error) + 1);
		at += strlen(snap->pci_error) + 1;
	}
	head->total = (uint64_t)(at - line->snapshot);
	al_free_snapshot(snap);
}

static void snapshot(struct line *line)
{
	uint64_t left;
	BEGIN(SNAPSHOT);

	if (!request->offset)
		snapshot_make(line);
	if (line->status)
		return;
	if (!line->snapshot || request->offset > line->snapshot_head.total) {
		line->status = AL_INVALID_PARAMETER;
		return;
	}
	left = line->snapshot_head.total - request->offset;
	line->out_count = left < AGENT_SNAP_BYTES ? (uint32_t)left : AGENT_SNAP_BYTES;
	memcpy(line_out(line), line->snapshot + request->offset, line->out_count);
	*answer = line->snapshot_head;
}

void (*const command_functions[AGENT_NUM_COMMANDS])(struct line *line) = {
	[AGENT_MODULE_OF] = module_of,     [AGENT_OPEN_CA] = open_ca,
	[AGENT_DESTROY] = destroy,         [AGENT_QUERY_CA] = query_ca,
	[AGENT_QUERY_PORT] = query_port,   [AGENT_QUERY_GID] = query_gid,
	[AGENT_QUERY_PKEY] = query_pkey,   [AGENT_MODIFY_CA] = modify_ca,
	[AGENT_MODIFY_PORT] = modify_port, [AGENT_VENDOR_CALL] = vendor_call,
	[AGENT_ALLOC_PD] = alloc_pd,       [AGENT_REG_MR] = reg_mr,
	[AGENT_QUERY_MR] = query_mr,       [AGENT_CREATE_CQ] = create_cq,
	[AGENT_QUERY_CQ] = query_cq,       [AGENT_POLL_CQ] = poll_cq,
	[AGENT_PEEK_CQ] = peek_cq,         [AGENT_ARM_CQ] = arm_cq,
	[AGENT_ARM_CQ_N] = arm_cq_n,       [AGENT_CREATE_QP] = create_qp,
	[AGENT_MODIFY_QP] = modify_qp,     [AGENT_QUERY_QP] = query_qp,
	[AGENT_POST_SEND] = post_send,     [AGENT_POST_RECV] = post_recv,
	[AGENT_SNAPSHOT] = snapshot,
};
