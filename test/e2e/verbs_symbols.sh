#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The replacement of libibverbs has the name, the symbols and their versions that programs were linked with: those of Debian 12
# (test/data/verbs-symbols.txt). The recorded layout of its structs (layout.def), which its build asserts, is that of Debian's
# <infiniband/verbs.h>, and its texts and rates are those of Debian's library, where these are installed.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
library=$build/al/compat/verbs/.libs/libibverbs.so.1
for tool in nm readelf; do
	command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
nm -D --with-symbol-versions --defined-only "$library" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort >found
cut -d " " -f 1 "$top_srcdir/test/data/verbs-symbols.txt" | LC_ALL=C sort | diff - found || wrong "the symbols differ"
readelf -d "$library" | grep -q 'SONAME.*\[libibverbs\.so\.1\]' || wrong "the SONAME is not libibverbs.so.1"

if echo '#include <infiniband/verbs.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then
	{
		printf '#include <stdio.h>\n#include <time.h>\n#include <infiniband/verbs.h>\nstatic int wrong;\n'
		printf 'static void check(const char *what, size_t got, size_t want)\n{\n\tif (got == want)\n\t\treturn;\n'
		printf '\tprintf("%%s: %%zu, not %%zu\\n", what, got, want);\n\twrong = 1;\n}\nint main(void)\n{\n'
		sed -nE -e 's/^SIZE\((\w+), (\w+)\)$/\tcheck("size of \1", sizeof(struct \1), \2);/p' \
			-e 's/^MEMBER\((\w+), ([a-z0-9_.]+), (\w+), (\w+)\)$/\tcheck("place of \1.\2", offsetof(struct \1, \2), \3);\n\tcheck("size of \1.\2", sizeof(((struct \1 *)0)->\2), \4);/p' \
			"$top_srcdir/al/compat/verbs/layout.def"
		printf '\treturn wrong;\n}\n'
	} >layout.c
	[ "$(grep -c check layout.c)" -gt 700 ] || wrong "layout.def has too few lines"
	${CC:-cc} -w -o layout layout.c
	./layout || wrong "the layout differs from <infiniband/verbs.h>"
else
	echo "<infiniband/verbs.h> is not installed, so the layout is compared with the recorded one only"
fi

# Both libraries answer the same for every value.
cat >texts.py <<'END'
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for name in ("ibv_wc_status_str", "ibv_node_type_str", "ibv_port_state_str", "ibv_event_type_str"):
    call = getattr(library, name)
    call.restype = ctypes.c_char_p
    for value in range(-2, 40):
        print(name, value, call(value).decode())
for name in ("ibv_rate_to_mult", "ibv_rate_to_mbps"):
    for value in range(-2, 40):
        print(name, value, getattr(library, name)(value))
for name, values in ("mult_to_ibv_rate", range(-1, 600)), ("mbps_to_ibv_rate", [-1, 0, 1] + [library.ibv_rate_to_mbps(i) for i in range(40)]):
    for value in values:
        print(name, value, getattr(library, name)(value))
END
# What each symbol does: verbs-symbols.txt says "works" (a program that the tests run calls it, or verbs_program.c), "here" (below, or
# among the texts), or how it refuses: the number or the pointer that it returns, and errno; "nothing": it returns nothing.
cat >verdicts.py <<'END'
import ctypes, errno, glob, re, subprocess, sys
path, table, program = sys.argv[1:]
library = ctypes.CDLL(path)
dlvsym = ctypes.CDLL(None).dlvsym
dlvsym.restype, dlvsym.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
callers = glob.glob("/usr/bin/ib_*_bw") + glob.glob("/usr/bin/ib_*_lat") + glob.glob("/usr/bin/ibv_*") \
    + glob.glob("/usr/lib/python3/dist-packages/pyverbs/*.so") + glob.glob("/usr/lib/*/ucx/libuct_ib.so*") + glob.glob("/usr/lib/*/libfabric.so.1")
imports = subprocess.run(["nm", "-D", "-u", *callers], capture_output=True, text=True, check=True).stdout
called = set(re.findall(r" U (\w+)@", imports)) | set(re.findall(r"\bibv_\w+", open(program).read()))


def call(symbol, result):
    name, version = re.split("@+", symbol)
    address = dlvsym(library._handle, name.encode(), version.encode())
    ctypes.set_errno(0)
    return ctypes.CFUNCTYPE(result, *[ctypes.c_void_p] * 6, use_errno=True)(address)(*[None] * 6)


for line in open(table):
    symbol, verdict, *number = line.split()
    wanted = getattr(errno, number[0]) if number else 0
    if verdict == "works" and symbol.split("@")[0] not in called:
        print(symbol, "works, and no program of the tests calls it")
    elif verdict == "nothing":
        call(symbol, None)
    elif verdict == "number" and (call(symbol, ctypes.c_int), ctypes.get_errno()) != (wanted, wanted):
        print(symbol, "does not return the number and set errno")
    elif verdict == "NULL" and (call(symbol, ctypes.c_void_p), ctypes.get_errno()) != (None, wanted):
        print(symbol, "does not return NULL and set errno")
library.ibv_get_sysfs_path.restype = ctypes.c_char_p
answers = (library.ibv_get_sysfs_path(), library.ibv_dofork_range(None, 0), library.ibv_dontfork_range(None, 0),
           getattr(library, "__ioctl_final_num_attrs")(7, None), library.ibv_read_ibdev_sysfs_file(None, 0, None, None))
if answers != (b"/sys", 0, 0, 7, -1):
    print("other answers:", answers)
END
if ls /usr/bin/ib_send_bw /usr/bin/ibv_devinfo /usr/lib/*/libfabric.so.1 >/dev/null 2>&1 && [[ ${SANITIZE-} != *-fsanitize=* ]]; then
	LD_LIBRARY_PATH=$build/.libs python3 verdicts.py "$library" "$top_srcdir/test/data/verbs-symbols.txt" "$top_srcdir/test/e2e/verbs_program.c" >verdicts.txt
	[ ! -s verdicts.txt ] || wrong "$(cat verdicts.txt)"
else
	echo "what each symbol does is not tried: the programs are not installed, or this library is loaded by no other program"
fi
theirs=/usr/lib/$(${CC:-cc} -print-multiarch 2>/dev/null)/libibverbs.so.1
if [[ ${SANITIZE-} == *-fsanitize=* ]]; then
	echo "a library that is built with a sanitizer is loaded by no other program"
elif [ -e "$theirs" ]; then
	LD_LIBRARY_PATH=$build/.libs python3 texts.py "$library" >ours.txt
	python3 texts.py "$theirs" >theirs.txt
	diff theirs.txt ours.txt || wrong "texts or rates differ from libibverbs'"
	[ "$(wc -l <ours.txt)" -gt 800 ] || wrong "too few texts were compared"
fi
passed
