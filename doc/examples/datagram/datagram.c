/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Datagrams between programs that do not know each other. Servers are members of a multicast group.
 * A client asks the group who is there, each server answers, and the client then asks each one
 * alone. A message begins with its sender's card, so whoever gets it can answer.
 *
 *     datagram serve Ada & datagram serve Grace & datagram ask "What time is it?"
 *
 * A subnet manager gives a group its LID when a port joins the group; the software HCA's own subnet
 * leads any multicast LID to the members.
 */
#include "end.h"

enum { QKEY = 0x1ba1, MLID = 0xc0de, REQUESTS = 16, SERVERS = 32, TEXT = 64, WAIT = 500 /* ms */ };

struct message {
	uint8_t card[AL_CARD_BYTES];
	char text[TEXT];
};
enum { SLOT = IB_GRH_BYTES + sizeof(struct message) }; /* received behind a global route header */

/* A sender, or a group: how to reach it; and what it has said. */
struct party {
	struct ib_ah_attr path;
	uint32_t qpn;
	char text[TEXT];
};

static const struct al_connect_opt options = { .qkey = QKEY }; /* one for all members */
static const ib_gid group = { { 0xff, 0x12, 0x1b, 0xa1, [15] = 1 } };
static struct end end; /* its memory: a slot for each receive, then a slot for each send */
static al_qp_h qp;
static struct al_qp_card mine;
static uint32_t sends, sent; /* posted, completed */

static void receive(uint64_t number)
{
	struct ib_sge sge = { (uintptr_t)end.memory + number * SLOT, SLOT, end.lkey };
	struct ib_recv_wr wr = { .wr_id = number, .sg_list = &sge, .num_sge = 1 };

	must(al_post_recv(qp, &wr, NULL), "al_post_recv");
}

static void open_qp(size_t number)
{
	open_end(&end, number, 2 * REQUESTS * SLOT, 2 * REQUESTS);
	must(make_qp(&end, IB_QPT_UD, REQUESTS, NULL, &qp), "al_create_qp");
	must(al_qp_card(end.ca, PORT, qp, &options, &mine), "al_qp_card");
	must(al_connect_qp(qp, &mine, NULL, &options), "al_connect_qp"); /* ready, without a peer */
	for (uint64_t i = 0; i < REQUESTS; i++)
		receive(i);
}

/* Sends a text. When too many sends are under way the text is dropped, as a network might. */
static void send_text(const struct party *to, const char *text)
{
	const size_t place = REQUESTS + sends % REQUESTS; /* behind the receives */
	struct message *message = (void *)(end.memory + place * SLOT);
	struct ib_sge sge = { (uintptr_t)message, sizeof(*message), end.lkey };
	struct ib_send_wr wr = { .sg_list = &sge, .num_sge = 1 };

	if (sends - sent == REQUESTS)
		return;
	al_card_encode(&mine, message->card);
	snprintf(message->text, TEXT, "%s", text);
	must(al_create_ah(end.pd, &to->path, &wr.wr.ud.ah), "al_create_ah");
	wr.wr.ud.remote_qpn = to->qpn;
	wr.wr.ud.remote_qkey = QKEY;
	must(al_post_send(qp, &wr, NULL), "al_post_send");
	must(al_destroy_ah(wr.wr.ud.ah, NULL, NULL), "al_destroy_ah");
	sends++;
}

/* Waits for a message; false: none has come within so many ms. What is no message is passed over.
 */
static bool next(struct party *from, int ms)
{
	struct al_qp_card card;
	struct message message;
	struct pollfd pfd;
	struct ib_wc wc;
	uint32_t count;

	for (;;) {
		must(al_poll_cq(end.cq, 1, &wc, &count), "al_poll_cq");
		if (!count && !wait_for(&end, &pfd, 1, ms))
			return false;
		if (!count)
			continue;
		if (wc.status != IB_WC_SUCCESS)
			give_up(al_wc_status_str(wc.status));
		sent += wc.opcode == IB_WC_SEND;
		if (wc.opcode != IB_WC_RECV)
			continue;
		memcpy(&message, end.memory + wc.wr_id * SLOT + IB_GRH_BYTES, sizeof(message));
		receive(wc.wr_id);
		from->qpn = wc.src_qp;
		snprintf(from->text, TEXT, "%.*s", TEXT - 1, message.text);
		if (wc.byte_len == SLOT && !al_card_decode(message.card, &card) &&
		    !al_card_address(&mine, &card, &options, &from->path))
			return true;
	}
}

static void serve(const char *name)
{
	char answer[3 * TEXT];
	struct party client;

	open_qp(0);
	must(al_attach_mcast(qp, &group, MLID), "al_attach_mcast");
	fprintf(stderr, "%s serves\n", name);
	while (next(&client, -1)) {
		snprintf(answer, sizeof(answer), "%s hears \"%s\"", name, client.text);
		send_text(&client, answer);
	}
}

static void ask(const char *question)
{
	struct party server[SERVERS], all = { .qpn = IB_QPN_MULTICAST };
	int servers = 0, answers = 0;

	open_qp(1);
	all.path = (struct ib_ah_attr){ .dlid = MLID, .port_num = PORT, .is_global = true };
	all.path.grh.dgid = group;
	send_text(&all, "who is there?");
	while (servers < SERVERS && next(&server[servers], WAIT))
		servers++;
	for (int i = 0; i < servers; i++) {
		send_text(&server[i], question);
		if (next(&server[i], WAIT) && ++answers)
			printf("%s\n", server[i].text);
	}
	must(al_destroy_qp(qp, NULL, NULL), "al_destroy_qp");
	close_end(&end);
	if (!servers || answers < servers)
		give_up(servers ? "a server does not answer" : "no server answers");
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(argv[2]);
	else if (argc == 3 && !strcmp(argv[1], "ask"))
		ask(argv[2]);
	else
		give_up("usage: datagram serve NAME | datagram ask QUESTION");
}
