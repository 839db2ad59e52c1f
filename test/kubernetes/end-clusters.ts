import { removeOwnAtOnce } from './cluster/leftovers.ts';

// A set-up file: whoever runs the tests may be interrupted, or killed, and the process that does hears of it by a signal, by the end of their connection, or
// by a write that fails, on which it exits. However it comes, its clusters are taken down first. A test runner does not let tests exit, so it ends by a signal.
function endNow(): void {
  removeOwnAtOnce();
  process.kill(process.pid, 'SIGKILL');
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const) process.on(signal, endNow);
process.on('exit', () => removeOwnAtOnce());
