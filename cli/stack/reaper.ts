// cli/stack/reaper.ts — makes sure Postgres and Deno never outlive us, not even after SIGKILL.
//
// A few lines of shell wait at the end of a pipe we hold open. Each line we write replaces the list of child
// processes; when the pipe closes, for whatever reason, the shell ends them and removes the temporary folder.

import { spawn } from 'node:child_process'
import { Socket } from 'node:net'

export interface Reaper {
  /** Replaces the processes to end when we are gone. */
  watch(pids: readonly number[]): void
  /** Everything was stopped in order: nothing is left to do. */
  dismiss(): void
}

// SIGINT is Postgres' fast shutdown; what has not left after five seconds is killed.
const SCRIPT = `
trap '' INT TERM HUP
pids=
while read -r line; do pids=$line; done
[ -n "$pids" ] && kill -INT $pids 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
  alive=
  for pid in $pids; do kill -0 "$pid" 2>/dev/null && alive="$alive $pid"; done
  [ -z "$alive" ] && break
  sleep 0.5
done
[ -n "$alive" ] && kill -KILL $alive 2>/dev/null
[ -n "$1" ] && rm -rf "$1"
exit 0
`

/** Starts the watcher. `temporaryDir` is removed once the processes are gone. */
export function startReaper({ temporaryDir }: { readonly temporaryDir?: string | undefined }): Reaper {
  // Its own session, so that Ctrl-C in the terminal reaches us and not the watcher.
  const shell = spawn('sh', ['-c', SCRIPT, 'chumbo-reaper', temporaryDir ?? ''], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  shell.unref()
  // A watcher that died cannot be told anything; the ordinary shutdown still works without it.
  shell.on('error', () => undefined)
  shell.stdin.on('error', () => undefined)
  // The open pipe must not keep our process alive by itself.
  if (shell.stdin instanceof Socket) shell.stdin.unref()

  return {
    watch(pids) {
      shell.stdin.write(`${pids.join(' ')}\n`)
    },
    dismiss() {
      shell.stdin.end('\n')
    },
  }
}
