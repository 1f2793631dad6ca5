/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the replacement does not offer: programs and libraries are linked with these symbols, so they
 * exist, and each refuses as libibverbs does where a device lacks an operation.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "al/compat/verbs/verbs.h"

/* A function that returns an errno. */
#define REFUSE(name)                            \
	EXPORT int name(void);                  \
	EXPORT int name(void)                   \
	{                                       \
		return verbs_fail(EOPNOTSUPP);  \
	}
/* A function that returns an object. */
#define REFUSE_OBJECT(name)              \
	EXPORT void *name(void);         \
	EXPORT void *name(void)          \
	{                                \
		errno = EOPNOTSUPP;      \
		return NULL;             \
	}
/* A function that returns nothing, about an object that cannot be there. */
#define REFUSE_VOID(name)        \
	EXPORT void name(void);  \
	EXPORT void name(void)   \
	{                        \
	}

/* ------------------------------------------------------- shared receive queues */

LATEST(void *, ibv_create_srq)(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

#define REFUSE_LATEST(name) \
	LATEST(int, name)(void) \
	{ \
		return verbs_fail(EOPNOTSUPP); \
	}
REFUSE_LATEST(ibv_modify_srq)
REFUSE_LATEST(ibv_query_srq)
REFUSE_LATEST(ibv_destroy_srq)

/* --------------------------------------------------- objects of other processes */

REFUSE_OBJECT(ibv_import_device)
REFUSE_OBJECT(ibv_import_pd)
REFUSE_VOID(ibv_unimport_pd)
REFUSE_OBJECT(ibv_import_mr)
REFUSE_VOID(ibv_unimport_mr)
REFUSE_OBJECT(ibv_import_dm)
REFUSE_VOID(ibv_unimport_dm)

/* ----------------------------------------- connections, and the kernel's structs */

REFUSE(ibv_query_ece)
REFUSE(ibv_set_ece)
REFUSE(ibv_resolve_eth_l2_from_gid)
REFUSE_VOID(ibv_copy_ah_attr_from_kern)
REFUSE_VOID(ibv_copy_qp_attr_from_kern)
REFUSE_VOID(ibv_copy_path_rec_from_kern)
REFUSE_VOID(ibv_copy_path_rec_to_kern)

/* ----------------------------------------------------------------------- sysfs */

EXPORT const char *ibv_get_sysfs_path(void);
EXPORT const char *ibv_get_sysfs_path(void)
{
	return "/sys";
}

/* Reads a file, without the newline at its end. Returns the length; -1: errno says why not. */
EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[512];
	ssize_t length;
	int fd;

	if (!size || (size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path)) {
		errno = EINVAL;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	length = read(fd, buf, size);
	close(fd);
	if (length > 0 && buf[length - 1] == '\n')
		length--;
	if (length >= 0 && (size_t)length < size)
		buf[length] = '\0';
	return (int)length;
}

/* ------------------------------------- what vendors' libraries have of libibverbs */

/* Drivers of other devices register when a program loads libmlx5 or libefa; they find no device. */
REFUSE_VOID(verbs_register_driver_34)
REFUSE_VOID(__verbs_log)
REFUSE_VOID(verbs_set_ops)
REFUSE_VOID(verbs_init_cq)
REFUSE_VOID(verbs_uninit_context)
REFUSE_OBJECT(verbs_open_device)
REFUSE_OBJECT(_verbs_init_and_alloc_context)
EXPORT extern bool verbs_allow_disassociate_destroy;
EXPORT bool verbs_allow_disassociate_destroy;

EXPORT unsigned int __ioctl_final_num_attrs(unsigned int num, void *link);
EXPORT unsigned int __ioctl_final_num_attrs(unsigned int num, void *link)
{
	(void)link;
	return num;
}

EXPORT int ibv_read_ibdev_sysfs_file(char *buf, size_t size, void *device, const char *format, ...);
EXPORT int ibv_read_ibdev_sysfs_file(char *buf, size_t size, void *device, const char *format, ...)
{
	(void)buf;
	(void)size;
	(void)device;
	(void)format;
	errno = ENOENT;
	return -1;
}

REFUSE(execute_ioctl)

/* Commands to the kernel. */
REFUSE(ibv_cmd_advise_mr)
REFUSE(ibv_cmd_alloc_dm)
REFUSE(ibv_cmd_alloc_mw)
REFUSE(ibv_cmd_alloc_pd)
REFUSE(ibv_cmd_attach_mcast)
REFUSE(ibv_cmd_close_xrcd)
REFUSE(ibv_cmd_create_ah)
REFUSE(ibv_cmd_create_counters)
REFUSE(ibv_cmd_create_cq)
REFUSE(ibv_cmd_create_cq_ex)
REFUSE(ibv_cmd_create_flow)
REFUSE(ibv_cmd_create_flow_action_esp)
REFUSE(ibv_cmd_create_qp)
REFUSE(ibv_cmd_create_qp_ex2)
REFUSE(ibv_cmd_create_qp_ex)
REFUSE(ibv_cmd_create_rwq_ind_table)
REFUSE(ibv_cmd_create_srq)
REFUSE(ibv_cmd_create_srq_ex)
REFUSE(ibv_cmd_create_wq)
REFUSE(ibv_cmd_dealloc_mw)
REFUSE(ibv_cmd_dealloc_pd)
REFUSE(ibv_cmd_dereg_mr)
REFUSE(ibv_cmd_destroy_ah)
REFUSE(ibv_cmd_destroy_counters)
REFUSE(ibv_cmd_destroy_cq)
REFUSE(ibv_cmd_destroy_flow)
REFUSE(ibv_cmd_destroy_flow_action)
REFUSE(ibv_cmd_destroy_qp)
REFUSE(ibv_cmd_destroy_rwq_ind_table)
REFUSE(ibv_cmd_destroy_srq)
REFUSE(ibv_cmd_destroy_wq)
REFUSE(ibv_cmd_detach_mcast)
REFUSE(ibv_cmd_free_dm)
REFUSE(ibv_cmd_get_context)
REFUSE(ibv_cmd_modify_cq)
REFUSE(ibv_cmd_modify_flow_action_esp)
REFUSE(ibv_cmd_modify_qp)
REFUSE(ibv_cmd_modify_qp_ex)
REFUSE(ibv_cmd_modify_srq)
REFUSE(ibv_cmd_modify_wq)
REFUSE(ibv_cmd_open_qp)
REFUSE(ibv_cmd_open_xrcd)
REFUSE(ibv_cmd_poll_cq)
REFUSE(ibv_cmd_post_recv)
REFUSE(ibv_cmd_post_send)
REFUSE(ibv_cmd_post_srq_recv)
REFUSE(ibv_cmd_query_context)
REFUSE(ibv_cmd_query_device_any)
REFUSE(ibv_cmd_query_mr)
REFUSE(ibv_cmd_query_port)
REFUSE(ibv_cmd_query_qp)
REFUSE(ibv_cmd_query_srq)
REFUSE(ibv_cmd_read_counters)
REFUSE(ibv_cmd_reg_dm_mr)
REFUSE(ibv_cmd_reg_dmabuf_mr)
REFUSE(ibv_cmd_reg_mr)
REFUSE(ibv_cmd_req_notify_cq)
REFUSE(ibv_cmd_rereg_mr)
REFUSE(ibv_cmd_resize_cq)

/* ------------------------------------- programs of before libibverbs 1.1 (2007) */

/* Their structs have another layout. They find no device. */
#define OLD(name) VERSIONED(old_##name, name, "@IBVERBS_1.0")
#define OLD_REFUSE(name)                   \
	int old_##name(void);              \
	OLD(name) int old_##name(void)     \
	{                                  \
		return verbs_fail(ENOSYS); \
	}
#define OLD_OBJECT(name)                \
	void *old_##name(void);         \
	OLD(name) void *old_##name(void) \
	{                               \
		errno = ENOSYS;         \
		return NULL;            \
	}
#define OLD_VOID(name)                 \
	void old_##name(void);         \
	OLD(name) void old_##name(void) \
	{                              \
	}

/* New programs are not linked with this symbol. */
void old_ibv_register_driver(void);
VERSIONED(old_ibv_register_driver, ibv_register_driver, "@IBVERBS_1.1") void old_ibv_register_driver(void)
{
}

void *old_ibv_get_device_list(int *num);
OLD(ibv_get_device_list) void *old_ibv_get_device_list(int *num)
{
	if (num)
		*num = 0;
	errno = ENOSYS;
	return NULL;
}

OLD_VOID(ibv_ack_async_event)
OLD_VOID(ibv_ack_cq_events)
OLD_OBJECT(ibv_alloc_pd)
OLD_REFUSE(ibv_attach_mcast)
OLD_REFUSE(ibv_close_device)
OLD_OBJECT(ibv_create_ah)
OLD_OBJECT(ibv_create_cq)
OLD_OBJECT(ibv_create_qp)
OLD_OBJECT(ibv_create_srq)
OLD_REFUSE(ibv_dealloc_pd)
OLD_REFUSE(ibv_dereg_mr)
OLD_REFUSE(ibv_destroy_ah)
OLD_REFUSE(ibv_destroy_cq)
OLD_REFUSE(ibv_destroy_qp)
OLD_REFUSE(ibv_destroy_srq)
OLD_REFUSE(ibv_detach_mcast)
OLD_VOID(ibv_free_device_list)
OLD_REFUSE(ibv_get_async_event)
OLD_REFUSE(ibv_get_cq_event)
OLD_REFUSE(ibv_get_device_guid)
OLD_OBJECT(ibv_get_device_name)
OLD_REFUSE(ibv_modify_qp)
OLD_REFUSE(ibv_modify_srq)
OLD_OBJECT(ibv_open_device)
OLD_REFUSE(ibv_query_device)
OLD_REFUSE(ibv_query_gid)
OLD_REFUSE(ibv_query_pkey)
OLD_REFUSE(ibv_query_port)
OLD_REFUSE(ibv_query_qp)
OLD_REFUSE(ibv_query_srq)
OLD_OBJECT(ibv_reg_mr)
OLD_REFUSE(ibv_resize_cq)
