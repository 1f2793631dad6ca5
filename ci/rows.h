/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Macros that take the columns of a row of ci/ops.def apart, for files that define OP(). The
 * columns are described in ci/ops.def. */
#ifndef CI_ROWS_H
#define CI_ROWS_H

/*
 * BY_KIND(prefix, kind), BY_WAY(prefix, way): the macro named by the prefix and the kind or way,
 * such as REFUSE_POSTS.
 */
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

/* Expand to the further arguments if the way is: IF_ASKS: ON. IF_HOOKED: ON or LATER. IF_DIRECT:
 * DIRECT. IF_FUNCTION: DIRECT or BY. */
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

/* RETURNS(kind): the operation's return type. UNDOES(kind): the operation that undoes a CREATES. */
#define RETURNS(kind)         RETURNS_##kind
#define RETURNS_CREATES(undo) al_status
#define RETURNS_CHANGES       al_status
#define RETURNS_POSTS         al_status
#define RETURNS_ENDS          void
#define RETURNS_DMA(type)     type
#define UNDOES(kind)          UNDOES_##kind
#define UNDOES_CREATES(undo)  undo

/* CA_OF(way): the HCA of the way's object. FUNCTION(way): the way's function. */
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

/* Of the column "said": UDATA_PARAM(said): the operation's last parameter, if it is a struct
 * ci_udata. SAYS(said): true if data of the provider pass between the provider and its module. */
#define UDATA_PARAM(said)       UDATA_PARAM_##said
#define UDATA_PARAM_UDATA       , struct ci_udata *udata
#define UDATA_PARAM_EMPTY_UDATA , struct ci_udata *udata
#define UDATA_PARAM_NO_DATA
#define UDATA_PARAM_UM_DATA
#define SAYS(said)       SAYS_##said
#define SAYS_UDATA       true
#define SAYS_UM_DATA     true
#define SAYS_NO_DATA     false
#define SAYS_EMPTY_UDATA false

/* PARAMS(params): the parameters with their types. ARGS(params): their names. FIRST_ARG(params):
 * the first name. */
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
