// SPDX-License-Identifier: GPL-2.0-only
/* System calls that no tool makes, see usage. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXT4_IOC_SHUTDOWN	_IOR('X', 125, uint32_t)
#define KEY_SIZE		64

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
		.block_size = 4096,
	};

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
	else if (!strcmp(argv[1], "add-key"))
		rc = add_key(fd, &id);
	else if (!strcmp(argv[1], "encrypt"))
		rc = encrypt(fd);
	else if (!strcmp(argv[1], "verity"))
		rc = enable_verity(fd);
	close(fd);
	return rc;
}

int main(int argc, char **argv)
{
	int first = argc > 3 && !strcmp(argv[1], "shutdown") ? 3 : 2;

	if (argc < 3) {
		fprintf(stderr, "usage: fsctl shutdown FLAG DIR | fsync PATH... | syncfs DIR... |\n"
			"       write-back FILE... | begin-write-back FILE... | store FILE... |\n"
			"       add-key DIR | encrypt EMPTY_DIR | verity FILE...\n");
		return 2;
	}
	for (int i = first; i < argc; i++) {
		if (run(argv, argv[i])) {
			perror(argv[i]);
			return 1;
		}
	}
	return 0;
}
