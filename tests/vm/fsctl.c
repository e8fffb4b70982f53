// SPDX-License-Identifier: GPL-2.0-only
/* Makes system calls for which there is no tool; see usage(). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
#include <linux/suspend_ioctls.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXT4_IOC_SHUTDOWN	_IOR('X', 125, uint32_t)
#define EXT4_IOC_SWAP_BOOT	_IO('f', 17)
#define EXT4_IOC_MOVE_EXT	_IOWR('f', 15, struct move_extent)
#define EXT4_IOC_GETFSUUID	_IOR('f', 44, uint64_t)
#define EXT4_IOC_SETFSUUID	_IOW('f', 44, uint64_t)
#define EXT4_LABEL_SIZE		16
#define UUID_BYTES		16
#define KEY_SIZE		64
#define PAGE			4096
/* Of newer kernels, which newer headers define. */
#ifndef FALLOC_FL_WRITE_ZEROES
#define FALLOC_FL_WRITE_ZEROES	0x80
#endif
#ifndef RWF_ATOMIC
#define RWF_ATOMIC		0x40
#endif
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE		0x80
#endif

struct move_extent {
	uint32_t reserved;
	uint32_t donor;
	uint64_t orig_start;
	uint64_t donor_start;
	uint64_t len;
	uint64_t moved;
};

/* The ioctls' numbers have the size of its first two fields. */
struct ext4_fsuuid {
	uint32_t len;
	uint32_t flags;
	uint8_t uuid[UUID_BYTES];
};

/* The key is no secret: every boot of a test must find the same one. */
static int add_key(int fd, struct fscrypt_key_specifier *id)
{
	struct fscrypt_add_key_arg *arg = calloc(1, sizeof(*arg) + KEY_SIZE);
	int rc;

	arg->key_spec.type = FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER;
	arg->raw_size = KEY_SIZE;
	memset(arg->raw, 'k', KEY_SIZE);
	rc = ioctl(fd, FS_IOC_ADD_ENCRYPTION_KEY, arg);
	*id = arg->key_spec;
	free(arg);
	return rc;
}

static int encrypt(int fd)
{
	struct fscrypt_policy_v2 policy = {
		.version = FSCRYPT_POLICY_V2,
		.contents_encryption_mode = FSCRYPT_MODE_AES_256_XTS,
		.filenames_encryption_mode = FSCRYPT_MODE_AES_256_CTS,
		.flags = FSCRYPT_POLICY_FLAGS_PAD_32,
	};
	struct fscrypt_key_specifier id;

	if (add_key(fd, &id))
		return -1;
	memcpy(policy.master_key_identifier, id.u.identifier,
	       sizeof(policy.master_key_identifier));
	return ioctl(fd, FS_IOC_SET_ENCRYPTION_POLICY, &policy);
}

static int enable_verity(int fd)
{
	struct fsverity_enable_arg arg = {
		.version = 1,
		.hash_algorithm = FS_VERITY_HASH_ALG_SHA256,
	};
	struct stat st;

	/* Blocks of the tree of hashes may not be larger than those of the file system. */
	if (fstat(fd, &st))
		return -1;
	arg.block_size = st.st_blksize;
	return ioctl(fd, FS_IOC_ENABLE_VERITY, &arg);
}

/* A store through a mapping, made durable. */
static int store(const char *path)
{
	int fd = open(path, O_RDWR), rc = -1;
	char *data = MAP_FAILED;

	if (fd >= 0)
		data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (data != MAP_FAILED) {
		memcpy(data, "stored", 6);
		rc = msync(data, 4096, MS_SYNC);
	}
	close(fd);
	return rc;
}

/* Stores a letter into each of four pages and syncs them, and once more another one, through one mapping. */
static int store_twice(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0644), rc = -1;
	char *data = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, 4 * PAGE))
		data = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (char letter = 'a'; data != MAP_FAILED && letter <= 'b'; letter++) {
		for (int n = 0; n < 4; n++)
			memset(data + n * PAGE, letter, PAGE);
		rc = fsync(fd);
	}
	close(fd);
	return rc;
}

static void print_hex(const uint8_t *bytes, int n)
{
	while (n--)
		printf("%02x", *bytes++);
	puts("");
}

static int salt(int fd)
{
	uint8_t bytes[16];
	int rc = ioctl(fd, FS_IOC_GET_ENCRYPTION_PWSALT, bytes);

	if (!rc)
		print_hex(bytes, sizeof(bytes));
	return rc;
}

static int uuid(int fd, const char *new)
{
	struct ext4_fsuuid arg = { .len = UUID_BYTES };
	int rc;

	if (new) {
		memset(arg.uuid, atoi(new), UUID_BYTES);
		return ioctl(fd, EXT4_IOC_SETFSUUID, &arg);
	}
	rc = ioctl(fd, EXT4_IOC_GETFSUUID, &arg);
	if (!rc)
		print_hex(arg.uuid, UUID_BYTES);
	return rc;
}

