# SPDX-License-Identifier: GPL-2.0-only
# Made by tools/completion: do not edit.
# Bash completion for zjctl, fsck.zext4, mkfs.zext4 and mount.zext4.

_zjctl_options() {
	case $1 in
	status) printf "%s" "-d --delay --root --json --color --help" ;;
	top) printf "%s" "-d --delay -n --count -s --sort --from --json --color --help" ;;
	stats) printf "%s" "--from --all --prometheus --json --color --help" ;;
	stalls) printf "%s" "-n --count --from --json --color --help" ;;
	info) printf "%s" "--cpus --nvm --json --color --help --journal" ;;
	check) printf "%s" "--nvm --json --color --help --journal" ;;
	dump) printf "%s" "--lane --tid --block --inode --graph --nvm --json --color --help --journal" ;;
	recover) printf "%s" "-n --dry-run --no-fsck --drop-damaged --nvm --json --color --help --journal" ;;
	convert) printf "%s" "--to-ext4 --check --json --color --help --journal" ;;
	resize-journal) printf "%s" "-n --dry-run --lanes --size --json --color --help --journal" ;;
	nvm-format) printf "%s" "-f --force --json --color --help" ;;
	kernels) printf "%s" "--root --json --color --help" ;;
	report) printf "%s" "-o --output --with-names --color --help" ;;
	esac
}

# Values of an option, given as COMMAND:OPTION; fails if the option has none.
_zjctl_value() {
	case $1 in
	check:--color | \
	convert:--color | \
	dump:--color | \
	info:--color | \
	kernels:--color | \
	nvm-format:--color | \
	recover:--color | \
	report:--color | \
	resize-journal:--color | \
	stalls:--color | \
	stats:--color | \
	status:--color | \
	top:--color)
		compgen -W "auto always never" -- "$2" ;;
	check:--journal | \
	check:--nvm | \
	convert:--journal | \
	dump:--journal | \
	dump:--nvm | \
	info:--journal | \
	info:--nvm | \
	recover:--journal | \
	recover:--nvm | \
	report:--output | \
	report:-o | \
	resize-journal:--journal | \
	stalls:--from | \
	stats:--from | \
	top:--from)
		compgen -f -- "$2" ;;
	kernels:--root | \
	status:--root)
		compgen -d -- "$2" ;;
	top:--sort | \
	top:-s)
		compgen -W "lane commits handles blocks fsyncs flushes waits shared" -- "$2" ;;
	dump:--block | \
	dump:--inode | \
	dump:--lane | \
	dump:--tid | \
	info:--cpus | \
	resize-journal:--lanes | \
	resize-journal:--size | \
	stalls:--count | \
	stalls:-n | \
	status:--delay | \
	status:-d | \
	top:--count | \
	top:--delay | \
	top:-d | \
	top:-n)
		: ;;
	*) return 1 ;;
	esac
}

_zjctl_none() {
	:
}

# Mount points of zext4, and the devices behind them.
_zjctl_mounted() {
	compgen -W "$(findmnt -rno TARGET,SOURCE -t zext4 2>/dev/null)" -- "$1"
}

_zjctl_device() {
	compgen -W "$(lsblk -rpno NAME 2>/dev/null) $(findmnt -rno TARGET -t zext4,ext4 2>/dev/null)" -- "$1"
	compgen -W "UUID= LABEL=" -- "$1"
	compgen -f -- "$1"
}

_zjctl_memory() {
	compgen -f -- "$1"
}

_zjctl_operand() {
	case $1 in
	kernels | status) _zjctl_none "$2" ;;
	check | convert | dump | info | recover | report | resize-journal) _zjctl_device "$2" ;;
	nvm-format) _zjctl_memory "$2" ;;
	stalls | stats | top) _zjctl_mounted "$2" ;;
	esac
}

