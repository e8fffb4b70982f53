# SPDX-License-Identifier: GPL-2.0-only
"""What the papers measured: each of their figures that can be measured here, as a declaration.

RUNS: what a driver measures. Several figures may use one run.
    driver      sim, concurrent, bench or nvm: the bench whose load it is (papers.py)
    arms        what is measured in turn: {name: what the driver calls it}
    quick       what differs with QUICK=1; None: nothing is measured then
    full        of nvm: the paper's sizes, the file count first, which SCALE= divides
    the rest    is the driver's own
A run gives points: {"load", "x", "arm", and metrics}.

FIGURES: what is plotted of a run. Each panel has
    metric      of a point; label: in words, with the unit
    base        the arm to whose value at the same x all others are divided; None: as measured
    arms        those that are drawn, all by default; loads: the same of loads
    paper       [(curve, x, value, what the text says)], as ratios to the paper's own stock if there
                is a base. x is None where the text does not say where on the curve it is.
Only what the text of a paper says in numbers is here. Values that can be seen only in its plots are
not guessed: "plot" says what the text says of the curve in words.
"""

PAPERS = {
    "cjfs": {
        "title": "CJFS: Concurrent Journaling for Better Scalability (FAST '23)",
        "machine": "two Xeon Gold 6230 (40 cores), Samsung 970 Pro, Linux 5.18",
    },
    "zj": {
        "title": "Z-Journal: Scalable Per-Core Journaling (USENIX ATC '21)",
        "machine": "four Xeon Gold 6138 (80 cores), Samsung SZ985, Linux 4.14; data=journal",
    },
    "nvm": {
        "title": "Fine-Grained Metadata Journaling on NVM (MSST '16)",
        "machine": "Xeon E5-2650, 4 GiB of DRAM and 4 GiB of NVDIMM, disks, Linux 2.6.34",
    },
}

STOCK = "stock ext4"
ONE = "zext4, one lane"
OURS = "zext4"
OUR_STOCK_ALLOCATION = "zext4, alloc=stock"
STOCK_CORE_ALLOCATION = "stock, allocation by core"
NONE = "no journal"

# ---- runs ----

_ONE = "zext4:lanes=1,log=jbd2"
_CJFS = {STOCK: "ext4", ONE: _ONE}
_VERSIONS = {STOCK: "ext4", "one version": f"{_ONE},tune=versions:1",
             "three versions": f"{_ONE},tune=versions:3", ONE: _ONE,
             "no coalescing": f"{_ONE},tune=coalesce:off",
             "no shared flush": f"{_ONE},tune=flush_batch:1", OURS: "zext4"}
_SIM = {STOCK: ("stock", "stock"), STOCK_CORE_ALLOCATION: ("stock", "zext4"),
        OURS: ("zext4", "zext4"), OUR_STOCK_ALLOCATION: ("zext4", "stock"), NONE: ("stock", None)}
_COPIES = {STOCK: ("stock", "stock"), OURS: ("zext4", "zext4"),
           "frozen_copy:always": ("zext4", "zext4", 1), "frozen_copy:never": ("zext4", "zext4", 2)}
_GUEST = {NONE: "nojournal", STOCK: "ext4", OURS: "zext4", OUR_STOCK_ALLOCATION: "zext4:alloc=stock"}
LARGE = "zext4, lines, TxnInfo of 128 KiB"
_NVM = {STOCK: "hdd", "stock, journal on NVM": "pmem", "zext4, blocks": "block", "zext4, lines": "line"}
# The size that the paper finds best for two of its loads (figure 13).
_LARGE = {LARGE: "line:tune=txninfo_max:131072"}

