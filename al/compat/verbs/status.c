/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Statuses of the Access Layer as errno. */
#include "al/compat/verbs/verbs.h"

/* Without a default, so that the compiler names a status that is missing. */
int verbs_errno(al_status status)
{
	switch (status) {
	case AL_SUCCESS:
		return 0;
	case AL_PERMISSION:
	case AL_AGENT_UNTRUSTED:
		return EPERM;
	case AL_INSUFFICIENT_MEMORY:
	case AL_LIMIT_EXCEEDED:
	case AL_QUEUE_FULL:
		return ENOMEM;
	case AL_INSUFFICIENT_RESOURCES:
		return EMFILE;
	case AL_RESOURCE_BUSY:
	case AL_DUPLICATE:
	case AL_MODULE_IN_USE:
		return EBUSY;
	case AL_INVALID_ADDRESS:
	case AL_MEMORY_OUT_OF_REACH:
		return EFAULT;
	case AL_UNSUPPORTED:
		return EOPNOTSUPP;
	case AL_TIMEOUT:
		return ETIMEDOUT;
	case AL_CANCELLED:
		return ECANCELED;
	case AL_CA_REMOVED:
	case AL_CA_ERROR:
	case AL_AGENT_LOST:
	case AL_IO_ERROR:
	case AL_CQ_ERROR:
		return EIO;
	case AL_NOT_FOUND:
		return ENODEV;
	case AL_AGENT_REFUSED:
	case AL_AGENT_PROTOCOL:
		return ECONNREFUSED;
	case AL_INVALID_PARAMETER:
	case AL_INVALID_HANDLE:
	case AL_INVALID_CONTEXT:
	case AL_BUFFER_TOO_SMALL:
	case AL_INVALID_STATE:
	case AL_INVALID_TRANSITION:
	case AL_MISSING_ATTRIBUTE:
	case AL_INVALID_ATTRIBUTE:
	case AL_INVALID_OPCODE:
	case AL_INVALID_SGE:
	case AL_INVALID_PD:
	case AL_INVALID_CA:
	case AL_INVALID_QP_TYPE:
	case AL_TOO_SMALL:
	case AL_INVALID_KEY:
	case AL_INVALID_PORT:
	case AL_INVALID_GID_INDEX:
	case AL_INVALID_PKEY_INDEX:
	case AL_PORT_DOWN:
	case AL_BAD_CONFIG:
	case AL_MODULE_DAMAGED:
	case AL_MODULE_NO_SYMBOL:
	case AL_MODULE_ABI:
	case AL_MODULE_MISSING_OP:
	case AL_MODULE_FAILED:
	case AL_PCI_UNREADABLE:
	case AL_INVALID_DESCRIPTOR:
		return EINVAL;
	}
	return EINVAL;
}

int verbs_result(al_status status)
{
	const int error = verbs_errno(status);

	if (error)
		errno = error;
	return error;
}
