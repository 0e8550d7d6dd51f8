# The watchdog of `bellwether run`: a process of its own, in a session of its own, which starts the command and kills it
# when nobody tells it that the deadline has moved on.
#
#   setsid bash -p keeper.bash DIR GRACE_MS DEATHSIG WON LOST -- COMMAND...
#
# DIR/orders is a FIFO that bellwether writes to, one line per order. Times are milliseconds of /proc/uptime, a clock that
# both read, that nobody can set, and that also runs while the machine is suspended:
#
#   until MS     the mandate lasts until then; SIGTERM follows at that time, SIGKILL GRACE_MS later
#   down         SIGTERM now, SIGKILL after GRACE_MS, or sooner if the mandate's end and GRACE_MS come sooner;
#                to a command that was told that we lost, always after GRACE_MS
#   kill         SIGKILL now
#   lost, won    to a command that stays: the signal LOST, or WON. DIR/report gets "lost" when LOST has been sent
#
# If no order moves the deadline in time, a command that stays gets LOST, too. If one moves it after all, because a renewal
# was heard of late, the command gets its token back, and WON.
#
# An order that waited in the FIFO while we were frozen does no harm, since the times in it are absolute. When bellwether dies,
# the FIFO ends, which counts as "down". DIR/report gets "started PID", and at the end "ended CODE WHY", when nothing of the
# command's process group is left alive.
#
# From the start of the command on, nothing here forks: everything is a builtin of bash, so that a machine short of memory or
# processes still gets its command killed.

