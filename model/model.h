/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol as a state machine: the state, and the functions that change it.
 *
 * Sets of handles, blocks and transactions are bit masks. The contents of a block
 * are the set of handles whose change it holds.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define MAX_TXNS	6
#define MAX_BLOCKS	3
#define MAX_HANDLES	4
#define MAX_OPS		6
#define NOBODY		0xff

#define BIT(n)		(1u << (n))

/* ---- rules: each can be left out (rules.c says what it is) ---- */

#define RULES(X) \
	X(R1) X(R2) X(TWO_WAY) X(UNITE_LOCKED) X(R3) X(COPY) X(WAIT_LIVE) \
	X(LIST_AT_SEAL) \
	X(R4) X(COMP_COMMITTED) X(R5) X(FOREIGN_REVOKE) X(OWNED_REVOKE) \
	X(REVOKE_CANCEL) X(R6) X(ORDERED_FLUSH) X(R7) X(HOLE) X(R8) X(R8_XCHG) \
	X(R9) X(R9_RUNNING) X(R10) X(R11) X(R12) X(WRITE_OUT) \
	X(CLOSE_JOINTLY) X(SEAL_ONCE) X(SEAL_STARTS) X(SEAL_UNITES) \
	X(SEAL_DRAINED) X(STAMP_AT_SEAL) X(MEMBER_DEPS) \
	X(MEMBER_COUNT) X(WHOLE_COMMITTED) X(WAIT_COMMITTED) X(OWN_FLUSH) \
	X(CALLBACK_COMMITTED) X(FORGET_WAITS) X(LIVE_HOME) X(HOME_IO) X(CLEAN_HOME) \
	X(TAIL_ORDER) X(TAIL_GLOBAL) X(TAIL_FLUSH) X(REUSE_LATE) \
	X(REC_DEPS) X(REC_ORDER) X(REC_REVOKES) X(REC_FLUSH) X(REC_RESET) \
	X(REC_GENERATION) X(TAIL_GENERATION) \
	X(PASS_LOCK) X(GATE) X(RETRY_SEAL) X(PUSH) \
	X(F1) X(F1_TAIL) X(F1_ZEROED) X(F1_LEFT) X(F1_COMMITTED) X(F1_FLUSH) X(F1_UNOWNED) \
	X(F1_NEWEST) X(F1_LOOK_AGAIN) X(F1_STAMP) X(F2) X(F3) X(F4)

enum rule {
#define X(name) name,
	RULES(X)
#undef X
	NR_RULES
};

extern bool left_out[NR_RULES];

static inline bool on(enum rule rule)
{
	return !left_out[rule];
}

bool all_on(void);

/* ---- operations of a handle ---- */

enum op {
	OP_WRITE,	/* write access, change, dirty */
	OP_ACCESS,	/* write access only */
	OP_READ,	/* an update that depends on what was read (R9) */
	OP_FREE,	/* forget and revoke (R5) */
	OP_DATA,	/* ordered data (R6) */
	OP_SYNC,	/* hand over the sync tid (R8) */
	OP_CORE,	/* change an in-core inode (R10) */
	OP_OUT,		/* write the whole in-core inode out to its block */
	OP_MOVE,	/* move a directory; valid only after all earlier moves (R11) */
	OP_LOG,		/* log the block of file data (F1-F4) */
	OP_SETTLE,	/* revoke the block of file data, which stays in use (F1) */
	OP_CHARGE,	/* charge the dquot in core, if its limit allows it (R12) */
	OP_GIVE,	/* give back what is charged to the dquot in core (R12) */
	OP_ENTRY,	/* write the dquot to its entry, if it is dirty */
};

#define OP(kind, block)		((kind) << 4 | (block))
#define OP_KIND(op)		((op) >> 4)
#define OP_BLOCK(op)		((op) & 15)

/**
 * struct config - bounds of one exploration
 */