RUNS = {
    "cjfs-versions": {
        "driver": "concurrent", "arms": _VERSIONS, "case": "varmail-shared", "clients": [10, 20, 40],
        "settings": {"MAILS": "8"}, "quick": {"clients": [40], "settings": {"MAILS": "2"}},
    },
    "cjfs-split": {
        "driver": "concurrent", "arms": _CJFS | {OURS: "zext4"}, "case": "varmail-split", "clients": [10, 40],
        "settings": {"MAILS": "8"}, "quick": None,
    },
    "cjfs-dbench": {
        "driver": "concurrent", "arms": _CJFS | {OURS: "zext4"}, "case": "dbench", "clients": [10],
        "settings": {"DBENCH_SECONDS": "8"}, "quick": None,
    },
    "cjfs-database": {
        # PostgreSQL in place of MySQL.
        "driver": "concurrent", "arms": _CJFS | {OURS: "zext4"}, "case": "database", "clients": [10],
        "settings": {"INSERTS": "10"}, "quick": None,
    },
    "zj-operations": {
        "driver": "sim", "arms": _SIM, "cpus": [10, 20, 40, 80],
        "loads": ["overwrite-low", "overwrite-medium", "append-low", "create-low", "create-medium",
                  "rename-low", "unlink-medium", "fsync-low"],
        "quick": {"loads": ["overwrite-low"], "cpus": [80]},
    },
    "zj-filebench": {
        "driver": "sim", "arms": _SIM, "loads": ["fileserver", "varmail"], "cpus": [10, 20, 40, 80],
        "quick": {"loads": ["fileserver"], "cpus": [80]},
    },
    "zj-copies": {
        "driver": "sim", "arms": _COPIES, "loads": ["random-overwrite"], "cpus": [10, 20, 40, 50, 80],
        "quick": {"cpus": [50]},
    },
    "zj-random-sync": {
        "driver": "sim", "arms": _COPIES, "loads": ["random-overwrite-fsync"], "cpus": [10, 20, 40, 80],
        "quick": {"cpus": [80]},
    },
    "zj-guest": {
        "driver": "bench", "arms": _GUEST, "loads": ["DWSL", "randsync", "varmail-shared"],
        "mode": "journal", "workers": [1, 4, 8], "settings": {"MS": "2000"},
        "quick": {"loads": ["randsync"], "workers": [4], "settings": {"MS": "1000"}},
    },
    "nvm-varmail": {
        "driver": "nvm", "arms": {NONE: "none"} | _NVM, "case": "varmail",
        "settings": {"MAIL_LOOPS": "200", "PMEM_MB": "20"},
        "variants": {"2400 files": {"MAIL_FILES": "2400"}, "9600 files": {},
                     "9600 files, appends of 16 KiB": {"MAIL_APPEND": "16384"}},
        "full": {"MAIL_FILES": 960000, "MAIL_LOOPS": 20000, "DIRTY_MB": 800, "PMEM_MB": 4096},
        "quick": {"variants": {"2400 files": {"MAIL_FILES": "2400", "MAIL_LOOPS": "25"}}},
    },
    "nvm-fileserver": {
        "driver": "nvm", "arms": {NONE: "none"} | _NVM | _LARGE, "case": "fileserver",
        "settings": {"DIRTY_MB": "25", "SERVER_LOOPS": "500", "PMEM_MB": "64"},
        "variants": {"5000 files": {"SERVER_FILES": "5000"}, "20000 files": {"SERVER_FILES": "20000"}},
        "full": {"SERVER_FILES": 800000, "SERVER_LOOPS": 36000, "DIRTY_MB": 800, "PMEM_MB": 4096},
        "quick": None,
    },
    "nvm-writesync": {
        "driver": "nvm", "arms": _NVM, "case": "writesync", "settings": {"SYNC_LOOPS": "200", "PMEM_MB": "40"},
        "variants": {"1 GiB, appends of 4 KiB": {"SYNC_FILE_MB": "1024"},
                     "appends of 64 KiB": {"SYNC_APPEND": "65536", "SYNC_LOOPS": "50"}},
        "quick": None,
    },
    "nvm-postmark": {
        "driver": "nvm", "arms": _NVM | _LARGE, "case": "postmark", "settings": {"DIRTY_MB": "25", "PMEM_MB": "64"},
        "variants": {"5000 files": {"MARK_FILES": "5000", "MARK_TRANSACTIONS": "5000"},
                     "20000 files": {"MARK_FILES": "20000", "MARK_TRANSACTIONS": "20000"}},
        # Its text does not say how many files there were.
        "full": {"MARK_FILES": 800000, "MARK_TRANSACTIONS": 800000, "DIRTY_MB": 800, "PMEM_MB": 4096},
        "quick": None,
    },
}

