#!/usr/bin/env bash
# A Slurm of one node for tests, on loopback, without systemd and without cgroups. Needs root and Debian's packages.
#
#   slurm_cluster.sh up FOLDER      install what is missing, start what does not run yet, wait until the node is idle
#   slurm_cluster.sh down FOLDER    cancel the jobs, stop what `up` has started in FOLDER
#
# Everything lies in FOLDER but for the link /etc/slurm/slurm.conf, which Slurm's clients look for. Where that path is
# already another cluster's, `up` refuses. The node has CREPE_SLURM_CPUS processors (default 4) and one GPU that is
# counted but not there. Its two partitions are those of profiles/slurm/partitions.yaml.
# Exit status: 0 done, 3 this machine cannot have such a cluster (the message says why), 1 it failed to start.
set -euo pipefail

LINK=/etc/slurm/slurm.conf
PORT=${CREPE_SLURM_PORT:-27617} # and the next one
CPUS=${CREPE_SLURM_CPUS:-4}
NODE=$(hostname -s)

say() { echo "slurm_cluster: $*"; }
refuse() { say "$*" >&2; exit 3; }
fail() { say "$1" >&2; [ ! -s "${2:-}" ] || tail -n 15 "$2" >&2; exit 1; }

# Prints the process that `up` has started under this name, if it still runs: its command line holds FOLDER.
running() {
    local pid
    pid=$(cat "$1/run/$2.pid" 2>/dev/null) || return 1
    [[ $pid =~ ^[0-9]+$ ]] && tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF "$1/" && echo "$pid"
}

within() { # within SECONDS COMMAND...: repeats a command until it succeeds
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.2
    done
}

# The folder of the cluster of ours that a configuration belongs to; nothing for a foreign one.
owner_of() { sed -n '1s/^# CREPE test cluster in //p' "$1" 2>/dev/null || :; }

check_link() {
    [ -e "$LINK" ] || [ -L "$LINK" ] || return 0
    local owner
    owner=$(owner_of "$LINK")
    if [ ! -L "$LINK" ] || { [ -e "$LINK" ] && [ -z "$owner" ]; }; then
        refuse "$LINK is there and not of a test cluster: this machine has a Slurm of its own, which stays as it is"
    fi
    if [ -z "$owner" ] && [[ $(readlink "$LINK") != */crepe-slurm*/etc/slurm.conf ]]; then
        refuse "$LINK leads to $(readlink "$LINK"), which is not there, and was not made by this script"
    fi
    if [ -n "$owner" ] && [ "$owner" != "$FOLDER" ] && running "$owner" slurmctld >/dev/null; then
        refuse "another test cluster runs: $0 down $owner"
    fi
}

install_packages() {
    local package missing=()
    for package in slurmctld slurmd slurm-client munge; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || refuse "no apt-get to install ${missing[*]} with"
    say "installing ${missing[*]}"
    local policy=/usr/sbin/policy-rc.d is_ours=no status=0
    if [ ! -e $policy ]; then # so that the packages start no daemons
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod 755 $policy
        is_ours=yes
    fi
    local get=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=60 -y --no-install-recommends install)
    "${get[@]}" "${missing[@]}" >"$FOLDER/log/apt.log" 2>&1 ||
        { apt-get update && "${get[@]}" "${missing[@]}"; } >>"$FOLDER/log/apt.log" 2>&1 || status=$?
    [ $is_ours = no ] || rm -f $policy
    if [ $status -ne 0 ]; then
        tail -n 5 "$FOLDER/log/apt.log" >&2
        refuse "cannot install ${missing[*]}"
    fi
}

