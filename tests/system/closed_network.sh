# In a network namespace of its own: everything that is not loopback goes to a card that leads nowhere and counts.
#   sh closed_network.sh FOLDER-OF-YOURCALL HOME
set -eu
bin=$1 home=$2
export HOME="$home" YOURCALL_HOME="$home/yourcall" YOURCALL_DISCOVERY=tmux
ip link set lo up
ip link add out0 type veth peer name end0
for card in out0 end0; do echo 1 >"/proc/sys/net/ipv6/conf/$card/disable_ipv6"; done
ip link set end0 up
ip addr add 198.51.100.2/24 dev out0
ip link set out0 up
ip route add default via 198.51.100.1 dev out0
ip neigh replace 198.51.100.1 lladdr 02:00:00:00:00:01 dev out0
sent() { ip -s link show out0 | awk '/TX:/ {getline; print $2}'; }
before=$(sent)
"$bin/yourcall" up --detach --port 0 >&2
"$bin/yourcall" ask "Does it work?" -o yes -o no --wait --timeout 60 >"$home/said" 2>&1 &
asking=$!
id=
for _ in $(seq 60); do
  id=$("$bin/yourcall" ls --json | "$bin/python" -c 'import json,sys; d=json.load(sys.stdin); print(d[0]["id"] if d else "")')
  [ -n "$id" ] && break
  sleep 0.05
done
"$bin/yourcall" answer "$id" yes >&2 && echo answered=1
wait $asking || true
for words in "ls" "sessions" "log" "rules" "devices" "channels" "status" "agents" "doctor" "log verify"; do
  # shellcheck disable=SC2086
  "$bin/yourcall" $words >&2 || true
done
"$bin/yourcall" down >&2
echo "sent=$(($(sent) - before))"
"$bin/python" -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 9))'
echo "proof=$(($(sent) - before))"
