// SPDX-License-Identifier: GPL-2.0-only
/* Finds the persistent memory of a log, compares it with block 0, and maps it. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <asm/byteorder.h>
#include "format/codec.h"
#include "memory.h"

/* ---- memory that cannot be read ---- */

/* The mapped memory; its owner closes it. */
static struct {
	const u8 *base;		/* NULL: nothing */
	u64	bytes;
	u64	lost;		/* byte that cannot be read */
	char	path[4096];
} mapped;

sigjmp_buf zx_way_out;

/* Only loads from the log can fault, so no call of the C library is interrupted. */
static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	u64 at = (const u8 *)info->si_addr - mapped.base;

	if (mapped.base && at < mapped.bytes) {
		mapped.lost = at;
		siglongjmp(zx_way_out, 1);
	}
	signal(sig, SIG_DFL);
}

int zx_memory_lost(void)
{
	return zx_fail(ZX_FAILED, "%s: cannot be read at byte %llu; the log is kept: copy what can be read, and name the copy with --nvm=",
		       mapped.path, mapped.lost);
}

/* ---- open ---- */

static int open_fd(struct zx_memory *m, bool claim)
{
	int flags = O_RDONLY | O_CLOEXEC;
	struct stat st;

	if (stat(m->path, &st))
		return zx_fail(ZX_FAILED, "%s: %s; --nvm= must name the memory's device, or a file with a copy of it",
			       m->path, strerror(errno));
	if (!S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode))
		return zx_fail(ZX_FAILED, "%s: is neither a block device nor a file", m->path);
	if (claim && S_ISBLK(st.st_mode))
		flags |= O_EXCL;
	m->fd = open(m->path, flags);
	if (m->fd < 0)
		return zx_fail(ZX_FAILED, "%s: cannot be opened (%s)%s", m->path, strerror(errno),
			       errno == EBUSY ? "; unmount the file system that has its log there" : "");
	if (claim && !ext_lock(m->fd))
		return zx_fail(ZX_FAILED, "%s: is locked by another program, perhaps a second zjctl; wait until it ends",
			       m->path);
	m->bytes = st.st_size;
	if (S_ISBLK(st.st_mode) && ioctl(m->fd, BLKGETSIZE64, &m->bytes))
		return zx_fail(ZX_FAILED, "%s: its size cannot be determined (%s)", m->path,
			       strerror(errno));
	/* A mount writes to the memory without the page cache. */
	posix_fadvise(m->fd, 0, 0, POSIX_FADV_DONTNEED);
	return 0;
}

static int map(struct zx_memory *m)
{
	struct sigaction act = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
	void *base;

	if (m->bytes < ZJ_NVM_MIN_SIZE)
		return zx_fail(ZX_FAILED, "%s: %s is too small for a log; is it the right memory?",
			       m->path, zx_size(m->bytes));
	base = mmap(NULL, m->bytes, PROT_READ, MAP_SHARED, m->fd, 0);
	if (base == MAP_FAILED)
		return zx_fail(ZX_FAILED, "%s: cannot be mapped (%s)", m->path, strerror(errno));
	m->base = base;
	mapped.base = base;
	mapped.bytes = m->bytes;
	snprintf(mapped.path, sizeof(mapped.path), "%s", m->path);
	sigaction(SIGBUS, &act, NULL);
	return 0;
}

/* Memory that may be the wrong one is a failure; damaged memory is damage. */
static int check_super(struct zx_memory *m)
{
	const char *wrong;

	memcpy(&m->sb, m->base + ZJ_NVM_SUPER_AT, sizeof(m->sb));
	if (le32_to_cpu(m->sb.magic) != ZJ_NVM_SUPER_MAGIC)
		return zx_fail(ZX_FAILED, "%s: holds no log; is it the right memory? Nothing was written",
			       m->path);
	wrong = zj_check_nvm_super(&m->sb, m->bytes);
	if (wrong)
		return zx_fail(ZX_UNCORRECTED, "%s: %s; nothing was written: copy the memory and the device before you try anything else",
			       m->path, wrong);
	m->area = (struct zj_nvm_area) {
		.base = m->base,
		.size = le64_to_cpu(m->sb.size),
	};
	return 0;
}

int zx_map_memory(struct zx_memory *m, const char *name, bool claim)
{
	int code;

	*m = ZX_NO_MEMORY;
	snprintf(m->path, sizeof(m->path), "%s", name);
	code = open_fd(m, claim);
	if (!code)
		code = map(m);
	return code ? code : check_super(m);
}

void zx_close_memory(struct zx_memory *m)
{
	if (m->base)
		munmap((void *)m->base, m->bytes);
	if (m->fd >= 0)
		close(m->fd);
	mapped.base = NULL;
	*m = ZX_NO_MEMORY;
}

/* ---- which? ---- */

static bool has_uuid(const char *path, const u8 *uuid)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct zj_nvm_super sb;
	struct stat st;
	bool found;

	if (fd < 0)
		return false;
	found = !fstat(fd, &st) && S_ISBLK(st.st_mode) &&
		pread(fd, &sb, sizeof(sb), ZJ_NVM_SUPER_AT) == sizeof(sb) &&
		le32_to_cpu(sb.magic) == ZJ_NVM_SUPER_MAGIC &&
		!memcmp(sb.uuid, uuid, sizeof(sb.uuid));
	close(fd);
	return found;
}

/* Searches the kernel's memory devices; if two are copies of one, the user must choose. */
static int find(const struct ext_image *img, const u8 *uuid, char *path, size_t room)
{
	char text[37];
	u32 nr = 0;
	glob_t all;

	zx_uuid_text(uuid, text);
	if (!glob("/dev/pmem*", 0, NULL, &all)) {
		for (size_t i = 0; i < all.gl_pathc; i++)
			if (has_uuid(all.gl_pathv[i], uuid) && !nr++)
				snprintf(path, room, "%s", all.gl_pathv[i]);
		globfree(&all);
	}
	if (nr == 1)
		return 0;
	return zx_fail(ZX_FAILED, "%s: the log is in the persistent memory %s, which is %s /dev/pmem*; name it with --nvm=, or mount with journal_nvm=",
		       img->path, text, nr ? "at more than one" : "not at");
}

static int check_pair(const struct zx_memory *m, const struct ext_image *img,
		      const struct zj_nvm_mark *mark)
{
	char is[37], wanted[37];

	if (!memcmp(mark->uuid, m->sb.uuid, sizeof(mark->uuid)))
		return 0;
	zx_uuid_text(m->sb.uuid, is);
	zx_uuid_text(mark->uuid, wanted);
	return zx_fail(ZX_FAILED, "%s: is the memory %s, but the log of %s is in %s; nothing was written",
		       m->path, is, img->path, wanted);
}

int zx_open_memory(struct zx_memory *m, const char *name, const struct ext_image *img,
		   struct zj_jbd2_super *block0, bool claim)
{
	const struct zj_nvm_mark *mark = zj_nvm_mark_of(block0);
	char found[4096];
	int code = 0;

	*m = ZX_NO_MEMORY;
	if (!zj_is_nvm_log(block0)) {
		if (name)
			zx_say(ZX_NOTE, "%s: has no log in persistent memory: --nvm is ignored",
			       img->path);
		return 0;
	}
	if (!name)
		code = find(img, mark->uuid, found, sizeof(found));
	if (!code)
		code = zx_map_memory(m, name ? name : found, claim);
	if (!code)
		code = check_pair(m, img, mark);
	m->area.generation = be64_to_cpu(mark->generation);
	return code;
}
