/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Columns of a row of ci/ops.def, for who defines OP(). */
#ifndef CI_ROWS_H
#define CI_ROWS_H

/* The macro whose name is the prefix with the kind or the way behind it, such as REFUSE_POSTS. */
#define BY_KIND(prefix, kind) JOIN(prefix, KIND_##kind)
#define KIND_CREATES(undo)    CREATES
#define KIND_CHANGES          CHANGES
#define KIND_POSTS            POSTS
#define KIND_ENDS             ENDS
#define KIND_DMA(type)        DMA
#define BY_WAY(prefix, way)   JOIN(prefix, WAY_##way)
#define WAY_ON(object)        ON
#define WAY_LATER(object)     LATER
#define WAY_DIRECT(fn)        DIRECT
#define WAY_BY(fn)            BY
#define WAY_HERE              HERE
#define JOIN(a, b)            JOIN_THEM(a, b)
#define JOIN_THEM(a, b)       a##b

/* The rest, if the way is ON; ON or LATER; DIRECT; DIRECT or BY. */
#define IF_ASKS(way, ...)       BY_WAY(IF_ASKS_, way)(__VA_ARGS__)
#define IF_ASKS_ON(...)         __VA_ARGS__
#define IF_ASKS_LATER(...)
#define IF_ASKS_DIRECT(...)
#define IF_ASKS_BY(...)
#define IF_ASKS_HERE(...)
#define IF_HOOKED(way, ...)     BY_WAY(IF_HOOKED_, way)(__VA_ARGS__)
#define IF_HOOKED_ON(...)       __VA_ARGS__
#define IF_HOOKED_LATER(...)    __VA_ARGS__
#define IF_HOOKED_DIRECT(...)
#define IF_HOOKED_BY(...)
#define IF_HOOKED_HERE(...)
#define IF_DIRECT(way, ...)     BY_WAY(IF_DIRECT_, way)(__VA_ARGS__)
#define IF_DIRECT_ON(...)
#define IF_DIRECT_LATER(...)
#define IF_DIRECT_DIRECT(...)   __VA_ARGS__
#define IF_DIRECT_BY(...)
#define IF_DIRECT_HERE(...)
#define IF_FUNCTION(way, ...)   BY_WAY(IF_FUNCTION_, way)(__VA_ARGS__)
#define IF_FUNCTION_ON(...)
#define IF_FUNCTION_LATER(...)
#define IF_FUNCTION_DIRECT(...) __VA_ARGS__
#define IF_FUNCTION_BY(...)     __VA_ARGS__
#define IF_FUNCTION_HERE(...)

/* Of a kind. */
#define RETURNS(kind)         RETURNS_##kind
#define RETURNS_CREATES(undo) al_status
#define RETURNS_CHANGES       al_status
#define RETURNS_POSTS         al_status
#define RETURNS_ENDS          void
#define RETURNS_DMA(type)     type
#define UNDOES(kind)          UNDOES_##kind
#define UNDOES_CREATES(undo)  undo

/* Of a way: the HCA that its object leads to; and its function. */
#define CA_OF(way)      CA_##way
#define CA_ON(object)   CA_OF_##object
#define CA_OF_ca        ca
#define CA_OF_pd        pd->ca
#define CA_OF_ah        ah->pd->ca
#define CA_OF_mr        mr->pd->ca
#define CA_OF_cq        cq->pd->ca
#define CA_OF_qp        qp->pd->ca
#define FUNCTION(way)   FUNCTION_##way
#define FUNCTION_DIRECT(fn) fn
#define FUNCTION_BY(fn) fn

/* Of the column "said": the operation's last parameter; and whether a provider and its module talk. */
#define UDATA_PARAM(said)      UDATA_PARAM_##said
#define UDATA_PARAM_UDATA      , struct ci_udata *udata
#define UDATA_PARAM_MUTE_UDATA , struct ci_udata *udata
#define UDATA_PARAM_MUTE
#define UDATA_PARAM_TALKS
#define SAYS(said)      SAYS_##said
#define SAYS_UDATA      true
#define SAYS_TALKS      true
#define SAYS_MUTE       false
#define SAYS_MUTE_UDATA false

/* The parameters; as arguments; the first of these. */
#define PARAMS(params)                                     PARAMS_##params
#define PARAMS_A1(t1, a1)                                  t1 a1
#define PARAMS_A2(t1, a1, t2, a2)                          t1 a1, t2 a2
#define PARAMS_A3(t1, a1, t2, a2, t3, a3)                  t1 a1, t2 a2, t3 a3
#define PARAMS_A4(t1, a1, t2, a2, t3, a3, t4, a4)          t1 a1, t2 a2, t3 a3, t4 a4
#define PARAMS_A5(t1, a1, t2, a2, t3, a3, t4, a4, t5, a5)  t1 a1, t2 a2, t3 a3, t4 a4, t5 a5
#define ARGS(params)                                       ARGS_##params
#define ARGS_A1(t1, a1)                                    a1
#define ARGS_A2(t1, a1, t2, a2)                            a1, a2
#define ARGS_A3(t1, a1, t2, a2, t3, a3)                    a1, a2, a3
#define ARGS_A4(t1, a1, t2, a2, t3, a3, t4, a4)            a1, a2, a3, a4
#define ARGS_A5(t1, a1, t2, a2, t3, a3, t4, a4, t5, a5)    a1, a2, a3, a4, a5
#define FIRST_ARG(params)                                  FIRST_##params
#define FIRST_A1(t1, a1)                                   a1
#define FIRST_A2(t1, a1, ...)                              a1
#define FIRST_A3(t1, a1, ...)                              a1
#define FIRST_A4(t1, a1, ...)                              a1
#define FIRST_A5(t1, a1, ...)                              a1

#endif
