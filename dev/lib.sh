# shellcheck shell=bash
# Shared by the scripts of this directory and by .ci/run.

# A failure inside $(...) also ends the script.
shopt -s inherit_errexit
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/holdfast
POSTGRES=/usr/lib/postgresql/15/bin
GARAGE=${GARAGE:-$CACHE/tools/bin/garage}
PROFILE=${HOLDFAST_PROFILE:-debug}
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-$HOME/.cache/holdfast/target}")
HOLDFAST=$(realpath -m "${HOLDFAST_BIN:-$CARGO_TARGET_DIR/$PROFILE/holdfast}")
# shellcheck disable=SC2034 # for dev/up and dev/down
DEV=$(realpath -m "${HOLDFAST_DEV_DIR:-$ROOT/.dev}")
export CARGO_TARGET_DIR
# Without this, the program would read the file of an installed package.
export HOLDFAST_CONFIG=${HOLDFAST_CONFIG-}
# Settings for another database must not redirect psql.
unset "${!PG@}"
# No proxy between the server and an S3 server of these scripts.
NO_PROXY=${no_proxy:-${NO_PROXY:-}}
export NO_PROXY=${NO_PROXY:+$NO_PROXY,}127.0.0.1
export no_proxy=$NO_PROXY
cd "$ROOT" || exit

say() { printf '[%4ds] %s\n' "$SECONDS" "$*" >&2; }
die() { say "error: $*"; exit 1; }

# help_asked ARGUMENT...: prints the comment at the head of the script if --help is given.
help_asked() {
    [[ ${1:-} == --help || ${1:-} == -h ]] || return 0
    sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[1]}"
    exit
}

# need_packages PACKAGE...: installs the packages whose programs are missing.
need_packages() {
    local package missing=() sudo=()
    for package in "$@"; do
        case $package in
            build-essential) command -v cc ;;
            dpkg-dev) command -v dpkg-shlibdeps ;;
            nginx-light) command -v nginx ;;
            openssh-client) command -v ssh ;;
            postgresql-15) [[ -x $POSTGRES/initdb ]] ;;
            python3-venv) python3 -c 'import ensurepip, venv' ;;
            *) command -v "$package" ;;
        esac &>/dev/null || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    say "installing ${missing[*]}"
    ((EUID == 0)) || sudo=(sudo)
    # By default, Debian's packages would create and start a cluster, and start a web server on port 80.
    # shellcheck disable=SC2016
    "${sudo[@]}" bash -euc '
        conf=/etc/postgresql-common/createcluster.d/holdfast.conf policy=/usr/sbin/policy-rc.d
        made=("$conf")
        [[ -e $policy ]] || made+=("$policy")
        trap "rm -f ${made[*]}" EXIT
        mkdir -p "${conf%/*}"
        echo "create_main_cluster = false" >"$conf"
        [[ -e $policy ]] || install -m 755 <(printf "#!/bin/sh\nexit 101\n") "$policy"
        export DEBIAN_FRONTEND=noninteractive
        apt-get -qq update
        apt-get -qq -o DPkg::Lock::Timeout=120 install -y "$@"
    ' install "${missing[@]}" >&2 || die "could not install these packages, please do: ${missing[*]}"
}

# build: builds the program HOLDFAST, unless HOLDFAST_BIN names an existing one.
build() {
    [[ -z ${HOLDFAST_BIN:-} ]] || return 0
    command -v cargo >/dev/null || die "Rust is missing, see https://rustup.rs"
    say "building holdfast ($PROFILE)"
    cargo build --profile "${PROFILE/#debug/dev}" --package holdfast-server --bin holdfast
}

# cargo_tool NAME VERSION: installs a tool into CACHE/tools. Its release profile would be optimized for long runs, but
# these tools take a second.
cargo_tool() {
    env -u CARGO_TARGET_DIR CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
        cargo install -q "$1" --version "$2" --locked --root "$CACHE/tools"
}

port_taken() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_port: prints a port below the ephemeral range, so that no outgoing connection takes it meanwhile.
free_port() {
    local port
    while port=$(shuf -i 20000-29999 -n 1) && port_taken "$port"; do :; done
    echo "$port"
}

# PostgreSQL refuses to run as root; then it runs as the user of its package.
as_postgres() {
    if ((EUID)); then "$@"; else (cd / && runuser -u postgres -- "$@"); fi
}

