# SPDX-License-Identifier: GPL-2.0-only
"""The picture of the demo: commits of each lane up to the power cut, and what a sync costs."""

import common


def of_lanes(ax, samples):
    seconds = [row[0] for row in samples]
    for lane in range(len(samples[0]) - 1):
        ax.plot(seconds, [row[lane + 1] for row in samples], label=f"lane {lane}")
    ax.axvline(seconds[-1], color="k", linestyle="--")
    ax.annotate("power cut", (seconds[-1], 0), xytext=(-6, 8), textcoords="offset points", rotation=90,
                ha="right")
    ax.set_xlabel("seconds since the mount")
    ax.set_ylabel("committed transactions")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="upper left")


def of_speed(ax, types):
    bars = ax.bar(list(types), [f["fsyncs_per_second"] for f in types.values()],
                  color=["0.6", "tab:green"][:len(types)])
    ax.bar_label(bars, fmt="%.0f")
    ax.set_title("fsyncs a second\n8 programs, 20 ms a request")


def draw(path, fstype, samples, there, types):
    plt = common.pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=[2, 1])
    of_lanes(axes[0], samples)
    promised = sum(noted for noted, _ in there.values())
    lost = sum(lost for _, lost in there.values())
    axes[0].set_title(f"{fstype}, a lane a CPU: {promised} noted as durable, {lost} lost")
    if types:
        of_speed(axes[1], types)
    else:
        axes[1].set_axis_off()
    figure.savefig(path)
