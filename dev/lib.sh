# shellcheck shell=bash
# Shared by the scripts of this directory and by .ci/run.

# A failure inside $(...) counts too.
shopt -s inherit_errexit
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/holdfast
POSTGRES=/usr/lib/postgresql/15/bin
PROFILE=${HOLDFAST_PROFILE:-debug}
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-$HOME/.cache/holdfast/target}")
HOLDFAST=$(realpath -m "${HOLDFAST_BIN:-$CARGO_TARGET_DIR/$PROFILE/holdfast}")
# shellcheck disable=SC2034 # for dev/up and dev/down
DEV=$(realpath -m "${HOLDFAST_DEV_DIR:-$ROOT/.dev}")
export CARGO_TARGET_DIR
# Settings for another database must not lead psql there.
unset "${!PG@}"
cd "$ROOT" || exit

say() { printf '[%4ds] %s\n' "$SECONDS" "$*" >&2; }
die() { say "error: $*"; exit 1; }

# help_asked ARGUMENT...: prints the comment at the head of the script if that is wanted.
help_asked() {
    [[ ${1:-} == --help || ${1:-} == -h ]] || return 0
    sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[1]}"
    exit
}

# need_packages PACKAGE...: installs those whose programs are missing, wherever the others came from.
need_packages() {
    local package missing=() sudo=()
    for package in "$@"; do
        case $package in
            build-essential) command -v cc ;;
            postgresql-15) [[ -x $POSTGRES/initdb ]] ;;
            python3-venv) python3 -c 'import ensurepip, venv' ;;
            *) command -v "$package" ;;
        esac &>/dev/null || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    say "installing ${missing[*]}"
    ((EUID == 0)) || sudo=(sudo)
    # Left alone, Debian's PostgreSQL package would make and start a cluster of its own.
    # shellcheck disable=SC2016
    "${sudo[@]}" bash -euc '
        conf=/etc/postgresql-common/createcluster.d/holdfast.conf
        trap "rm -f $conf" EXIT
        mkdir -p "${conf%/*}"
        echo "create_main_cluster = false" >"$conf"
        export DEBIAN_FRONTEND=noninteractive
        apt-get -qq update
        apt-get -qq -o DPkg::Lock::Timeout=120 install -y "$@"
    ' install "${missing[@]}" >&2 || die "could not install these packages, please do: ${missing[*]}"
}

# build: brings the program HOLDFAST up to date, unless HOLDFAST_BIN named a finished one.
build() {
    [[ -z ${HOLDFAST_BIN:-} ]] || return 0
    command -v cargo >/dev/null || die "Rust is missing, see https://rustup.rs"
    say "building holdfast ($PROFILE)"
    cargo build --profile "${PROFILE/#debug/dev}" --package holdfast-server --bin holdfast
}

port_taken() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_port: below the ephemeral range, so that no outgoing connection takes it meanwhile.
free_port() {
    local port
    while port=$(shuf -i 20000-29999 -n 1) && port_taken "$port"; do :; done
    echo "$port"
}

# PostgreSQL refuses to run as root; then it runs as the user its package made.
as_postgres() {
    if ((EUID)); then "$@"; else (cd / && runuser -u postgres -- "$@"); fi
}

pg_running() { as_postgres "$POSTGRES/pg_ctl" status -D "$1/pg" &>/dev/null; }
pg_port() { sed -n 4p "$1/pg/postmaster.pid"; }
pg_url() { echo "postgres://holdfast:$(<"$1/password")@127.0.0.1:$(pg_port "$1")/${2:-holdfast}"; }

# pg_psql DIR ROLE [ARGUMENT...]: in the database named as the role.
pg_psql() {
    "$POSTGRES/psql" -qX -v ON_ERROR_STOP=1 -h "$1" -p "$(pg_port "$1")" -U "$2" -d "$2" "${@:3}"
}

# pg_start DIR [durable]: a private cluster in DIR/pg, on a free port of the loopback interface and on a
# socket in DIR. Its role holdfast owns the database holdfast. A cluster that is not durable is meant for
# tests: quick, gone after a crash, and holdfast is a superuser.
pg_start() {
    local dir=$1 durable=${2:-} password
    ! pg_running "$dir" || return 0
    say "starting PostgreSQL in $dir"
    mkdir -p "$dir"
    chmod 700 "$dir"
    ((EUID)) || chown postgres: "$dir"
    [[ -e $dir/password ]] || pg_init "$dir" "$durable"
    as_postgres "$POSTGRES/pg_ctl" start -w -D "$dir/pg" -l "$dir/pg.log" -o "-p $(free_port)" >/dev/null || {
        tail -n 20 "$dir/pg.log" >&2
        die "PostgreSQL does not start"
    }
    [[ ! -e $dir/password ]] || return 0
    password=$(</proc/sys/kernel/random/uuid)
    pg_psql "$dir" postgres <<SQL
create role holdfast login ${durable:+no}superuser password '$password';
create database holdfast owner holdfast;
SQL
    echo "$password" >"$dir/password"
}

