# SPDX-License-Identifier: GPL-2.0-only
# Bash completion for zjctl.

_zjctl_options() {
	local own=

	case $1 in
	info) own="--cpus --nvm" ;;
	check) own="--nvm" ;;
	dump) own="--lane --tid --block --inode --graph --nvm" ;;
	recover) own="-n --dry-run --no-fsck --drop-damaged --nvm" ;;
	convert) own="--check --to-ext4" ;;
	resize-journal) own="-n --dry-run --lanes --size" ;;
	stats) own="--all --prometheus --from" ;;
	nvm-format) own="--force" ;;
	stalls) own="-n --count --from" ;;
	top) own="-d --delay -n --count --from" ;;
	esac
	printf '%s\n' "$own --json --color --journal --help"
}

_zjctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "info dump check recover convert resize-journal nvm-format stats top stalls --help --version" -- "$cur")
		return
	fi
	case $prev in
	--color)
		mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$cur")
		return ;;
	--cpus|--lane|--tid|--block|--inode|--lanes|--size|-d|--delay|--count)
		return ;;
	--from|--nvm|--journal)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	esac
	case $cur in
	-*) mapfile -t COMPREPLY < <(compgen -W "$(_zjctl_options "$command")" -- "$cur") ;;
	*) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	esac
}
complete -o filenames -F _zjctl zjctl