# ---- figures ----

FINE = "fine-grained journaling"


def _nvm(load, to_disk, to_block, reduction, where):
    """The two panels of each of the figures 9 to 12, and the throughput relative to a block journal."""
    arms = [arm for arm in RUNS[f"nvm-{load}"]["arms"] if arm != NONE]
    return [
        {"metric": "per_second", "label": f"{load}: operations per second", "base": STOCK, "arms": arms,
         "paper": [(FINE, None, to_disk, where)]},
        {"metric": "per_second", "label": f"{load}: operations per second", "base": "zext4, blocks",
         "arms": arms[arms.index("zext4, blocks"):],
         "paper": [(FINE, None, to_block, "relative to its own block journal on NVM; " + where)]},
        {"metric": "bytes", "label": f"{load}: bytes of the journal for each operation", "base": STOCK, "arms": arms,
         "paper": [(FINE, None, round(1 - cut / 100, 3), f"{cut} % less") for cut in reduction]},
    ]


_ZJ, _ZJ_STOCK = "Z-Journal", "Z-Journal, stock's allocation"
_OPERATIONS = {
    "overwrite-low": [(_ZJ, 80, 41, "41 times")],
    "overwrite-medium": [(_ZJ, 80, 1.3, "30 % more")],
    "append-low": [(_ZJ, 80, 3.34, "3.34 times; with stock's allocation it falls from 20 cores on")],
    "create-low": [(_ZJ, 80, 1.33, "33 % more")],
    "create-medium": [(_ZJ_STOCK, 10, 1.15, "up to 15 % more at 10 cores"),
                      (_ZJ_STOCK, 80, 1.04, "about 4 % more")],
    "rename-low": [(_ZJ, 80, 1.24, "24 % more")],
    "unlink-medium": [(_ZJ, 10, 1.42, "42 % more"), (_ZJ, 80, 1.38, "38 % more")],
    "fsync-low": [(_ZJ, None, 1.7, "70 % more in the mean of all numbers of cores")],
}