struct config {
	const char *name;
	const char *what;	/* in words */
	bool	full;		/* of the large set */
	u8	lanes, txns;	/* txns: of each lane */
	u8	blocks, handles;
	u8	min_ops, max_ops; /* of a handle */
	u8	ops[MAX_OPS];	/* that a handle chooses from */
	u8	nr_ops;
	u8	sealed;		/* most sealed, not committed components of a lane */
	u8	same;		/* blocks 0 to same-1 are interchangeable */
	bool	reserved;	/* the last handle is a reserved one */
	bool	pipeline;	/* several records of one lane may be in flight */
	bool	live;		/* images may be logged from the buffer itself */
	bool	no_fua;		/* records need a flush */
	bool	crash;		/* the run continues after one crash */
	bool	file;		/* FILE_BLOCK is data of a file that fsyncs may log */
};

extern const struct config *cfg;

/* ---- the state ---- */

enum txn_state { T_NONE, T_RUNNING, T_LOCKED, T_SEALED, T_COMMITTED, T_FINISHED,
		 T_RECLAIMED };
enum rec_state { REC_NONE, REC_DATA, REC_FLUSHED, REC_SENT, REC_CACHED,
		 REC_DURABLE, REC_SKIPPED, REC_GONE };
enum handle_state { H_IDLE, H_LOOKED, H_OPEN, H_STOPPED, H_SURVIVED, H_DEAD };
enum free_state { B_USED, B_FREED, B_REUSABLE, B_DATA, B_REBORN };

#define PART_NONE	0	/* no part */
#define PART_CLEAN	1	/* access, no change yet */
#define PART_DIRTY	2	/* has an image */
#define PART_FORGET	3	/* supersedes older parts once committed */
#define PART_KIND	3
#define PART_IMAGE	4	/* the image is settled; outlives the part */
#define PART_HOME	8	/* committed: may go home */
#define PART_LIVE	16	/* the log is being written from the buffer */
#define PART_ENDED	32	/* of FILE_BLOCK: the index has let go of the image */

/* Contents of a home block that are no set of handles. */
#define C_NONE		0xff	/* nothing there */
#define C_DATA		0x40	/* reused as file data */
#define C_STORE		0x10	/* of FILE_BLOCK: what the application has stored */
#define C_TORN		0x80	/* half written */

#define C_HANDLES	(BIT(MAX_HANDLES) - 1)

/* The block of file data where the configuration has .file */
#define FILE_BLOCK	1

enum store_state { S_NONE, S_DIRTY, S_WRITTEN, S_SYNCED, S_LOGGED };

/**
 * struct part - what a transaction has of a block
 */
struct part {
	u8	bits;		/* PART_ */
	u8	image;		/* contents, once PART_IMAGE */
};

/**
 * struct txn - a transaction; number lane * txns + index
 */
struct txn {
	u8	state;		/* txn_state */
	u8	comp;		/* members of its component */
	u8	deps;		/* of the component: newest txn of each lane */
	u8	stamp;		/* as in the record */
	u8	sealed;		/* place in the order of sealing; 0: open */
	u8	record;		/* rec_state */
	u8	durable;	/* the journal takes the record for durable */
	u8	revokes;	/* blocks */
	u8	try;		/* its last handle has stopped; sealing is not checked yet */
	u8	entry;		/* the inode's entry is in this transaction */
	u8	held;		/* members seen without handles (seals in steps) */
	u8	torn;		/* the record does not match its checksum */
	struct part part[MAX_BLOCKS];
};

/**
 * struct block - a buffer and its home
 */
struct block {
	u8	live;		/* contents in memory */
	u8	home_io;	/* a home write is in flight */
	u8	home;		/* durable contents */
	u8	cached;		/* newer contents in the device's cache, or C_NONE */
	u8	free;		/* free_state */
	u8	freer;		/* handle that freed it, or NOBODY */
	u8	before;		/* handles that changed it before that */
};

/**
 * struct handle - a handle, and what must be there after a crash
 */