static int label(int fd, const char *new)
{
	char name[FSLABEL_MAX] = "";
	int rc;

	if (new) {
		strncpy(name, new, EXT4_LABEL_SIZE);
		return ioctl(fd, FS_IOC_SETFSLABEL, name);
	}
	rc = ioctl(fd, FS_IOC_GETFSLABEL, name);
	if (!rc)
		puts(name);
	return rc;
}

/* Renames with an exchange of both names. */
static int exchange(const char *one, const char *other)
{
	return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

/* A file without a name, which it gets at once, and durably, if one is given. */
static int tmpfile_in(const char *dir, const char *name)
{
	int fd = open(dir, O_TMPFILE | O_RDWR, 0644), rc = fd < 0 ? -1 : 0;
	char self[32];

	if (!rc && name) {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
		rc = linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
		if (!rc)
			rc = fsync(fd);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

#define QFMT_VFS_V0 2
#define QFMT_VFS_V1 4

/* User quota: the file, on the mounted device, says of which of ext4's formats it is. */
static int quota_on(const char *dev, const char *file)
{
	uint32_t head[2];	/* magic, version */
	int fd = open(file, O_RDONLY);

	if (fd < 0 || read(fd, head, sizeof(head)) != sizeof(head))
		return -1;
	close(fd);
	return quotactl(QCMD(Q_QUOTAON, USRQUOTA), dev, head[1] ? QFMT_VFS_V1 : QFMT_VFS_V0,
			(void *)file);
}

#define PRJQUOTA 2

/* The bytes that a user is charged for, or, if the number follows a "p", a project. */
static int usage(const char *dev, const char *owner)
{
	bool project = *owner == 'p';
	int type = project ? PRJQUOTA : USRQUOTA;
	struct dqblk block;
	int rc = quotactl(QCMD(Q_GETQUOTA, type), dev, atoi(owner + project), (void *)&block);

	if (!rc)
		printf("%llu\n", (unsigned long long)block.dqb_curspace);
	return rc;
}

/* What Q_GETNEXTQUOTA returns; the C library has no declaration of either. */
#define Q_GETNEXTQUOTA 0x800009

struct next_dqblk {
	uint64_t bhardlimit, bsoftlimit, curspace, ihardlimit, isoftlimit, curinodes;
	uint64_t btime, itime;
	uint32_t valid;
	uint32_t id;
};

/* The bytes that each project (or, of type "u", each user) is charged for, one a line. */
static int usages(const char *dev, const char *kind)
{
	int type = kind && *kind == 'u' ? USRQUOTA : PRJQUOTA;
	struct next_dqblk next = { 0 };
	uint32_t id = 0;

	while (!quotactl(QCMD(Q_GETNEXTQUOTA, type), dev, id, (void *)&next)) {
		printf("%u %llu\n", next.id, (unsigned long long)next.curspace);
		id = next.id + 1;
	}
	return errno == ENOENT ? 0 : -1;
}

/* All of a file becomes a hole. */
static int punch(const char *path)
{
	int fd = open(path, O_RDWR), rc;

	if (fd < 0)
		return -1;
	rc = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, lseek(fd, 0, SEEK_END));
	close(fd);
	return rc;
}

/* The first page of a file is zeroed, taken out, or moved by a new one. */
static int change_first(const char *path, int mode)
{
	int fd = open(path, O_RDWR), rc;

	if (fd < 0)
		return -1;
	rc = fallocate(fd, mode, 0, PAGE);
	close(fd);
	return rc;
}

/* Writes the first bytes of a file with these flags, one letter everywhere, and syncs it. */
static int write_first(const char *path, char letter, size_t bytes, int open_flags, int flags)
{
	char *data = aligned_alloc(PAGE, bytes), *back = aligned_alloc(PAGE, bytes);
	struct iovec to = { data, bytes }, from = { back, bytes };
	int fd = open(path, O_RDWR | open_flags);

	memset(data, letter, bytes);
	if (fd < 0 || pwritev2(fd, &to, 1, 0, flags) != (ssize_t)bytes || fsync(fd))
		return -1;
	if (flags & RWF_DONTCACHE && (preadv2(fd, &from, 1, 0, flags) != (ssize_t)bytes ||
				      memcmp(data, back, bytes)))
		return -1;
	free(data);
	free(back);
	return close(fd);
}

/* Blocks beyond its end. */
static int preallocate(const char *path)
{
	int fd = open(path, O_RDWR), rc;

	if (fd < 0)
		return -1;
	rc = fallocate(fd, FALLOC_FL_KEEP_SIZE, lseek(fd, 0, SEEK_END), 65536);
	close(fd);
	return rc;
}

/* One block of a file changes places with the donor's, as e4defrag has it. */
static int move_block(const char *donor, const char *path, bool last)
{
	struct move_extent arg = { .len = 1 };
	int fd = open(path, O_RDWR);
	struct stat st;

	if (last && !fstat(fd, &st))
		arg.orig_start = arg.donor_start = (st.st_size - 1) / st.st_blksize;
	arg.donor = open(donor, O_RDWR);
	return ioctl(fd, EXT4_IOC_MOVE_EXT, &arg) || arg.moved != 1 ? -1 : 0;
}

/* A file changes places with the boot loader's inode. */
static int swap_boot(const char *path)
{
	int fd = open(path, O_RDWR), rc;

	if (fd < 0)
		return -1;
	rc = ioctl(fd, EXT4_IOC_SWAP_BOOT);
	close(fd);
	return rc;
}

static bool any_in_memory(void *mem, size_t bytes)
{
	unsigned char there[bytes / PAGE];

	if (mincore(mem, bytes, there))
		return true;
	for (size_t i = 0; i < sizeof(there); i++)
		if (there[i] & 1)
			return true;
	return false;
}

/* Fills pages with the letter w, has them swapped out, and runs a command meanwhile. */
static int swapped_run(const char *count, const char *command)
{
	size_t bytes = (size_t)atoi(count) * PAGE;
	char *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		return -1;
	memset(mem, 'w', bytes);
	/* At first the pages may be on no list that the kernel takes them from. */
	for (int tries = 0; tries < 200 && any_in_memory(mem, bytes); tries++) {
		if (madvise(mem, bytes, MADV_PAGEOUT))
			return -1;
		usleep(50000);
	}
	return system(command) ? -1 : 0;
}

/* The memory that holds the first page of a file fails, as the hardware would report it. */
static int fail_memory(int fd)
{
	volatile char *data = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (data == MAP_FAILED)
		return -1;
	(void)data[0];
	return madvise((void *)data, PAGE, MADV_HWPOISON);
}

/* Runs a command, and prints the first byte that a mapping of a file shows then; 0 as "0". */
static int mapped_run(const char *path, const char *command)
{
	int fd = open(path, O_RDONLY);
	volatile char *data = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	/* It is looked at before as well, so that the page is there. */
	if (data == MAP_FAILED || data[0] > 'z' || system(command) < 0)
		return -1;
	printf("%c\n", data[0] ?: '0');
	return 0;
}

/*
 * What a program does that hibernates: everything is frozen, the memory is copied, and for some
 * seconds the copy could be written. Then it is given up, and the other command runs while the
 * device is still open; the first one ran after that was opened.
 */
static int snapshot(const char *before, const char *after)
{
	int fd = open("/dev/snapshot", O_RDONLY), copied = 0;

	if (fd < 0 || system(before) || ioctl(fd, SNAPSHOT_FREEZE) ||
	    ioctl(fd, SNAPSHOT_CREATE_IMAGE, &copied) || !copied)
		return -1;
	puts("copied");
	fflush(stdout);
	sleep(5);
	puts("given up");
	fflush(stdout);
	if (ioctl(fd, SNAPSHOT_FREE) || ioctl(fd, SNAPSHOT_UNFREEZE) || system(after))
		return -1;
	return close(fd);
}

/* Commands whose arguments are not so many paths to open; 1: it is none of them. */
static int run_special(const char *command, const char *one, const char *other)
{
	if (!strcmp(command, "tmpfile"))
		return tmpfile_in(one, other);
	if (!strcmp(command, "punch"))
		return punch(one);
	if (!strcmp(command, "zero-first"))
		return change_first(one, FALLOC_FL_ZERO_RANGE);
	if (!strcmp(command, "collapse-first"))
		return change_first(one, FALLOC_FL_COLLAPSE_RANGE);
	if (!strcmp(command, "insert-first"))
		return change_first(one, FALLOC_FL_INSERT_RANGE);
	if (!strcmp(command, "write-zeroes"))
		return change_first(one, FALLOC_FL_WRITE_ZEROES);
	if (!strcmp(command, "store-twice"))
		return store_twice(one);
	if (!strcmp(command, "preallocate"))
		return preallocate(one);
	if (!strcmp(command, "swap-boot"))
		return swap_boot(one);
	if (!strcmp(command, "usages"))
		return usages(one, other);
	if (!strcmp(command, "quota-off"))
		return quotactl(QCMD(Q_QUOTAOFF, USRQUOTA), one, 0, NULL);
	if (!other)
		return 1;
	if (!strcmp(command, "exchange"))
		return exchange(one, other);
	if (!strcmp(command, "move-first"))
		return move_block(one, other, false);
	if (!strcmp(command, "move-last"))
		return move_block(one, other, true);
	if (!strcmp(command, "uncached"))
		return write_first(one, *other, PAGE, 0, RWF_DONTCACHE);
	if (!strcmp(command, "atomic"))
		return write_first(one, *other, PAGE, O_DIRECT, RWF_ATOMIC);
	if (!strcmp(command, "atomic-4"))
		return write_first(one, *other, 4 * PAGE, O_DIRECT, RWF_ATOMIC);
	if (!strcmp(command, "swapped-run"))
		return swapped_run(one, other);
	if (!strcmp(command, "mapped-run"))
		return mapped_run(one, other);
	if (!strcmp(command, "quota-on"))
		return quota_on(one, other);
	if (!strcmp(command, "usage"))
		return usage(one, other);
	if (!strcmp(command, "snapshot"))
		return snapshot(one, other);
	return 1;
}

static int run(char **argv, const char *path)
{
	int fd = open(path, O_RDONLY), rc = -1;
	uint32_t flag = atoi(argv[2]);
	struct fscrypt_key_specifier id;

	if (fd < 0)
		return -1;
	if (!strcmp(argv[1], "shutdown"))
		rc = ioctl(fd, EXT4_IOC_SHUTDOWN, &flag);
	else if (!strcmp(argv[1], "fsync"))
		rc = fsync(fd);
	else if (!strcmp(argv[1], "syncfs"))
		rc = syncfs(fd);
	else if (!strcmp(argv[1], "write-back"))
		rc = sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE |
				     SYNC_FILE_RANGE_WRITE |
				     SYNC_FILE_RANGE_WAIT_AFTER);
	else if (!strcmp(argv[1], "begin-write-back"))
		rc = sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	else if (!strcmp(argv[1], "store"))
		rc = store(path);
	else if (!strcmp(argv[1], "grow"))
		rc = truncate(path, 5 * PAGE);
	else if (!strcmp(argv[1], "fail-memory"))
		rc = fail_memory(fd);
	else if (!strcmp(argv[1], "add-key"))
		rc = add_key(fd, &id);
	else if (!strcmp(argv[1], "encrypt"))
		rc = encrypt(fd);
	else if (!strcmp(argv[1], "verity"))
		rc = enable_verity(fd);
	else if (!strcmp(argv[1], "fdatasync"))
		rc = fdatasync(fd);
	else if (!strcmp(argv[1], "salt"))
		rc = salt(fd);
	else if (!strcmp(argv[1], "get-uuid") || !strcmp(argv[1], "set-uuid"))
		rc = uuid(fd, *argv[1] == 's' ? argv[2] : NULL);
	else if (!strcmp(argv[1], "get-label") || !strcmp(argv[1], "set-label"))
		rc = label(fd, *argv[1] == 's' ? argv[2] : NULL);
	close(fd);
	return rc;
}

int main(int argc, char **argv)
{
	bool more = argc > 3 && (!strcmp(argv[1], "shutdown") ||
				 !strncmp(argv[1], "set-", 4));
	int first = more ? 3 : 2, rc;

	if (argc < 3) {
		fprintf(stderr, "usage: fsctl shutdown FLAG DIR | fsync PATH... | fdatasync PATH... | syncfs DIR... |\n"
			"       write-back FILE... | begin-write-back FILE... | store FILE... | store-twice FILE |\n"
			"       fail-memory FILE... | grow FILE... |\n"
			"       add-key DIR | encrypt EMPTY_DIR | verity FILE... | swap-boot FILE... | salt DIR |\n"
			"       set-uuid BYTE DIR | get-uuid DIR | set-label LABEL DIR | get-label DIR |\n"
			"       exchange PATH PATH | move-first DONOR FILE | move-last DONOR FILE | tmpfile DIR [NAME] | punch FILE |\n"
			"       zero-first FILE | collapse-first FILE | insert-first FILE | write-zeroes FILE |\n"
			"       uncached FILE LETTER | atomic FILE LETTER | atomic-4 FILE LETTER |\n"
			"       preallocate FILE | swapped-run PAGES COMMAND | mapped-run FILE COMMAND |\n"
			"       snapshot COMMAND COMMAND |\n"
			"       quota-on DEV FILE | quota-off DEV | usage DEV USER|pPROJECT |\n"
			"       usages DEV [u]\n");
		return 2;
	}
	rc = run_special(argv[1], argv[2], argv[3]);
	if (rc != 1) {
		if (rc)
			perror(argv[2]);
		return rc ? 1 : 0;
	}
	for (int i = first; i < argc; i++) {
		if (run(argv, argv[i])) {
			perror(argv[i]);
			return 1;
		}
	}
	return 0;
}