write_configuration() {
    [ -s "$FOLDER/munge/key" ] || (umask 077 && head -c 64 /dev/urandom >"$FOLDER/munge/key")
    [ -e "$FOLDER/gpu0" ] || mknod -m 666 "$FOLDER/gpu0" c 1 3 2>/dev/null || : >"$FOLDER/gpu0"
    echo "NodeName=$NODE Name=gpu File=$FOLDER/gpu0" >"$FOLDER/etc/gres.conf"
    local memory
    memory=$(awk '/^MemTotal/ {print int($2 / 1024)}' /proc/meminfo)
    # config_overrides: advertises more than the hardware has. MinJobAge: the executor asks squeue how jobs have ended.
    cat >"$FOLDER/etc/slurm.conf" <<CONF
# CREPE test cluster in $FOLDER
ClusterName=crepe
SlurmctldHost=$NODE(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=$PORT
SlurmdPort=$((PORT + 1))
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket=$FOLDER/run/munge.socket
CredType=cred/munge
StateSaveLocation=$FOLDER/state
SlurmdSpoolDir=$FOLDER/spool
SlurmctldPidFile=$FOLDER/run/slurmctld.pid
SlurmdPidFile=$FOLDER/run/slurmd.pid
SlurmctldLogFile=$FOLDER/log/slurmctld.log
SlurmdLogFile=$FOLDER/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=2
ReturnToService=2
SlurmdParameters=config_overrides
MinJobAge=3600
KillWait=2
GresTypes=gpu
NodeName=$NODE NodeAddr=127.0.0.1 CPUs=$CPUS RealMemory=$((memory > 64000 ? memory : 64000)) Gres=gpu:1 State=UNKNOWN
PartitionName=main Nodes=$NODE Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes=$NODE Default=NO MaxTime=INFINITE State=UP
CONF
    mkdir -p /etc/slurm
    ln -sfn "$FOLDER/etc/slurm.conf" "$LINK"
}

answers_munge() { munge -S "$FOLDER/run/munge.socket" -n | unmunge -S "$FOLDER/run/munge.socket"; }
is_node_ready() { sinfo -h -N -o %T | grep -Eqx 'idle|mixed|allocated'; }

up() {
    [ "$(id -u)" = 0 ] || refuse "needs root, to install and to start Slurm"
    check_link
    umask 022
    mkdir -p "$FOLDER"/{etc,run,log,state,spool}
    install -d -m 700 "$FOLDER/munge"
    install_packages
    export SLURM_CONF=$FOLDER/etc/slurm.conf
    if ! running "$FOLDER" slurmctld >/dev/null; then
        write_configuration
    fi
    if ! running "$FOLDER" munged >/dev/null; then
        munged --force --key-file="$FOLDER/munge/key" --socket="$FOLDER/run/munge.socket" \
            --pid-file="$FOLDER/run/munged.pid" --log-file="$FOLDER/log/munged.log" \
            --seed-file="$FOLDER/munge/seed" >>"$FOLDER/log/started.log" 2>&1
        within 10 answers_munge || fail "munged does not answer" "$FOLDER/log/munged.log"
    fi
    if ! running "$FOLDER" slurmctld >/dev/null; then
        slurmctld -i -f "$SLURM_CONF" >>"$FOLDER/log/started.log" 2>&1
        within 20 scontrol ping || fail "slurmctld does not answer" "$FOLDER/log/slurmctld.log"
    fi
    if ! running "$FOLDER" slurmd >/dev/null; then
        slurmd -f "$SLURM_CONF" >>"$FOLDER/log/started.log" 2>&1 || fail "slurmd does not start" "$FOLDER/log/slurmd.log"
    fi
    within 40 is_node_ready || fail "the node does not get ready: $(sinfo -h -N -o '%T %E')" "$FOLDER/log/slurmd.log"
    say "up: $(sinfo -h -N -o '%P %T %c processors %m MB %G' | tr '\n' ';')"
}

stop() {
    local pid
    pid=$(running "$FOLDER" "$1") || return 0
    kill "$pid"
    within 15 test ! -d "/proc/$pid" || kill -KILL "$pid"
    rm -f "$FOLDER/run/$1.pid"
}

has_no_job() { [ -z "$(squeue -h -t RUNNING,COMPLETING)" ]; }

down() {
    export SLURM_CONF=$FOLDER/etc/slurm.conf
    if running "$FOLDER" slurmctld >/dev/null; then
        scancel --state=PENDING --user=root || :
        scancel --state=RUNNING --user=root || :
        within 15 has_no_job || say "jobs are left"
    fi
    stop slurmd
    stop slurmctld
    stop munged
    if [ "$(readlink "$LINK")" = "$FOLDER/etc/slurm.conf" ]; then
        rm "$LINK"
    fi
    say "down"
}

[[ ${1:-} =~ ^(up|down)$ ]] && [ -n "${2:-}" ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
FOLDER=$(realpath -m "$2")
[[ ${FOLDER##*/} == crepe-slurm* ]] || refuse "the folder's name must begin with crepe-slurm: $FOLDER"
"$1"