FIGURES = {
    "cjfs-13": {
        "paper": "cjfs", "figures": "13", "run": "cjfs-versions",
        "title": "Commits on their way at the same time, mail in one directory",
        "plot": "CJFS keeps the device's queue deeper than both; how deep is only in the plot.",
        "how": "In the mean: transactions times the mean time from seal to commit, divided by the time of the run. "
               "At most: what a lane has counted; stock's journal has one committing transaction by design.",
        "panels": [
            {"metric": "most_in_flight", "label": "commits on their way, at most", "base": None, "arms": [STOCK, ONE],
             "paper": [("EXT4", None, 1, "maximum, of the journal thread's commands"),
                       ("BarrierFS", None, 2, "maximum")]},
            {"metric": "in_flight", "label": "commits on their way, mean", "base": None, "paper": []},
        ],
    },
    "cjfs-14": {
        "paper": "cjfs", "figures": "14", "run": "cjfs-versions",
        "title": "Speed and latency by the number of versions of a block, mail in one directory",
        "plot": "The text gives no throughput with three versions.",
        "how": "Our samples are too few for the paper's 99.9th percentile; beside it stands our 99th.",
        "panels": [
            {"metric": "per_second", "label": "fsyncs per second", "base": STOCK,
             "arms": [STOCK, "one version", "three versions", ONE, OURS],
             "paper": [("CJFS, five versions", 40, 1.7, "at 40 threads"),
                       ("BarrierFS (one version)", 40, 0.6, "at 40 threads")]},
            {"metric": "fsync_mean_us", "label": "mean time of an fsync, us", "base": STOCK,
             "arms": [STOCK, "one version", "three versions", ONE, OURS],
             "paper": [("CJFS, five versions", 40, 0.58, "4.7 of 8.1 ms"),
                       ("CJFS, three versions", 40, 0.753, "6.1 of 8.1 ms"),
                       ("BarrierFS (one version)", 40, 0.568, "4.6 of 8.1 ms")]},
            {"metric": "fsync_p99_us", "label": "99th percentile of an fsync, us", "base": STOCK,
             "arms": [STOCK, "one version", "three versions", ONE, OURS],
             "paper": [("CJFS, five versions", 40, 0.694, "the 99.9th: 11.8 of 17.0 ms"),
                       ("CJFS, three versions", 40, 0.959, "the 99.9th: 16.3 of 17.0 ms"),
                       ("BarrierFS (one version)", 40, 0.794, "the 99.9th: 13.5 of 17.0 ms")]},
        ],
    },
    "cjfs-15": {
        "paper": "cjfs", "figures": "4 and 15", "run": "cjfs-versions",
        "title": "Conflicts of a transaction, by the number of versions and of threads",
        "plot": "The values for each number of threads are only in the plot.",
        "how": "A conflict is a handle that waits because a block is on its way to the log. Stock's are counted by a probe.",
        "panels": [
            {"metric": "conflicts", "label": "conflicts of a transaction", "base": None,
             "arms": [STOCK, "one version", "three versions", ONE, OURS],
             "paper": [("EXT4 and BarrierFS", None, 11, "eleven or more"),
                       ("CJFS", None, 2, "less than two")]},
        ],
    },
    "cjfs-16": {
        "paper": "cjfs", "figures": "16 and 17", "run": "cjfs-versions",
        "title": "What coalescing and the shared flush are worth, mail in one directory",
        "plot": "The paper's factors are the best of all numbers of threads.",
        "how": "Divided by the arm in which the technique is switched off. All else is on.",
        "panels": [
            {"metric": "per_second", "label": "fsyncs per second", "base": "no coalescing",
             "arms": ["no coalescing", ONE], "paper": [("CJFS", None, 2.5, "with opportunistic coalescing")]},
            {"metric": "per_transaction", "label": "fsyncs of a transaction", "base": "no coalescing",
             "arms": ["no coalescing", ONE], "paper": [("CJFS", None, 3.3, "coalescing degree")]},
            {"metric": "per_second", "label": "fsyncs per second", "base": "no shared flush",
             "arms": ["no shared flush", ONE], "paper": [("CJFS", None, 2.14, "with compound flush, at best")]},
        ],
    },
    "cjfs-18a": {
        "paper": "cjfs", "figures": "18 (a)", "run": "cjfs-versions", "title": "Mail in one directory",
        "panels": [
            {"metric": "per_second", "label": "fsyncs per second", "base": STOCK, "arms": [STOCK, ONE, OURS],
             "paper": [("CJFS", None, 1.62, "the thread count is not in the text"),
                       ("BarrierFS", None, 0.593, "CJFS is 173 % better")]},
        ],
    },
    "cjfs-18b": {
        "paper": "cjfs", "figures": "18 (b)", "run": "cjfs-split", "title": "Mail in directories of their own",
        "panels": [
            {"metric": "per_second", "label": "fsyncs per second", "base": STOCK,
             "paper": [("CJFS", None, 1.82, "the thread count is not in the text"),
                       ("BarrierFS", None, 1.583, "CJFS is 15 % better"),
                       ("BarrierFS", 40, 1.21, "at 40 threads (section 3.2)")]},
        ],
    },
    "cjfs-18c": {
        "paper": "cjfs", "figures": "18 (c)", "run": "cjfs-dbench", "title": "dbench --sync-dir",
        "panels": [
            {"metric": "per_second", "label": "fsyncs per second", "base": STOCK,
             "paper": [("CJFS", None, 1.68, "the thread count is not in the text"),
                       ("BarrierFS", None, 1.28, "at 40 threads (section 3.2)")]},
        ],
    },
    "cjfs-18d": {
        "paper": "cjfs", "figures": "18 (d)", "run": "cjfs-database",
        "title": "Single inserts into a database", "how": "PostgreSQL here, MySQL in the paper.",
        "panels": [
            {"metric": "per_second", "label": "inserts per second", "base": STOCK,
             "paper": [("CJFS", 10, 2.25, "at ten threads"),
                       ("BarrierFS", 10, 1.957, "CJFS is 15 % better")]},
        ],
    },
    "zj-6": {
        "paper": "zj", "figures": "6", "run": "zj-operations", "simulated": True,
        "title": "Operations of FxMark on 80 CPUs, allocation by core or stock's, no journal",
        "plot": "The values without allocation by core are only in the plot.",
        "how": "Without a journal an operation costs the work beside it, which scales perfectly in the simulation. "
               "Overwrites and appends are with data=journal, the others, which have no data or fsync it, with data=ordered.",
        "panels": [
            {"metric": "per_second", "label": f"{load}: operations per second", "base": STOCK,
             "loads": [load], "paper": values}
            for load, values in _OPERATIONS.items()
        ],
    },
    "zj-6-fsync": {
        "paper": "zj", "figures": "6 (fsync)", "run": "zj-guest",
        "title": "Overwrite an own block, fsync; in a guest, data=journal",
        "panels": [
            {"metric": "per_second", "label": "fsyncs per second", "base": STOCK, "loads": ["DWSL"],
             "paper": [("Z-Journal", None, 1.7, "70 % more in the mean of all numbers of cores")]},
        ],
    },
    "zj-7": {
        "paper": "zj", "figures": "7", "run": "zj-copies", "simulated": True,
        "title": "Random overwrites of shared files: copies in advance, or none",
        "plot": "The speed relative to stock is only in the plot.",
        "panels": [
            {"metric": "per_second", "label": "works per second (100 writes each)", "base": STOCK, "paper": []},
            {"metric": "per_second", "label": "works per second (100 writes each)", "base": "frozen_copy:never",
             "arms": ["frozen_copy:never", "frozen_copy:always", OURS],
             "paper": [("Z-Journal, copies to no copies", 40, 0.885, "without them 13 % better up to 40 cores, in the mean"),
                       ("Z-Journal, copies to no copies", 50, 1.22, "22 % better at 50 cores"),
                       ("Z-Journal, copies to no copies", 80, 1.19, "19 % better from 50 cores on, in the mean")]},
        ],
    },
    "zj-8": {
        "paper": "zj", "figures": "8", "run": "zj-random-sync", "simulated": True,
        "title": "Random overwrites of shared files, an fsync after each 100",
        "plot": "Z-Journal is faster than stock with all numbers of cores; how much is only in the plot.",
        "panels": [
            {"metric": "per_second", "label": "works per second (100 writes each)", "base": STOCK, "paper": []},
            {"metric": "fsync_p99_us", "label": "99th percentile of an fsync, us", "base": STOCK,
             "paper": [("Z-Journal", 80, 0.82, "18 % shorter")]},
        ],
    },
    "zj-8-guest": {
        "paper": "zj", "figures": "8", "run": "zj-guest",
        "title": "The same in a guest, data=journal, files of 1 MiB",
        "panels": [
            {"metric": "per_second", "label": "writes per second", "base": STOCK, "loads": ["randsync"], "paper": []},
            {"metric": "fsync_p99_us", "label": "99th percentile of an fsync, us", "base": STOCK,
             "loads": ["randsync"], "paper": [("Z-Journal", None, 0.82, "18 % shorter, at 80 cores")]},
        ],
    },
    "zj-9a": {
        "paper": "zj", "figures": "9 (a)", "run": "zj-filebench", "simulated": True, "title": "File server",
        "how": "With data=ordered; the paper has data=journal.",
        "panels": [
            {"metric": "per_second", "label": "loops per second", "base": STOCK, "loads": ["fileserver"],
             "paper": [("Z-Journal", None, 4.15, "315 % more; best at 20 cores"),
                       ("JBD2, allocation by core", None, 1.0, "no improvement")]},
        ],
    },
    "zj-9b": {
        "paper": "zj", "figures": "9 (b)", "run": "zj-filebench", "simulated": True, "title": "Mail server",
        "how": "With data=ordered; the paper has data=journal.",
        "panels": [
            {"metric": "per_second", "label": "loops per second", "base": STOCK, "loads": ["varmail"],
             "paper": [("Z-Journal", 80, 1.58, "58 % more"),
                       ("Z-Journal, stock's allocation", 80, 1.45, "allocation by core adds 9 %"),
                       ("JBD2, allocation by core", None, 0.74, "up to 26 % less")]},
        ],
    },
    "zj-9b-guest": {
        "paper": "zj", "figures": "9 (b)", "run": "zj-guest", "title": "Mail server in a guest, data=journal",
        "panels": [
            {"metric": "per_second", "label": "loops per second", "base": STOCK, "loads": ["varmail-shared"],
             "paper": [("Z-Journal", None, 1.58, "58 % more at 80 cores")]},
        ],
    },
    "nvm-2": {
        "paper": "nvm", "figures": "2 (a)", "run": "nvm-varmail",
        "title": "What a journal costs: mail server",
        "panels": [
            {"metric": "per_second", "label": "varmail: operations per second", "base": NONE,
             "paper": [("JBD2 on HDD", None, 0.518, "48.2 % slower"), ("JBD2 on NVM", None, 0.575, "42.5 % slower")]},
        ],
    },
    "nvm-2-files": {
        "paper": "nvm", "figures": "2 (a)", "run": "nvm-fileserver",
        "title": "What a journal costs: file server",
        "panels": [
            {"metric": "per_second", "label": "fileserver: operations per second", "base": NONE,
             "paper": [("JBD2 on HDD", None, 0.591, "40.9 % slower"), ("JBD2 on NVM", None, 0.664, "33.6 % slower")]},
        ],
    },
    "nvm-9": {
        "paper": "nvm", "figures": "9", "run": "nvm-varmail", "title": "Mail server",
        "panels": _nvm("varmail", 1.518, 1.345, [92.6, 99.3, 91.0], "the best of its settings"),
    },
    "nvm-10": {
        "paper": "nvm", "figures": "10", "run": "nvm-fileserver", "title": "File server",
        "panels": _nvm("fileserver", 1.736, 1.416, [90.4], "the best of its settings"),
    },
    "nvm-11": {
        "paper": "nvm", "figures": "11", "run": "nvm-writesync", "title": "Appends, an fsync after each 32",
        "panels": _nvm("writesync", 15.8, 2.8, [93.7], "the best of its settings, appends of 4 KiB"),
    },
    "nvm-12": {
        "paper": "nvm", "figures": "12", "run": "nvm-postmark", "title": "PostMark",
        "panels": _nvm("postmark", 2.14, 1.796, [90.0], "the best of its settings, the most files"),
    },
}

