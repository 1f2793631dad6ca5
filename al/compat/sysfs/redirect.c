/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * libredirect.so, which al_run has a command load before its libraries: paths below
 * /sys/class/infiniband, /sys/class/infiniband_verbs and /dev/infiniband lead to the folder that
 * IBAL_SYSFS names, if it has the path, and every other path leads where it says. A command that
 * has no need of such a folder, or finds adapters of the kernel's there, is none the wiser.
 *
 * Functions of the C library that open files by calls within the library, such as realpath(3) and
 * glob(3), are led only as far as they are defined here.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static bool begins_with(const char *path, const char *folder)
{
	const size_t length = strlen(folder);

	return !strncmp(path, folder, length) && (!path[length] || path[length] == '/');
}

/* The path that takes the place of a path; room: for it. */
static const char *lead(const char *path, char room[static PATH_MAX])
{
	static const char *const folders[] = { "/sys/class/infiniband",
					       "/sys/class/infiniband_verbs", "/dev/infiniband" };
	const char *top;

	if (!path || path[0] != '/' || (path[1] != 's' && path[1] != 'd'))
		return path;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (!begins_with(path, folders[i]))
			continue;
		top = getenv("IBAL_SYSFS");
		if (!top || snprintf(room, PATH_MAX, "%s%s", top, path) >= PATH_MAX)
			return path;
		/* not by access(), which is this file's */
		return syscall(SYS_faccessat, AT_FDCWD, room, F_OK) ? path : room;
	}
	return path;
}

/* The C library's function of a name. *found: what an earlier call has found. */
static void *next_of(void *_Atomic *found, const char *name)
{
	if (!*found)
		*found = dlsym(RTLD_NEXT, name);
	return *found;
}

/* Defines a function whose parameter path is led. next: the C library's function. */
#define LED(type, name, parameters, ...)                             \
	EXPORT type name parameters;                                 \
	EXPORT type name parameters                                  \
	{                                                            \
		static void *_Atomic found;                          \
		char room[PATH_MAX];                                 \
		void *symbol = next_of(&found, #name);               \
		type(*next) parameters = (type(*) parameters)symbol; \
                                                                     \
		path = lead(path, room);                             \
		return next(__VA_ARGS__);                            \
	}

LED(int, access, (const char *path, int mode), path, mode)
LED(int, faccessat, (int dir, const char *path, int mode, int flags), dir, path, mode, flags)
LED(int, eaccess, (const char *path, int mode), path, mode)
LED(int, euidaccess, (const char *path, int mode), path, mode)
LED(int, chdir, (const char *path), path)
LED(ssize_t, getxattr, (const char *path, const char *name, void *value, size_t size), path, name,
    value, size)
LED(ssize_t, lgetxattr, (const char *path, const char *name, void *value, size_t size), path, name,
    value, size)
LED(ssize_t, listxattr, (const char *path, char *list, size_t size), path, list, size)
LED(ssize_t, llistxattr, (const char *path, char *list, size_t size), path, list, size)
LED(int, stat, (const char *path, struct stat *st), path, st)
LED(int, lstat, (const char *path, struct stat *st), path, st)
LED(int, fstatat, (int dir, const char *path, struct stat *st, int flags), dir, path, st, flags)
LED(int, stat64, (const char *path, struct stat64 *st), path, st)
LED(int, lstat64, (const char *path, struct stat64 *st), path, st)
LED(int, fstatat64, (int dir, const char *path, struct stat64 *st, int flags), dir, path, st, flags)
LED(int, statx, (int dir, const char *path, int flags, unsigned int mask, struct statx *st), dir,
    path, flags, mask, st)
LED(int, __xstat, (int version, const char *path, struct stat *st), version, path, st)
LED(int, __lxstat, (int version, const char *path, struct stat *st), version, path, st)
LED(int, __open_2, (const char *path, int flags), path, flags)
LED(int, __open64_2, (const char *path, int flags), path, flags)
LED(FILE *, fopen, (const char *path, const char *mode), path, mode)
LED(FILE *, fopen64, (const char *path, const char *mode), path, mode)
LED(DIR *, opendir, (const char *path), path)
LED(ssize_t, readlink, (const char *path, char *buf, size_t size), path, buf, size)
LED(char *, realpath, (const char *path, char *resolved), path, resolved)
LED(char *, __realpath_chk, (const char *path, char *resolved, size_t size), path, resolved, size)
LED(int, scandir,
    (const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
     int (*compare)(const struct dirent **, const struct dirent **)),
    path, list, filter, compare)

/* The functions whose mode is there for files that are made only. */
#define LED_OPEN(name, first, ...)                                      \
	EXPORT int name(first const char *path, int flags, ...);        \
	EXPORT int name(first const char *path, int flags, ...)         \
	{                                                               \
		static void *_Atomic found;                             \
		char room[PATH_MAX];                                    \
		void *symbol = next_of(&found, #name);                  \
		int (*next)(first const char *, int, ...) =             \
			(int (*)(first const char *, int, ...))symbol;  \
		mode_t mode = 0;                                        \
		va_list words;                                          \
                                                                        \
		va_start(words, flags);                                 \
		if (flags & (O_CREAT | __O_TMPFILE))                    \
			mode = va_arg(words, mode_t);                   \
		va_end(words);                                          \
		return next(__VA_ARGS__ lead(path, room), flags, mode); \
	}
#define NOTHING
LED_OPEN(open, NOTHING)
LED_OPEN(open64, NOTHING)
#undef NOTHING
#define DIRECTORY int dir,
LED_OPEN(openat, DIRECTORY, dir, )
LED_OPEN(openat64, DIRECTORY, dir, )