pg_init() {
    local dir=$1 durable=$2 quick=()
    [[ $durable ]] || quick=(--no-sync)
    rm -rf "$dir/pg"
    # For a random password md5 does; scram would cost a connection from an unoptimised build 50 ms, not 4.
    as_postgres "$POSTGRES/initdb" "${quick[@]}" --pgdata="$dir/pg" --username=postgres --encoding=UTF8 \
        --locale=C.UTF-8 --auth-local=trust --auth-host=md5 >/dev/null
    cat >>"$dir/pg/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = '$dir'
max_connections = 200
password_encryption = md5
log_line_prefix = '%m [%p] %d '
CONF
    [[ $durable ]] || printf '%s = off\n' fsync synchronous_commit full_page_writes >>"$dir/pg/postgresql.conf"
}

pg_stop() {
    ! pg_running "$1" || as_postgres "$POSTGRES/pg_ctl" stop -w -m fast -D "$1/pg" >/dev/null
}

# pg_home DIR: the directory for the cluster of DIR. It is a link to another place where PostgreSQL's user
# cannot reach DIR, or where the path suits neither a socket address (107 bytes) nor postgresql.conf.
pg_home() {
    local home=$1/postgres
    if [[ ! -e $home ]]; then
        if [[ $home =~ ^[[:alnum:]/._+-]{1,80}$ ]] && as_postgres test -x "$1"; then
            mkdir "$home"
        else
            ln -sfn "$(mktemp -d /var/tmp/holdfast-dev.XXXXXX)" "$home"
        fi
    fi
    realpath "$home"
}

# server_pid DIR: fails unless the server of DIR runs. It is told by its working directory, since the
# number alone may belong to another process by now.
server_pid() {
    local pid
    pid=$(cat "$1/server.pid" 2>/dev/null) && [[ /proc/$pid/cwd -ef $1 ]] && echo "$pid"
}

# server_start DIR CLUSTER PORT: migrates the database and serves. The configuration stays in the
# environment, for the commands of an administrator.
server_start() {
    local dir=$1 pid url operations deadline
    url=$(pg_url "$2")
    operations=$(free_port)
    export HOLDFAST__DATABASE__URL=$url HOLDFAST__OPERATIONS__LISTEN=127.0.0.1:$operations
    export HOLDFAST__SERVER__LISTEN=127.0.0.1:$3 HOLDFAST__SERVER__EXTERNAL_URL=http://127.0.0.1:$3
    say "migrating the database"
    "$HOLDFAST" migrate >&2
    say "starting the server on $HOLDFAST__SERVER__LISTEN"
    (cd "$dir" && exec setsid "$HOLDFAST" serve) </dev/null &>>"$dir/server.log" &
    pid=$!
    echo "$pid" >"$dir/server.pid"
    deadline=$((SECONDS + 60))
    until curl -fs -m 5 --noproxy '*' -o /dev/null "$HOLDFAST__SERVER__EXTERNAL_URL/readyz"; do
        if ((SECONDS > deadline)) || ! kill -0 "$pid" 2>/dev/null; then
            tail -n 40 "$dir/server.log" >&2
            server_stop "$dir"
            die "the server did not become ready; its last words are above"
        fi
        sleep 0.2
    done
}

server_stop() {
    local pid deadline=$((SECONDS + 20))
    pid=$(server_pid "$1") || return 0
    kill "$pid" || true
    while server_pid "$1" >/dev/null; do
        ((SECONDS < deadline)) || kill -KILL "$pid" || true
        sleep 0.1
    done
}

# admin_token DIR: a new token of the administrator root, who is made first where missing.
admin_token() {
    local token=("$HOLDFAST" admin token create --user root --name dev --scopes "api,sudo")
    {
        "${token[@]}" 2>/dev/null || {
            "$HOLDFAST" admin user create --username root --email root@example.com --name Administrator \
                --admin >"$1/root-password" && "${token[@]}"
        }
    } | tail -n 1
}

# scratch NAME: a directory SCRATCH with a cluster in SCRATCH/db, for the life of the script.
scratch() {
    SCRATCH=$(mktemp -d "/var/tmp/holdfast-$1.XXXXXX")
    trap scratch_end EXIT
    chmod 711 "$SCRATCH"
    pg_start "$SCRATCH/db"
}

scratch_end() {
    local status=$?
    set +e
    trap '' INT TERM
    server_stop "$SCRATCH"
    pg_stop "$SCRATCH/db"
    if ((status)) && mv "$SCRATCH/server.log" "$CACHE/" 2>/dev/null; then
        say "the log of the server is kept: $CACHE/server.log"
    fi
    rm -rf "$SCRATCH"
}

# venv REQUIREMENTS: the directory of a Python environment with them, made once.
venv() {
    local dir
    dir=$CACHE/venv-$({ python3 --version; cat "$1"; } | sha256sum | cut -c 1-16)
    if [[ ! -e $dir/complete ]]; then
        say "installing $1 into $dir"
        python3 -m venv --clear "$dir" >&2
        "$dir/bin/pip" install -q -r "$1" >&2
        touch "$dir/complete"
    fi
    echo "$dir"
}