# What cannot be had here, for the page.
MISSING = [
    ("CJFS, figures 13 to 18", "its machine with 40 cores and an NVMe drive. 40 clients share the 4 CPUs of a guest "
     "here, on a device whose requests all take 20 ms; this shows waits for the device, not CPUs in parallel."),
    ("CJFS, figure 18 (c)", "40 clients of dbench: in the seconds of a run the emulated CPU brings hardly one of them "
     "to its first fsync."),
    ("CJFS, figure 14", "the 99.9th percentile: a run has some hundred fsyncs."),
    ("CJFS, figure 18", "SpanFS and BarrierFS, which are patches of other kernels; the throughputs as such."),
    ("Z-Journal, figures 6 to 9", "80 cores. They are simulated (bench-sim); ext4 beside the journal scales perfectly there."),
    ("Z-Journal, figure 7 (b)", "the sums of the times of waits and copies, which its text does not give in numbers."),
    ("Z-Journal, figures 7 and 8", "80 files of 1 GiB: 64000 blocks in the simulation, 80 MiB in the guest."),
    ("Z-Journal, figures 10 and 11", "data=ordered: they are only plots."),
    ("NVM, figures 9 and 10", "960000 and 800000 files (12 GiB of data, in memory). SCALE=1 runs them on a machine with "
     "36 GiB of memory, SCALE=10 a tenth of them. Otherwise the counts in the tables apply."),
    ("NVM, figures 9 to 12", "which setting each number belongs to, beyond the best one, is only in the plots."),
]