# The shell takes "UUID=1234" and "--color=auto" apart; this puts them together again.
_zjctl_complete() {
	local command=$1 cur=${COMP_WORDS[COMP_CWORD]} key=${COMP_WORDS[COMP_CWORD - 1]}

	if [ "$cur" = "=" ]; then
		cur=
	elif [ "$key" = "=" ]; then
		key=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case $key in
	UUID | LABEL)
		mapfile -t COMPREPLY < <(compgen -W "$(lsblk -rno "$key" 2>/dev/null)" -- "$cur")
		return ;;
	esac
	local found
	if found=$(_zjctl_value "$command:$key" "$cur"); then
		[ -z "$found" ] || mapfile -t COMPREPLY <<<"$found"
		return
	fi
	case $cur in
	-*) mapfile -t COMPREPLY < <(compgen -W "$(_zjctl_options "$command")" -- "$cur") ;;
	*) mapfile -t COMPREPLY < <(_zjctl_operand "$command" "$cur") ;;
	esac
	case ${COMPREPLY[*]} in
	UUID= | LABEL=) compopt -o nospace 2>/dev/null ;;
	esac
}

_zjctl() {
	local cur=${COMP_WORDS[COMP_CWORD]}

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "${COMP_WORDS[1]}" = help ]; }; then
		mapfile -t COMPREPLY < <(compgen -W "status top stats stalls info check dump recover convert resize-journal nvm-format kernels report help version --help --version" -- "$cur")
		return
	fi
	_zjctl_complete "${COMP_WORDS[1]}"
}

_fsck_zext4() {
	local cur=${COMP_WORDS[COMP_CWORD]}

	COMPREPLY=()
	case $cur in
	-*) mapfile -t COMPREPLY < <(compgen -W "-a -p -n -y -f -c -v -j -b -C -V --version --help" -- "$cur") ;;
	*) _zjctl_complete check ;;
	esac
}

_mkfs_zext4() {
	local cur=${COMP_WORDS[COMP_CWORD]}

	COMPREPLY=()
	case $cur in
	-*) mapfile -t COMPREPLY < <(compgen -W "--cpus= -L -U -b -O -E -J -T -N -i -m -n -F -c -q -v -V --version --help" -- "$cur") ;;
	*) mapfile -t COMPREPLY < <(compgen -W "$(lsblk -rpno NAME 2>/dev/null)" -- "$cur") ;;
	esac
	case ${COMPREPLY[*]} in
	*=) compopt -o nospace 2>/dev/null ;;
	esac
}

# Mount options, behind a comma, too. The shell takes the word apart at "=" and ":".
_mount_zext4() {
	local i=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} word=${COMP_WORDS[COMP_CWORD]} item known

	COMPREPLY=()
	while ((i > 1)) && [[ ${COMP_WORDS[i]} == [=:] || ${COMP_WORDS[i - 1]} == [=:] ]]; do
		i=$((i - 1))
		word=${COMP_WORDS[i]}$word
	done
	[[ $cur != [=:] ]] || cur=
	if [[ ${COMP_WORDS[i - 1]} == -o ]]; then
		item=${word##*,}
		known="lanes= lane_by= log= journal_nvm= fsync= alloc= tune= ro noatime discard noload data= errors= commit="
		[[ $item != *=* ]] || known="lanes=auto lane_by=cpu lane_by=cgroup lane_by=dir log=auto log=zj log=jbd2 fsync=own fsync=all alloc=auto alloc=core alloc=stock data=ordered data=journal data=writeback errors=remount-ro errors=continue errors=panic"
		mapfile -t COMPREPLY < <(compgen -W "$known" -- "$item")
		# What stands before it is part of the reply only as far as the shell replaces it.
		for i in "${!COMPREPLY[@]}"; do
			item=${word%"${word##*,}"}${COMPREPLY[i]}
			COMPREPLY[i]=${item#"${word%"$cur"}"}
		done
		compopt -o nospace 2>/dev/null
		return
	fi
	case $cur in
	-*) mapfile -t COMPREPLY < <(compgen -W "-o -f -n -s -v -N --version --help" -- "$cur") ;;
	*) mapfile -t COMPREPLY < <(compgen -W "$(lsblk -rpno NAME 2>/dev/null)" -- "$cur") ;;
	esac
}
complete -o filenames -F _zjctl zjctl
complete -o filenames -F _fsck_zext4 fsck.zext4
complete -o default -F _mkfs_zext4 mkfs.zext4
complete -o default -F _mount_zext4 mount.zext4