now() {
  local up rest
  # A clock that cannot be read is a clock that has run out.
  if read -r up rest 2>/dev/null </proc/uptime && [[ $up == +([0-9]).[0-9][0-9] ]]; then
    now=$((10#${up/./} * 10))
  else
    now=$never
  fi
}

send() {
  kill -s "$1" -- "-$pid"
}

# Whether anybody in the group is alive. Zombies that nobody collects answer kill -0, too; they only count until SIGKILL.
# A process whose first thread alone has ended has the state of a zombie, and more than one thread: it is alive.
group_lives() {
  send 0 || return 1
  [ -n "$killed" ] && [ -n "$code" ] || return 0
  local stat fields
  for stat in /proc/[0-9]*/stat; do
    if read -r fields <"$stat"; then
      fields=${fields##*) } # the name before it may hold anything
      # shellcheck disable=SC2086 # one word each
      set -- $fields
      [ "$3" != "$pid" ] || { [[ $1 == [ZX] ]] && ((${18} <= 1)); } || return 0
    fi
  done
  return 1
}

# Begins the end of the command, for the reason $1.
end() {
  [ -z "$ending" ] || return 0
  ending=$1
  kill_at=$((until_ms + grace))
  # One that has been told that we lost has no mandate whose end could come sooner.
  if ((now < never)) && { [ -n "$lost" ] || ((now + grace < kill_at)); }; then
    kill_at=$((now + grace))
  fi
  send TERM
  send CONT # a stopped process would not hear it
}

obey() {
  case $1 in
    until\ *)
      if [[ ${1#until } == +([0-9]) ]]; then
        until_ms=${1#until }
        now
        if [ -n "$late" ] && [ -z "$ending" ] && ((now < until_ms)); then
          lost=''
          late=''
          if [ -n "$token" ] && echo "$token" >"$dir/token"; then send "$won_signal"; else end untold; fi
        fi
      fi
      ;;
    down) end ordered ;;
    kill)
      end ordered
      kill_at=0
      ;;
    lost)
      tell_lost
      late=''
      echo lost >&"$report"
      ;;
    won)
      lost=''
      late=''
      send "$won_signal"
      ;;
  esac
}

tell_lost() {
  if [ -z "$lost" ]; then
    lost=yes
    token='' # if the file has gone, it would be that of an earlier term
    read -r token <"$dir/token"
    : >"$dir/token"
    send "$lost_signal"
  fi
}

# Waits for an order, at most $1 ms, and obeys it. False if none came.
listen() {
  local seconds
  printf -v seconds '%d.%03d' $(($1 / 1000)) $(($1 % 1000))
  if [ -n "$orphaned" ]; then
    read -r -t "$seconds" -u "$silent"
    return 1
  fi
  read -r -t "$seconds" -u "$orders"
  local status=$?
  partial+=$REPLY
  if ((status == 0)); then
    local order=$partial
    partial=''
    obey "$order"
  elif ((status > 128)); then
    return 1
  else
    orphaned=yes
    end orphaned
  fi
}

# Ends before there is a command, for the reason $1.
give_up() {
  echo "ended 125 $1" >&"$report"
  exit 125
}

keep() {
  local dir=$1 grace=$2 deathsig=$3 won_signal=$4 lost_signal=$5
  shift 6
  local never=9223372036854770000
  local now pid code='' until_ms=0 kill_at=$never ending='' killed='' lost='' late='' token='' orphaned='' partial='' asked=''
  local orders silent stderr opened report

  # What kills everything by name or by cgroup reaches us, too: that is an order like any other. A handler, unlike an
  # ignored signal, is not inherited by the command.
  trap 'asked=asked' TERM INT HUP QUIT
  trap : PIPE USR1 USR2 ALRM TSTP TTIN TTOU

  exec {stderr}>&2 2>/dev/null {silent}<> <(:)
  # Held open, by bellwether too: what tidies up /tmp removes files that are ten days old, and a run may last longer.
  exec {report}>>"$dir/report" || exit 125
  # Opened both ways first: opening a FIFO for reading would wait for a writer, who may be dead already.
  exec {opened}<>"$dir/orders" {orders}<"$dir/orders" || exit 125
  # The first order arms us, before there is a command to watch.
  until_ms=0
  while ((until_ms == 0)); do
    # bellwether is dead, or was frozen for that long.
    read -r -t 10 -u "$orders" || give_up "${asked:-late}"
    [[ $REPLY == until\ * ]] || give_up ordered # the lease was over before it could be told
    obey "$REPLY"
  done
  exec {opened}>&-
  now
  [ -z "$asked" ] || give_up asked
  ((now < until_ms)) || give_up late

  set -m # the command gets a process group of its own
  (
    # LC_ALL was ours, not the user's.
    if [ -n "$had_lc_all" ]; then LC_ALL=$old_lc_all; else unset LC_ALL; fi
    exec {orders}<&- {silent}<&- {report}>&- 2>&"$stderr" {stderr}>&-
    if [ "$deathsig" = yes ]; then
      exec setpriv --pdeathsig KILL -- "$@"
    else
      exec -- "$@"
    fi
  ) &
  pid=$!
  exec {stderr}>&- </dev/null >/dev/null
  echo "started $pid" >&"$report"

  local wait
  while :; do
    if [ -z "$code" ] && ! kill -0 "$pid"; then
      wait "$pid"
      code=$?
    fi
    [ -z "$code" ] || group_lives || break
    now
    if [ -n "$asked" ]; then
      end asked
    fi
    if [ -n "$code" ]; then
      end ended # the command has ended, and left others behind
    fi
    if [ -z "$ending" ] && ((now >= until_ms)); then
      # Extensions that came while we were held up still count.
      while listen 1; do :; done
      now
      if [ -z "$ending" ] && ((now >= until_ms)); then
        if [ -z "$lost_signal" ]; then
          end expired
        elif [ -z "$lost" ]; then
          tell_lost
          late=yes
        fi
      fi
    fi
    if [ -n "$ending" ] && ((now >= kill_at)); then
      send KILL
      killed=yes
    fi
    # Short waits: the timer of read stands still while the machine is suspended, and does not hear that the command ended.
    wait=100
    if [ -z "$ending" ]; then
      ((until_ms <= now || until_ms - now >= wait)) || wait=$((until_ms - now))
    else
      wait=20
      ((kill_at <= now || kill_at - now >= wait)) || wait=$((kill_at - now))
    fi
    listen "$wait"
  done
  echo "ended $code ${ending:-ended}" >&"$report"
  [ -z "$orphaned" ] || rm -rf "$dir"
  exit "$code"
}

had_lc_all=${LC_ALL+yes}
old_lc_all=${LC_ALL-}
LC_ALL=C # the fractions that read -t takes have a point
keep "$@"