struct handle {
	u8	state;		/* handle_state */
	u8	txn;
	u8	done;		/* operations done, as a mask of cfg->ops */
	u8	op;		/* the one begun, plus 1; 0: none */
	u8	step;		/* within op */
	u8	old;		/* sync tid or claim taken over, plus 1 */
	u8	writes;		/* blocks that must show it */
	u8	after;		/* handles that must be there if this one is */
	u8	data;		/* ordered data: 1 dirty, 2 in the cache, 3 durable */
	u8	data_txn;	/* transaction whose commit writes it */
};

/**
 * struct leftover - a record from before the crash that is still in the log
 */
struct leftover {
	u8	there;
	u8	stamp;
	u8	comp;
	u8	deps;
	struct part part[MAX_BLOCKS];
};

/**
 * struct state - everything; compared byte by byte
 */
struct state {
	struct txn txn[MAX_TXNS];
	struct block block[MAX_BLOCKS];
	struct handle handle[MAX_HANDLES];
	u8	stamp;		/* the last stamp given out */
	u8	seals;		/* number of seals so far */
	u8	reclaimed;	/* the checkpoint stamp, durable */
	u8	reclaiming;	/* the checkpoint stamp on its way, or 0 */
	u8	reported;	/* handles reported committed */
	u8	slot;		/* sync tid: txn plus 1 */
	u8	claim;		/* claim of the inode: txn plus 1 */
	u8	core;		/* contents of the in-core inode */
	u8	synced;		/* handles that have handed over */
	u8	fsync;		/* 0 none, 1 waiting, 2 returned */
	u8	fsync_txn;
	u8	fsync_for;	/* handles that it must make durable */
	u8	flush;		/* a flush is in flight */
	u8	flush_covers;	/* transactions whose records it covers */
	u8	crashed;
	u8	delayed;	/* a start has put off a requested commit */
	u8	moves;		/* claim of the tree: txn plus 1 */
	u8	moved;		/* handles that have moved a directory */
	u8	folio;		/* contents of FILE_BLOCK in the page cache */
	u8	store;		/* store_state of C_STORE in it */
	u8	left;		/* write-back: 1 has left FILE_BLOCK to the log, 2 is over */
	u8	dquot_claim;	/* claim of the dquot: txn plus 1 */
	u8	charged;	/* handles whose charge is in the dquot in core */
	u8	given;		/* handles that have given back, in core */
	u8	dirty;		/* the dquot is to be written to its entry */
	u8	stale;		/* a read has found older contents than the page cache had */
	/* Used by configurations with .crash only. */
	u8	old_reclaimed;
	u8	pad2[7];
	struct leftover old[MAX_TXNS];
};

/* ---- moves ---- */

enum move_kind {
	M_START, M_COUNT_UP, M_OP, M_STEP, M_STOP, M_REQUEST, M_TRY, M_SEAL_HELD,
	M_DATA, M_PREFLUSH, M_SEND, M_COMPLETE, M_FLUSH, M_FLUSH_DONE, M_FINISH,
	M_HOME, M_HOME_DONE, M_CKPT, M_CKPT_DONE, M_LANE_CKPT, M_REUSE, M_FSYNC,
	M_FSYNC_DONE, M_CRASH, M_STORE, M_IN_PLACE, M_DROP, M_LEAVE, M_LEFT, NR_MOVES
};

/**
 * struct move - one step of the machine
 */
struct move {
	u8	kind;		/* move_kind */
	u8	a;		/* handle, transaction or block */
	u8	b;		/* second argument */
};

/* Each makes one move on @s and describes it; false: the move is not possible now. */
typedef bool move_fn(struct state *s, u8 a, u8 b);

/* state.c */
size_t state_size(void);
int nr_txns(void);
int lane_of(int txn);
int index_of(int txn);
int lane_mask(int lane);
int running_of(const struct state *s, int lane);
int updates_of(const struct state *s, int txn);
int newest_owner(const struct state *s, int block);
bool is_open(const struct state *s, int txn);
int handles_of(const struct state *s, int txns);
u8 contents(u8 live);
int progress_of(const struct state *s);
void state_init(struct state *s);
extern bool telling;
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *said(void);
const char *tname(int txn);

