#!/usr/bin/env bash
# What profiles/cluster-generic asks of a scheduler. Edit the settings; the rest should do as it is.
#
#   cluster.sh submit RULE THREADS MEMORY_MB MINUTES GPUS JOBSCRIPT    submits a job, prints its number
#   cluster.sh status NUMBER                                           prints running, success or failed
#
# A job leaves its exit status in a file under .snakemake/cluster, so no accounting is needed: a job that the scheduler
# no longer knows and that has left no status was killed.
set -euo pipefail

SCHEDULER=${CLUSTER_SCHEDULER:-pbs} # lsf, sge or pbs
QUEUE=                              # "" for the cluster's default
GPU_QUEUE=                          # the same for jobs that ask for a GPU
PROJECT=                            # project or account to be charged, "" for none
PARALLEL_ENVIRONMENT=smp            # SGE: `qconf -spl` lists what there is
SECONDS_UNTIL_VISIBLE=${CLUSTER_SECONDS_UNTIL_VISIBLE:-10} # in which a file written on a node is seen here

FOLDER=$PWD/.snakemake/cluster

submit() {
    local rule=$1 threads=$2 memory=$3 minutes=$4 gpus=$5 jobscript=$6 queue=$QUEUE token log command number
    [ "$gpus" -eq 0 ] || queue=$GPU_QUEUE
    mkdir -p "$FOLDER/logs"
    find "$FOLDER" -maxdepth 1 -type f -mtime +10 -delete
    token=$(mktemp -u "$FOLDER/$rule.XXXXXXXX")
    log=$FOLDER/logs/${token##*/}.log
    # Snakemake removes its own script after the run, and some schedulers read it late.
    {
        echo '#!/bin/bash'
        printf 'bash %q.sh; status=$?\n' "$token"
        printf 'echo $status >%q.part && mv %q.part %q.exit; exit $status\n' "$token" "$token" "$token"
    } >"$token.job"
    cp "$jobscript" "$token.sh"
    case $SCHEDULER in
        lsf)
            command=(bsub -J "$rule" -n "$threads" -W "$minutes" -M "${memory}MB"
                -R "span[hosts=1] rusage[mem=${memory}MB]" -o "$log")
            [ -z "$queue" ] || command+=(-q "$queue")
            [ -z "$PROJECT" ] || command+=(-P "$PROJECT")
            [ "$gpus" -eq 0 ] || command+=(-gpu "num=$gpus")
            number=$("${command[@]}" <"$token.job" | sed -n 's/^Job <\([0-9]*\)>.*/\1/p')
            ;;
        sge)
            # h_vmem is for each slot
            command=(qsub -terse -N "$rule" -wd "$PWD" -V -S /bin/bash -j y -o "$log"
                -pe "$PARALLEL_ENVIRONMENT" "$threads" -l "h_vmem=$((memory / threads))M" -l "h_rt=$((minutes * 60))")
            [ -z "$queue" ] || command+=(-q "$queue")
            [ -z "$PROJECT" ] || command+=(-P "$PROJECT")
            [ "$gpus" -eq 0 ] || command+=(-l "gpu=$gpus")
            number=$("${command[@]}" "$token.job" | tail -n 1)
            ;;
        pbs)
            local chunk="select=1:ncpus=$threads:mem=${memory}mb"
            [ "$gpus" -eq 0 ] || chunk+=":ngpus=$gpus"
            command=(qsub -N "${rule:0:15}" -V -j oe -o "$log" -l "$chunk"
                -l "walltime=$((minutes / 60)):$((minutes % 60)):00")
            [ -z "$queue" ] || command+=(-q "$queue")
            [ -z "$PROJECT" ] || command+=(-A "$PROJECT")
            number=$("${command[@]}" "$token.job" | tail -n 1)
            ;;
        *)
            echo "cluster.sh: SCHEDULER is $SCHEDULER, but has to be lsf, sge or pbs" >&2
            exit 1
            ;;
    esac
    [ -n "$number" ] || { echo "cluster.sh: the scheduler gave no number for a job of $rule" >&2; exit 1; }
    echo "$token" >"$FOLDER/$number.token"
    echo "$number"
}

# Succeeds if the scheduler has the job in its queue. Where it does not answer at all, the job counts as queued.
is_queued() {
    local answer
    case $SCHEDULER in
        lsf)
            answer=$(bjobs -noheader -o stat "$1" 2>&1) || :
            [[ $answer != *"is not found"* && $answer != DONE && $answer != EXIT ]]
            ;;
        sge)
            answer=$(qstat -j "$1" 2>&1) || :
            [[ $answer != *"do not exist"* && ! $answer =~ job_state[^:]*:[[:space:]]*E ]]
            ;;
        pbs)
            answer=$(qstat -f "$1" 2>&1) || :
            [[ ! $answer =~ (Unknown Job|has finished|job_state\ =\ [CFX]) ]]
            ;;
    esac
}

status() {
    local token
    token=$(cat "$FOLDER/$1.token" 2>/dev/null) || token=
    if [ -n "$token" ] && [ ! -e "$token.exit" ]; then
        if is_queued "$1"; then
            echo running
            return
        fi
        sleep "$SECONDS_UNTIL_VISIBLE"
        ls "$FOLDER" >/dev/null # makes NFS look again
    fi
    if [ -n "$token" ] && [ "$(cat "$token.exit" 2>/dev/null)" = 0 ]; then echo success; else echo failed; fi
}

case ${1:-} in
    submit | status) "$@" ;;
    *) sed -n '4,5s/^# *//p' "$0" >&2; exit 2 ;;
esac
