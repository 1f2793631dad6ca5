/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Replays a target's corpus (FUZZ_CORPUS), or the named files, without libFuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"

static int replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat st;
	uint8_t *data;
	int bad = 1;

	if (!file) {
		perror(path);
		return 1;
	}
	if (!fstat(fileno(file), &st)) {
		data = malloc((size_t)st.st_size + 1);
		if (data && fread(data, 1, (size_t)st.st_size, file) == (size_t)st.st_size)
			bad = LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
		free(data);
	}
	fclose(file);
	return bad;
}

static int replay_directory(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char name[1024];
	int bad = 0, files = 0;

	if (!dir) {
		perror(path);
		return 1;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		bad |= replay(name);
		files++;
	}
	closedir(dir);
	printf("%s: %d files\n", path, files);
	return bad || !files;
}

int main(int argc, char **argv)
{
	const char *top = getenv("top_srcdir");
	char path[512];
	int i, bad = 0;

	for (i = 1; i < argc; i++)
		bad |= replay(argv[i]);
	if (argc > 1)
		return bad;
	snprintf(path, sizeof(path), "%s/test/fuzz/corpus/" FUZZ_CORPUS, top ? top : ".");
	return replay_directory(path);
}