/* component.c */
void add_dep(struct state *s, int mask, int owner);
bool unite(struct state *s, int txn, int other);
void depend(struct state *s, int txn, int owner);
void tie(struct state *s, int txn, int other);
void try_seal(struct state *s, int txn);
void request(struct state *s, int txn);
move_fn move_request, move_try, move_seal_held;

/* handle.c */
bool in_use(const struct state *s, int block);
move_fn move_start, move_count_up, move_op, move_step, move_stop;

/* access.c */
bool touch(struct state *s, int handle, int block);
bool own(struct state *s, int txn, int block);
void change(struct state *s, int handle, int block, int what);
void read_block(struct state *s, int handle, int block);

/* revoke.c */
int holder_of(const struct state *s, int block);
void revoke_touch(struct state *s, int txn, int block);
bool free_block(struct state *s, int handle, int block);
void call_back(struct state *s, int handles);
move_fn move_reuse;

/* inode.c */
void take_over(struct state *s, int handle, u8 *slot);
void tie_old(struct state *s, int handle);
bool core_step(struct state *s, int handle);
bool out_step(struct state *s, int handle, int block);
bool move_dir_step(struct state *s, int handle);
bool sync_step(struct state *s, int handle);
void file_data(struct state *s, int handle);
move_fn move_fsync, move_fsync_done;

/* quota.c */
bool dquot_step(struct state *s, int handle, bool charges);
bool entry_step(struct state *s, int handle, bool *done);

/* file.c */
bool may_store(const struct state *s);
bool may_log(const struct state *s);
bool log_step(struct state *s, int handle, bool *done);
bool settle_step(struct state *s, int handle, bool *done);
bool settles(const struct state *s, int txn);
void finish_settled(struct state *s, int txn);
bool order_step(struct state *s, int handle, bool *done);
void write_ordered(struct state *s);
void flush_ordered(struct state *s);
const char *judge_file(const struct state *s, const u8 *out);
move_fn move_store, move_in_place, move_drop, move_leave, move_left;

/* commit.c */
move_fn move_data, move_preflush, move_send, move_complete, move_flush,
	move_flush_done, move_finish;

/* checkpoint.c */
void drop_parts(struct state *s, int block, int below);
void flush_homes(struct state *s);
move_fn move_home, move_home_done, move_ckpt, move_ckpt_done, move_lane_ckpt;

/* recovery.c */
struct disk {
	u8	home[MAX_BLOCKS];	/* contents when the power failed */
	u8	records;		/* transactions whose record is there */
	u8	reclaimed;		/* the checkpoint stamp */
	u8	lanes_reset;		/* lanes that recovery has emptied */
};

int recover(const struct state *s, const struct disk *disk, u8 *out);

/* oracle.c */
void disk_now(const struct state *s, struct disk *disk, int *may_records);
int present_handles(const struct state *s, const u8 *out);
const char *judge(const struct state *s, const u8 *out);
void crash_key(const struct state *s, struct state *key);
const char *check_crashes(const struct state *s);
const char *check_step(const struct state *s);

/* crash.c */
move_fn move_crash;

/* search.c */
struct result {
	u64	states;
	u32	depth;
	double	seconds;
	const char *violation;	/* NULL: none */
	int	steps;		/* of the shortest schedule */
};

void search(struct result *res, u64 max_states);
void print_schedule(void);
extern u64 taken[NR_MOVES];	/* how often each kind of move was possible */

/* rules.c */
struct rule_info {
	const char *name;	/* for --without */
	const char *alias;	/* name of the mutant or schedule without it, or NULL */
	const char *config;	/* in which its absence is noticed */
	const char *what;
};

extern const struct rule_info rule_info[NR_RULES];
extern const struct config configs[];
extern const int nr_configs;

#endif
