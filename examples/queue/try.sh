#!/usr/bin/env bash
# 200 items, five workers, one of them killed with SIGKILL every second: at the end 200 results,
# each once. Needs Node and Python, nothing else.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
PATH="$here/../../bin:$PATH"
export PYTHONPATH="$here/../../python"
folder=$(mktemp -d)
workers=()
server=
finish() {
  for pid in "${workers[@]}" $server; do kill -9 "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT

# Any free port: the first line that the server prints is its address. The kills are ours, so no
# number of them may set an item aside: on a slow machine, one of the last items can lose five
# workers.
holdfast queue serve --db="$folder/queue.db" --listen=127.0.0.1:0 --poison=1000 > "$folder/url" 2> "$folder/server.log" &
server=$!
until [[ -s $folder/url ]]; do kill -0 "$server" || { cat "$folder/server.log" >&2; exit 1; }; sleep 0.1; done
HOLDFAST_QUEUE_URL=$(head -n 1 "$folder/url")
export HOLDFAST_QUEUE_URL

for n in $(seq 200); do printf '{"n": %d}\n' "$n"; done | holdfast queue push squares - --key=n
start() { python3 "$here/worker.py" & workers[$1]=$!; disown; }
for i in 0 1 2 3 4; do start "$i"; done

# Exit code 75 says that items are left; any other one is an error of the try-out.
has_items_left() {
  local code=0
  holdfast queue wait squares --timeout=1s --quiet 2> "$folder/wait.log" || code=$?
  [[ $code -eq 75 ]] && return
  [[ $code -eq 0 ]] || { cat "$folder/wait.log" >&2; holdfast queue status squares >&2; exit 1; }
  return 1
}

kills=0
while has_items_left; do
  # One worker dies without a word, and another takes its place.
  kill -9 "${workers[kills % 5]}" 2>/dev/null || true
  start $((kills % 5))
  kills=$((kills + 1))
  [[ $kills -lt 300 ]] || { echo 'the items were not done after 300 kills' >&2; holdfast queue status squares >&2; exit 1; }
done

holdfast queue results squares > "$folder/results.jsonl"
results=$(wc -l < "$folder/results.jsonl")
keys=$(sed 's/.*"key":"\([0-9]*\)".*/\1/' "$folder/results.jsonl" | sort -u | wc -l)
holdfast queue status squares
printf '%d results of %d items after %d kills\n' "$results" "$keys" "$kills"
[[ $results -eq 200 && $keys -eq 200 ]]
