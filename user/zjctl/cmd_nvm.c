// SPDX-License-Identifier: GPL-2.0-only
/* zjctl nvm-format: make persistent memory the journal of a file system. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <asm/byteorder.h>
#include <blkid/blkid.h>
#include <zjournal/nvm_format.h>
#include "format/codec.h"
#include "nvm/nvm.h"
#include "fsinfo.h"
#include "zjctl.h"

static const char help[] =
	"usage: zjctl nvm-format [--force] [--json] NVM DEV\n\n"
	"Make the persistent memory NVM (such as /dev/pmem0) the journal of the ext4 file system\n"
	"on DEV, for its mount option journal_nvm=NVM. Only the UUID of DEV is read.\n"
	"Memory that holds data is overwritten only with --force; memory that holds a log\n"
	"which must still be recovered is never overwritten.\n\n"
	"  --force          overwrite what NVM holds\n\n"
	"Exit status: 0 done, 8 failed or refused, 16 usage.\n\n"
	"Examples:\n"
	"  zjctl nvm-format /dev/pmem0 UUID=0b12...\n"
	"  zjctl nvm-format /dev/pmem0 /dev/sdb1\n";

static const struct option options[] = {
	{ "force", no_argument, NULL, 'f' },
	ZX_PLAIN_OPTIONS,
	{ 0 }
};

/**
 * struct memory - the memory that is to be formatted
 */
struct memory {
	const char *path;
	int	fd;
	u64	size;
	u8	head[ZJ_NVM_LOG_AT];	/* what its fixed places hold */
};

static int open_memory(struct memory *m)
{
	struct stat st;

	/* A block device must not be claimed by another user. */
	m->fd = open(m->path, O_RDWR | O_EXCL | O_CLOEXEC);
	if (m->fd < 0 || fstat(m->fd, &st))
		return zx_fail(ZX_FAILED, "%s: cannot be opened (%s); is it in use?",
			       m->path, strerror(errno));
	if (S_ISREG(st.st_mode))
		m->size = st.st_size;
	else if (!S_ISBLK(st.st_mode) || ioctl(m->fd, BLKGETSIZE64, &m->size))
		return zx_fail(ZX_FAILED, "%s: is not a block device", m->path);
	if (m->size < ZJ_NVM_MIN_SIZE)
		return zx_fail(ZX_FAILED, "%s: %s is too small for a journal, at least %s is needed",
			       m->path, zx_size(m->size), zx_size(ZJ_NVM_MIN_SIZE));
	if (pread(m->fd, m->head, sizeof(m->head), 0) != sizeof(m->head))
		return zx_fail(ZX_FAILED, "%s: cannot be read (%s)", m->path,
			       strerror(errno));
	return 0;
}

/* The name of what blkid finds in it, or NULL. */
static char *known_contents(const struct memory *m)
{
	blkid_probe probe = blkid_new_probe_from_filename(m->path);
	const char *type = NULL;
	char *copy = NULL;

	if (!probe)
		return NULL;
	blkid_probe_enable_partitions(probe, 1);
	if (!blkid_do_safeprobe(probe) &&
	    (!blkid_probe_lookup_value(probe, "TYPE", &type, NULL) ||
	     !blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL)))
		copy = strdup(type);
	blkid_free_probe(probe);
	return copy;
}

static bool is_empty(const struct memory *m)
{
	for (size_t i = 0; i < sizeof(m->head); i++)
		if (m->head[i])
			return false;
	return true;
}

/* 0 if it may be overwritten. */
static int check_contents(const struct memory *m, bool force)
{
	const struct zj_nvm_super *sb = (const void *)m->head;
	char *known;

	if (force)
		return 0;
	if (le32_to_cpu(sb->magic) == ZJ_NVM_SUPER_MAGIC)
		return zx_fail(ZX_FAILED, "%s: is already the journal of a file system; --force gives it to this one, and any log in it is lost",
			       m->path);
	known = known_contents(m);
	if (known) {
		zx_fail(ZX_FAILED, "%s: holds data (%s); --force overwrites it",
			m->path, known);
		free(known);
		return ZX_FAILED;
	}
	return is_empty(m) ? 0 :
	       zx_fail(ZX_FAILED, "%s: holds unknown data; --force overwrites it",
		       m->path);
}

