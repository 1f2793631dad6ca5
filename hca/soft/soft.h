/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The software HCA as a whole: how it works, and all of its headers.
 *
 * HOW IT WORKS
 *
 * A queue pair is an actor: it has an inbox, and whoever owns it (its one runner) executes its transport, so that
 * transport state needs no lock. The actor, a line of 64 bytes in a table, is all of a queue pair that others ever
 * touch; actors are never freed while the HCA is there, so that a packet to a queue pair that is just being destroyed
 * finds its inbox dead, and not freed memory.
 *
 * The inbox is one word: idle (nobody owns the actor), dead, or owned, and then perhaps a list of packets or a mere
 * kick. Who makes an idle one owned owns the actor; who finds it owned leaves his packet or kick and goes, since the
 * owner looks again before he lets go. An owner has the actor in his hands, on the list of his struct runner, or on the
 * HCA's run queue, where budgets leave it: from there poll_cq or the engine thread takes it. Control operations claim
 * an actor (actor_claim()): they wait for its owner to let go, or take it off the run queue; never do they wait for
 * progress that only their own caller could make. Nobody claims an actor while owning another.
 *
 * A post writes a work queue element, kicks its queue pair and, if that was idle, runs it: the requester makes packets
 * out of elements, each goes to the peer's inbox, which the same runner then runs (responder), and the answer comes
 * back the same way (completer). So on an idle machine a post has done all when it returns. What a runner does is
 * limited by a budget in packets and bytes. A message between idle queue pairs, about which packets and answer would
 * bring nothing new, is done without them (shortcut.c).
 *
 * With progress = manual runners have no budget at all: whatever is made runnable stays on the run queues, there is no
 * engine thread, and each SOFT_STEP is one pass of one queue pair, or a jump of the clock to the next timer (manual.c).
 *
 * A packet stands for a train: consecutive packets of one message. PSNs, counters and faults see each of them, memcpy
 * sees the train. On the loop link it holds no payload but refers to it: a request to the element and its sender's
 * memory keys, a response to the responder's. The keys are resolved and checked where the bytes are copied, once, from
 * the one's memory to the other's; a region is deregistered when no copy that uses it is on its way.
 *
 * Packets are nodes that belong to a queue pair (or to the fault engine, with a copy of the payload) and always go
 * home: to their owner's inbox. An answer to a request rides home on the request's own node. A send queue element whose
 * packets are not all at home is not completed. Reset, Error and destroy fetch them home (qp_purge()).
 *
 * Clients of the agent whose provider shares their queues with the HCA (ring.h) post by stores into memory of theirs. A
 * thread of its own (rings.c) takes the requests from there into the queue pair's own queues, checked as any, and is then
 * in the place of a post's caller.
 *
 * The memory of a client of the agent (mr_slot.client) is reached by copies that wait for whatever the client has mapped
 * there. So only the client's own thread makes them, on errands (errand.c) whose buffers are nobody else's: the requester
 * has the payload of its next packet fetched, the responder that of a read's next response, and such packets go by value;
 * what is to be written is handed over. The request waits at the head of the backlog meanwhile, and later responses behind
 * the one that is being taken, until the errand is back and kicks the queue pair; who has sent the request sees that it is
 * held, and does not take it for lost. An actor is never owned meanwhile, so that control operations, peers and the HCA's
 * end wait for no client: what is not wanted any more is left to the thread. Completions alone wait for what is being
 * written, and the agent tells its client of the end of a region or queue pair after the thread has caught up.
 *
 * LOCK ORDER
 *
 * rings.life, rings.lock; soft_qp.control, then ownership of an actor, then soft_qp.sq_lock, rq_lock, soft_cq.lock, then soft_hca.run_lock,
 * faults.lock, timers.lock, table.lock, soft_hca.qps_lock, that of captures. Upcalls are made with none of these.
 */
#ifndef SOFT_SOFT_H
#define SOFT_SOFT_H

#define SOFT_VERSION "0.1.0"

#include "base.h"
#include "capture.h"
#include "config.h"
#include "cq.h"
#include "engine.h"
#include "errand.h"
#include "fault.h"
#include "hca.h"
#include "lock.h"
#include "mr.h"
#include "opcode.h"
#include "packet.h"
#include "port.h"
#include "qp.h"
#include "ring.h"
#include "rings.h"
#include "soft_vendor.h"
#include "table.h"
#include "wire.h"
#include "wr.h"

#endif