pg_running() { as_postgres "$POSTGRES/pg_ctl" status -D "$1/pg" &>/dev/null; }
pg_port() { sed -n 4p "$1/pg/postmaster.pid"; }
pg_url() { echo "postgres://holdfast:$(<"$1/password")@127.0.0.1:$(pg_port "$1")/${2:-holdfast}"; }

# pg_psql DIR ROLE [ARGUMENT...]: runs psql in the database with the name of the role.
pg_psql() {
    "$POSTGRES/psql" -qX -v ON_ERROR_STOP=1 -h "$1" -p "$(pg_port "$1")" -U "$2" -d "$2" "${@:3}"
}

# pg_start DIR [durable]: starts a private cluster in DIR/pg, on a free port of the loopback interface and on a socket
# in DIR. Its role holdfast owns the database holdfast. A cluster that is not durable is for tests: fast, lost after a
# crash, and holdfast is a superuser.
pg_start() {
    local dir=$1 durable=${2:-} password
    ! pg_running "$dir" || return 0
    say "starting PostgreSQL in $dir"
    mkdir -p "$dir"
    chmod 700 "$dir"
    ((EUID)) || chown postgres: "$dir"
    [[ -e $dir/password ]] || pg_init "$dir" "$durable"
    as_postgres "$POSTGRES/pg_ctl" start -w -t 300 -D "$dir/pg" -l "$dir/pg.log" -o "-p $(free_port)" >/dev/null || {
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
    # md5 is enough for a random password; scram would take an unoptimized build 50 ms for each connection instead of 4.
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

# pg_home DIR: prints the directory for the cluster of DIR. It is a link to another directory if PostgreSQL's user
# cannot access DIR, or if the path suits neither a socket address (107 bytes) nor postgresql.conf.
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

# running DIR NAME: prints the id of the process NAME of DIR; fails unless it runs. The process is identified by its
# working directory, because the id may belong to another process by now. The directory of a server is readable only by
# root; otherwise it is identified by its name. The status is explicit: in a trap, a bare return gives the status before
# the trap.
running() {
    local pid
    pid=$(cat "$1/$2.pid" 2>/dev/null) || return 1
    [[ /proc/$pid/cwd -ef $1 ]] || {
        ! readlink "/proc/$pid/cwd" >/dev/null && grep -qs holdfast "/proc/$pid/cmdline"
    } || return 1
    echo "$pid"
}

# launch DIR NAME COMMAND...: starts a command in DIR in the background, with the log DIR/NAME.log.
launch() {
    (cd "$1" && exec setsid "${@:3}") </dev/null &>>"$1/$2.log" &
    echo "$!" >"$1/$2.pid"
}

# answers DIR NAME CURL_ARGUMENT...: waits until the launched process responds to this request with success.
answers() {
    local deadline=$((SECONDS + 60))
    until curl -fs -m 5 --noproxy '*' -o /dev/null "${@:3}"; do
        if ((SECONDS > deadline)) || ! kill -0 "$(<"$1/$2.pid")" 2>/dev/null; then
            tail -n 40 "$1/$2.log" >&2
            stop "$1" "$2"
            die "$2 did not become ready; its last words are above"
        fi
        sleep 0.2
    done
}

stop() {
    local pid deadline=$((SECONDS + 45))
    pid=$(running "$1" "$2") || return 0
    kill "$pid" || true
    while running "$1" "$2" >/dev/null; do
        ((SECONDS < deadline)) || kill -KILL "$pid" || true
        sleep 0.1
    done
}

# server_start DIR CLUSTER PORT: migrates the database and starts the server. The configuration stays in the
# environment, for administration commands. Uploads go to DIR, unless a storage is configured.
server_start() {
    local dir=$1 url monitoring path
    url=$(pg_url "$2")
    monitoring=$(free_port)
    export HOLDFAST__DATABASE__URL=$url HOLDFAST__MONITORING__LISTEN=127.0.0.1:$monitoring
    export HOLDFAST__SERVER__LISTEN=127.0.0.1:$3 HOLDFAST__SERVER__EXTERNAL_URL=http://127.0.0.1:$3
    # These characters are special in a URL.
    path=${dir//%/%25} path=${path//\#/%23} path=${path//\?/%3F}
    export HOLDFAST__STORAGE__URL=${HOLDFAST__STORAGE__URL:-file://$path/objects}
    export HOLDFAST__GIT__CACHE_DIRECTORY=$dir/cache HOLDFAST__SSH__LISTEN=127.0.0.1:${HOLDFAST_SSH_PORT:-$(free_port)}
    # Data that was encrypted with this key can be decrypted with no other one.
    [[ -s $dir/secrets-key ]] || od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >"$dir/secrets-key"
    HOLDFAST__ENCRYPTION__KEY=$(<"$dir/secrets-key")
    export HOLDFAST__ENCRYPTION__KEY
    say "migrating the database"
    "$HOLDFAST" migrate >&2
    say "starting the server on $HOLDFAST__SERVER__LISTEN, with repositories and uploads in $HOLDFAST__STORAGE__URL"
    launch "$dir" server "$HOLDFAST" serve
    answers "$dir" server "$HOLDFAST__SERVER__EXTERNAL_URL/readyz"
}

# balancer_configuration LOG PORT NODE_PORT...: prints the nginx configuration of the compose file for these nodes, with
# its access log in LOG and without SSH.
balancer_configuration() {
    local port nodes=''
    for port in "${@:3}"; do nodes+="${nodes:+\\n}        server 127.0.0.1:$port max_fails=3 fail_timeout=1s;"; done
    sed "s/^ *server node-a:8080.*/$nodes/; /server node-b:8080/d; s/listen 8080/listen 127.0.0.1:$2/
         s|/dev/stdout|$1|; /^stream {/,\$d" "$ROOT/packaging/container/nginx.conf"
}

# balancer_start DIR: starts nginx with the configuration DIR/nginx.conf.
balancer_start() {
    launch "$1" nginx nginx -p "$1" -c "$1/nginx.conf" -e "$1/nginx-error.log" \
        -g "daemon off; pid $1/nginx-own.pid;"
}

# storage_s3 ENDPOINT REGION KEY SECRET: configures the bucket holdfast of an S3 server.
storage_s3() {
    export HOLDFAST__STORAGE__URL=s3://holdfast HOLDFAST__STORAGE__ENDPOINT=$1 HOLDFAST__STORAGE__REGION=$2
    export HOLDFAST__STORAGE__ACCESS_KEY_ID=$3 HOLDFAST__STORAGE__SECRET_ACCESS_KEY=$4
}

# moto_start DIR: starts an S3 server for tests, which keeps everything in memory and accepts any credentials, at
# HOLDFAST_TEST_S3_ENDPOINT and with a bucket holdfast.
moto_start() {
    local python port
    python=$(venv dev/s3-requirements.txt)
    port=$(free_port)
    say "starting moto on 127.0.0.1:$port"
    launch "$1" moto "$python/bin/moto_server" -H 127.0.0.1 -p "$port"
    export HOLDFAST_TEST_S3_ENDPOINT=http://127.0.0.1:$port
    answers "$1" moto -X PUT "$HOLDFAST_TEST_S3_ENDPOINT/holdfast"
}

# garage_install: installs Garage, an S3 server that stores its data on disk and checks signatures.
garage_install() {
    [[ $("$GARAGE" --version 2>/dev/null) != *:2.5.0\ * ]] || return 0
    command -v cargo >/dev/null || die "Rust is missing, see https://rustup.rs"
    say "building Garage, the S3 server; that takes about 15 minutes, but only this once"
    # A persistent directory, so that an interrupted build can be continued.
    CARGO_TARGET_DIR=$CACHE/garage-target \
        cargo install -q garage --version 2.5.0 --locked --root "$CACHE/tools" >&2
    rm -rf "$CACHE/garage-target"
}

# garage_start DIR: starts one node of Garage with a bucket holdfast, and configures the server for it.
garage_start() {
    local dir=$1 port key secret endpoint
    [[ -e $dir/garage.toml ]] || garage_init "$dir"
    { read -r key && read -r secret; } <"$dir/key"
    if ! running "$dir" garage >/dev/null; then
        # The ports stay the same, unless another program uses one by now.
        sed -n 's/.*"127.0.0.1:\([0-9]*\)"/\1/p' "$dir/garage.toml" | while read -r port; do
            ! port_taken "$port" || sed -i "s/:$port\"/:$(free_port)\"/" "$dir/garage.toml"
        done
        say "starting Garage in $dir"
        NO_COLOR=1 GARAGE_DEFAULT_BUCKET=holdfast \
            GARAGE_DEFAULT_ACCESS_KEY=$key GARAGE_DEFAULT_SECRET_KEY=$secret \
            launch "$dir" garage "$GARAGE" -c garage.toml server --single-node --default-bucket
    fi
    endpoint=http://$(sed -n '/^\[s3_api\]/,$s/^api_bind_addr = "\(.*\)"/\1/p' "$dir/garage.toml")
    answers "$dir" garage -I --aws-sigv4 aws:amz:garage:s3 -u "$key:$secret" \
        -H "x-amz-content-sha256: UNSIGNED-PAYLOAD" "$endpoint/holdfast"
    storage_s3 "$endpoint" garage "$key" "$secret"
}

garage_init() {
    local dir=$1 ports
    mkdir -p "$dir"
    chmod 700 "$dir"
    mapfile -t ports < <(shuf -i 20000-29999 -n 3)
    printf '%s\n' "GK$(random 12)" "$(random 32)" >"$dir/key"
    # SQLite, because Garage's other database does not survive every crash. Paths are relative to its working directory.
    cat >"$dir/new.toml" <<TOML
metadata_dir = "meta"
data_dir = "data"
db_engine = "sqlite"
replication_factor = 1
rpc_bind_addr = "127.0.0.1:${ports[0]}"
rpc_public_addr = "127.0.0.1:${ports[0]}"
rpc_secret = "$(random 32)"

[admin]
api_bind_addr = "127.0.0.1:${ports[1]}"
admin_token = "$(random 32)"

[s3_api]
api_bind_addr = "127.0.0.1:${ports[2]}"
s3_region = "garage"
TOML
    chmod 600 "$dir"/{key,new.toml}
    mv "$dir"/{new,garage}.toml
}

# random BYTES: prints random bytes in hexadecimal.
random() { od -An -v -N "$1" -t x1 /dev/urandom | tr -d ' \n'; }

# admin_token DIR: prints a new token of the administrator root, who is created if missing.
admin_token() {
    local token=("$HOLDFAST" admin token create --user root --name dev --scopes "api,sudo")
    {
        "${token[@]}" 2>/dev/null || {
            "$HOLDFAST" admin user create --username root --email root@example.com --name Administrator \
                --admin >"$1/root-password" && "${token[@]}"
        }
    } | tail -n 1
}

# scratch NAME: creates a directory SCRATCH with a cluster in SCRATCH/db, which is deleted when the script ends.
scratch() {
    scratch_directory "$1"
    pg_start "$SCRATCH/db"
}

scratch_directory() {
    SCRATCH=$(mktemp -d "/var/tmp/holdfast-$1.XXXXXX")
    trap scratch_end EXIT
    chmod 711 "$SCRATCH"
}

scratch_end() {
    local status=$? cluster disk
    set +e
    trap '' INT TERM
    stop "$SCRATCH" nginx
    stop "$SCRATCH" server
    stop "$SCRATCH" moto
    [[ ! -d $SCRATCH/garage ]] || stop "$SCRATCH/garage" garage
    for cluster in "$SCRATCH"/*/pg; do pg_stop "${cluster%/pg}"; done
    if ((status)) && mv "$SCRATCH/server.log" "$CACHE/" 2>/dev/null; then
        say "the log of the server is kept: $CACHE/server.log"
    fi
    for disk in "$SCRATCH"/*/; do ! mountpoint -q "$disk" || umount -l "$disk"; done
    rm -rf "$SCRATCH"
}

# memory_disk NAME SIZE: mounts a file system in memory at SCRATCH/NAME; only root can.
memory_disk() {
    mkdir "$SCRATCH/$1"
    ((!EUID)) && mount -t tmpfs -o "size=$2,mode=755" holdfast "$SCRATCH/$1" 2>/dev/null
}

# small_disk SIZE: mounts a small disk at SCRATCH/disk, to be filled.
small_disk() {
    memory_disk disk "$1" || { say "no small disk can be mounted here: none will be filled"; return 1; }
}

# venv REQUIREMENTS: prints the directory of a Python environment with these packages, which is created once.
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
