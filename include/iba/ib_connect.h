/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_connect.h
 * @brief Connecting: how two programs find each other, and connect their queue pairs.
 *
 * A program fills in a card of its queue pair (al_qp_card()), exchanges cards with its peer by any
 * means, and connects the queue pair by both cards (al_connect_qp()). The al_meet functions are one
 * such means: a socket by which two programs exchange small records.
 *
 * These functions are for programs that know where their peer is. They stand on the functions of
 * ib_al.h alone. A connection manager, which finds the peer by a service of the subnet, will take
 * their place (IBTA 12); cards and places then stay what they are. ibal_connecting(7) shows the
 * steps. "IBTA" is the InfiniBand Architecture Specification, Volume 1, with its clause.
 */
#ifndef IBA_IB_CONNECT_H
#define IBA_IB_CONNECT_H

#include <iba/ib_al.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup ibal_connect Connecting queue pairs
 * A card (struct al_qp_card) says of a queue pair what its peer needs to connect to it, or to send
 * datagrams to it. al_card_encode() gives the card a form of fixed length and byte order for the
 * way to the peer.
 * @{
 */

#define AL_CARD_BYTES   64   /**< bytes of an encoded card */
#define AL_CONNECT_NONE 0xff /**< in al_connect_opt: the value 0, where 0 stands for the default \
			      */
#define AL_CONNECT_RD_ATOMIC \
	16 /**< most outstanding reads and atomics, unless al_connect_opt says more */

/** What the peer of a queue pair needs to know. al_qp_card() fills in the card, in host byte order.
 */
struct al_qp_card {
	uint64_t node_guid; /**< HCA of the queue pair */
	ib_gid gid; /**< GID of the port, from the entry al_connect_opt.gid_index of its table */
	ib_qp_type qp_type;       /**< transport service: #IB_QPT_RC, #IB_QPT_UC or #IB_QPT_UD */
	ib_mtu mtu;               /**< largest payload of a packet that the port takes */
	ib_link_layer link_layer; /**< link layer of the port */
	uint32_t qpn;             /**< number of the queue pair, 24 bits */
	uint32_t psn;  /**< first PSN that the queue pair will send, 24 bits, chosen at random */
	uint32_t qkey; /**< UD: Q_Key that datagrams to the queue pair must have; else 0 */
	uint32_t max_msg_size;   /**< bytes of the longest message that the port takes, 1 to 2^31 */
	uint16_t lid;            /**< LID of the port; Ethernet: 0 */
	uint16_t pkey;           /**< P_Key of the queue pair, with its membership bit */
	uint8_t port_num;        /**< port of the HCA, from 1 */
	uint8_t initiator_depth; /**< RC: reads and atomics that the end may have outstanding; else
				    0 */
	uint8_t responder_resources; /**< RC: reads and atomics of the peer that the end serves at
					once; else 0 */
	uint8_t pad;                 /**< zero */
	uint64_t reserved[4];        /**< zero */
};

/**
 * How to connect. All zero, or NULL in place of the struct: the defaults. A program gives the same
 * options to al_qp_card(), al_connect_qp() and al_card_address() of one queue pair.
 */
struct al_connect_opt {
	uint32_t access;     /**< enum ib_access: what the peer may do; 0: all that the transport
			      * service has. A peer     needs the rkey of a region, too.
			      * #IB_ACCESS_LOCAL_WRITE alone: nothing */
	uint32_t qkey;       /**< UD: the queue pair's Q_Key; 0: one chosen at random */
	ib_mtu mtu;          /**< limits the path MTU; 0: the smaller of both ports' active MTU */
	uint32_t gid_index;  /**< entry of the port's GID table, up to 65535; the source GID of
				packets with a GRH */
	uint16_t pkey_index; /**< entry of the port's P_Key table */
	uint8_t rd_atomic; /**< RC: limits outstanding reads and atomics, of each side; 0: the HCA's
			    * limits, at most #AL_CONNECT_RD_ATOMIC; #AL_CONNECT_NONE: no reads and
			    * atomics */
	uint8_t sl;        /**< service level, 0 to 15 */
	uint8_t timeout;   /**< RC: ib_qp_attr.timeout, 1 to 31; 0: 14 (67 ms); #AL_CONNECT_NONE: no
			      limit */
	uint8_t retry_cnt; /**< RC: repetitions after time-outs, 1 to 7; 0: 7; #AL_CONNECT_NONE:
			      none */
	uint8_t rnr_retry; /**< RC: repetitions after RNR NAKs, 1 to 6; 0 and 7: without limit;
			    * #AL_CONNECT_NONE: none */
	uint8_t min_rnr_timer; /**< RC: ib_qp_attr.min_rnr_timer, 1 to 31; 0: 12 (0.64 ms) */
	uint8_t hop_limit;     /**< packets with a GRH: hop limit; 0: 64 */
	uint8_t traffic_class; /**< packets with a GRH: traffic class */
	bool global;   /**< send a GRH also on InfiniBand; on Ethernet every packet has one */
	uint8_t pad;   /**< zero */
	uint32_t pad2; /**< zero */
	uint64_t reserved[4]; /**< zero */
};

/**
 * Fills in the card of a queue pair, and chooses its first PSN. The queue pair does not change. A
 * program calls this function once per connection, and keeps the card for al_connect_qp().
 * **Context: may sleep.**
 *
 * @param ca       HCA of the queue pair
 * @param port_num port by which the queue pair will reach its peer, from 1
 * @param qp       queue pair of type RC, UC or UD
 * @param opt      options; NULL: the defaults
 * @param card     written: the card
 * @retval AL_INVALID_PARAMETER card is NULL, or a member of opt is out of its range
 * @retval AL_INVALID_QP_TYPE the queue pair has another type
 * @retval AL_INVALID_PORT the HCA has no such port
 * @retval AL_INVALID_GID_INDEX the port's table has no entry opt->gid_index
 * @retval AL_INVALID_PKEY_INDEX the port's table has no entry opt->pkey_index, or the entry is
 * empty
 * @retval AL_PORT_DOWN the port is not Active: no packet would reach it
 * @retval AL_IO_ERROR the system gives no random numbers
 *
 * @par Example
 * @snippet reference/connect.c connect
 */
al_status al_qp_card(al_ca_h ca, uint8_t port_num, al_qp_h qp, const struct al_connect_opt *opt,
		     struct al_qp_card *card);

/**
 * Takes a queue pair to RTS: of type RC and UC connected to its peer, of type UD ready for
 * datagrams. The queue pair is in Reset; or it is in Init already, with the port, P_Key index,
 * access flags or Q_Key that al_modify_qp() has set, so that receive requests could be posted
 * first. The path MTU is the smaller of both cards'. The reads and atomics that this end may have
 * outstanding are the fewer of what this end issues and the peer serves.
 *
 * The peer's card may come from a network: the function checks every value. If the function fails,
 * al_reason() names the step and the value, and the queue pair is in the state in which it was;
 * after a failure of the step from RTR to RTS it is in Reset. (If the HCA is lost, no state is
 * certain.)
 * **Context: may sleep.**
 *
 * @param qp   queue pair
 * @param mine card of this queue pair, from al_qp_card()
 * @param peer card of the peer; of type UD unused, and may be NULL
 * @param opt  options; NULL: the defaults
 * @retval AL_INVALID_PARAMETER mine is NULL, or peer is; or a value of a card or of opt is out of
 * its range; or the ends do not fit: they have other transport services, link layers or partitions
 * @retval AL_INVALID_QP_TYPE the queue pair's type is not that of its card
 * @retval AL_INVALID_TRANSITION the queue pair is neither in Reset nor in Init
 * @return else the status of al_modify_qp() or al_query_qp()
 *
 * @par Example
 * @snippet reference/connect.c connect
 */
al_status al_connect_qp(al_qp_h qp, const struct al_qp_card *mine, const struct al_qp_card *peer,
			const struct al_connect_opt *opt);

/**
 * Makes the address vector of the path from one card's port to another's, for al_create_ah(). A
 * datagram goes to al_qp_card.qpn with al_qp_card.qkey of the peer's card. The peer's card is
 * checked as by al_connect_qp().
 * **Context: any.**
 *
 * @param mine card of the sending queue pair, from al_qp_card()
 * @param peer card of the receiving queue pair
 * @param opt  options; NULL: the defaults
 * @param path written: the address vector
 * @retval AL_INVALID_PARAMETER a pointer other than opt is NULL; or a value of a card or of opt is
 * out of its range; or the ends do not fit: they have other transport services, link layers or
 * partitions
 *
 * @par Example
 * @snippet reference/connect.c address
 */
al_status al_card_address(const struct al_qp_card *mine, const struct al_qp_card *peer,
			  const struct al_connect_opt *opt, struct ib_ah_attr *path);

/**
 * Encodes a card: in network byte order, with a version, the same on every machine. **Context:
 * any.**
 *
 * @param card card, from al_qp_card()
 * @param wire written: #AL_CARD_BYTES bytes
 */
void al_card_encode(const struct al_qp_card *card, void *wire);

/**
 * Decodes a card that has come from a peer, and checks every value. **Context: any.**
 *
 * @param wire #AL_CARD_BYTES bytes
 * @param card written: the card
 * @retval AL_INVALID_PARAMETER a pointer is NULL; or the bytes are no card, or a card of another
 * version; or a value is out of its range
 */
al_status al_card_decode(const void *wire, struct al_qp_card *card);

/** @} */

/**
 * @defgroup ibal_meeting Meeting
 * One program listens at a place, another connects to the place, and both exchange records of up to
 * #AL_MEET_BYTES bytes: cards, addresses, rkeys. The data itself goes by RDMA. There are three
 * kinds of places:
 *
 * - `file:PATH`: a Unix socket with that path, for programs of one machine. The umask of the
 * listener decides which users may connect.
 * - `agent:NAME`: a name of 1 to 64 letters, digits and `._-`, for programs of one machine. The
 * name needs no directory, and belongs to the first program that takes it.
 * - `tcp:HOST:PORT`: an IPv4 address, an IPv6 address in brackets, or a name; and a port, of the
 * listener also 0 (the system chooses, getsockname(2) tells). An empty HOST: the listener takes
 * connections to every IPv4 address (with `[::]` to every IPv6 address), and the other end connects
 * to its own machine. Whoever reaches the address may connect, and nothing is encrypted.
 *
 * Descriptors belong to the program: poll(2) tells of a connection to accept and of a record to
 * receive, and close(2) ends a connection. (al_meet_end() ends a listener, since the listener may
 * have a file.) They are closed on execve(2), do not block, and are used by one thread at a time.
 *
 * Each function that waits has a limit in milliseconds, -1 for none, and returns #AL_CANCELLED when
 * the thread runs a signal handler. Records that come from the other end are checked for version
 * and length; a record that breaks the rules, or that is cut off, ends the connection, and so does
 * a wait that ends in the middle of a record: each later call fails with #AL_NOT_FOUND.
 * @{
 */

#define AL_MEET_BYTES 4096 /**< most bytes of a record */

/** Flags of al_meet_accept() and al_meet_connect(). */
enum al_meet_flags {
	AL_MEET_ANY_USER = 1 << 0, /**< `file:` and `agent:`: the other end may be a process of any
				    * user; else of this process's effective user alone */
};

/**
 * Listens at a place. A socket file that a killed listener has left is replaced; every other file
 * stays, and the call is refused. Between this function and al_meet_end() the listener's file must
 * be renamed or removed by nobody. While another process begins to listen at a file of the same
 * directory, the function waits. **Context: may sleep.**
 *
 * @param place place
 * @param fd    written: the listener's descriptor; readable while a connection can be accepted
 * @retval AL_INVALID_PARAMETER place is no place, or too long; or fd is NULL
 * @retval AL_DUPLICATE another program listens there, or the file exists and is no socket
 * @retval AL_NOT_FOUND the directory of the file, or the host, does not exist
 * @retval AL_PERMISSION this user may not make the file, or not listen at that port
 * @retval AL_INSUFFICIENT_RESOURCES this process may have no further descriptor
 * @retval AL_CANCELLED the thread has run a signal handler
 * @retval AL_IO_ERROR another system call has failed
 */
al_status al_meet_listen(const char *place, int *fd);

/**
 * Waits for the next connection. A process of another user gets a refusal, and the function waits
 * on.
 * **Context: may sleep.**
 *
 * @param listener   descriptor from al_meet_listen()
 * @param flags      enum al_meet_flags
 * @param timeout_ms limit in milliseconds; 0: do not wait; -1: no limit
 * @param fd         written: descriptor of the connection
 * @retval AL_INVALID_PARAMETER fd is NULL, flags has an unknown bit, or listener is no listener
 * @retval AL_TIMEOUT no connection has come
 * @retval AL_CANCELLED the thread has run a signal handler
 * @retval AL_INSUFFICIENT_RESOURCES this process may have no further descriptor
 * @retval AL_IO_ERROR another system call has failed
 */
al_status al_meet_accept(int listener, uint32_t flags, int timeout_ms, int *fd);

/**
 * Connects to a place. The function does not wait for a program to listen there: it waits for a
 * network, and for a listener that has many connections to accept. **Context: may sleep.**
 *
 * @param place      place
 * @param flags      enum al_meet_flags
 * @param timeout_ms limit in milliseconds; 0: do not wait; -1: no limit. The look-up of a host's
 * name has the limit of the system
 * @param fd         written: descriptor of the connection
 * @retval AL_INVALID_PARAMETER place is no place, or too long; fd is NULL, or flags has an unknown
 * bit
 * @retval AL_NOT_FOUND no program listens there, or the host does not exist
 * @retval AL_PERMISSION this user may not connect to the file, or a process of another user listens
 * there
 * @retval AL_TIMEOUT the limit is over
 * @retval AL_CANCELLED the thread has run a signal handler
 * @retval AL_INSUFFICIENT_RESOURCES this process may have no further descriptor
 * @retval AL_IO_ERROR another system call has failed
 *
 * @par Example
 * @snippet reference/connect.c meet
 */
al_status al_meet_connect(const char *place, uint32_t flags, int timeout_ms, int *fd);

/**
 * Sends a record. The function waits only if the other end has many records to receive. **Context:
 * may sleep.**
 *
 * @param fd         connection
 * @param record     record
 * @param size       bytes of record, from 0 to #AL_MEET_BYTES
 * @param timeout_ms limit in milliseconds; 0: do not wait; -1: no limit
 * @retval AL_INVALID_PARAMETER record is NULL, or size is more than #AL_MEET_BYTES
 * @retval AL_NOT_FOUND the other end has closed the connection, or the connection is broken
 * @retval AL_TIMEOUT the limit is over
 * @retval AL_CANCELLED the thread has run a signal handler
 * @retval AL_IO_ERROR another system call has failed
 *
 * @par Example
 * @snippet reference/connect.c meet
 */
al_status al_meet_send(int fd, const void *record, uint32_t size, int timeout_ms);

/**
 * Waits for a record. **Context: may sleep.**
 *
 * @param fd         connection
 * @param record     room for the record
 * @param size       in: bytes of room; out: bytes of the record, also with #AL_BUFFER_TOO_SMALL
 * @param timeout_ms limit in milliseconds for the whole record; 0: do not wait; -1: no limit
 * @retval AL_INVALID_PARAMETER record or size is NULL
 * @retval AL_NOT_FOUND the other end has closed the connection, or the connection is broken
 * @retval AL_PERMISSION the other end has refused (al_meet_refuse()); al_reason() has its words
 * @retval AL_BUFFER_TOO_SMALL the record is longer than the room; the connection is ended
 * @retval AL_UNSUPPORTED what came is no record, or of another version of the library; the
 * connection is ended
 * @retval AL_TIMEOUT the limit is over
 * @retval AL_CANCELLED the thread has run a signal handler
 * @retval AL_IO_ERROR another system call has failed
 *
 * @par Example
 * @snippet reference/connect.c meet
 */
al_status al_meet_receive(int fd, void *record, uint32_t *size, int timeout_ms);

/**
 * Tells the other end why this end will not go on: its al_meet_receive() returns #AL_PERMISSION,
 * and its al_reason() the text. The program then closes the connection. The function does not wait.
 * **Context: may sleep.**
 *
 * @param fd  connection
 * @param why a sentence, of which the other end gets at most 200 bytes
 * @retval AL_INVALID_PARAMETER why is NULL
 * @retval AL_NOT_FOUND the other end has closed the connection, or the connection is broken
 * @retval AL_TIMEOUT the other end has too many records to receive
 * @retval AL_IO_ERROR another system call has failed
 */
al_status al_meet_refuse(int fd, const char *why);

/**
 * Ends a listener: removes its file, if it has one, and closes the descriptor. Connections that
 * were accepted stay.
 * **Context: may sleep.**
 *
 * @param listener descriptor from al_meet_listen()
 * @retval AL_INVALID_PARAMETER listener is no listener of al_meet_listen(); nothing was closed
 */
al_status al_meet_end(int listener);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_CONNECT_H */