/* Does block 0 name it? If the memory's superblock is torn, compare the log's header. */
static bool holds_log_of(const struct memory *m, struct zj_jbd2_super *sb)
{
	const struct zj_nvm_super *nvm = (const void *)m->head;
	const struct zj_nvm_mark *mark = zj_nvm_mark_of(sb);
	struct zj_log_geometry geo;

	return zj_is_nvm_log(sb) &&
	       (!memcmp(mark->uuid, nvm->uuid, sizeof(nvm->uuid)) ||
		(!zj_decode_nvm_head((void *)(m->head + ZJ_NVM_HEAD_AT), m->size, &geo) &&
		 geo.generation == be64_to_cpu(mark->generation)));
}

/* The file system's own log must not be overwritten. */
static int check_pair(const struct memory *m, struct ext_image *img)
{
	struct zj_jbd2_super *sb = malloc(img->block_size);
	int err = sb ? ext_ops.read_log(img, ZJ_BLOCK_JBD2_SUPER, 1, sb) : -ENOMEM;
	int code = 0;

	if (err)
		code = zx_fail(ZX_FAILED, "%s: journal block 0 cannot be read (%s)",
			       img->path, strerror(-err));
	else if (holds_log_of(m, sb))
		code = zx_fail(ZX_FAILED, "%s: holds a log of %s that is not recovered yet; first: zjctl recover --nvm=%s %s",
			       m->path, img->path, m->path, img->path);
	free(sb);
	return code;
}

static int write_super(struct memory *m, const u8 *fs_uuid)
{
	u8 uuid[16];

	if (getrandom(uuid, sizeof(uuid), 0) != sizeof(uuid))
		return zx_fail(ZX_FAILED, "no random numbers (%s)", strerror(errno));
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
	memset(m->head, 0, sizeof(m->head));
	zj_encode_nvm_super(uuid, fs_uuid, m->size, (void *)m->head);
	if (pwrite(m->fd, m->head, sizeof(m->head), 0) != sizeof(m->head) ||
	    fsync(m->fd))
		return zx_fail(ZX_FAILED, "%s: cannot be written (%s)", m->path,
			       strerror(errno));
	return 0;
}

/* Block 0 of the journal names the memory; with a third device it would be worth nothing. */
static int check_journal_inside(const char *path)
{
	struct fs_info fs;
	int code = fs_read_info(path, &fs);

	if (!code && fs.has_journal && !fs.journal_inode)
		code = zx_fail(ZX_FAILED, "%s: has its journal on a device of its own, which journal_nvm= does not go with; first: tune2fs -O ^has_journal, then tune2fs -j",
			       path);
	return code;
}

static int format(struct memory *m, const char *dev, bool force)
{
	struct zx_target target;
	struct ext_image img;
	int code = zx_find(dev, &target);

	if (!code)
		code = check_journal_inside(target.path);
	if (!code)
		code = zx_open(&img, &target, EXT_READ);
	if (code)
		return code;
	code = open_memory(m);
	if (!code)
		code = check_pair(m, &img);
	if (!code)
		code = check_contents(m, force);
	if (!code)
		code = write_super(m, img.uuid);
	ext_close(&img);
	if (code)
		return code;
	js_u64("bytes", m->size);
	if (!zx_json)
		printf("%s: %s for the journal of %s; mount -t zext4 -o journal_nvm=%s %s\n",
		       zx_text(m->path), zx_size(m->size), zx_text(target.path), zx_text(m->path),
		       zx_text(target.path));
	return 0;
}

static int run(int argc, char **argv)
{
	struct memory m = { .fd = -1 };
	bool force = false;
	int c, code;

	while ((c = zx_getopt(argc, argv)) != -1) {
		if (c != 'f')
			return ZX_USAGE;
		force = true;
	}
	if (argc - optind != 2)
		return zx_usage("give the memory and the file system");
	m.path = argv[optind];
	js_text("memory", m.path);
	code = format(&m, argv[optind + 1], force);
	if (m.fd >= 0)
		close(m.fd);
	return code;
}

const struct zx_command cmd_nvm_format = {
	.name = "nvm-format",
	.brief = "make persistent memory the journal of a file system",
	.help = help,
	.shorts = ":f",
	.options = options,
	.operand = "memory",
	.run = run,
};
